"""How often each law's interesting case was reached, and held."""

from collections import Counter

from emq_model.laws import Law


class Ledger:
    """Counts of one test. A law that was never reached has not been shown to hold."""

    def __init__(self) -> None:
        self.holds: Counter[str] = Counter()
        self.steps = 0

    def held(self, law: Law) -> None:
        """Note that a law's interesting case was reached, and that it held."""
        self.holds[law.id] += 1
