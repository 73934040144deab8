"""The reaper returns what lapsed, all of it, and nothing else (R1-R4)."""

import pytest

from emq_conformance.lockstep import Lockstep
from emq_conformance.servers import Feature
from emq_conformance.suite.stories import EVERYTHING, A, B, C, D, E, admit, claim, sweep
from emq_model import Answer, Claim, Claimed, Enqueue, Extend, Moved, Reap, State, mint

pytestmark = pytest.mark.needs(Feature.CLOCK)


@pytest.mark.parametrize(
    ("off", "swept"), [(-1, 0), (0, 1), (1, 1)], ids=["just-before", "at", "just-after"]
)
def test_R1_a_lease_is_over_at_its_deadline(pair: Lockstep, off: int, swept: int) -> None:
    admit(pair, A)
    claim(pair, 10)
    pair.pass_time(10 + off)
    assert pair(Reap(EVERYTHING)) == Moved(swept)


def test_R1_the_earliest_deadline_goes_first(pair: Lockstep) -> None:
    admit(pair, A, B, C)
    for lease in (30, 10, 20):
        claim(pair, lease)
    pair.pass_time(30)
    assert pair(Reap(2)) == Moved(2)
    assert set(pair.queue.active) == {A}


def test_R1_equal_deadlines_go_in_byte_order(pair: Lockstep) -> None:
    admit(pair, C, A, B)
    for _ in range(3):
        claim(pair)
    pair.pass_time(10)
    assert pair(Reap(2)) == Moved(2)
    assert set(pair.queue.active) == {C}


def test_R1_a_live_lease_is_left_alone(pair: Lockstep) -> None:
    admit(pair, A, B)
    claim(pair, 1000)
    claim(pair, 10)
    pair.pass_time(10)
    assert pair(Reap(EVERYTHING)) == Moved(1)
    assert set(pair.queue.active) == {A}


def test_R1_an_extended_lease_is_left_alone(pair: Lockstep) -> None:
    admit(pair, A)
    token = claim(pair, 10)
    pair(Extend(A, token, 1000))
    pair.pass_time(10)
    assert pair(Reap(EVERYTHING)) == Moved(0)


def test_R1_after_a_step_back_nothing_has_lapsed(pair: Lockstep) -> None:
    admit(pair, A)
    claim(pair, 10)
    pair.set_clock(pair.now - 3_600_000)
    pair.pass_time(10)
    assert pair(Reap(EVERYTHING)) == Moved(0)


def test_R2_a_swept_job_waits_again_and_the_lapse_cost_an_attempt(pair: Lockstep) -> None:
    admit(pair, A)
    claim(pair)
    sweep(pair)
    assert pair.queue.pending == {A: 0}
    assert pair.queue.rows[A].state is State.PENDING
    assert claim(pair) == 2


def test_R2_a_job_swept_many_times_is_never_buried(pair: Lockstep) -> None:
    admit(pair, A)
    for attempt in range(1, 6):
        assert claim(pair) == attempt
        sweep(pair)
    assert A in pair.queue.pending


def test_R3_reaping_again_moves_nothing(pair: Lockstep) -> None:
    admit(pair, A, B)
    claim(pair)
    claim(pair)
    pair.pass_time(10)
    assert pair(Reap(EVERYTHING)) == Moved(2)
    assert pair(Reap(EVERYTHING)) == Moved(0)


def test_R3_the_second_reaper_does_not_touch_the_new_lease(pair: Lockstep) -> None:
    admit(pair, A)
    claim(pair)
    sweep(pair)
    claim(pair)
    assert pair(Reap(EVERYTHING)) == Moved(0)


def test_R4_small_batches_reach_every_job(pair: Lockstep) -> None:
    admit(pair, A, B, C, D, E)
    for _ in range(5):
        claim(pair)
    pair.pass_time(10)
    counts = [pair(Reap(2)) for _ in range(4)]
    assert counts == [Moved(2), Moved(2), Moved(1), Moved(0)]
    assert [claim(pair) for _ in range(5)] == [2] * 5


def test_R4_a_ghost_does_not_stop_the_others(pair: Lockstep) -> None:
    admit(pair, A, B, C)
    for _ in range(3):
        claim(pair)
    pair.lose_row(A)
    pair.replace_row(B)
    pair.pass_time(10)
    assert pair(Reap(EVERYTHING)) == Moved(3)
    assert set(pair.queue.pending) == {C}


def test_R4_a_thousand_jobs_are_reached(pair: Lockstep) -> None:
    ids = [mint(1_800_000_000_000)]
    while len(ids) < 1000:
        ids.append(mint(1_800_000_000_000, after=ids[-1]))
    run = pair.client.run
    for id in ids:
        pair.keyspace.know(id)
        assert run(Enqueue(id, b"")) is Answer.ADMITTED
    for id in ids:
        assert run(Claim(10)) == Claimed(id, b"", 1)
    assert pair.world is not None
    pair.world.pass_time(10)
    assert run(Reap(EVERYTHING)) == Moved(1000)
    for id in ids:
        assert run(Claim(10)) == Claimed(id, b"", 2)
