"""The laws: the machine keeps every one of them, and every one of them can be broken."""

import copy
import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

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
    State,
    Verb,
    step,
)
from emq_model.frozen import Frozen
from emq_model.laws import BY_ID, HOLDS, LAWS, RULES, VACUOUS, Law, Transition, findings

A, B, C = b"JOB0000000000A", b"JOB0000000000B", b"JOB0000000000C"
IDS = (A, B, C)

CHECKED = [law for law in (*LAWS, *RULES) if law.check is not None]
every_checked_law = pytest.mark.parametrize("law", CHECKED, ids=lambda law: law.id)


def check(law: Law, seen: Transition) -> bool | str:
    assert law.check is not None
    return law.check(seen)


# --- the table ---------------------------------------------------------------------------------


def test_the_laws_are_the_protocols_in_its_order() -> None:
    assert [law.id for law in LAWS] == [
        *("F1", "F2", "F3", "F4", "F5", "F6"),
        *("L1", "L2", "L3", "L4"),
        *("R1", "R2", "R3", "R4"),
        *("C1", "C2", "C3", "C4", "C5"),
        "O1",
        *("P1", "P2", "P3"),
        *("W1", "W2", "W3"),
    ]


def test_the_laws_without_a_check_are_those_that_no_step_can_show() -> None:
    assert [law.id for law in LAWS if law.check is None] == ["P3", "W1", "W2", "W3"]


def test_there_is_one_rule_for_each_verb() -> None:
    verbs = [verb.__name__.lower() for verb in Verb.__args__]
    assert [law.id for law in RULES] == verbs


def test_every_law_is_found_by_its_id() -> None:
    assert list(BY_ID.values()) == [*LAWS, *RULES]


# --- the machine keeps every law: a random walk ------------------------------------------------

TOKENS: tuple[int | bytes, ...] = (0, 1, 2, 3, 4, b"01", b"+2", b"")
LEASES: tuple[int | bytes, ...] = (1, 10, 30, 2**52, 0, b"inf")
LIMITS: tuple[int | bytes, ...] = (1, 2, 99, 0, b"-1")

VERBS: dict[str, list[Verb]] = {
    "enqueue": [Enqueue(id, b"payload") for id in (*IDS, b"USR0000000000A")],
    "claim": [Claim(lease) for lease in LEASES],
    "complete": [Complete(id, token) for id in IDS for token in TOKENS],
    "retry": [
        Retry(id, token, delay, most, b"error")
        for id in IDS
        for token in TOKENS
        for delay in (0, 10, 2**52, -1)
        for most in (1, 2, 4, 0)
    ],
    "extend": [Extend(id, token, lease) for id in IDS for token in TOKENS for lease in LEASES],
    "reap": [Reap(limit) for limit in LIMITS],
    "promote": [Promote(limit) for limit in LIMITS],
    "pause": [Pause()],
    "resume": [Resume()],
}


class Walk:
    """A run of the machine, with what the outside does to its keys and its clocks."""

    def __init__(self) -> None:
        self.queue = Queue()
        self.now = 1_000
        self.last_now: int | None = None
        self.reached: Counter[str] = Counter()

    def move(self, verb: Verb, tick: int, skew: int) -> None:
        """The clock moves by `tick`, then a worker whose clock is `skew` off asks for `verb`."""
        self.now += tick
        after, reply = step(self.queue, verb, self.now)
        seen = Transition(
            self.queue, verb, self.now, reply, after, self.now + skew, last_now=self.last_now
        )
        for law, finding in findings(seen):
            assert finding is HOLDS, (law.id, finding, seen)
            self.reached[law.id] += 1
        self.queue, self.last_now = after, self.now

    def delete(self, id: bytes) -> None:
        """The outside deletes what stands at the row key."""
        self.queue = self.queue._replace(
            rows=self.queue.rows.drop(id), foreign=self.queue.foreign - {id}
        )

    def make_foreign(self, id: bytes) -> None:
        """The outside puts something else at the row key."""
        self.delete(id)
        self.queue = self.queue._replace(foreign=self.queue.foreign | {id})


