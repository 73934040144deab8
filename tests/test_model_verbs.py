"""The machine: what each verb answers and leaves, branch by branch."""

import doctest
import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import emq_model
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
    Pause,
    Promote,
    Queue,
    Reap,
    Reply,
    Resume,
    Retry,
    Settle,
    State,
    Verb,
    frozen,
    ids,
    laws,
    live,
    queue,
    replies,
    step,
    verbs,
)
from emq_model.frozen import Frozen
from emq_model.queue import due, earliest

A, B, C = b"JOB0000000000A", b"JOB0000000000B", b"JOB0000000000C"


def ran(*verbs: Verb, start: Queue | None = None, now: int = 0) -> Queue:
    """The queue after these verbs, all at one instant."""
    state = Queue() if start is None else start
    for verb in verbs:
        state, reply = step(state, verb, now)
        assert not isinstance(reply, Error), (verb, reply)
    return state


def reply_to(state: Queue, verb: Verb, now: int = 0) -> Reply:
    return step(state, verb, now)[1]


def without_row(state: Queue, id: bytes) -> Queue:
    """The row of `id` is taken from outside: its index entry becomes a ghost."""
    return state._replace(rows=state.rows.drop(id))


def with_foreign(state: Queue, id: bytes) -> Queue:
    """A value of another type stands at the row key of `id`."""
    return without_row(state, id)._replace(foreign=state.foreign | {id})


# Job A, in each place that it can be.
PENDING = ran(Enqueue(A, b"a"))
ACTIVE = ran(Claim(lease=10), start=PENDING)  # token 1, deadline 10
SWEPT = ran(Reap(limit=1), start=ACTIVE, now=10)
RECLAIMED = ran(Claim(lease=10), start=SWEPT, now=10)  # token 2, deadline 20
SCHEDULED = ran(Retry(A, 1, delay=5, max_attempts=3, error=b"no"), start=ACTIVE)  # due at 5
DEAD = ran(Retry(A, 1, delay=5, max_attempts=1, error=b"no"), start=ACTIVE)

# --- enqueue -----------------------------------------------------------------------------------


def test_enqueue_writes_the_row_and_the_place() -> None:
    assert step(Queue(), Enqueue(A, b"a"), now=0) == (
        Queue(
            pending=Frozen({A: 0}),
            rows=Frozen({A: Job(b"a", State.PENDING, attempts=0, last_error=None, spent=None)}),
        ),
        Answer.ADMITTED,
    )


@pytest.mark.parametrize(
    "state",
    [PENDING, ACTIVE, SWEPT, SCHEDULED, DEAD],
    ids=["pending", "active", "swept", "scheduled", "dead"],
)
def test_C5_a_duplicate_changes_nothing(state: Queue) -> None:
    assert step(state, Enqueue(A, b"other"), now=99) == (state, Answer.DUPLICATE)


@pytest.mark.parametrize(
    "id", [b"", b"USR0000000000A", A + b"\n", b"job0000000000A", b"JOBAzL8n0Y58m8"]
)
def test_C5_a_bad_id_is_refused(id: bytes) -> None:
    assert step(PENDING, Enqueue(id, b""), now=0) == (PENDING, Error.EMQKIND)


def test_C5_a_bad_id_is_refused_before_anything_else() -> None:
    bad = b"USR0000000000A"
    has_row = Queue(rows=Frozen({bad: Job(b"")}))
    assert reply_to(has_row, Enqueue(bad, b"")) is Error.EMQKIND
    assert reply_to(with_foreign(Queue(), bad), Enqueue(bad, b"")) is Error.EMQKIND
    assert reply_to(Queue(paused=True), Enqueue(bad, b"")) is Error.EMQKIND


def test_C4_enqueue_at_a_foreign_row_key_changes_nothing() -> None:
    state = with_foreign(PENDING, A)
    assert step(state, Enqueue(A, b"a"), now=0) == (state, Error.WRONGTYPE)


