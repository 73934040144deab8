"""The law table that closes a run."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from emq_conformance.report.verdicts import Line, Tally, Verdict
from emq_model.laws import RULES


class Terminal(Protocol):
    """What the table is written to: pytest's terminal writer."""

    hasmarkup: bool
    """Whether it is a terminal: there a line is cut at its edge, in a pipe it is whole."""

    @property
    def fullwidth(self) -> int:
        """How many columns there are."""

    def line(self, s: str = "", **markup: bool) -> None:
        """Write a line."""

    def write(self, msg: str, **markup: bool) -> None:
        """Write a part of a line."""


_MARKUP: dict[Verdict, dict[str, bool]] = {
    Verdict.VIOLATED: {"red": True, "bold": True},
    Verdict.ERROR: {"red": True, "bold": True},
    Verdict.STALE: {"yellow": True, "bold": True},
    Verdict.DEVIATES: {"yellow": True},
    Verdict.NOT_EXERCISED: {"yellow": True, "bold": True},
    Verdict.NOT_RUN: {"light": True},
    Verdict.HOLDS: {"green": True},
}
_VERDICT_WIDTH = max(len(verdict.value) for verdict in Verdict)
_RULE_IDS = {law.id for law in RULES}


def write_table(terminal: Terminal, tally: Tally) -> None:
    """Write one line per law: its id, its verdict, how many checks stood behind it, its words."""
    lines = list(tally.lines())
    laws = [line for line in lines if line.law.id not in _RULE_IDS]
    rules = [line for line in lines if line.law.id in _RULE_IDS]
    terminal.line(f"{'law':<8}  {'verdict':<{_VERDICT_WIDTH}}  {'checks':>9}  what it says")
    _write(terminal, laws)
    terminal.line(f"{'verb':<8}")
    _write(terminal, rules)
    terminal.line("")
    terminal.line(
        f"{len(laws)} laws: {_counts(laws)}. "
        f"{len(rules)} verbs: {_counts(rules)}. "
        f"{tally.steps:,} steps compared in {tally.tests:,} tests."
    )


def _write(terminal: Terminal, lines: Sequence[Line]) -> None:
    for line in lines:
        words = line.why or line.law.statement
        terminal.write(f"{line.law.id:<8}  ")
        terminal.write(f"{line.verdict.value:<{_VERDICT_WIDTH}}", **_MARKUP[line.verdict])
        room = max(terminal.fullwidth - _VERDICT_WIDTH - 24, 40)
        terminal.line(f"  {line.checks:>9,}  {_cut(words, room) if terminal.hasmarkup else words}")


def _counts(lines: Sequence[Line]) -> str:
    counts = Counter(line.verdict for line in lines)
    one = {Verdict.HOLDS: "holds", Verdict.DEVIATES: "deviates as declared"}
    many = {Verdict.HOLDS: "hold", Verdict.DEVIATES: "deviate as declared"}
    return ", ".join(
        f"{count} {(one if count == 1 else many).get(verdict, verdict.value)}"
        for verdict in reversed(Verdict)
        if (count := counts[verdict])
    )


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
