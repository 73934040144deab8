"""Nothing is lost, nothing is doubled, nothing is made up (C1-C5)."""

import pytest

from emq_conformance.backend import Ability
from emq_conformance.lockstep import Lockstep
from emq_conformance.servers import Feature
from emq_conformance.strategies import BYTES, MALFORMED, NOT_JOB_IDS
from emq_conformance.suite.stories import EVERYTHING, A, B, C, admit, claim, sweep
from emq_model import (
    Answer,
    Claim,
    Claimed,
    Complete,
    Enqueue,
    Error,
    Extend,
    Job,
    Moved,
    Promote,
    Queue,
    Reap,
    Retry,
    State,
    Verb,
)
from emq_model.frozen import Frozen
from emq_model.verbs import LONGEST, MOST_COUNT


def test_C1_a_job_stands_in_one_index_all_its_life(pair: Lockstep) -> None:
    admit(pair, A)
    pair(Retry(A, claim(pair), 0, 3, b"failed"))
    pair(Promote(1))
    token = claim(pair)
    pair(Extend(A, token, 1000))
    pair(Complete(A, token))
    assert pair.queue == Queue()


@pytest.mark.needs(Feature.CLOCK)
def test_C1_a_swept_job_that_is_extended_leaves_pending(pair: Lockstep) -> None:
    admit(pair, A)
    token = claim(pair)
    sweep(pair)
    pair(Extend(A, token, 10))
    assert pair(Claim(10)) is Answer.EMPTY


@pytest.mark.needs(Feature.CLOCK)
def test_C1_a_swept_job_that_is_completed_leaves_nothing(pair: Lockstep) -> None:
    admit(pair, A)
    token = claim(pair)
    sweep(pair)
    pair(Complete(A, token))
    assert pair.queue == Queue()


@pytest.mark.needs(Feature.CLOCK)
@pytest.mark.parametrize(("most", "where"), [(1, "dead"), (2, "schedule")])
def test_C1_a_swept_job_that_is_retried_leaves_pending(
    pair: Lockstep, most: int, where: str
) -> None:
    admit(pair, A)
    token = claim(pair)
    sweep(pair)
    pair(Retry(A, token, 1000, most, b"late"))
    assert set(getattr(pair.queue, where)) == {A}
    assert pair(Claim(10)) is Answer.EMPTY


def test_C1_a_promoted_job_leaves_the_schedule(pair: Lockstep) -> None:
    admit(pair, A)
    pair(Retry(A, claim(pair), 0, 3, b"failed"))
    assert pair(Promote(EVERYTHING)) == Moved(1)
    assert pair(Promote(EVERYTHING)) == Moved(0)
    assert claim(pair) == 2


def test_C1_a_job_completed_while_it_waits_for_its_time_still_runs_once(pair: Lockstep) -> None:
    admit(pair, A)
    token = claim(pair)
    pair(Retry(A, token, 0, 3, b"failed"))
    assert pair(Complete(A, token)) is Error.EMQSTALE
    pair(Promote(1))
    claim(pair)
    assert pair(Claim(10)) is Answer.EMPTY


@pytest.mark.needs(Feature.CLOCK)
def test_C1_a_job_retried_for_days_is_still_there(pair: Lockstep) -> None:
    admit(pair, A)
    for attempt in range(1, 6):
        assert claim(pair) == attempt
        pair(Retry(A, attempt, 86_400_000, 9, b"failed"))
        pair.pass_time(86_400_000)
        pair(Promote(1))
    assert claim(pair) == 6


@pytest.mark.parametrize("raw", BYTES, ids=lambda raw: repr(raw)[1:])
def test_C1_payload_and_error_come_back_to_the_byte(pair: Lockstep, raw: bytes) -> None:
    pair(Enqueue(A, raw))
    assert pair(Claim(10)) == Claimed(A, raw, 1)
    pair(Retry(A, 1, 0, 3, raw))
    pair(Promote(1))
    assert pair.queue.rows[A].last_error == raw
    assert pair(Claim(10)) == Claimed(A, raw, 2)