def test_A1_an_id_enqueued_again_starts_over_so_a_token_of_its_first_life_is_live() -> None:
    first_life = ran(Enqueue(A, b"first"), Claim(lease=10))
    second_life = ran(Complete(A, 1), Enqueue(A, b"second"), Claim(lease=10), start=first_life)
    assert second_life.rows[A] == Job(b"second", State.ACTIVE, attempts=1)
    late_worker_of_the_first_life = Complete(A, token=1)
    assert reply_to(second_life, late_worker_of_the_first_life) is Answer.DONE


def test_A2_a_lost_claim_mints_its_token_twice() -> None:
    replica = PENDING
    assert reply_to(PENDING, Claim(lease=10)) == Claimed(A, b"a", token=1)
    assert reply_to(replica, Claim(lease=10), now=5) == Claimed(A, b"a", token=1)


# --- claim -------------------------------------------------------------------------------------


def test_F3_claim_mints_attempts_plus_one() -> None:
    assert step(SWEPT, Claim(lease=10), now=10) == (
        Queue(
            active=Frozen({A: 20}),
            rows=Frozen({A: Job(b"a", State.ACTIVE, attempts=2)}),
        ),
        Claimed(A, b"a", token=2),
    )


def test_L1_the_deadline_is_the_server_clock_plus_the_lease() -> None:
    state, _ = step(PENDING, Claim(lease=30), now=1_000)
    assert state.active == {A: 1_030}


def test_O1_claim_serves_the_byte_smallest() -> None:
    state = ran(Enqueue(C, b""), Enqueue(A, b"a"), Enqueue(B, b""))
    assert state.head == A
    assert reply_to(state, Claim(lease=1)) == Claimed(A, b"a", 1)


def test_claim_keeps_what_the_last_retry_left_in_the_row() -> None:
    state = ran(Promote(1), Claim(lease=10), start=SCHEDULED, now=5)
    assert state.rows[A] == Job(b"a", State.ACTIVE, attempts=2, last_error=b"no", spent=1)


def test_claim_on_an_empty_queue_is_empty() -> None:
    assert step(Queue(), Claim(lease=1), now=0) == (Queue(), Answer.EMPTY)


GHOSTLY = [
    pytest.param(without_row, id="row deleted"),
    pytest.param(with_foreign, id="row key foreign"),
]
Haunt = Callable[[Queue, bytes], Queue]


@pytest.mark.parametrize("haunt", GHOSTLY)
def test_C3_claim_consumes_a_ghost_and_writes_nothing_more(haunt: Haunt) -> None:
    state = haunt(ran(Enqueue(A, b"a"), Enqueue(B, b"b")), A)
    left, reply = step(state, Claim(lease=10), now=0)
    assert reply is Answer.EMPTY
    assert left == state._replace(pending=Frozen({B: 0}))
    assert reply_to(left, Claim(lease=10)) == Claimed(B, b"b", 1)


# --- the fence ---------------------------------------------------------------------------------

SETTLES: dict[str, Callable[[int | bytes], Settle]] = {
    "complete": lambda token: Complete(A, token),
    "retry": lambda token: Retry(A, token, delay=5, max_attempts=3, error=b"no"),
    "extend": lambda token: Extend(A, token, lease=10),
}
every_settle = pytest.mark.parametrize("settle", SETTLES.values(), ids=SETTLES)
SettleWith = Callable[[int | bytes], Settle]


@every_settle
@pytest.mark.parametrize(
    ("state", "token"),
    [
        pytest.param(PENDING, 0, id="never claimed, 0"),
        pytest.param(PENDING, 1, id="never claimed, 1"),
        pytest.param(ACTIVE, 0, id="active, 0"),
        pytest.param(ACTIVE, 2, id="active, the next"),
        pytest.param(ACTIVE, -1, id="active, negative"),
        pytest.param(SWEPT, 2, id="swept, the next"),
        pytest.param(RECLAIMED, 1, id="claimed again, the last holder's"),
        pytest.param(SCHEDULED, 1, id="scheduled, spent"),
        pytest.param(DEAD, 1, id="dead, spent"),
    ],
)
def test_F1_F2_a_stale_token_is_refused_and_nothing_changes(
    settle: SettleWith, state: Queue, token: int
) -> None:
    assert step(state, settle(token), now=15) == (state, Error.EMQSTALE)


