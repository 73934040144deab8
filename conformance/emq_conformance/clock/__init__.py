"""The simulated clock: what a server believes the time to be, under the suite's control."""

from emq_conformance.clock.build import ClockUnavailable, preload_environment, preload_library
from emq_conformance.clock.simulated import (
    EPOCH_MS,
    LATEST_MS,
    FakeClock,
    PageClock,
    SimulatedClock,
)

__all__ = [
    "EPOCH_MS",
    "LATEST_MS",
    "ClockUnavailable",
    "FakeClock",
    "PageClock",
    "SimulatedClock",
    "preload_environment",
    "preload_library",
]