def test_C1_a_large_payload_comes_back(pair: Lockstep) -> None:
    payload = bytes(range(256)) * 4096
    pair(Enqueue(A, payload))
    assert pair(Claim(10)) == Claimed(A, payload, 1)


@pytest.mark.needs(Ability.OBSERVE)
def test_C2_a_late_settle_does_not_bring_a_completed_job_back(pair: Lockstep) -> None:
    admit(pair, A)
    token = claim(pair)
    pair(Complete(A, token))
    for verb in (Complete(A, token), Retry(A, token, 0, 3, b"late"), Extend(A, token, 10)):
        assert pair(verb) is Answer.GONE
    assert pair.queue == Queue()


@pytest.mark.needs(Feature.CLOCK, Ability.OBSERVE)
def test_C2_reaping_a_ghost_writes_no_skeleton(pair: Lockstep) -> None:
    admit(pair, A)
    claim(pair)
    pair.lose_row(A)
    sweep(pair)
    assert pair.queue == Queue()


@pytest.mark.needs(Ability.OBSERVE)
def test_C2_promoting_a_ghost_writes_no_skeleton(pair: Lockstep) -> None:
    admit(pair, A)
    pair(Retry(A, claim(pair), 0, 3, b"failed"))
    pair.lose_row(A)
    assert pair(Promote(EVERYTHING)) == Moved(1)
    assert pair.queue == Queue()


@pytest.mark.needs(Ability.OBSERVE)
@pytest.mark.parametrize("sort", ["deleted", "not-a-hash"])
def test_C3_a_claim_consumes_a_ghost_and_answers_empty(pair: Lockstep, sort: str) -> None:
    admit(pair, A, B)
    (pair.lose_row if sort == "deleted" else pair.replace_row)(A)
    assert pair(Claim(10)) is Answer.EMPTY
    assert pair(Claim(10)) == Claimed(B, b"payload of " + B, 1)


@pytest.mark.needs(Feature.CLOCK, Ability.OBSERVE)
@pytest.mark.parametrize("sort", ["deleted", "not-a-hash"])
def test_C3_a_ghost_in_active_goes_nowhere(pair: Lockstep, sort: str) -> None:
    admit(pair, A, B)
    claim(pair)
    claim(pair)
    (pair.lose_row if sort == "deleted" else pair.replace_row)(A)
    pair.pass_time(10)
    assert pair(Reap(EVERYTHING)) == Moved(2)
    assert set(pair.queue.pending) == {B}


@pytest.mark.needs(Ability.OBSERVE)
@pytest.mark.parametrize("sort", ["deleted", "not-a-hash"])
def test_C3_a_ghost_in_the_schedule_goes_nowhere(pair: Lockstep, sort: str) -> None:
    admit(pair, A, B)
    pair(Retry(A, claim(pair), 0, 3, b"failed"))
    pair(Retry(B, claim(pair), 0, 3, b"failed"))
    (pair.lose_row if sort == "deleted" else pair.replace_row)(A)
    assert pair(Promote(EVERYTHING)) == Moved(2)
    assert set(pair.queue.pending) == {B}


@pytest.mark.needs(Ability.OBSERVE)
def test_C3_settling_a_ghost_answers_gone(pair: Lockstep) -> None:
    admit(pair, A)
    token = claim(pair)
    pair.replace_row(A)
    for verb in (Complete(A, token), Retry(A, token, 0, 3, b"late"), Extend(A, token, 10)):
        assert pair(verb) is Answer.GONE


def _malformed() -> list[Verb]:
    verbs: list[Verb] = [Claim(0), Claim(LONGEST + 1), Extend(A, 1, 0), Extend(A, 1, LONGEST + 1)]
    verbs += [Retry(A, 1, LONGEST + 1, 3, b""), Retry(A, 1, 0, 0, b"")]
    verbs += [Retry(A, 1, 0, MOST_COUNT + 1, b""), Reap(0), Reap(MOST_COUNT + 1)]
    verbs += [Promote(0), Promote(MOST_COUNT + 1)]
    for odd in MALFORMED:
        verbs += [Claim(odd), Extend(A, 1, odd), Retry(A, 1, odd, 3, b"")]
        verbs += [Retry(A, 1, 0, odd, b""), Reap(odd), Promote(odd)]
    return verbs


