"""Lockstep: when a step is held against the laws, and that nothing comes between."""

from collections.abc import Iterator

import pytest

from backends_for_tests import miscounting
from emq_conformance.backend import Context, Unknown
from emq_conformance.backends.lua import LuaBackend, LuaClient
from emq_conformance.ledger import Ledger
from emq_conformance.lockstep import Lockstep
from emq_conformance.servers import Server, open_server
from emq_conformance.strategies import A, B
from emq_conformance.subject import Subject
from emq_conformance.violation import Violation
from emq_conformance.wire import Wire
from emq_model import Claim, Enqueue, Pause, Reply, Verb


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with open_server("valkey") as opened:
        yield opened


@pytest.fixture
def subject(server: Server) -> Iterator[Subject]:
    subject = Subject(miscounting(Context()), server)
    yield subject
    subject.close()


@pytest.fixture
def hasty(subject: Subject) -> Iterator[Lockstep]:
    pair = Lockstep(subject, Ledger())
    yield pair
    pair.close()


@pytest.fixture
def patient(subject: Subject) -> Iterator[Lockstep]:
    pair = Lockstep(subject, Ledger(), patient=True)
    yield pair
    pair.close()


def broken_claim(pair: Lockstep) -> None:
    """A job comes in, and is claimed under a token that is one too high."""
    pair(Enqueue(A, b""))
    pair(Claim(10))


def test_a_step_is_held_against_the_laws_at_once(hasty: Lockstep) -> None:
    with pytest.raises(Violation, match="F3"):
        broken_claim(hasty)
    assert hasty.broken


def test_a_patient_one_finds_the_same_when_it_catches_up(subject: Subject) -> None:
    stories = []
    for patient in (False, True):
        pair = Lockstep(subject, Ledger(), patient=patient)
        with pytest.raises(Violation) as found:  # noqa: PT012
            broken_claim(pair)
            assert patient
            pair.catch_up()
        assert pair.broken
        pair.close()
        stories.append(found.value.lines())
    assert stories[0] == stories[1]


@pytest.mark.parametrize("verb", [Enqueue(B, b""), Claim(10), Pause()])
def test_a_patient_one_finds_it_in_the_next_verb_and_does_not_tell_that_verb(
    patient: Lockstep, verb: Verb
) -> None:
    broken_claim(patient)
    with pytest.raises(Violation, match="F3") as found:
        patient(verb)
    assert len(patient.steps) == 2
    assert "\n".join(found.value.lines()).count("claim lease 10") == 1


def test_a_patient_one_finds_it_when_time_goes_by(patient: Lockstep) -> None:
    broken_claim(patient)
    with pytest.raises(Violation, match="F3"):
        patient.pass_time(1)
    assert len(patient.steps) == 2


class _Swallowing(LuaClient):
    """Catches what it should not."""

    def run(self, verb: Verb) -> Reply | Unknown:
        try:
            return super().run(verb)
        except Exception:
            return Unknown(b"never mind")


def test_a_client_cannot_swallow_what_was_found(
    subject: Subject, patient: Lockstep, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken_claim(patient)

    def swallowing(self: LuaBackend, wire: Wire, queue: bytes) -> LuaClient:
        return _Swallowing(wire, queue, self.scripts)

    monkeypatch.setattr(type(subject.backend), "client", swallowing)
    patient.client = subject.client(patient.name)
    with pytest.raises(Violation, match="F3"):
        patient(Enqueue(B, b""))


def test_patience_counts_the_same_checks(server: Server) -> None:
    right = LuaBackend(miscounting(Context()).scripts, "")
    counts = []
    for patient in (False, True):
        subject, ledger = Subject(right, server), Ledger()
        pair = Lockstep(subject, ledger, patient=patient)
        for verb in (Enqueue(A, b""), Claim(10), Enqueue(A, b""), Claim(10)):
            pair(verb)
        pair.catch_up()
        pair.close()
        subject.close()
        counts.append((ledger.holds, ledger.steps))
    assert counts[0] == counts[1]
    assert counts[0][1] == 4
