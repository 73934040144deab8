"""What a walk draws from: jobs, payloads, spans, and everything that is almost a number."""

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from emq_conformance.clock.workers import Worker
from emq_model import (
    Claim,
    Complete,
    Enqueue,
    Extend,
    JobId,
    Pause,
    Promote,
    Reap,
    Resume,
    Retry,
    Verb,
    mint,
)
from emq_model.verbs import LONGEST, MOST_COUNT

T = TypeVar("T")


def _minted(count: int) -> tuple[JobId, ...]:
    minted = [mint(1_800_000_000_000, node=1)]
    while len(minted) < count:
        minted.append(mint(1_800_000_000_000, node=1, after=minted[-1]))
    return tuple(minted)


JOBS = _minted(5)
"""A few valid job ids, in mint order, which is byte order."""

A, B, C, D, E = JOBS

NOT_JOB_IDS = (
    b"",
    b"JOB",
    A[:-1],
    A + b"0",
    A + b"\n",
    b"USR" + A[3:],
    b"job" + A[3:],
    A[:-1] + b"-",
    A[:-1] + b"\x00",
    A[:-1] + b"\xff",
    b"JOBAzL8n0Y58m8",  # 2^63
    b"JOBzzzzzzzzzzz",
    b"JOB0KHTOWnGL\xc3\xa9",
)
"""What enqueue must refuse: wrong kind, wrong length, wrong digits, a number past 2^63-1."""

BYTES = (b"", b"x", b"\x00", b"a\x00b", b"\xff\xfe\x80", b"\r\n$-1\r\n", b"1", b"\xf0\x9f\x94\x92")
"""Payloads and errors: any bytes, also those that look like the wire's own."""

LEASES = (10, 1, 1000, 60_000, LONGEST)
DELAYS = (0, 10, 1, 60_000, LONGEST)
LIMITS = (MOST_COUNT, 1, 2, 100)
MAX_ATTEMPTS = (3, 1, 2, MOST_COUNT)

MALFORMED = (
    *(b"", b"0x1", b"01", b"+1", b"-1", b" 1", b"1 ", b"1.0", b"1e1", b"inf", b"nan", b"abc"),
    *(b"1\x00", b"\n1", b"1\n", b"\xff", "\uff11".encode(), b"9" * 400, b"-0", b"00"),
    *(b"%d" % (2**53), b"%d" % (2**63), b"%d" % (2**64 + 1)),
)
"""No canonical decimal within any argument's bounds."""


def _malformed_verbs() -> list[Callable[[JobId, int], Verb]]:
    """Each numeric argument of each verb in turn, malformed or just out of bounds."""
    beyond_span = (*MALFORMED, LONGEST + 1)
    beyond_count = (*MALFORMED, b"0", MOST_COUNT + 1)
    verbs: list[Callable[[JobId, int], Verb]] = []
    for odd in (b"0", *beyond_span):
        verbs.append(lambda _id, _token, odd=odd: Claim(odd))  # type: ignore[misc]
        verbs.append(lambda id, token, odd=odd: Extend(id, token, odd))  # type: ignore[misc]
    for odd in beyond_span:
        verbs.append(lambda id, token, odd=odd: Retry(id, token, odd, 3, b""))  # type: ignore[misc]
    for odd in beyond_count:
        verbs.append(lambda id, token, odd=odd: Retry(id, token, 0, odd, b""))  # type: ignore[misc]
        verbs.append(lambda _id, _token, odd=odd: Reap(odd))  # type: ignore[misc]
        verbs.append(lambda _id, _token, odd=odd: Promote(odd))  # type: ignore[misc]
    return verbs


ODD_SPELLINGS: tuple[Callable[[int], bytes], ...] = (
    lambda n: b"0%d" % n,
    lambda n: b"+%d" % n,
    lambda n: b" %d" % n,
    lambda n: b"%d " % n,
    lambda n: b"%d.0" % n,
    lambda n: b"%de0" % n,
    lambda n: b"0x%x" % n,
    lambda n: b"-%d" % n,
    lambda n: b"%d\x00" % n,
    lambda n: b"%d\n" % n,
    lambda n: b"%d" % (n + 2**32),
    lambda n: b"%d" % (n + 2**53),
    lambda n: b"%d" % (n + 2**64),
    lambda _: b"0",
    lambda _: b"-0",
    lambda _: b"",
    lambda _: b"\xff\x00",
    lambda _: b"9" * 400,
    lambda _: b"nan",
)
"""Spellings of a number that are not its canonical one, and some that are no number at all."""

SETTLES: tuple[Callable[[JobId, bytes], Verb], ...] = (
    lambda id, token: Complete(id, token),
    lambda id, token: Retry(id, token, 0, 3, b"odd"),
    lambda id, token: Extend(id, token, 10),
)

WORKERS = (
    Worker("w1"),
    Worker("w2", offset=3_600_000),
    Worker("w3", offset=-3_600_000),
    Worker("w4", offset=5, drift=500),
    Worker("w5", offset=-5, drift=-500),
)
"""One whose clock is right, two that are an hour off, two that drift."""


def one_of(values: tuple[T, ...]) -> SearchStrategy[T]:
    """One of these; a failure shrinks towards the first."""
    return st.sampled_from(values)


def by_workers(*parts: Iterable[Any]) -> SearchStrategy[tuple[Any, ...]]:
    """Every combination of these parts and a worker, as one draw: a step is quicker for it."""
    return one_of(tuple(product(*parts, WORKERS)))


_HELD = range(6)
"""Which of the tokens handed out so far: 0 is the latest."""

admissions = one_of(tuple(Enqueue(id, payload) for payload, id in product(BYTES, JOBS)))
refusals = one_of(tuple(Enqueue(id, b"") for id in NOT_JOB_IDS))
claims = by_workers(LEASES)
completions = by_workers(_HELD)
retries = by_workers(_HELD, DELAYS, MAX_ATTEMPTS, BYTES[:3])
extensions = by_workers(_HELD, LEASES)
odd_settles = one_of(tuple(product(_HELD, SETTLES, ODD_SPELLINGS)))
malformed = one_of(tuple(product(_HELD[:2], _malformed_verbs())))
sweeps = by_workers(LIMITS)
pauses = one_of((Resume(), Pause(), Resume(), Resume()))
edges = one_of(tuple(product((0, -1, 1), range(3))))
"""Whether at, just before or just after a deadline or due time, and which one."""
leaps = one_of((1, 3_600_000, 86_400_000 * 365))
"""How far to leap, in milliseconds: one, an hour, a year."""
mishaps = one_of((*product(("delete", "replace"), JOBS), ("forget", A)))
"""A row is deleted, or replaced by what is no row; or, seldom, a cache is emptied."""