@every_settle
def test_F4_only_the_latest_token_is_live(settle: SettleWith) -> None:
    accepted = [t for t in range(5) if reply_to(RECLAIMED, settle(t)) is not Error.EMQSTALE]
    assert accepted == [2]


ODD_SPELLINGS = {
    "leading zero": b"01",
    "plus": b"+1",
    "minus": b"-1",
    "leading blank": b" 1",
    "trailing blank": b"1 ",
    "leading newline": b"\n1",
    "trailing newline": b"1\n",
    "trailing NUL": b"1\0",
    "fraction": b"1.0",
    "exponent": b"1e1",
    "no exponent": b"1e0",
    "infinity": b"inf",
    "no number": b"nan",
    "hexadecimal": b"0x1",
    "underscore": b"1_0",
    "empty": b"",
    "blank": b" ",
    "word": b"one",
    "five thousand digits": b"1" * 5000,
    "a thousand zeros": b"0" * 1000 + b"1",
    "Arabic digit": "١".encode(),
    "fullwidth digit": "１".encode(),
    "no UTF-8": b"\xff",
}
odd_spellings = pytest.mark.parametrize("spelling", ODD_SPELLINGS.values(), ids=ODD_SPELLINGS)


@every_settle
@odd_spellings
def test_F5_only_the_canonical_spelling_is_live(settle: SettleWith, spelling: bytes) -> None:
    assert step(ACTIVE, settle(spelling), now=0) == (ACTIVE, Error.EMQSTALE)


@every_settle
def test_F5_the_canonical_bytes_are_as_good_as_the_number(settle: SettleWith) -> None:
    assert step(ACTIVE, settle(b"1"), now=1)[0] == step(ACTIVE, settle(1), now=1)[0] != ACTIVE


@every_settle
@pytest.mark.parametrize("zero", [0, b"0"])
def test_F5_zero_is_never_live(settle: SettleWith, zero: int | bytes) -> None:
    assert PENDING.rows[A].attempts == 0
    assert step(PENDING, settle(zero), now=0) == (PENDING, Error.EMQSTALE)


@every_settle
def test_F6_a_spent_token_is_stale_for_good(settle: SettleWith) -> None:
    promoted = ran(Promote(1), start=SCHEDULED, now=5)
    claimed_again = ran(Claim(lease=10), start=promoted, now=5)
    for state in (SCHEDULED, promoted, claimed_again, DEAD):
        assert reply_to(state, settle(1)) is Error.EMQSTALE


def test_F6_the_claim_after_a_retry_has_a_live_token() -> None:
    claimed_again = ran(Promote(1), Claim(lease=10), start=SCHEDULED, now=5)
    assert live(claimed_again, A, 2)


@every_settle
@pytest.mark.parametrize("haunt", GHOSTLY)
@pytest.mark.parametrize("token", [0, 1, b"odd"])
def test_a_settle_without_a_row_is_gone(
    settle: SettleWith, haunt: Haunt, token: int | bytes
) -> None:
    state = haunt(ACTIVE, A)
    assert step(state, settle(token), now=0) == (state, Answer.GONE)


def test_an_id_that_no_job_can_have_is_gone() -> None:
    assert reply_to(ACTIVE, Complete(b"no job id", 1)) is Answer.GONE


# --- complete ----------------------------------------------------------------------------------


def test_complete_deletes_the_row_and_the_lease() -> None:
    assert step(ACTIVE, Complete(A, 1), now=0) == (Queue(), Answer.DONE)


def test_complete_of_a_swept_job_takes_it_out_of_pending() -> None:
    assert SWEPT.pending == {A: 0}
    assert step(SWEPT, Complete(A, 1), now=10) == (Queue(), Answer.DONE)


def test_complete_twice_is_gone() -> None:
    assert reply_to(ran(Complete(A, 1), start=ACTIVE), Complete(A, 1)) is Answer.GONE


# --- retry -------------------------------------------------------------------------------------


