"""A server's clock under the suite's control.

Instants are milliseconds since 1970-01-01T00:00Z, as everywhere in the suite. The clock
stands still until it is told to move, and it moves either way, by a millisecond or by decades.
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EPOCH_MS: Final = 1_800_000_000_000
"""Where every simulated clock starts: 2027-01-15T08:00:00Z."""

LATEST_MS: Final = 2**53 - 1
"""The last instant that a Lua number (a double) holds exactly."""


class SimulatedClock(Protocol):
    """What ``TIME`` answers on one server, in milliseconds; it moves only when told to."""

    def now(self) -> int:
        """The instant that the server shows."""
        ...

    def set(self, instant: int) -> None:
        """Move to ``instant``, forward or back; the server shows it when this returns.

        Raises:
            ValueError: ``instant`` is below 0 or above ``LATEST_MS``.
        """
        ...


class PageClock:
    """The clock of a server process, through the page that ``preload.c`` reads.

    ``preload_environment`` tells the server where the page is.
    """

    NAME: Final = "clock"

    def __init__(self, directory: Path, settle: Callable[[int], None] | None = None) -> None:
        """Create the page, at ``EPOCH_MS``.

        Args:
            directory: where the page's file goes.
            settle: called after each move with the new instant; it returns once the server
                shows it. ``None`` for a server that reads the page for every command.
        """
        self.path = directory / self.NAME
        self.settle = settle
        with self.path.open("xb+") as file:
            file.truncate(mmap.PAGESIZE)
            self._map = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        # A cast view stores the eight bytes at once; struct.pack_into would go byte by byte,
        # and the server could see half of a move.
        self._microseconds = memoryview(self._map).cast("q")
        self._instant = EPOCH_MS
        self._microseconds[0] = EPOCH_MS * 1000

    def now(self) -> int:
        """The instant that the server shows, in milliseconds."""
        return self._instant

    def set(self, instant: int) -> None:
        """Move to ``instant`` (milliseconds), forward or back; in effect when this returns.

        Raises:
            ValueError: ``instant`` is below 0 or above ``LATEST_MS``.
        """
        self._instant = _checked(instant)
        self._microseconds[0] = instant * 1000
        if self.settle is not None:
            self.settle(instant)

    def close(self) -> None:
        """Let go of the page; the clock cannot be moved any more. The file stays."""
        self._microseconds.release()
        self._map.close()


class FakeClock:
    """The clock of one fakeredis server in this process.

    Nothing is patched: the server's connections answer ``TIME`` from ``answer``, so that
    other fakeredis servers in the process keep clocks of their own.
    """

    def __init__(self) -> None:
        self._instant = EPOCH_MS

    def now(self) -> int:
        """The instant that the server shows, in milliseconds."""
        return self._instant

    def set(self, instant: int) -> None:
        """Move to ``instant`` (milliseconds), forward or back; in effect when this returns.

        Raises:
            ValueError: ``instant`` is below 0 or above ``LATEST_MS``.
        """
        self._instant = _checked(instant)

    def answer(self) -> list[bytes]:
        """The reply to ``TIME``: seconds, and the microseconds within the second."""
        seconds, milliseconds = divmod(self._instant, 1000)
        return [b"%d" % seconds, b"%d" % (milliseconds * 1000)]


def _checked(instant: int) -> int:
    if not 0 <= instant <= LATEST_MS:
        raise ValueError(f"a server clock runs from 0 to {LATEST_MS} ms, not {instant}")
    return instant