class RandomWalk(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.walk = Walk()

    @rule(
        verb=st.one_of(*map(st.sampled_from, VERBS.values())),
        tick=st.integers(-20, 20) | st.just(0) | st.integers(-(2**53), 2**53),
        skew=st.integers(-50, 50),
    )
    def move(self, verb: Verb, tick: int, skew: int) -> None:
        self.walk.move(verb, tick, skew)

    @rule(id=st.sampled_from(IDS))
    def delete(self, id: bytes) -> None:
        self.walk.delete(id)

    @rule(id=st.sampled_from(IDS))
    def make_foreign(self, id: bytes) -> None:
        self.walk.make_foreign(id)


def test_no_walk_of_the_machine_breaks_a_law() -> None:
    run_state_machine_as_test(
        RandomWalk, settings=settings(max_examples=100, stateful_step_count=40, deadline=None)
    )


def test_a_walk_reaches_every_law() -> None:
    reached: Counter[str] = Counter()
    choose = random.Random(2024)
    for _ in range(50):
        walk = Walk()
        for _ in range(100):
            verbs = choose.choice(list(VERBS.values()))
            walk.move(choose.choice(verbs), choose.randint(-10, 20), choose.randint(-50, 50))
            if choose.random() < 0.03:
                outside = choose.choice([walk.delete, walk.make_foreign])
                outside(choose.choice(IDS))
        reached += walk.reached
    assert {law.id for law in CHECKED} - reached.keys() == set()


# --- every law can be broken: one step each, with a fault in it --------------------------------


def ran(*verbs: Verb, start: Queue | None = None, now: int = 0) -> Queue:
    """The queue after these verbs, all at one instant."""
    state = Queue() if start is None else start
    for verb in verbs:
        state, _ = step(state, verb, now)
    return state


def ghosts(state: Queue, *ids: bytes) -> Queue:
    """The rows of `ids` are gone."""
    return state._replace(rows=Frozen({k: v for k, v in state.rows.items() if k not in ids}))


def with_row(queue: Queue, id: bytes, **fields: Any) -> Queue:
    """The row of `id` says something else."""
    return queue._replace(rows=queue.rows.put(id, queue.rows[id]._replace(**fields)))


def right(before: Queue, verb: Verb, now: int = 0, last_now: int | None = None) -> Transition:
    """The step that the machine makes."""
    after, reply = step(before, verb, now)
    return Transition(before, verb, now, reply, after, last_now=last_now)


def paused(state: Queue) -> Queue:
    return state._replace(paused=True)


# Job A alone, in each place that it can be.
PENDING = ran(Enqueue(A, b"a"))
ACTIVE = ran(Claim(10), start=PENDING)  # token 1, deadline 10
SWEPT = ran(Reap(1), start=ACTIVE, now=10)
RECLAIMED = ran(Claim(10), start=SWEPT, now=10)  # token 2, deadline 20
SCHEDULED = ran(Retry(A, 1, 5, 3, b"no"), start=ACTIVE)  # due at 5
DEAD = ran(Retry(A, 1, 5, 1, b"no"), start=ACTIVE)

TWO_PENDING = ran(Enqueue(A, b"a"), Enqueue(B, b"b"))
TWO_ACTIVE = ran(Claim(10), Claim(20), start=TWO_PENDING)  # deadlines 10 and 20
PAUSED = paused(PENDING)

ADMIT = right(Queue(), Enqueue(A, b"a"))
CLAIM = right(SWEPT, Claim(10), now=10)
COMPLETE = right(ACTIVE, Complete(A, 1))
RETRY = right(ACTIVE, Retry(A, 1, 5, 3, b"no"))
DEATH = right(ACTIVE, Retry(A, 1, 5, 1, b"no"))
EXTEND = right(ACTIVE, Extend(A, 1, 10), now=5)
REAP = right(TWO_ACTIVE, Reap(1), now=20)
REAP_ALL = right(TWO_ACTIVE, Reap(99), now=20)
PROMOTE = right(SCHEDULED, Promote(1), now=5)
LATE_COMPLETE = right(RECLAIMED, Complete(A, 1), now=15)  # by the first holder
LATE_EXTEND = right(RECLAIMED, Extend(A, 1, 10), now=15)
ODD_COMPLETE = right(ACTIVE, Complete(A, b"01"))
SIGNED_COMPLETE = right(RECLAIMED, Complete(A, b"+2"))
SPENT_COMPLETE = right(SCHEDULED, Complete(A, 1))
TWO_CLAIM = right(TWO_PENDING, Claim(10))
BACK_CLAIM = right(SWEPT, Claim(10), now=10, last_now=11)
PAUSED_COMPLETE = right(paused(ACTIVE), Complete(A, 1))
PAUSED_REAP = right(paused(ACTIVE), Reap(1), now=10)
PAUSED_ENQUEUE = right(paused(Queue()), Enqueue(A, b"a"))
PAUSED_PROMOTE = right(paused(SCHEDULED), Promote(1), now=5)
GHOST_CLAIM = right(ghosts(PENDING, A), Claim(10))
GHOST_REAP = right(ghosts(ACTIVE, A), Reap(1), now=10)
GHOST_PROMOTE = right(ghosts(SCHEDULED, A), Promote(1), now=5)
PAUSED_CLAIM = right(PAUSED, Claim(10))
PAUSED_GHOST_CLAIM = right(ghosts(PAUSED, A), Claim(10))
RESUME = right(PAUSED, Resume())

Faults = dict[str, tuple[Transition, Reply | None, Queue]]
"""By what is wrong: the step that the machine makes, the faulty reply, the faulty queue."""

FAULTS: dict[str, Faults] = {
    "F1": {
        "a late holder completes": (LATE_COMPLETE, Answer.DONE, Queue()),
        "a late holder is told that the job is gone": (LATE_COMPLETE, Answer.GONE, RECLAIMED),
        "a late holder gets no answer of the protocol": (LATE_COMPLETE, None, RECLAIMED),
        "a token is taken for a number": (ODD_COMPLETE, Answer.DONE, Queue()),
        "a job never claimed is completed": (
            right(PENDING, Complete(A, 0)),
            Answer.DONE,
            Queue(),
        ),
    },
    "F2": {
        "a refused complete deletes the row": (LATE_COMPLETE, Error.EMQSTALE, Queue()),
        "a refused retry notes its error": (
            right(RECLAIMED, Retry(A, 1, 5, 3, b"late")),
            Error.EMQSTALE,
            with_row(RECLAIMED, A, last_error=b"late"),
        ),
    },
    "F3": {
        "a second claim answers the first token": (
            CLAIM,
            Claimed(A, b"a", token=1),
            with_row(CLAIM.after, A, attempts=1),
        ),
        "a claim answers what it does not write": (
            CLAIM,
            CLAIM.reply,
            with_row(CLAIM.after, A, attempts=1),
        ),
        "a claim deletes the row": (CLAIM, CLAIM.reply, ghosts(CLAIM.after, A)),
        "a sweep takes the attempt back": (
            REAP,
            REAP.reply,
            with_row(REAP.after, A, attempts=0),
        ),
        "a claim raises another row's attempts": (
            TWO_CLAIM,
            TWO_CLAIM.reply,
            with_row(TWO_CLAIM.after, B, attempts=1),
        ),
    },
    "F4": {
        "the holder before still extends": (
            LATE_EXTEND,
            Answer.EXTENDED,
            RECLAIMED._replace(active=Frozen({A: 25})),
        ),
        "the holder before still completes, spelled oddly": (
            right(RECLAIMED, Complete(A, b"01")),
            Answer.DONE,
            Queue(),
        ),
        "a token that nobody minted yet completes": (
            right(ACTIVE, Complete(A, 2)),
            Answer.DONE,
            Queue(),
        ),
        "the live token is accepted with a sign": (SIGNED_COMPLETE, Answer.DONE, Queue()),
    },
    "F5": {
        "a leading zero is read over": (ODD_COMPLETE, Answer.DONE, Queue()),
        "a sign is read over": (SIGNED_COMPLETE, Answer.DONE, Queue()),
        "an odd token deletes the row without a word": (ODD_COMPLETE, None, Queue()),
        "0 is live before the first claim": (
            right(PENDING, Complete(A, 0)),
            Answer.DONE,
            Queue(),
        ),
    },
    "F6": {
        "promote forgets what was spent": (
            PROMOTE,
            PROMOTE.reply,
            with_row(PROMOTE.after, A, spent=None),
        ),
        "a token settles twice": (SPENT_COMPLETE, Answer.DONE, Queue()),
        "a spent token deletes the row without a word": (SPENT_COMPLETE, None, Queue()),
        "retry spends nothing": (RETRY, RETRY.reply, with_row(RETRY.after, A, spent=None)),
        "retry spends the token before": (
            RETRY,
            RETRY.reply,
            with_row(RETRY.after, A, spent=0),
        ),
        "death spends nothing": (DEATH, DEATH.reply, with_row(DEATH.after, A, spent=None)),
        "a dead job is retried": (
            right(DEAD, Retry(A, 1, 5, 3, b"no")),
            Answer.SCHEDULED,
            SCHEDULED,
        ),
    },
    "L1": {
        "the lease is doubled": (
            CLAIM,
            CLAIM.reply,
            CLAIM.after._replace(active=Frozen({A: 30})),
        ),
        "the deadline is not in active": (
            CLAIM,
            CLAIM.reply,
            CLAIM.after._replace(active=Frozen()),
        ),
        "a malformed lease is granted": (
            right(PENDING, Claim(b"1e1")),
            Claimed(A, b"a", 1),
            ACTIVE,
        ),
    },
    "L2": {
        "extend adds to the deadline": (
            EXTEND,
            EXTEND.reply,
            EXTEND.after._replace(active=Frozen({A: 20})),
        ),
        "extend never shortens": (
            right(ACTIVE, Extend(A, 1, 1)),
            Answer.EXTENDED,
            ACTIVE,
        ),
    },
    "L3": {
        "a claim goes by the worker's clock": (
            replace(CLAIM, worker_now=7),
            CLAIM.reply,
            step(SWEPT, Claim(10), now=7)[0],
        ),
        "a sweep goes by the worker's clock": (
            replace(REAP_ALL, worker_now=10),
            Moved(1),
            step(TWO_ACTIVE, Reap(99), now=10)[0],
        ),
    },
    "L4": {
        "a late holder completes after its deadline": (
            replace(LATE_COMPLETE, now=99),
            Answer.DONE,
            Queue(),
        ),
        "a late holder completes when the clock went back": (
            replace(LATE_COMPLETE, now=15, last_now=16),
            Answer.DONE,
            Queue(),
        ),
        "a late holder completes while the clock stands": (
            replace(LATE_COMPLETE, now=15, last_now=15),
            Answer.DONE,
            Queue(),
        ),
        "a swept job may not be settled by a stale token": (
            right(SWEPT, Complete(A, 2), now=10),
            Answer.DONE,
            Queue(),
        ),
        "a claim answers the old token when the clock went back": (
            BACK_CLAIM,
            Claimed(A, b"a", token=1),
            with_row(BACK_CLAIM.after, A, attempts=1),
        ),
    },
    "R1": {
        "a running lease is swept": (
            right(TWO_ACTIVE, Reap(99), now=10),
            Moved(2),
            REAP_ALL.after,
        ),
        "the deadline's own instant is left out": (
            right(ACTIVE, Reap(1), now=10),
            Moved(0),
            ACTIVE,
        ),
        "the latest goes first": (
            REAP,
            Moved(1),
            step(TWO_ACTIVE._replace(active=Frozen({A: 20, B: 10})), Reap(1), now=10)[0],
        ),
        "the limit is exceeded": (REAP, Moved(2), REAP_ALL.after),
        "a ghost stops the reaper": (
            right(ghosts(TWO_ACTIVE, A), Reap(99), now=20),
            Moved(1),
            ghosts(TWO_ACTIVE, A)._replace(active=Frozen({B: 20})),
        ),
        "the answer counts one too few": (REAP, Moved(0), REAP.after),
    },
    "R2": {
        "a swept job goes nowhere": (
            REAP,
            REAP.reply,
            REAP.after._replace(pending=Frozen()),
        ),
        "a swept job is pending at its deadline": (
            REAP,
            REAP.reply,
            REAP.after._replace(pending=Frozen({A: 10})),
        ),
        "a swept job still says that it is active": (
            REAP,
            REAP.reply,
            with_row(REAP.after, A, state=State.ACTIVE),
        ),
        "a swept job loses its row": (REAP, REAP.reply, ghosts(REAP.after, A)),
        "a lapse costs two attempts": (
            REAP,
            REAP.reply,
            with_row(REAP.after, A, attempts=2),
        ),
    },
    "R3": {
        "the reaper stops early": (REAP_ALL, Moved(1), REAP.after),
    },
    "R4": {
        "a lease has no end": (
            CLAIM,
            CLAIM.reply,
            CLAIM.after._replace(active=Frozen({A: 2**53})),
        ),
        "a delay has no end": (
            RETRY,
            RETRY.reply,
            RETRY.after._replace(schedule=Frozen({A: 2**53})),
        ),
        "a claim never serves": (CLAIM, Answer.EMPTY, SWEPT),
    },
    "C1": {
        "an admitted job has no row": (ADMIT, Answer.ADMITTED, Queue()),
        "an admitted job is in no index": (
            ADMIT,
            Answer.ADMITTED,
            ADMIT.after._replace(pending=Frozen()),
        ),
        "a retried job stays in active": (
            RETRY,
            RETRY.reply,
            RETRY.after._replace(active=Frozen({A: 10})),
        ),
        "a claimed job still says that it is pending": (
            CLAIM,
            CLAIM.reply,
            with_row(CLAIM.after, A, state=State.PENDING),
        ),
        "a dead job's row is deleted": (DEATH, DEATH.reply, Queue()),
        "a job is dead at a score": (
            DEATH,
            DEATH.reply,
            DEATH.after._replace(dead=Frozen({A: 1})),
        ),
        "complete deletes another job too": (
            right(TWO_ACTIVE, Complete(A, 1)),
            Answer.DONE,
            Queue(),
        ),
    },
    "C2": {
        "complete leaves the lease": (
            COMPLETE,
            COMPLETE.reply,
            Queue(active=Frozen({A: 10})),
        ),
        "complete of a swept job leaves it pending": (
            right(SWEPT, Complete(A, 1)),
            Answer.DONE,
            Queue(pending=Frozen({A: 0})),
        ),
        "the reaper writes a row for a ghost": (
            GHOST_REAP,
            GHOST_REAP.reply,
            Queue(pending=Frozen({A: 0}), rows=Frozen({A: Job(b"")})),
        ),
    },
    "C3": {
        "a ghost is served": (GHOST_CLAIM, Claimed(A, b"", 1), Queue()),
        "a ghost is not consumed": (GHOST_CLAIM, Answer.EMPTY, GHOST_CLAIM.before),
        "a ghost gets a lease": (GHOST_CLAIM, Answer.EMPTY, Queue(active=Frozen({A: 10}))),
        "reap makes a ghost pending": (
            GHOST_REAP,
            Moved(1),
            Queue(pending=Frozen({A: 0})),
        ),
        "promote makes a ghost pending": (
            GHOST_PROMOTE,
            Moved(1),
            Queue(pending=Frozen({A: 0})),
        ),
        "promote writes a row for a ghost": (
            GHOST_PROMOTE,
            Moved(1),
            Queue(rows=Frozen({A: Job(b"")})),
        ),
    },
    "C4": {
        "a claim pops, then looks at its lease": (
            right(PENDING, Claim(0)),
            Error.EMQARG,
            PENDING._replace(pending=Frozen()),
        ),
    },
    "C5": {
        "a bad id is admitted": (
            right(Queue(), Enqueue(b"JOB1", b"")),
            Answer.ADMITTED,
            Queue(pending=Frozen({b"JOB1": 0}), rows=Frozen({b"JOB1": Job(b"")})),
        ),
        "a bad id is refused after a write": (
            right(Queue(), Enqueue(b"JOB1", b"")),
            Error.EMQKIND,
            Queue(pending=Frozen({b"JOB1": 0})),
        ),
        "a duplicate is admitted": (
            right(PENDING, Enqueue(A, b"a")),
            Answer.ADMITTED,
            PENDING,
        ),
        "a duplicate overwrites the payload": (
            right(PENDING, Enqueue(A, b"other")),
            Answer.DUPLICATE,
            with_row(PENDING, A, payload=b"other"),
        ),
    },
    "O1": {
        "the last is served first": (
            TWO_CLAIM,
            Claimed(B, b"b", 1),
            ran(Claim(10), Claim(10), start=TWO_PENDING)._replace(
                pending=Frozen({A: 0}), active=Frozen({B: 10})
            ),
        ),
        "a job is served that is not pending": (
            right(ACTIVE, Claim(10)),
            Claimed(A, b"a", 2),
            with_row(ACTIVE, A, attempts=2),
        ),
        "a job is admitted at a score": (
            ADMIT,
            ADMIT.reply,
            ADMIT.after._replace(pending=Frozen({A: 1})),
        ),
        "a swept job is pending at its deadline": (
            REAP,
            REAP.reply,
            REAP.after._replace(pending=Frozen({A: 10})),
        ),
    },
    "P1": {
        "a paused queue is served": (PAUSED_CLAIM, Claimed(A, b"a", 1), ACTIVE),
        "a paused claim pops": (PAUSED_CLAIM, Answer.EMPTY, Queue(paused=True)),
        "a paused claim consumes a ghost": (
            PAUSED_GHOST_CLAIM,
            Answer.EMPTY,
            Queue(paused=True),
        ),
        "a paused queue is not reaped": (PAUSED_REAP, Moved(0), PAUSED_REAP.before),
        **{
            f"a paused {type(sound.verb).__name__.lower()} only says that it was done": (
                sound,
                sound.reply,
                sound.before,
            )
            for sound in (PAUSED_COMPLETE, PAUSED_REAP, PAUSED_ENQUEUE, PAUSED_PROMOTE)
        },
    },
    "P2": {
        "resume loses the backlog": (RESUME, Answer.OK, Queue()),
        "resume does not lift the pause": (RESUME, Answer.OK, PAUSED),
    },
}
for sound in (
    ADMIT,
    CLAIM,
    COMPLETE,
    RETRY,
    EXTEND,
    REAP,
    PROMOTE,
    right(PENDING, Pause()),
    RESUME,
):
    FAULTS[type(sound.verb).__name__.lower()] = {
        "the reply is another": (sound, None, sound.after),
        "the queue is another": (
            sound,
            sound.reply,
            sound.after._replace(foreign=frozenset({C})),
        ),
    }


def every_fault() -> Iterator[object]:
    for id, faults in FAULTS.items():
        for wrong, (sound, reply, after) in faults.items():
            faulty = replace(sound, reply=reply, after=after)
            yield pytest.param(BY_ID[id], sound, faulty, id=f"{id}: {wrong}")


@every_checked_law
def test_every_law_that_is_checked_has_a_fault(law: Law) -> None:
    assert FAULTS.get(law.id), f"add to FAULTS a step that breaks {law.id}"


@pytest.mark.parametrize(("law", "sound", "faulty"), [*every_fault()])
def test_a_fault_breaks_the_law_and_the_machine_does_not(
    law: Law, sound: Transition, faulty: Transition
) -> None:
    assert isinstance(check(law, faulty), str)
    assert check(law, sound) in (HOLDS, VACUOUS)


@every_checked_law
def test_a_law_has_nothing_to_say_of_a_step_that_it_is_not_about(law: Law) -> None:
    steps = [right(Queue(), verb) for verb in (Pause(), Reap(1))]
    assert any(law.id not in {found.id for found, _ in findings(step)} for step in steps)


def broken(seen: Transition) -> list[str]:
    """The laws that a step breaks."""
    return [law.id for law, finding in findings(seen) if isinstance(finding, str)]


def test_F3_leaves_a_ghost_that_was_served_to_C3() -> None:
    served = replace(GHOST_CLAIM, reply=Claimed(A, b"", 1))
    assert check(BY_ID["F3"], served) is VACUOUS
    assert isinstance(check(BY_ID["C3"], served), str)


@pytest.mark.parametrize("verb", [Complete(A, b"01"), Complete(A, 2), Complete(A, b"+1")])
def test_F4_is_not_about_a_job_that_has_no_second_token(verb: Verb) -> None:
    assert check(BY_ID["F4"], right(ACTIVE, verb)) is VACUOUS


def test_F6_is_reached_by_retry_by_the_spent_token_and_by_promote_of_a_spent_job() -> None:
    for sound in (RETRY, DEATH, SPENT_COMPLETE, PROMOTE):
        assert check(BY_ID["F6"], sound) is HOLDS


@pytest.mark.parametrize(
    ("before", "now"),
    [(SCHEDULED, 4), (with_row(SCHEDULED, A, spent=None), 5), (ghosts(SCHEDULED, A), 5)],
    ids=["nothing is due", "nothing is spent", "only a ghost moves"],
)
def test_F6_is_not_reached_by_a_promote_that_moves_no_spent_job(before: Queue, now: int) -> None:
    assert check(BY_ID["F6"], right(before, Promote(1), now)) is VACUOUS


@pytest.mark.parametrize(
    ("before", "now", "finding"),
    [(RECLAIMED, 19, VACUOUS), (RECLAIMED, 20, HOLDS), (SWEPT, 10, HOLDS)],
    ids=["lease runs", "deadline passed", "swept"],
)
def test_L4_is_reached_by_a_stale_settle_once_the_lease_is_over(
    before: Queue, now: int, finding: bool
) -> None:
    assert check(BY_ID["L4"], right(before, Complete(A, 3), now)) is finding


@pytest.mark.parametrize(
    ("last_now", "finding"),
    [(None, VACUOUS), (9, VACUOUS), (10, HOLDS), (11, HOLDS)],
    ids=["no step before", "clock goes on", "clock stands", "clock goes back"],
)
def test_L4_is_reached_by_a_claim_unless_the_clock_goes_on(
    last_now: int | None, finding: bool
) -> None:
    assert check(BY_ID["L4"], right(SWEPT, Claim(10), now=10, last_now=last_now)) is finding


@pytest.mark.parametrize(
    "before",
    [paused(PENDING), ghosts(PENDING, A), Queue()],
    ids=["paused", "ghost", "nothing pending"],
)
def test_R4_excuses_an_empty_claim_that_could_not_serve(before: Queue) -> None:
    assert check(BY_ID["R4"], right(before, Claim(10))) is VACUOUS


def test_O1_does_not_blame_a_claim_for_the_scores_it_found() -> None:
    scored = TWO_PENDING._replace(pending=Frozen({A: 2, B: 1}))
    assert check(BY_ID["O1"], right(scored, Claim(10))) is VACUOUS


def test_C1_does_not_blame_a_step_for_a_score_in_dead_that_it_found() -> None:
    scored = right(DEAD._replace(dead=Frozen({A: 1})), Enqueue(B, b"b"))
    assert check(BY_ID["C1"], scored) is HOLDS


def test_C2_does_not_blame_complete_for_a_ghost_that_an_earlier_life_left() -> None:
    state = ghosts(ran(Enqueue(A, b""), Claim(10), Retry(A, 1, 5, 3, b"")), A)
    for verb in (Enqueue(A, b""), Claim(10), Complete(A, 1)):
        seen = right(state, verb)
        assert broken(seen) == []
        state = seen.after
    assert state == Queue(schedule=Frozen({A: 5}))


# --- what is found -----------------------------------------------------------------------------


def test_findings_are_those_that_are_not_vacuous() -> None:
    found = {law.id: finding for law, finding in findings(TWO_CLAIM)}
    assert found == dict.fromkeys(("F3", "L1", "R4", "C1", "C2", "O1", "claim"), HOLDS)


def test_findings_name_every_law_that_a_fault_breaks() -> None:
    faulty = replace(LATE_COMPLETE, reply=Answer.DONE, after=Queue())
    assert broken(faulty) == ["F1", "F4", "complete"]


def test_a_finding_says_what_was_seen() -> None:
    (_, why), *_ = findings(replace(LATE_COMPLETE, reply=Answer.DONE, after=Queue()))
    assert why == "token 1 is stale, for the live one is 2; yet it was not refused"


def test_a_finding_names_the_live_token_if_there_is_one() -> None:
    (_, why), *_ = findings(replace(SPENT_COMPLETE, reply=Answer.DONE, after=Queue()))
    assert why == "token 1 is stale, for the live one is none; yet it was not refused"


# --- the values that the laws look at ----------------------------------------------------------

EVERYTHING = ran(Enqueue(B, b"b"), start=SCHEDULED)._replace(foreign=frozenset({C}), paused=True)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_queue_survives_pickling(protocol: int) -> None:
    assert pickle.loads(pickle.dumps(EVERYTHING, protocol)) == EVERYTHING


def test_a_queue_can_be_copied_deeply() -> None:
    assert copy.deepcopy(EVERYTHING) == EVERYTHING


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_a_copied_mapping_is_still_frozen(copied: Callable[[object], object]) -> None:
    assert isinstance(copied(EVERYTHING.rows), Frozen)


def test_C5_a_row_that_is_foreign_too_makes_a_duplicate() -> None:
    both = PENDING._replace(foreign=frozenset({A}))
    assert step(both, Enqueue(A, b"a"), 0) == (both, Answer.DUPLICATE)