def test_retry_schedules_the_job_and_spends_the_token() -> None:
    assert step(ACTIVE, Retry(A, 1, delay=5, max_attempts=3, error=b"no"), now=7) == (
        Queue(
            schedule=Frozen({A: 12}),
            rows=Frozen({A: Job(b"a", State.SCHEDULED, attempts=1, last_error=b"no", spent=1)}),
        ),
        Answer.SCHEDULED,
    )


def test_retry_of_a_swept_job_takes_it_out_of_pending() -> None:
    state, reply = step(SWEPT, Retry(A, 1, delay=5, max_attempts=3, error=b""), now=10)
    assert reply is Answer.SCHEDULED
    assert (state.pending, state.schedule) == ({}, {A: 15})


def test_retry_with_delay_0_is_due_at_once() -> None:
    state = ran(Retry(A, 1, delay=0, max_attempts=3, error=b""), start=ACTIVE, now=7)
    assert reply_to(state, Promote(1), now=7) == Moved(1)


def test_retry_keeps_the_latest_error_and_the_latest_spent_token() -> None:
    again = ran(Promote(1), Claim(lease=10), start=SCHEDULED, now=5)
    state = ran(Retry(A, 2, delay=5, max_attempts=3, error=b"worse"), start=again)
    assert state.rows[A] == Job(b"a", State.SCHEDULED, 2, last_error=b"worse", spent=2)


def test_retry_at_max_attempts_is_dead() -> None:
    assert step(ACTIVE, Retry(A, 1, delay=5, max_attempts=1, error=b"no"), now=0) == (
        Queue(
            dead=Frozen({A: 0}),
            rows=Frozen({A: Job(b"a", State.DEAD, attempts=1, last_error=b"no", spent=1)}),
        ),
        Answer.DEAD,
    )


def test_retry_of_a_swept_job_at_max_attempts_is_dead_and_not_pending() -> None:
    state = ran(Retry(A, 1, delay=5, max_attempts=1, error=b"no"), start=SWEPT)
    assert (state.pending, state.dead) == ({}, {A: 0})


@pytest.mark.parametrize(
    ("most", "reply"),
    [
        pytest.param(1, Answer.DEAD, id="above"),
        pytest.param(2, Answer.DEAD, id="at"),
        pytest.param(3, Answer.SCHEDULED, id="below"),
    ],
)
def test_retry_with_two_attempts_against_max_attempts(most: int, reply: Reply) -> None:
    assert RECLAIMED.rows[A].attempts == 2
    assert reply_to(RECLAIMED, Retry(A, 2, delay=0, max_attempts=most, error=b"")) is reply


# --- extend ------------------------------------------------------------------------------------


@pytest.mark.parametrize("lease", [1, 100], ids=["shorter", "longer"])
def test_L2_extend_sets_the_deadline_from_the_server_clock(lease: int) -> None:
    assert step(ACTIVE, Extend(A, 1, lease), now=4) == (
        ACTIVE._replace(active=Frozen({A: 4 + lease})),
        Answer.EXTENDED,
    )


def test_extend_takes_a_swept_job_back() -> None:
    assert step(SWEPT, Extend(A, 1, lease=10), now=12) == (
        ACTIVE._replace(active=Frozen({A: 22})),
        Answer.EXTENDED,
    )


def test_extend_does_not_mint_a_token() -> None:
    assert live(ran(Extend(A, 1, lease=10), start=ACTIVE), A, 1)


# --- reap --------------------------------------------------------------------------------------

# Three leases: B lapses at 10, A and C at 20.
LEASED = Queue(
    active=Frozen({A: 20, B: 10, C: 20}),
    rows=Frozen({id: Job(b"", State.ACTIVE, attempts=1) for id in (C, B, A)}),
)


def test_R2_a_swept_job_is_pending_at_score_0_with_its_attempts() -> None:
    assert step(RECLAIMED, Reap(limit=1), now=20) == (
        Queue(pending=Frozen({A: 0}), rows=Frozen({A: Job(b"a", State.PENDING, attempts=2)})),
        Moved(1),
    )


