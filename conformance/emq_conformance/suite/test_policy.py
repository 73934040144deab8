"""Where real queues differ, and what this protocol has chosen."""

import pytest

from emq_conformance.lockstep import Lockstep
from emq_conformance.servers import Feature
from emq_conformance.suite.stories import EVERYTHING, A, B, admit, claim, sweep
from emq_model import (
    Answer,
    Claim,
    Complete,
    Enqueue,
    Error,
    Extend,
    Moved,
    Promote,
    Reap,
    Retry,
    State,
)


@pytest.mark.needs(Feature.CLOCK)
def test_complete_after_the_deadline_is_accepted_until_the_next_claim(pair: Lockstep) -> None:
    admit(pair, A)
    token = claim(pair)
    pair.pass_time(1000)
    assert pair(Complete(A, token)) is Answer.DONE


def test_complete_a_second_time_answers_gone(pair: Lockstep) -> None:
    admit(pair, A)
    token = claim(pair)
    assert pair(Complete(A, token)) is Answer.DONE
    assert pair(Complete(A, token)) is Answer.GONE


def test_complete_of_a_job_that_never_was_answers_gone(pair: Lockstep) -> None:
    assert pair(Complete(A, 1)) is Answer.GONE
    assert pair(Complete(b"no id at all", 1)) is Answer.GONE


@pytest.mark.parametrize(
    ("claims", "most", "answer"),
    [
        (1, 1, Answer.DEAD),
        (1, 2, Answer.SCHEDULED),
        (2, 2, Answer.DEAD),
        (3, 2, Answer.DEAD),
        (2, 3, Answer.SCHEDULED),
    ],
)
def test_retry_buries_a_job_at_max_attempts(
    pair: Lockstep, claims: int, most: int, answer: Answer
) -> None:
    admit(pair, A)
    for token in range(1, claims):
        claim(pair)
        pair(Retry(A, token, 0, 99, b"failed"))
        pair(Promote(1))
    assert pair(Retry(A, claim(pair), 0, most, b"failed")) is answer


@pytest.mark.parametrize("delay", [0, 1000])
def test_retry_buries_whatever_the_delay(pair: Lockstep, delay: int) -> None:
    admit(pair, A)
    assert pair(Retry(A, claim(pair), delay, 1, b"failed")) is Answer.DEAD
    assert pair.queue.rows[A].state is State.DEAD


@pytest.mark.needs(Feature.CLOCK)
def test_retry_counts_a_lapse_as_an_attempt(pair: Lockstep) -> None:
    admit(pair, A)
    claim(pair)
    sweep(pair)
    assert pair(Retry(A, claim(pair), 0, 2, b"failed")) is Answer.DEAD


def test_retry_with_no_delay_waits_for_promote(pair: Lockstep) -> None:
    admit(pair, A)
    pair(Retry(A, claim(pair), 0, 3, b"failed"))
    assert pair(Claim(10)) is Answer.EMPTY
    assert pair(Promote(EVERYTHING)) == Moved(1)
    assert claim(pair) == 2


def test_retry_keeps_the_latest_error(pair: Lockstep) -> None:
    admit(pair, A)
    for error in (b"first", b"second"):
        pair(Retry(A, claim(pair), 0, 9, error))
        pair(Promote(1))
        assert pair.queue.rows[A].last_error == error


def test_enqueue_of_a_dead_id_is_a_duplicate(pair: Lockstep) -> None:
    admit(pair, A)
    pair(Retry(A, claim(pair), 0, 1, b"failed"))
    assert pair(Enqueue(A, b"again")) is Answer.DUPLICATE
    assert pair(Claim(10)) is Answer.EMPTY


@pytest.mark.needs(Feature.CLOCK)
def test_extend_may_shorten(pair: Lockstep) -> None:
    admit(pair, A)
    token = claim(pair, 1000)
    assert pair(Extend(A, token, 1)) is Answer.EXTENDED
    pair.pass_time(1)
    assert pair(Reap(EVERYTHING)) == Moved(1)


@pytest.mark.needs(Feature.CLOCK)
def test_extend_after_the_deadline_is_accepted_until_the_next_claim(pair: Lockstep) -> None:
    admit(pair, A)
    token = claim(pair)
    sweep(pair)
    assert pair(Extend(A, token, 1000)) is Answer.EXTENDED
    assert pair(Reap(EVERYTHING)) == Moved(0)


@pytest.mark.needs(Feature.CLOCK)
def test_reap_and_claim_hand_the_job_to_one_worker_only(pair: Lockstep) -> None:
    admit(pair, A, B)
    first = claim(pair)
    sweep(pair)
    second = claim(pair)
    assert pair(Complete(A, second)) is Answer.DONE
    assert pair(Complete(A, first)) is Answer.GONE
    assert pair(Complete(B, first)) is Error.EMQSTALE
