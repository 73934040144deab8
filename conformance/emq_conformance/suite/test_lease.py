"""The lease: deadlines come from the server's clock, and from no other (L1-L3)."""

import pytest

from emq_conformance.clock.workers import Worker
from emq_conformance.lockstep import Lockstep
from emq_conformance.servers import Feature
from emq_conformance.strategies import WORKERS
from emq_conformance.suite.stories import EVERYTHING, A, B, admit, claim, sweep
from emq_model import Answer, Claim, Claimed, Complete, Extend, Moved, Promote, Reap, Retry
from emq_model.verbs import LONGEST

skewed = pytest.mark.parametrize("worker", WORKERS[1:], ids=lambda worker: worker.name)


@pytest.mark.parametrize("lease", [1, 10, 999, 1000, 86_400_000, LONGEST])
def test_L1_the_deadline_is_the_server_clock_plus_the_lease(pair: Lockstep, lease: int) -> None:
    admit(pair, A)
    claim(pair, lease)
    assert A in pair.queue.active


@pytest.mark.needs(Feature.CLOCK)
@pytest.mark.parametrize("milliseconds", [1, 499, 500, 999])
def test_L1_the_deadline_counts_single_milliseconds(pair: Lockstep, milliseconds: int) -> None:
    admit(pair, A)
    pair.pass_time(milliseconds)
    claim(pair, 1)
    assert pair.queue.active[A] == pair.now + 1


@pytest.mark.needs(Feature.CLOCK)
def test_L1_a_claim_after_a_step_back_gets_its_whole_lease(pair: Lockstep) -> None:
    admit(pair, A)
    claim(pair, 10)
    sweep(pair)
    pair.set_clock(pair.now - 3_600_000)
    claim(pair, 10)
    assert pair.queue.active[A] == pair.now + 10


@pytest.mark.needs(Feature.CLOCK)
def test_L1_a_long_wait_does_not_shorten_the_lease(pair: Lockstep) -> None:
    admit(pair, A)
    pair.pass_time(86_400_000)
    claim(pair, 10)
    assert pair(Reap(EVERYTHING)) == Moved(0)


@pytest.mark.needs(Feature.CLOCK)
@pytest.mark.parametrize("lease", [1, 50, 100, 5000], ids=["shorter", "earlier", "same", "longer"])
def test_L2_extend_counts_from_now(pair: Lockstep, lease: int) -> None:
    admit(pair, A)
    token = claim(pair, 100)
    pair.pass_time(30)
    assert pair(Extend(A, token, lease)) is Answer.EXTENDED
    assert pair.queue.active[A] == pair.now + lease


@pytest.mark.needs(Feature.CLOCK)
def test_L2_extending_twice_does_not_add_up(pair: Lockstep) -> None:
    admit(pair, A)
    token = claim(pair, 10)
    pair(Extend(A, token, 10))
    pair(Extend(A, token, 10))
    pair.pass_time(10)
    assert pair(Reap(EVERYTHING)) == Moved(1)


@pytest.mark.needs(Feature.CLOCK)
def test_L2_a_swept_job_is_taken_back_for_a_whole_lease(pair: Lockstep) -> None:
    admit(pair, A)
    token = claim(pair, 10)
    sweep(pair, 10)
    assert pair(Extend(A, token, 10)) is Answer.EXTENDED
    assert pair.queue.active[A] == pair.now + 10
    assert pair(Claim(10)) is Answer.EMPTY


@skewed
@pytest.mark.needs(Feature.CLOCK)
def test_L3_a_claim_does_not_ask_the_workers_clock(pair: Lockstep, worker: Worker) -> None:
    admit(pair, A)
    pair.pass_time(1000)
    pair(Claim(10), worker)
    assert pair.queue.active[A] == pair.now + 10


@skewed
@pytest.mark.needs(Feature.CLOCK)
def test_L3_an_extension_does_not_ask_the_workers_clock(pair: Lockstep, worker: Worker) -> None:
    admit(pair, A)
    token = claim(pair)
    pair.pass_time(1000)
    pair(Extend(A, token, 10), worker)
    assert pair.queue.active[A] == pair.now + 10


@skewed
@pytest.mark.needs(Feature.CLOCK)
def test_L3_a_delay_does_not_ask_the_workers_clock(pair: Lockstep, worker: Worker) -> None:
    admit(pair, A)
    token = claim(pair)
    pair.pass_time(1000)
    pair(Retry(A, token, 10, 3, b"failed"), worker)
    assert pair.queue.schedule[A] == pair.now + 10


@skewed
@pytest.mark.needs(Feature.CLOCK)
def test_L3_a_reaper_with_a_wrong_clock_takes_what_lapsed(pair: Lockstep, worker: Worker) -> None:
    admit(pair, A, B)
    claim(pair, 1000)
    claim(pair, 2000)
    pair.pass_time(1000)
    assert pair(Reap(EVERYTHING), worker) == Moved(1)


@skewed
@pytest.mark.needs(Feature.CLOCK)
def test_L3_a_promoter_with_a_wrong_clock_takes_what_is_due(pair: Lockstep, worker: Worker) -> None:
    admit(pair, A, B)
    pair(Retry(A, claim(pair), 1000, 3, b"failed"))
    pair(Retry(B, claim(pair), 2000, 3, b"failed"))
    pair.pass_time(1000)
    assert pair(Promote(EVERYTHING), worker) == Moved(1)


@skewed
@pytest.mark.needs(Feature.CLOCK)
def test_L3_a_settle_does_not_ask_the_workers_clock(pair: Lockstep, worker: Worker) -> None:
    admit(pair, A)
    pair.pass_time(1000)
    reply = pair(Claim(10), worker)
    assert isinstance(reply, Claimed)
    assert pair(Complete(A, reply.token), worker) is Answer.DONE