def test_R2_the_next_claim_of_a_swept_job_mints_the_next_token() -> None:
    assert reply_to(SWEPT, Claim(lease=10)) == Claimed(A, b"a", token=2)


@pytest.mark.parametrize(
    ("now", "swept"),
    [(9, []), (10, [B]), (19, [B]), (20, [A, B, C]), (10**15, [A, B, C])],
)
def test_R1_reap_takes_exactly_the_lapsed(now: int, swept: list[bytes]) -> None:
    state, reply = step(LEASED, Reap(limit=99), now)
    assert sorted(state.pending) == swept
    assert reply == Moved(len(swept))


@pytest.mark.parametrize(("limit", "swept"), [(1, [B]), (2, [A, B]), (3, [A, B, C])])
def test_R1_reap_takes_the_earliest_first_ties_in_byte_order(
    limit: int, swept: list[bytes]
) -> None:
    state, reply = step(LEASED, Reap(limit), now=20)
    assert sorted(state.pending) == swept
    assert sorted(state.active) == sorted({A, B, C} - set(swept))
    assert reply == Moved(limit)


def test_R3_reap_again_at_the_same_instant_moves_nothing() -> None:
    swept = ran(Reap(limit=99), start=LEASED, now=10)
    assert step(swept, Reap(limit=99), now=10) == (swept, Moved(0))


def test_R4_past_every_deadline_reap_and_claim_reach_every_job() -> None:
    state, reached = ran(Reap(limit=99), start=LEASED, now=20), []
    while isinstance(claimed := reply_to(state, Claim(lease=1)), Claimed):
        reached.append(claimed.id)
        state = ran(Claim(lease=1), start=state)
    assert reached == [A, B, C]


@pytest.mark.parametrize("haunt", GHOSTLY)
def test_C3_reap_consumes_a_ghost_and_recovers_the_others(haunt: Haunt) -> None:
    state, reply = step(haunt(LEASED, B), Reap(limit=99), now=20)
    assert reply == Moved(3)
    assert state.active == {}
    assert state.pending == {A: 0, C: 0}
    assert B not in state.rows


def test_reap_counts_a_ghost_against_its_limit() -> None:
    state, reply = step(without_row(LEASED, B), Reap(limit=1), now=20)
    assert reply == Moved(1)
    assert (state.pending, state.active) == ({}, {A: 20, C: 20})


# --- promote -----------------------------------------------------------------------------------

# Three retries: B is due at 10, A and C at 20.
WAITING = Queue(
    schedule=Frozen({A: 20, B: 10, C: 20}),
    rows=Frozen({id: Job(b"", State.SCHEDULED, 1, b"no", spent=1) for id in (C, B, A)}),
)


def test_promote_makes_the_job_pending_and_keeps_its_row() -> None:
    assert step(SCHEDULED, Promote(limit=1), now=5) == (
        Queue(
            pending=Frozen({A: 0}),
            rows=Frozen({A: Job(b"a", State.PENDING, attempts=1, last_error=b"no", spent=1)}),
        ),
        Moved(1),
    )


@pytest.mark.parametrize(("now", "moved"), [(9, []), (10, [B]), (19, [B]), (20, [A, B, C])])
def test_promote_takes_exactly_the_due(now: int, moved: list[bytes]) -> None:
    state, reply = step(WAITING, Promote(limit=99), now)
    assert sorted(state.pending) == moved
    assert reply == Moved(len(moved))


@pytest.mark.parametrize(("limit", "moved"), [(1, [B]), (2, [A, B]), (3, [A, B, C])])
def test_promote_takes_the_earliest_first_ties_in_byte_order(
    limit: int, moved: list[bytes]
) -> None:
    state, reply = step(WAITING, Promote(limit), now=20)
    assert sorted(state.pending) == moved
    assert sorted(state.schedule) == sorted({A, B, C} - set(moved))
    assert reply == Moved(limit)


