"""The byte-smallest pending id is served first (O1)."""

import itertools

import pytest

from emq_conformance.lockstep import Lockstep
from emq_conformance.servers import Feature
from emq_conformance.suite.stories import EVERYTHING, A, B, C, D, E, admit, claim, sweep
from emq_model import Claim, Claimed, Enqueue, Promote, Retry


def served(pair: Lockstep, count: int) -> list[bytes]:
    """The ids of the next `count` claims."""
    replies = [pair(Claim(60_000)) for _ in range(count)]
    return [reply.id for reply in replies if isinstance(reply, Claimed)]


@pytest.mark.parametrize("order", list(itertools.permutations((A, B, C))), ids=lambda _: "order")
def test_O1_the_byte_smallest_is_served_first(
    pair: Lockstep, order: tuple[bytes, bytes, bytes]
) -> None:
    admit(pair, *order)
    assert served(pair, 3) == [A, B, C]


def test_O1_digits_come_before_capitals_before_small_letters(pair: Lockstep) -> None:
    digit, capital, small = b"JOB00000000009", b"JOB0000000000Z", b"JOB0000000000a"
    for id in (small, capital, digit):
        pair(Enqueue(id, b""))
    assert served(pair, 3) == [digit, capital, small]


@pytest.mark.needs(Feature.CLOCK)
def test_O1_a_swept_job_goes_back_to_its_place(pair: Lockstep) -> None:
    admit(pair, A, B, C)
    assert served(pair, 1) == [A]
    sweep(pair, 60_000)
    assert served(pair, 3) == [A, B, C]


def test_O1_a_promoted_job_goes_back_to_its_place(pair: Lockstep) -> None:
    admit(pair, A, C)
    pair(Retry(A, claim(pair), 0, 3, b"failed"))
    admit(pair, B)
    pair(Promote(EVERYTHING))
    assert served(pair, 3) == [A, B, C]


@pytest.mark.needs(Feature.CLOCK)
def test_O1_promote_takes_the_earliest_due_first(pair: Lockstep) -> None:
    admit(pair, A, B, C)
    for id, delay in ((A, 30), (B, 10), (C, 20)):
        pair(Retry(id, claim(pair), delay, 3, b"failed"))
    pair.pass_time(30)
    pair(Promote(2))
    assert set(pair.queue.pending) == {B, C}


@pytest.mark.needs(Feature.CLOCK)
@pytest.mark.parametrize(
    ("off", "moved"), [(-1, 0), (0, 1), (1, 1)], ids=["just-before", "at", "just-after"]
)
def test_promote_takes_what_is_due(pair: Lockstep, off: int, moved: int) -> None:
    admit(pair, A)
    pair(Retry(A, claim(pair), 100, 3, b"failed"))
    pair.pass_time(100 + off)
    pair(Promote(EVERYTHING))
    assert len(pair.queue.pending) == moved


@pytest.mark.needs(Feature.CLOCK)
def test_promote_of_equal_due_times_goes_in_byte_order(pair: Lockstep) -> None:
    admit(pair, E, D, C)
    for id in (C, D, E):
        pair(Retry(id, claim(pair), 9, 3, b"failed"))
    pair.pass_time(9)
    pair(Promote(2))
    assert set(pair.queue.pending) == {C, D}
