"""Read the seven scripts from a folder: our own, or someone else's."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

NAMES = ("enqueue", "claim", "complete", "retry", "extend", "reap", "promote")
"""The scripts. Each stands in a file of its name with the ending `.lua`."""

HERE = Path(__file__).parent


class ScriptError(Exception):
    """A script is missing or cannot be read; the message names the file."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script's source, and the SHA1 by which a server that has it cached knows it."""

    name: str
    source: bytes = field(repr=False)
    sha1: str = field(init=False)

    def __post_init__(self) -> None:
        sha1 = hashlib.sha1(self.source, usedforsecurity=False).hexdigest()
        object.__setattr__(self, "sha1", sha1)


def load(directory: Path | None = None) -> dict[str, Script]:
    """Read the seven scripts, from `directory` or, without one, those of this package.

    Raises:
        ScriptError: if the folder or one of the seven files is missing, unreadable or empty.
    """
    folder = HERE if directory is None else directory
    try:
        there = {entry.name for entry in folder.iterdir()}
    except (FileNotFoundError, NotADirectoryError):
        raise ScriptError(
            f"{folder} is not a folder: name one that holds {_files(NAMES)}"
        ) from None
    except OSError as error:
        raise ScriptError(f"cannot look into {folder}: {error.strerror}") from error
    missing = [name for name in NAMES if f"{name}.lua" not in there]
    if missing:
        raise ScriptError(f"{folder} lacks {_files(missing)}; it must hold {_files(NAMES)}")
    return {name: _read(name, folder / f"{name}.lua") for name in NAMES}


def _read(name: str, path: Path) -> Script:
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ScriptError(f"cannot read {path}: {error.strerror}") from error
    if not source.strip():
        raise ScriptError(f"{path} is empty: it must hold the script `{name}`")
    return Script(name, source)


def _files(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"{name}.lua" for name in names)