@pytest.mark.parametrize("haunt", GHOSTLY)
def test_C3_promote_consumes_a_ghost_and_moves_the_others(haunt: Haunt) -> None:
    state, reply = step(haunt(WAITING, B), Promote(limit=99), now=20)
    assert reply == Moved(3)
    assert state.schedule == {}
    assert state.pending == {A: 0, C: 0}
    assert B not in state.rows


# --- pause and resume --------------------------------------------------------------------------


def test_P1_a_paused_queue_claims_empty_and_keeps_its_backlog() -> None:
    paused, reply = step(PENDING, Pause(), now=0)
    assert (paused, reply) == (PENDING._replace(paused=True), Answer.OK)
    assert step(paused, Claim(lease=10), now=0) == (paused, Answer.EMPTY)


def test_P1_a_paused_claim_does_not_consume_a_ghost() -> None:
    paused = without_row(PENDING, A)._replace(paused=True)
    assert step(paused, Claim(lease=10), now=0) == (paused, Answer.EMPTY)


@pytest.mark.parametrize(
    ("state", "verb"),
    [
        pytest.param(PENDING, Enqueue(B, b""), id="enqueue"),
        pytest.param(ACTIVE, Complete(A, 1), id="complete"),
        pytest.param(ACTIVE, Retry(A, 1, 5, 3, b""), id="retry"),
        pytest.param(ACTIVE, Extend(A, 1, 50), id="extend"),
        pytest.param(ACTIVE, Reap(1), id="reap"),
        pytest.param(SCHEDULED, Promote(1), id="promote"),
    ],
)
def test_P1_every_verb_but_claim_goes_on_while_paused(state: Queue, verb: Verb) -> None:
    after, reply = step(state, verb, now=10)
    assert after != state
    paused = state._replace(paused=True)
    assert step(paused, verb, now=10) == (after._replace(paused=True), reply)


def test_P2_resume_restores_the_same_head() -> None:
    paused = ran(Pause(), start=PENDING)
    assert step(paused, Resume(), now=0) == (PENDING, Answer.OK)


@pytest.mark.parametrize("flag", [Pause(), Resume()], ids=["pause", "resume"])
def test_pause_and_resume_may_be_said_twice(flag: Verb) -> None:
    once = ran(flag, start=PENDING)
    assert step(once, flag, now=0) == (once, Answer.OK)


# --- arguments ---------------------------------------------------------------------------------

SLOTS: dict[str, tuple[Queue, Callable[[int | bytes], Verb]]] = {
    "claim lease": (PENDING, Claim),
    "extend lease": (ACTIVE, lambda lease: Extend(A, 1, lease)),
    "retry delay": (ACTIVE, lambda delay: Retry(A, 1, delay, 3, b"")),
    "retry max_attempts": (ACTIVE, lambda most: Retry(A, 1, 5, most, b"")),
    "reap limit": (LEASED, Reap),
    "promote limit": (WAITING, Promote),
}
BOUNDS = {
    "claim lease": (1, 2**52),
    "extend lease": (1, 2**52),
    "retry delay": (0, 2**52),
    "retry max_attempts": (1, 2**31 - 1),
    "reap limit": (1, 2**31 - 1),
    "promote limit": (1, 2**31 - 1),
}
every_slot = pytest.mark.parametrize("slot", SLOTS)


@every_slot
@pytest.mark.parametrize("side", [0, 1], ids=["least", "most"])
def test_an_argument_at_its_bound_is_accepted(slot: str, side: int) -> None:
    state, verb = SLOTS[slot]
    assert not isinstance(reply_to(state, verb(BOUNDS[slot][side]), now=20), Error)


@every_slot
@pytest.mark.parametrize("side", [0, 1], ids=["below", "above"])
def test_C4_an_argument_beyond_its_bound_is_refused(slot: str, side: int) -> None:
    state, verb = SLOTS[slot]
    beyond = (BOUNDS[slot][0] - 1, BOUNDS[slot][1] + 1)[side]
    assert step(state, verb(beyond), now=20) == (state, Error.EMQARG)


@every_slot
@odd_spellings
def test_C4_an_odd_spelling_is_refused(slot: str, spelling: bytes) -> None:
    state, verb = SLOTS[slot]
    assert step(state, verb(spelling), now=20) == (state, Error.EMQARG)


