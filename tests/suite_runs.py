"""Runs of the suite in a process of its own, and what they said."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from emq_conformance.report.verdicts import Verdict

ROOT = Path(__file__).parent.parent
SUITE = "emq_conformance.suite"
ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Run:
    """A run that has ended."""

    status: int
    output: str

    @property
    def verdicts(self) -> dict[str, str]:
        """The law table: id to verdict, laws and verbs."""
        verdicts = "|".join(verdict.value for verdict in Verdict)
        line = rf"^([A-Z]\d|[a-z]+) +({verdicts}) +([\d,]+)  "
        return {id: verdict for id, verdict, _ in re.findall(line, self.output, re.MULTILINE)}

    @property
    def violated(self) -> set[str]:
        """The laws that were broken."""
        return {id for id, verdict in self.verdicts.items() if verdict == "violated"}

    @property
    def headlines(self) -> set[str]:
        """The laws that the failures were told under."""
        return set(re.findall(r"^(\S+) is broken: ", self.output, re.MULTILINE))


def run_suite(
    *arguments: str,
    cwd: Path = ROOT,
    target: Sequence[str] = ("conformance",),
    env: Mapping[str, str] | None = None,
) -> Run:
    """Run pytest on the suite, and wait for it."""
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *target, *arguments],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200", **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    return Run(ended.returncode, ended.stdout)


def run_installed(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> Run:
    """Run the suite as one does who has only installed it."""
    return run_suite(*arguments, cwd=cwd, target=("--pyargs", SUITE), env=env)
