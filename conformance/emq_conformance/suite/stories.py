"""The first sentences of most stories."""

from collections.abc import Callable

from emq_conformance.lockstep import Lockstep
from emq_conformance.strategies import A, B, C, D, E
from emq_model import (
    Claim,
    Claimed,
    Complete,
    Enqueue,
    Extend,
    JobId,
    Promote,
    Reap,
    Retry,
    Settle,
    Verb,
)

__all__ = [
    "EVERYTHING",
    "EVERY_VERB",
    "SETTLES",
    "A",
    "B",
    "C",
    "D",
    "E",
    "admit",
    "claim",
    "settle",
    "sweep",
]

EVERYTHING = 2**31 - 1
"""A limit that limits nothing."""

SETTLES: dict[str, Callable[[JobId, int | bytes], Settle]] = {
    "complete": lambda id, token: Complete(id, token),
    "retry": lambda id, token: Retry(id, token, delay=0, max_attempts=3, error=b"failed"),
    "extend": lambda id, token: Extend(id, token, lease=10),
}
"""The three verbs that need a live token, by name."""


EVERY_VERB: dict[str, Verb] = {
    "enqueue": Enqueue(B, b"payload"),
    "claim": Claim(1000),
    "complete": Complete(A, 1),
    "retry-later": Retry(A, 1, 1000, 3, b"failed"),
    "retry-dead": Retry(A, 1, 1000, 1, b"failed"),
    "extend": Extend(A, 1, 1000),
    "reap": Reap(EVERYTHING),
    "promote": Promote(EVERYTHING),
}
"""Each verb, with arguments that are well-formed."""


def admit(pair: Lockstep, *ids: JobId) -> None:
    """Enqueue these jobs."""
    for id in ids:
        pair(Enqueue(id, b"payload of " + id))


def claim(pair: Lockstep, lease: int = 10) -> int:
    """Claim the first pending job, and answer the token."""
    reply = pair(Claim(lease))
    assert isinstance(reply, Claimed), f"nothing was handed out: {reply}"
    return reply.token


def sweep(pair: Lockstep, lease: int = 10) -> None:
    """Let the lease lapse, and the reaper return the job."""
    pair.pass_time(lease)
    pair(Reap(EVERYTHING))


def settle(name: str, id: JobId, token: int | bytes) -> Settle:
    """One of the three verbs that need a live token."""
    return SETTLES[name](id, token)
