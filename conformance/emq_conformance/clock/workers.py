"""True time, the server's clock, and the workers' clocks, which all disagree.

True time only goes forward. The server's clock follows it, and may also be set, as an operator or
NTP sets a clock. Each worker's clock has an offset and a drift of its own. No law may depend on any
of them but the server's (L3), so the suite makes the workers' wrong.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import time_machine

from emq_conformance.clock.simulated import EPOCH_MS, SimulatedClock


@dataclass(frozen=True, slots=True)
class Worker:
    """Someone who claims and settles jobs, by a clock of his own."""

    name: str
    offset: int = 0
    """How far his clock was ahead when the run began, in milliseconds."""
    drift: int = 0
    """How much his clock gains, in milliseconds per 1000 of true time; -1000 stands still."""

    def now(self, elapsed: int) -> int:
        """What his clock says when `elapsed` milliseconds of true time have gone by."""
        return EPOCH_MS + self.offset + elapsed + elapsed * self.drift // 1000

    @contextmanager
    def believing(self, elapsed: int) -> Iterator[None]:
        """Let `time.time()`, `datetime.now()` and the like answer by this worker's clock."""
        # Half a millisecond in, so that no rounding of a float can show the one before.
        with time_machine.travel((self.now(elapsed) + 0.5) / 1000, tick=False):
            yield


class World:
    """True time and the server's clock."""

    def __init__(self, server: SimulatedClock) -> None:
        """Begin: the server's clock is set to where every simulated clock starts."""
        self._server = server
        self.begin()

    def begin(self) -> None:
        """Begin anew: no time has gone by, and the server's clock is right."""
        self.elapsed = 0
        self._server.set(EPOCH_MS)

    @property
    def now(self) -> int:
        """What the server's clock says, in milliseconds."""
        return self._server.now()

    def pass_time(self, milliseconds: int) -> None:
        """Let true time go by; the server's clock and all others go along, each in its way."""
        if milliseconds < 0:
            raise ValueError(f"true time only goes forward, not by {milliseconds}")
        self.elapsed += milliseconds
        self._server.set(self.now + milliseconds)

    def set_server(self, instant: int) -> None:
        """Set the server's clock, forward or back. No time goes by, and no other clock moves."""
        self._server.set(instant)
