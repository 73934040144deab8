"""From the records of single tests to one verdict per law."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, TypedDict

from emq_model.laws import LAWS, RULES, Law

_SHOWN_BY_TESTS = {law.id for law in LAWS if law.check is None}
"""The laws that no single step can show: there a test that passes is the check."""

Outcome = Literal["passed", "failed", "skipped", "error", "deviates", "stale"]


class Record(TypedDict):
    """What one test found. It crosses process boundaries, so it is plain data."""

    law: str | None
    """The law whose id is in the test's name."""
    outcome: Outcome
    reason: str
    """Why it was skipped, or what is declared."""
    holds: dict[str, int]
    """How often each law's interesting case was reached, and held."""
    breaches: list[str]
    """The laws that were seen broken."""
    steps: int


class Verdict(Enum):
    """What a run says of a law, worst first."""

    VIOLATED = "violated"
    ERROR = "error"
    STALE = "stale deviation"
    DEVIATES = "declared deviation"
    NOT_EXERCISED = "not exercised"
    NOT_RUN = "not run"
    HOLDS = "holds"


@dataclass
class Line:
    """One law in the table."""

    law: Law
    verdict: Verdict
    checks: int
    why: str = ""


@dataclass
class Tally:
    """The records of a run, added up."""

    holds: Counter[str] = field(default_factory=Counter)
    steps: int = 0
    tests: int = 0
    _breached: set[str] = field(default_factory=set)
    _outcomes: dict[str, dict[str, str]] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        """Add what one test found."""
        self.tests += 1
        self.steps += record["steps"]
        law, outcome = record["law"], record["outcome"]
        for id, count in record["holds"].items():
            self.holds[id] += count
        self._breached.update(record["breaches"])
        if law is None:
            return
        if outcome == "passed" and law in _SHOWN_BY_TESTS:
            self.holds[law] += 1
        if outcome == "failed" and not record["breaches"]:
            self._breached.add(law)
        self._outcomes.setdefault(law, {}).setdefault(outcome, record["reason"])

    def lines(self) -> Iterator[Line]:
        """The verdict on each law, then on each verb's rule, in the protocol's order."""
        for law in (*LAWS, *RULES):
            verdict, why = self._verdict(law)
            yield Line(law, verdict, self.holds[law.id], why)

    def _verdict(self, law: Law) -> tuple[Verdict, str]:
        outcomes = self._outcomes.get(law.id, {})
        if law.id in self._breached:
            return Verdict.VIOLATED, ""
        for outcome, verdict in (
            ("error", Verdict.ERROR),
            ("stale", Verdict.STALE),
            ("deviates", Verdict.DEVIATES),
        ):
            if outcome in outcomes:
                return verdict, outcomes[outcome]
        if self.holds[law.id]:
            return Verdict.HOLDS, ""
        if "skipped" in outcomes:
            return Verdict.NOT_RUN, outcomes["skipped"]
        return Verdict.NOT_EXERCISED, "its interesting case was never reached"


def record_of(report: object) -> Record | None:
    """The record that a test report carries, if it carries one."""
    return getattr(report, "emq_record", None)


def tally(records: Iterable[Record]) -> Tally:
    """Add up the records of a run."""
    total = Tally()
    for one in records:
        total.add(one)
    return total
