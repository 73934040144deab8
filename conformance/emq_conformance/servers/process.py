"""A process under a watchdog, in a temporary folder of its own: the caller's end."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Final

from emq_conformance.servers import watchdog
from emq_conformance.servers.base import ServerError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PATIENCE_S: Final = 10.0
_LONGEST_SOCKET_PATH: Final = 107  # sun_path holds 108 bytes, the last of them zero
_LONGEST_NAME_IN_FOLDER: Final = len("/server.conf")
_LIVE: Final = weakref.WeakSet["Process"]()


def new_folder() -> Path:
    """A path that is free, for a folder whose name no file format or variable trips over.

    It lies in ``TMPDIR`` if a socket's path fits there, and if ``LD_PRELOAD``, which is split at
    blanks and colons, can name a file in it; else in ``/tmp``.
    """
    name = f"emq-{os.urandom(6).hex()}"
    path = Path(tempfile.gettempdir()) / name
    fits = len(os.fsencode(path)) + _LONGEST_NAME_IN_FOLDER <= _LONGEST_SOCKET_PATH
    return path if fits and re.fullmatch(r"[\w/.,+@~-]+", str(path)) else Path("/tmp") / name


class Process:
    """A process that ends, and a folder that goes, with this object or this Python process."""

    def __init__(
        self, folder: Path, command: Sequence[str | Path], environment: Mapping[str, str]
    ) -> None:
        """Start the watchdog, which makes ``folder``. The process itself is not yet started.

        Raises:
            ServerError: the watchdog does not start.
        """
        self.folder = folder
        self.pid: int | None = None
        self._watchdog = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", watchdog.__file__, folder),
                *(f"{name}={value}" for name, value in environment.items()),
                *("--", *command),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self.close = weakref.finalize(self, _close, self._watchdog, folder, os.getpid())
        _LIVE.add(self)
        try:
            self._report()
        except OSError as error:
            self.close()
            raise ServerError(
                f"The server's watchdog does not start ({error}); is {folder.parent} writable?"
            ) from error

    @property
    def watchdog_pid(self) -> int:
        """The watchdog's process id."""
        return self._watchdog.pid

    def start(self) -> None:
        """Start the process. That it cannot be executed shows in ``wait``, as exit code 127.

        Raises:
            ServerError: it is running already.
        """
        report = self._order(b"s")
        if report == "running":
            raise ServerError("The server is running already.")
        self.pid = int(report.removeprefix("pid ")) if report.startswith("pid ") else None

    def wait(self, seconds: float) -> int | None:
        """Give the process up to so long to end; its exit code (negative: the signal), or None."""
        if self.pid is None:
            return 127
        deadline = time.monotonic() + seconds
        while (report := self._order(b"p")) == "running":
            if time.monotonic() >= deadline:
                return None
            time.sleep(0.001)
        self.pid = None
        return int(report.removeprefix("exit "))

    def kill(self) -> None:
        """End the process with SIGKILL."""
        self._order(b"k")
        self.pid = None

    def log(self, lines: int = 10) -> str:
        """The last lines that the process wrote."""
        try:
            text = (self.folder / watchdog.LOG).read_text(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def _order(self, order: bytes) -> str:
        assert self._watchdog.stdin is not None
        try:
            self._watchdog.stdin.write(order)
            return self._report()
        except (OSError, ValueError) as error:  # ValueError: closed
            raise ServerError("The server's watchdog is gone, and the server with it.") from error

    def _report(self) -> str:
        assert self._watchdog.stdout is not None
        line = b""
        while not line.endswith(b"\n"):
            if not select.select([self._watchdog.stdout], [], [], _PATIENCE_S)[0]:
                raise OSError("no report")
            piece = self._watchdog.stdout.read(1)
            if not piece:
                raise OSError("end of reports")
            line += piece
        return line.decode().strip()


def _close(process: subprocess.Popen[bytes], folder: Path, owner: int) -> None:
    if os.getpid() != owner:
        return  # a fork, which inherited the object but not the server
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
    shutil.rmtree(folder, ignore_errors=True)  # in case the watchdog was killed


def _let_go() -> None:
    """In a forked child: or the pipe would stay open, and the server alive, as long as it."""
    for process in _LIVE:
        for pipe in (process._watchdog.stdin, process._watchdog.stdout):
            if pipe is not None:
                pipe.close()


os.register_at_fork(after_in_child=_let_go)
