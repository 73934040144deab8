"""A pause holds back claims and nothing else (P1-P3)."""

import pytest

from emq_conformance.lockstep import Lockstep
from emq_conformance.servers import Feature
from emq_conformance.subject import Subject
from emq_conformance.suite.stories import EVERYTHING, A, B, C, admit, claim, sweep
from emq_conformance.violation import Breach, violation
from emq_model import (
    Answer,
    Claim,
    Claimed,
    Complete,
    Enqueue,
    Error,
    Extend,
    Moved,
    Pause,
    Promote,
    Reap,
    Resume,
    Retry,
)
from emq_model.laws import BY_ID
from emq_model.story import Names, Step, tell


def test_P1_a_paused_queue_claims_empty_and_keeps_its_backlog(pair: Lockstep) -> None:
    admit(pair, A, B)
    pair(Pause())
    assert pair(Claim(10)) is Answer.EMPTY
    assert set(pair.queue.pending) == {A, B}


def test_P1_a_malformed_claim_is_refused_during_a_pause_too(pair: Lockstep) -> None:
    admit(pair, A)
    pair(Pause())
    assert pair(Claim(b"abc")) is Error.EMQARG


def test_P1_jobs_come_in_during_a_pause(pair: Lockstep) -> None:
    pair(Pause())
    assert pair(Enqueue(A, b"")) is Answer.ADMITTED


def test_P1_a_token_from_before_the_pause_settles_during_it(pair: Lockstep) -> None:
    admit(pair, A, B, C)
    for _ in range(3):
        claim(pair)
    pair(Pause())
    assert pair(Complete(A, 1)) is Answer.DONE
    assert pair(Extend(B, 1, 1000)) is Answer.EXTENDED
    assert pair(Retry(C, 1, 0, 3, b"failed")) is Answer.SCHEDULED


@pytest.mark.needs(Feature.CLOCK)
def test_P1_reaping_and_promoting_go_on_during_a_pause(pair: Lockstep) -> None:
    admit(pair, A, B)
    claim(pair)
    pair(Retry(B, claim(pair), 10, 3, b"failed"))
    pair(Pause())
    pair.pass_time(10)
    assert pair(Reap(EVERYTHING)) == Moved(1)
    assert pair(Promote(EVERYTHING)) == Moved(1)
    assert pair(Claim(10)) is Answer.EMPTY


def test_P2_resume_restores_the_same_head(pair: Lockstep) -> None:
    admit(pair, A, B)
    pair(Pause())
    pair(Claim(10))
    pair(Resume())
    assert pair(Claim(10)) == Claimed(A, b"payload of " + A, 1)


def test_P2_a_job_retried_during_the_pause_is_served_after_it(pair: Lockstep) -> None:
    admit(pair, A, B)
    token = claim(pair)
    pair(Pause())
    pair(Retry(A, token, 0, 3, b"failed"))
    pair(Promote(EVERYTHING))
    pair(Resume())
    assert [claim(pair), claim(pair)] == [2, 1]


@pytest.mark.needs(Feature.CLOCK)
def test_P2_a_job_swept_during_the_pause_is_served_after_it(pair: Lockstep) -> None:
    admit(pair, A)
    claim(pair)
    pair(Pause())
    sweep(pair)
    pair(Resume())
    assert claim(pair) == 2


def test_P2_pausing_twice_and_resuming_once_resumes(pair: Lockstep) -> None:
    admit(pair, A)
    pair(Pause())
    pair(Pause())
    pair(Resume())
    assert claim(pair) == 1


def test_P3_a_pause_before_a_claim_holds_it_back(subject: Subject) -> None:
    assert _claim_with_a_pause_after(subject, 0) is Answer.EMPTY


@pytest.mark.case("pause-between-beats")
def test_P3_a_pause_in_the_middle_of_a_claim_holds_it_back(subject: Subject) -> None:
    """Another client pauses between two round trips of the claim, at each place in turn."""
    for round_trips in range(1, 10):
        reply = _claim_with_a_pause_after(subject, round_trips)
        if reply is None:
            return  # the claim takes fewer round trips than that
        if isinstance(reply, Claimed):
            law = BY_ID["P3"]
            why = f"the pause had answered before round trip {round_trips + 1} of the claim"
            steps = [
                Step(0, "w1", Enqueue(B, b""), Answer.ADMITTED),
                Step(0, "w1", f"claim begins, and makes {round_trips} round trip"),
                Step(0, "w2", Pause(), Answer.OK),
                Step(0, "w1", Claim(60_000), reply),
            ]
            story = tell(steps, Names([B], 0))
            raise violation([Breach("P3", law.statement, why)], story)


def _claim_with_a_pause_after(subject: Subject, round_trips: int) -> object:
    """Claim, while another client pauses after so many round trips; None if there were fewer."""
    queue = subject.queue_name()
    keyspace = subject.keyspace(queue)
    keyspace.know(B)
    wire, other = subject.connect(), subject.connect()
    try:
        first = subject.backend.client(wire, queue)
        second = subject.backend.client(other, queue)
        assert first.run(Enqueue(B, b"")) is Answer.ADMITTED
        wire.tap(round_trips, lambda: _must_pause(second.run(Pause())))
        reply = first.run(Claim(60_000))
        return None if wire.untap() else reply
    finally:
        keyspace.erase()
        wire.close()
        other.close()


def _must_pause(reply: object) -> None:
    assert reply is Answer.OK, f"pause answered {reply}"