@pytest.mark.needs(Ability.RAW)
def test_C4_a_malformed_argument_changes_nothing(pair: Lockstep) -> None:
    admit(pair, A, B)
    claim(pair)
    for verb in _malformed():
        assert pair(verb) is Error.EMQARG
    assert pair(Complete(A, 1)) is Answer.DONE


@pytest.mark.needs(Ability.RAW)
def test_C4_a_malformed_argument_is_refused_before_the_fence_is_asked(pair: Lockstep) -> None:
    assert pair(Retry(A, 1, b"x", 3, b"")) is Error.EMQARG
    assert pair(Extend(A, 1, b"x")) is Error.EMQARG
    admit(pair, A)
    assert pair(Retry(A, 7, 0, b"x", b"")) is Error.EMQARG


def test_C4_the_bounds_themselves_are_accepted(pair: Lockstep) -> None:
    admit(pair, A, B)
    assert claim(pair, 1) == 1
    assert pair(Extend(A, 1, LONGEST)) is Answer.EXTENDED
    assert pair(Retry(A, 1, LONGEST, MOST_COUNT, b"")) is Answer.SCHEDULED
    assert claim(pair, LONGEST) == 1
    assert pair(Reap(MOST_COUNT)) == Moved(0)
    assert pair(Promote(MOST_COUNT)) == Moved(0)
    assert pair(Retry(B, 1, 0, 1, b"")) is Answer.DEAD


@pytest.mark.needs(Ability.OBSERVE)
def test_C4_enqueue_over_a_key_that_is_no_row_is_an_error(pair: Lockstep) -> None:
    pair.replace_row(A)
    assert pair(Enqueue(A, b"")) is Error.WRONGTYPE


@pytest.mark.needs(Ability.RESTORE)
@pytest.mark.parametrize("state", list(State), ids=str)
def test_C5_a_duplicate_changes_nothing(pair: Lockstep, state: State) -> None:
    later = Frozen({A: pair.now + 60_000})
    row = Job(b"first", state, attempts=2, last_error=b"failed", spent=1)
    empty = Queue(rows=Frozen({A: row}))
    held = {
        State.PENDING: empty._replace(pending=Frozen({A: 0})),
        State.ACTIVE: empty._replace(active=later),
        State.SCHEDULED: empty._replace(schedule=later),
        State.DEAD: empty._replace(dead=Frozen({A: 0})),
    }[state]
    pair.restore(held)
    assert pair(Enqueue(A, b"second")) is Answer.DUPLICATE
    assert pair.queue == held


@pytest.mark.parametrize("id", NOT_JOB_IDS, ids=lambda id: repr(id)[1:])
def test_C5_a_bad_id_is_refused(pair: Lockstep, id: bytes) -> None:
    assert pair(Enqueue(id, b"")) is Error.EMQKIND
    assert pair.queue == Queue()


@pytest.mark.parametrize("id", [b"JOB00000000000", b"JOBAzL8n0Y58m7"], ids=["least", "most"])
def test_C5_the_first_and_the_last_id_are_admitted(pair: Lockstep, id: bytes) -> None:
    assert pair(Enqueue(id, b"")) is Answer.ADMITTED


def test_C5_an_id_is_free_again_after_completion(pair: Lockstep) -> None:
    admit(pair, A)
    pair(Complete(A, claim(pair)))
    assert pair(Enqueue(A, b"again")) is Answer.ADMITTED


@pytest.mark.needs(Ability.OBSERVE)
def test_C5_an_id_is_free_again_once_its_row_is_gone(pair: Lockstep) -> None:
    admit(pair, A, C)
    pair.lose_row(A)
    assert pair(Enqueue(A, b"again")) is Answer.ADMITTED
    assert pair(Claim(10)) == Claimed(A, b"again", 1)
