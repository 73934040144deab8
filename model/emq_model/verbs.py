"""The nine verbs as data, and `step`: what each verb does to a queue, and what it answers.

Every verb in every state has exactly one answer. Each rule below has the same shape: refuse what
is malformed, answer what needs no change, and only then build the next queue.

Numbers among the arguments may be given as int, which stands for the canonical spelling, or as
the bytes that go over the wire, so that a malformed spelling can be said too.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from emq_model.ids import is_job_id
from emq_model.queue import (
    Index,
    JobId,
    Millis,
    Queue,
    State,
    due,
    is_ghost,
    live,
    spelling,
)
from emq_model.queue import Job as Row
from emq_model.replies import Answer, Claimed, Error, Moved, Reply

LONGEST = 2**52
"""The longest lease and the longest delay, in milliseconds."""
MOST_COUNT = 2**31 - 1
"""The largest limit and the largest max_attempts."""

Number = int | bytes
"""A numeric wire argument: an int stands for its canonical decimal spelling."""


@dataclass(frozen=True, slots=True)
class Enqueue:
    """Admit a job."""

    id: JobId
    payload: bytes


@dataclass(frozen=True, slots=True)
class Claim:
    """Lease the first pending job for `lease` milliseconds."""

    lease: Number


@dataclass(frozen=True, slots=True)
class Complete:
    """Settle a claim: the job is done."""

    id: JobId
    token: Number


@dataclass(frozen=True, slots=True)
class Retry:
    """Settle a claim: the job failed, and waits `delay` milliseconds unless it is dead."""

    id: JobId
    token: Number
    delay: Number
    max_attempts: Number
    error: bytes


@dataclass(frozen=True, slots=True)
class Extend:
    """Set the lease to end `lease` milliseconds from now."""

    id: JobId
    token: Number
    lease: Number


@dataclass(frozen=True, slots=True)
class Reap:
    """Return at most `limit` jobs whose lease has lapsed to pending."""

    limit: Number


@dataclass(frozen=True, slots=True)
class Promote:
    """Move at most `limit` jobs whose time has come to pending."""

    limit: Number


@dataclass(frozen=True, slots=True)
class Pause:
    """Let no claim succeed until resume."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Let claims succeed again."""


Settle = Complete | Retry | Extend
"""The verbs that need a live token."""

Verb = Enqueue | Claim | Complete | Retry | Extend | Reap | Promote | Pause | Resume


def step(queue: Queue, verb: Verb, now: Millis) -> tuple[Queue, Reply]:
    """Answer the queue after `verb` at `now`, and the verb's reply.

    Args:
        queue: the state before.
        verb: what is asked.
        now: the server clock inside the command, in milliseconds. It may be any instant: before,
            at or after those of earlier steps.
    """
    match verb:
        case Enqueue():
            return _enqueue(queue, verb)
        case Claim():
            return _claim(queue, verb, now)
        case Complete():
            return _complete(queue, verb)
        case Retry():
            return _retry(queue, verb, now)
        case Extend():
            return _extend(queue, verb, now)
        case Reap():
            return _reap(queue, verb, now)
        case Promote():
            return _promote(queue, verb, now)
        case Pause():
            return queue._replace(paused=True), Answer.OK
        case Resume():
            return queue._replace(paused=False), Answer.OK
        case _:  # pragma: no cover
            assert_never(verb)


def _enqueue(queue: Queue, verb: Enqueue) -> tuple[Queue, Reply]:
    if not is_job_id(verb.id):
        return queue, Error.EMQKIND
    if verb.id in queue.rows:
        return queue, Answer.DUPLICATE
    if verb.id in queue.foreign:
        return queue, Error.WRONGTYPE
    admitted = queue._replace(
        pending=queue.pending.put(verb.id, 0),
        rows=queue.rows.put(verb.id, Row(verb.payload)),
    )
    return admitted, Answer.ADMITTED


def _claim(queue: Queue, verb: Claim, now: Millis) -> tuple[Queue, Reply]:
    lease = span(verb.lease, least=1)
    if lease is None:
        return queue, Error.EMQARG
    id = queue.head
    if queue.paused or id is None:
        return queue, Answer.EMPTY
    popped = queue._replace(pending=queue.pending.drop(id))
    if is_ghost(queue, id):
        return popped, Answer.EMPTY
    row = queue.rows[id]
    leased = row._replace(state=State.ACTIVE, attempts=row.attempts + 1)
    claimed = popped._replace(
        active=popped.active.put(id, now + lease),
        rows=popped.rows.put(id, leased),
    )
    return claimed, Claimed(id, leased.payload, leased.attempts)


