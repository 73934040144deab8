"""Compile the preload library of the simulated clock, once per source and compiler."""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import platformdirs

_SOURCE: Final = Path(__file__).with_name("preload.c")
_FLAGS: Final = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-shared")
_LIBRARIES: Final = ("-ldl",)  # part of libc since glibc 2.34, needed before
_WAY_ROUND: Final = "or run against --server=fakeredis, which needs no compiler"


class ClockUnavailable(Exception):
    """The clock of a server process cannot be simulated here; the message says what to do."""


def preload_library(cache_dir: Path | None = None) -> Path:
    """The compiled ``preload.c``, for ``LD_PRELOAD``.

    It is compiled with ``cc`` (or ``$CC``) on first use and kept in ``cache_dir``; by default
    that is ``$EMQ_CACHE_DIR``, or the user's cache folder. Where that cannot be written, it
    goes to a private folder that is removed when this process ends.

    Raises:
        ClockUnavailable: not Linux, no compiler, or a compiler that fails.
    """
    if sys.platform != "linux":
        raise ClockUnavailable(
            f"The clock of a server process is simulated with LD_PRELOAD on Linux only, and this "
            f"is {sys.platform}. Use a Linux machine or container, {_WAY_ROUND}."
        )
    compiler = tuple(shlex.split(os.environ.get("CC") or "cc"))
    name = f"clock-{_fingerprint(compiler)}.so"
    directory = cache_dir or _default_cache()
    library = directory / name
    if library.is_file():
        return library
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _compile(compiler, library)
    except OSError:  # a read-only home, a full disk
        library = _private_folder() / name
        if not library.is_file():
            _compile(compiler, library)
    return library


def preload_environment(library: Path, page: Path) -> dict[str, str]:
    """What to add to a server's environment so that its wall clock is the one in ``page``."""
    others = os.environ.get("LD_PRELOAD")
    return {
        "LD_PRELOAD": f"{library}:{others}" if others else str(library),
        "EMQ_CLOCK_PAGE": str(page),
    }


def _default_cache() -> Path:
    if override := os.environ.get("EMQ_CACHE_DIR"):
        return Path(override)
    return platformdirs.user_cache_path("emq-conformance")


@functools.cache
def _fingerprint(compiler: tuple[str, ...]) -> str:
    """What the library's bytes depend on; doubles as the check that there is a compiler."""
    if not compiler or shutil.which(compiler[0]) is None:
        raise ClockUnavailable(
            f"The simulated clock needs a C compiler, and {shlex.join(compiler) or 'cc'!r} is "
            f"not on PATH. Install one (apt-get install gcc libc6-dev), {_WAY_ROUND}."
        )
    version = subprocess.run([*compiler, "--version"], capture_output=True, check=False).stdout
    parts = (
        _SOURCE.read_bytes(),
        repr((_FLAGS, _LIBRARIES, compiler)).encode(),
        version,
        platform.machine().encode(),
    )
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _compile(compiler: tuple[str, ...], library: Path) -> None:
    """Compile beside ``library`` and rename: workers that race here each put a whole file."""
    handle, draft = tempfile.mkstemp(suffix=".so", dir=library.parent)
    os.close(handle)
    try:
        command = [*compiler, *_FLAGS, "-o", draft, str(_SOURCE), *_LIBRARIES]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise ClockUnavailable(
                f"The simulated clock does not compile: {shlex.join(command)} said\n"
                f"{result.stderr.strip()}\n"
                f"If headers are missing, install them (apt-get install gcc libc6-dev), "
                f"{_WAY_ROUND}."
            )
        Path(draft).replace(library)
    finally:
        Path(draft).unlink(missing_ok=True)


@functools.cache
def _private_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="emq-cache-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
