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


# F5 and F6 are special cases of F1, and F2 of C4: the special case says more. What a verb does at
# large says least.
_LAST = ("F1", "C4", "L4")


def violation(breaches: Sequence[Breach], story: Sequence[str]) -> Violation:
    """Make the Violation of the law that says most about these breaches."""
    ordered = sorted(breaches, key=lambda b: (b.law.islower(), b.law in _LAST))
    return _type_for(ordered[0].law)(ordered, story)


@cache
def _type_for(law: str) -> type[Violation]:
    return type(f"Violation_{law}", (Violation,), {})