def _complete(queue: Queue, verb: Complete) -> tuple[Queue, Reply]:
    refusal = _refusal(queue, verb)
    if refusal is not None:
        return queue, refusal
    returned = _out_of_lease(queue, verb.id)
    return returned._replace(rows=queue.rows.drop(verb.id)), Answer.DONE


def _retry(queue: Queue, verb: Retry, now: Millis) -> tuple[Queue, Reply]:
    delay, most = span(verb.delay, least=0), count(verb.max_attempts)
    if delay is None or most is None:
        return queue, Error.EMQARG
    refusal = _refusal(queue, verb)
    if refusal is not None:
        return queue, refusal
    row = queue.rows[verb.id]._replace(last_error=verb.error)
    spent = row._replace(spent=row.attempts)
    returned = _out_of_lease(queue, verb.id)
    if row.attempts >= most:
        return returned._replace(
            dead=queue.dead.put(verb.id, 0),
            rows=queue.rows.put(verb.id, spent._replace(state=State.DEAD)),
        ), Answer.DEAD
    return returned._replace(
        schedule=queue.schedule.put(verb.id, now + delay),
        rows=queue.rows.put(verb.id, spent._replace(state=State.SCHEDULED)),
    ), Answer.SCHEDULED


def _extend(queue: Queue, verb: Extend, now: Millis) -> tuple[Queue, Reply]:
    lease = span(verb.lease, least=1)
    if lease is None:
        return queue, Error.EMQARG
    refusal = _refusal(queue, verb)
    if refusal is not None:
        return queue, refusal
    row = queue.rows[verb.id]
    extended = queue._replace(
        pending=queue.pending.drop(verb.id),  # a swept job is taken back
        active=queue.active.put(verb.id, now + lease),
        rows=queue.rows.put(verb.id, row._replace(state=State.ACTIVE)),
    )
    return extended, Answer.EXTENDED


def _reap(queue: Queue, verb: Reap, now: Millis) -> tuple[Queue, Reply]:
    limit = count(verb.limit)
    if limit is None:
        return queue, Error.EMQARG
    lapsed = due(queue.active, now)[:limit]
    left = queue._replace(active=_without(queue.active, lapsed))
    return _to_pending(left, lapsed), Moved(len(lapsed))


def _promote(queue: Queue, verb: Promote, now: Millis) -> tuple[Queue, Reply]:
    limit = count(verb.limit)
    if limit is None:
        return queue, Error.EMQARG
    ready = due(queue.schedule, now)[:limit]
    left = queue._replace(schedule=_without(queue.schedule, ready))
    return _to_pending(left, ready), Moved(len(ready))


def _refusal(queue: Queue, verb: Settle) -> Reply | None:
    """What a settle answers that may not go ahead: gone without a row, else stale, else None."""
    if is_ghost(queue, verb.id):
        return Answer.GONE
    if not live(queue, verb.id, verb.token):
        return Error.EMQSTALE
    return None


def _out_of_lease(queue: Queue, id: JobId) -> Queue:
    """The job of a live token leaves active, or pending if it was swept."""
    return queue._replace(active=queue.active.drop(id), pending=queue.pending.drop(id))


def _to_pending(queue: Queue, ids: Iterable[JobId]) -> Queue:
    """Each id becomes pending at score 0. A ghost goes nowhere, and stops none of the others."""
    for id in ids:
        if not is_ghost(queue, id):
            waiting = queue.rows[id]._replace(state=State.PENDING)
            queue = queue._replace(
                pending=queue.pending.put(id, 0), rows=queue.rows.put(id, waiting)
            )
    return queue


def _without(index: Index, ids: list[JobId]) -> Index:
    for id in ids:
        index = index.drop(id)
    return index


_CANONICAL = re.compile(rb"0|[1-9][0-9]{0,15}")


def canonical(number: Number, least: int, most: int) -> int | None:
    """Read a canonical decimal in least ... most (most < 10^16); None if it is anything else.

    Canonical: no sign, no leading zero, no blank, no exponent, no `inf`, no `0x`.

    >>> canonical(b"10", 1, 99), canonical(b"010", 1, 99), canonical(b"1e1", 1, 99)
    (10, None, None)
    """
    text = spelling(number)
    if _CANONICAL.fullmatch(text) is None or not least <= int(text) <= most:
        return None
    return int(text)


def span(number: Number, least: int) -> int | None:
    """Read a lease (least 1) or a delay (least 0), in milliseconds; None if malformed."""
    return canonical(number, least, LONGEST)


def count(number: Number) -> int | None:
    """Read a limit or max_attempts; None if malformed."""
    return canonical(number, 1, MOST_COUNT)
