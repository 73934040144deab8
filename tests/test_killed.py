"""A run that is killed leaves no process and no file behind."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from suite_runs import ROOT

PATIENCE_S = 20.0
"""Real time is the point here: how long a process that was told to end is given."""


def until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return met


def ended(
    process: subprocess.Popen[bytes], kill: Callable[[subprocess.Popen[bytes]], None]
) -> bool:
    """Whether a process is gone at the latest one second after it was told."""
    kill(process)
    try:
        process.wait(1)
    except subprocess.TimeoutExpired:
        return False
    return True


class LongRun:
    """A run of the nightly walks in a process group of its own, with a TMPDIR of its own."""

    def __init__(self, folder: Path, processes: int) -> None:
        self.folder = folder
        self.pytest = subprocess.Popen(
            [
                *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "conformance"),
                *("-q", "-k", "walk", "--profile=nightly", "-n", str(processes)),
            ],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def processes(self) -> set[int]:
        """All that descends from it, whoever is its parent by now.

        Its TMPDIR tells, or its title: a server writes that over its environment.
        """
        mark = os.fsencode(self.folder)
        found = set()
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (path / "environ").read_bytes() + (path / "cmdline").read_bytes():
                    found.add(int(path.name))
            except OSError:
                continue  # it has ended, or is not ours to read
        return found

    def servers(self) -> set[str]:
        """The folders of its servers that listen."""
        return {path.parent.name for path in self.folder.glob("emq-*/socket")}

    def end(self) -> None:
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        self.pytest.wait()


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="killed-") as name:
        yield Path(name)


@pytest.mark.parametrize("processes", [0, 2], ids=["alone", "two processes"])
@pytest.mark.parametrize(
    "kill",
    [
        lambda process: process.kill(),
        lambda process: process.terminate(),
        lambda process: process.send_signal(signal.SIGINT),
        lambda process: os.killpg(process.pid, signal.SIGINT),
        lambda process: os.killpg(process.pid, signal.SIGKILL),
    ],
    ids=["kill -9", "kill", "interrupt", "Ctrl-C", "kill -9 of its group"],
)
def test_a_run_that_is_killed_leaves_nothing(
    folder: Path, kill: Callable[[subprocess.Popen[bytes]], None], processes: int
) -> None:
    run = LongRun(folder, processes)
    try:
        assert until(lambda: len(run.servers()) == max(processes, 1)), run.servers()
        assert len(run.processes()) >= 3 * max(processes, 1)
        # More than once, as a person does: an interrupt that falls into a finaliser is lost.
        assert until(lambda: ended(run.pytest, kill))
        assert until(lambda: not run.processes()), run.processes()
        left = [path for path in folder.iterdir() if not path.name.startswith("pytest-of-")]
        assert left == []  # but for the folder that pytest itself keeps
    finally:
        run.end()
