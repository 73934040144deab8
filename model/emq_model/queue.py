"""The values: a `Job` is a row, a `Queue` is everything that the keys of one queue hold.

A `Queue` mirrors the keys one to one, so that a keyspace can be read as a Queue and a Queue can be
written as a keyspace. It can therefore hold states that no run of the verbs reaches (an id in two
indexes, an index entry without a row): what the verbs make of those is part of the rules, and what
a faulty implementation leaves behind must be sayable before it can be judged.
"""

from enum import StrEnum
from typing import NamedTuple

from emq_model.frozen import Frozen

JobId = bytes
"""A branded id (see `emq_model.ids`)."""

Millis = int
"""An instant of the server clock, or a span, in milliseconds."""

Index = Frozen[JobId, Millis]
"""A sorted set: ids by score. The score is 0 in pending and dead, an instant in the others."""


class State(StrEnum):
    """What a row's `state` field says."""

    PENDING = "pending"
    ACTIVE = "active"
    SCHEDULED = "scheduled"
    DEAD = "dead"


class Job(NamedTuple):
    """A row."""

    payload: bytes
    state: State = State.PENDING
    attempts: int = 0
    """How often it was claimed; right after a claim, that claim's token."""
    last_error: bytes | None = None
    """What the last retry reported; None before the first."""
    spent: int | None = None
    """The last token that settled its claim by retry; None before the first."""


class Queue(NamedTuple):
    """All that one queue's keys hold. `Queue()` is the empty queue, not paused."""

    pending: Index = Frozen()
    """Ids waiting, at score 0: the byte-smallest is served first."""
    active: Index = Frozen()
    """Ids leased, at their deadline."""
    schedule: Index = Frozen()
    """Ids waiting for their time, at the instant they are due."""
    dead: Index = Frozen()
    """Ids that used up their attempts, at score 0."""
    rows: Frozen[JobId, Job] = Frozen()
    foreign: frozenset[JobId] = frozenset()
    """Ids at whose row key something else stands, which is not a hash and so not a row."""
    paused: bool = False

    @property
    def indexes(self) -> tuple[tuple[State, Index], ...]:
        """The four sorted sets, each with the state of the jobs that belong in it."""
        return (
            (State.PENDING, self.pending),
            (State.ACTIVE, self.active),
            (State.SCHEDULED, self.schedule),
            (State.DEAD, self.dead),
        )

    @property
    def head(self) -> JobId | None:
        """The id that a claim would pop: lowest score, then byte-smallest (law O1)."""
        pending = self.pending
        return min(pending, key=lambda id: (pending[id], id), default=None)


def earliest(index: Index) -> list[JobId]:
    """The ids of an index in the order a sorted set keeps: by score, ties in byte order."""
    return sorted(index, key=lambda id: (index[id], id))


def due(index: Index, now: Millis) -> list[JobId]:
    """The ids whose instant has come (score <= now), earliest first."""
    return earliest(Frozen({id: score for id, score in index.items() if score <= now}))


def is_ghost(queue: Queue, id: JobId) -> bool:
    """Say whether an index entry for `id` would be a *ghost*: its row is gone, or is not a hash."""
    return id not in queue.rows


def spelling(number: int | bytes) -> bytes:
    """The bytes of a wire argument. An int stands for its canonical decimal spelling.

    >>> spelling(12), spelling(b"012")
    (b'12', b'012')
    """
    return number if isinstance(number, bytes) else b"%d" % number


def live(queue: Queue, id: JobId, token: int | bytes) -> bool:
    """Say whether `token` is the *live token* of job `id`; if not, it is stale.

    It is live iff the job has a row, the token is at least 1, equals the row's attempts to the
    byte (so only the canonical spelling counts, law F5), and has not been spent (law F6). No clock
    is asked: the number alone decides, not the lease.

    >>> queue = Queue(rows=Frozen({b"A": Job(b"", attempts=2)}))
    >>> live(queue, b"A", 2), live(queue, b"A", b"02"), live(queue, b"A", 1)
    (True, False, False)
    """
    job = queue.rows.get(id)
    return (
        job is not None
        and job.attempts >= 1
        and spelling(token) == spelling(job.attempts)
        and job.spent != job.attempts
    )
