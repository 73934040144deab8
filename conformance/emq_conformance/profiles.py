"""How much a run does: the profiles, and the Hypothesis settings that follow from them."""

from dataclasses import dataclass

from hypothesis import HealthCheck, settings


@dataclass(frozen=True, slots=True)
class Profile:
    """How long the walks are, and how strict the verdict is."""

    name: str
    walks: int
    """How many walks there are, each with a seed of its own: they spread over processes."""
    examples: int
    """Histories per walk."""
    steps: int
    """Steps per history, at most."""
    strict: bool
    """Whether a law that was never exercised, or a stale deviation, fails the run."""
    seed: int | None
    """The seed unless `--hypothesis-seed` gives one; None draws one for each run."""

    def describe(self) -> str:
        """One line for the header."""
        walks = f"{self.walks} walks of {self.examples} histories, {self.steps} steps each"
        return f"{self.name} ({walks})"

    def settings(self) -> settings:
        """What Hypothesis is told."""
        return settings(
            max_examples=self.examples,
            stateful_step_count=self.steps,
            database=None,  # a run leaves no file behind, and a seed says all that replays it
            deadline=None,
            print_blob=False,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        )


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("quick", walks=4, examples=100, steps=50, strict=False, seed=0),
        Profile("ci", walks=8, examples=300, steps=50, strict=True, seed=0),
        Profile("nightly", walks=16, examples=2000, steps=100, strict=True, seed=None),
    )
}
"""`quick` for every commit; `ci` and `nightly` go further, and are strict."""
