"""A law that was seen broken, and the story of how."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple


class Breach(NamedTuple):
    """One law that a step broke, and why it is broken."""

    law: str
    statement: str
    why: str


class Violation(AssertionError):
    """One step broke at least one law.

    Each law has a subclass of its own (see `violation`), because Hypothesis tells failures apart
    by their type: so a failure is not swapped for that of another law while it shrinks.
    """

    def __init__(self, breaches: Sequence[Breach], story: Sequence[str]) -> None:
        self.breaches = tuple(breaches)
        self.story = tuple(story)
        super().__init__("\n".join(self.lines()))

    @property
    def laws(self) -> list[str]:
        """The ids of the laws that were broken, the one that says most first."""
        return [breach.law for breach in self.breaches]

    def lines(self) -> list[str]:
        """The whole of it, for a person."""
        headline, *others = self.breaches
        lines = [f"{headline.law} is broken: {headline.statement}", f"  {headline.why}", ""]
        lines += self.story
        if others:
            lines += ["", "which also breaks:"]
            lines += [f"  {breach.law:<8} {breach.why}" for breach in others]
        return lines


# Where a step breaks several laws, the narrower one says more: F5 and F6 are cases of F1, F2 is one
# of C4. C1, F4 and R4 are often only what follows from it, L4 repeats the others, and a verb's rule
# says no more than that something is wrong.
_RANKS = {"F2": 0, "F5": 0, "F6": 0, "C1": 2, "F4": 2, "R4": 2, "L4": 3}


def _rank(breach: Breach) -> int:
    return 4 if breach.law.islower() else _RANKS.get(breach.law, 1)


def violation(breaches: Sequence[Breach], story: Sequence[str]) -> Violation:
    """Make the Violation of the law that says most about these breaches."""
    ordered = sorted(breaches, key=_rank)
    return _type_for(ordered[0].law)(ordered, story)


@cache
def _type_for(law: str) -> type[Violation]:
    return type(f"Violation_{law}", (Violation,), {})