@every_slot
def test_the_canonical_bytes_say_the_same_as_the_number(slot: str) -> None:
    state, verb = SLOTS[slot]
    assert step(state, verb(b"10"), now=20) == step(state, verb(10), now=20)


@pytest.mark.parametrize(
    ("state", "verb"),
    [
        pytest.param(Queue(), Claim(0), id="claim, empty"),
        pytest.param(PENDING._replace(paused=True), Claim(0), id="claim, paused"),
        pytest.param(without_row(PENDING, A), Claim(0), id="claim, ghost"),
        pytest.param(Queue(), Retry(A, 1, -1, 1, b""), id="retry, gone"),
        pytest.param(RECLAIMED, Retry(A, 1, 5, 0, b""), id="retry, stale"),
        pytest.param(Queue(), Extend(A, 1, 0), id="extend, gone"),
        pytest.param(RECLAIMED, Extend(A, 1, 0), id="extend, stale"),
    ],
)
def test_C4_a_malformed_argument_is_refused_before_the_queue_is_looked_at(
    state: Queue, verb: Verb
) -> None:
    assert step(state, verb, now=0) == (state, Error.EMQARG)


# --- policies, where real queues differ --------------------------------------------------------


@every_settle
@pytest.mark.parametrize("state", [ACTIVE, SWEPT], ids=["lapsed", "swept"])
def test_policy_a_settle_after_the_deadline_is_accepted(settle: SettleWith, state: Queue) -> None:
    assert reply_to(state, settle(1), now=10**6) in (
        Answer.DONE,
        Answer.SCHEDULED,
        Answer.EXTENDED,
    )


@every_settle
def test_policy_a_settle_after_the_next_claim_is_not_accepted(settle: SettleWith) -> None:
    assert reply_to(RECLAIMED, settle(1), now=10) is Error.EMQSTALE


def test_policy_a_lapse_costs_an_attempt() -> None:
    first_retry_of_a_job_that_lapsed_once = Retry(A, 2, delay=0, max_attempts=2, error=b"")
    assert reply_to(RECLAIMED, first_retry_of_a_job_that_lapsed_once) is Answer.DEAD


def test_policy_extend_sets_and_never_adds() -> None:
    state = ran(Extend(A, 1, lease=10), Extend(A, 1, lease=10), start=ACTIVE)
    assert state.active == {A: 10}


def test_policy_a_swept_job_goes_back_to_its_place_by_id() -> None:
    claimed = ran(Enqueue(A, b"a"), Enqueue(B, b"b"), Enqueue(C, b"c"), Claim(10), Claim(99))
    swept = ran(Reap(limit=1), start=claimed, now=10)
    assert earliest(swept.pending) == [A, C]


def test_policy_a_dead_id_stays_a_duplicate() -> None:
    assert reply_to(DEAD, Enqueue(A, b"a"), now=10**6) is Answer.DUPLICATE


# --- the order of an index ---------------------------------------------------------------------


def test_an_index_is_ordered_by_score_then_by_bytes() -> None:
    index = Frozen({C: 0, B: 7, A: 7})
    assert earliest(index) == [C, A, B]
    assert due(index, now=6) == [C]
    assert Queue(pending=index).head == C


def test_L3_an_instant_before_the_last_one_is_as_good() -> None:
    went_back = ran(Claim(lease=10), start=SWEPT, now=-1_000)
    assert went_back.active == {A: -990}


# --- step is total, pure, and answers only what the protocol knows -----------------------------

