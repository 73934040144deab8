"""The walk: long random histories, the whole state compared after each step."""

import hypothesis
import pytest
from hypothesis.stateful import run_state_machine_as_test

from emq_conformance.backend import Ability
from emq_conformance.ledger import Ledger
from emq_conformance.machine import Walk
from emq_conformance.profiles import Profile
from emq_conformance.servers import Feature
from emq_conformance.subject import Subject
from emq_conformance.violation import Violation

pytestmark = pytest.mark.needs(Feature.CLOCK, Ability.OBSERVE, Ability.RAW)


def test_walk(
    subject: Subject, ledger: Ledger, profile: Profile, seed: int, walk_number: int
) -> None:
    """Random histories of one queue hold every law, and end where the reference machine ends."""
    body = {"subject": subject, "ledger": ledger}
    machine = hypothesis.seed(f"{seed}-{walk_number}")(type("ThisWalk", (Walk,), body))
    try:
        run_state_machine_as_test(machine, settings=profile.settings())
    except Violation as broken:
        # Hypothesis tells the steps as Python calls in notes; the story tells them as verbs.
        broken.__notes__ = []
        raise