ids_ = st.sampled_from([A, B, C, b"", b"USR0000000000A"])
instants = st.integers(-(2**60), 2**60) | st.integers(-20, 20)
indexes = st.dictionaries(ids_, instants).map(Frozen)
jobs = st.builds(
    Job,
    payload=st.binary(max_size=2),
    state=st.sampled_from(State),
    attempts=st.integers(-1, 3) | st.integers(),
    last_error=st.none() | st.binary(max_size=2),
    spent=st.none() | st.integers(-1, 3),
)
queues = st.builds(
    Queue,
    pending=indexes,
    active=indexes,
    schedule=indexes,
    dead=indexes,
    rows=st.dictionaries(ids_, jobs).map(Frozen),
    foreign=st.frozensets(ids_),
    paused=st.booleans(),
)
numbers = (
    st.integers(-1, 4)
    | st.integers(-(2**70), 2**70)
    | st.binary(max_size=3)
    | st.sampled_from([b"1", b"2", *ODD_SPELLINGS.values()])
)
payloads = st.binary(max_size=2)
settles = (
    st.builds(Complete, ids_, numbers)
    | st.builds(Retry, ids_, numbers, numbers, numbers, payloads)
    | st.builds(Extend, ids_, numbers, numbers)
)
all_verbs = (
    settles
    | st.builds(Enqueue, ids_, payloads)
    | st.builds(Claim, numbers)
    | st.builds(Reap, numbers)
    | st.builds(Promote, numbers)
    | st.sampled_from([Pause(), Resume()])
)


@given(queues, all_verbs, instants)
def test_C4_step_is_total_and_pure_and_an_error_changes_nothing(
    state: Queue, verb: Verb, now: int
) -> None:
    as_it_was = repr(state)
    after, reply = step(state, verb, now)
    assert isinstance(reply, Answer | Claimed | Moved | Error)
    assert after == state or not isinstance(reply, Error)
    assert isinstance(hash((after, reply)), int)
    assert repr(state) == as_it_was
    assert step(state, verb, now) == (after, reply)


@given(queues, settles, instants, instants)
def test_L4_no_clock_decides_whether_a_token_is_live(
    state: Queue, settle: Settle, now: int, other: int
) -> None:
    assert reply_to(state, settle, now) == reply_to(state, settle, other)


# --- the container -----------------------------------------------------------------------------

MUTATORS: dict[str, Callable[[Any], object]] = {
    "[]=": lambda mapping: operator.setitem(mapping, "b", 2),
    "del": lambda mapping: operator.delitem(mapping, "a"),
    "|=": lambda mapping: mapping.__ior__({"b": 2}),
    "clear": lambda mapping: mapping.clear(),
    "pop": lambda mapping: mapping.pop("a"),
    "popitem": lambda mapping: mapping.popitem(),
    "setdefault": lambda mapping: mapping.setdefault("b", 2),
    "update": lambda mapping: mapping.update(b=2),
}


@pytest.mark.parametrize("mutate", MUTATORS.values(), ids=MUTATORS)
def test_a_frozen_mapping_refuses_to_change(mutate: Callable[[Any], object]) -> None:
    mapping = Frozen({"a": 1})
    with pytest.raises(TypeError, match="does not change"):
        mutate(mapping)
    assert mapping == {"a": 1}


def test_a_frozen_mapping_has_no_attributes_to_set() -> None:
    with pytest.raises(AttributeError):
        Frozen().note = "x"  # type: ignore[attr-defined]


def test_put_and_drop_leave_the_original_alone() -> None:
    one = Frozen({"a": 1})
    assert one.put("a", 2) == {"a": 2}
    assert one.drop("a") == {}
    assert one.drop("b") is one
    assert one == {"a": 1}


@given(st.dictionaries(st.integers(0, 3), st.integers(0, 3)))
def test_equal_mappings_hash_alike_whatever_their_order(entries: dict[int, int]) -> None:
    mapping = Frozen(entries)
    turned = Frozen(dict(reversed(entries.items())))
    assert mapping == turned == entries
    assert hash(mapping) == hash(turned)


def test_a_queue_refuses_to_change() -> None:
    with pytest.raises(AttributeError):
        PENDING.paused = True  # type: ignore[misc]
    with pytest.raises(AttributeError):
        PENDING.rows[A].attempts = 7  # type: ignore[misc]


# --- the examples in the words -----------------------------------------------------------------


@pytest.mark.parametrize(
    "module",
    [emq_model, frozen, ids, laws, queue, replies, verbs],
    ids=lambda module: module.__name__,
)
def test_the_examples_in_the_words_are_true(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0
