"""One step as it was seen, and the words in which a check complains about it."""

from dataclasses import dataclass
from functools import cached_property

from emq_model.queue import JobId, Millis, Queue, is_ghost, live
from emq_model.replies import Answer, Reply
from emq_model.verbs import (
    Claim,
    Complete,
    Enqueue,
    Extend,
    Pause,
    Promote,
    Reap,
    Resume,
    Retry,
    Settle,
    Verb,
    count,
    span,
    step,
)

SETTLES = (Complete, Retry, Extend)
EVERY: tuple[type[Verb], ...] = (Enqueue, Claim, *SETTLES, Reap, Promote, Pause, Resume)

Finding = bool | str
VACUOUS: Finding = False
HOLDS: Finding = True


@dataclass(frozen=True)
class Transition:
    """One step as it was seen."""

    before: Queue
    verb: Verb
    now: Millis
    """The server clock inside the command."""
    reply: Reply | None
    """What came back; None if it is no reply that the protocol knows."""
    after: Queue
    worker_now: Millis | None = None
    """What the clock of the worker who asked said, if workers have clocks."""
    last_now: Millis | None = None
    """The server clock at the step before, if there was one."""

    @cached_property
    def machine(self) -> tuple[Queue, Reply]:
        """What the reference machine makes of the same verb."""
        return step(self.before, self.verb, self.now)

    @cached_property
    def moved(self) -> bool:
        """Whether anything changed."""
        return self.before != self.after

    @cached_property
    def settle(self) -> Settle | None:
        """The settle that this step tries on a row, if its other arguments let it come to that."""
        verb = self.verb
        if not isinstance(verb, Settle) or is_ghost(self.before, verb.id):
            return None
        if isinstance(verb, Complete) or self.accepted:
            return verb
        if isinstance(verb, Extend):
            return verb if span(verb.lease, 1) is not None else None
        malformed = span(verb.delay, 0) is None or count(verb.max_attempts) is None
        return None if malformed else verb

    @property
    def accepted(self) -> bool:
        """Whether the reply is that of a settle that went ahead."""
        return self.reply in (Answer.DONE, Answer.SCHEDULED, Answer.DEAD, Answer.EXTENDED)

    @cached_property
    def touched(self) -> list[JobId]:
        """The ids whose row, place or score changed, in byte order."""
        if not self.moved:
            return []
        ids: set[JobId] = set()
        for before, after in zip(self.before[:4], self.after[:4], strict=True):
            if before != after:
                ids.update(id for id, _ in before.items() ^ after.items())
        ids.update(id for id, _ in self.before.rows.items() ^ self.after.rows.items())
        return sorted(ids)


def unchanged(t: Transition, prelude: str) -> Finding:
    """HOLDS if the step changed nothing; else what it changed, after the prelude."""
    if not t.moved:
        return HOLDS
    changed = [
        field
        for field, before, after in zip(Queue._fields, t.before, t.after, strict=True)
        if before != after
    ]
    return f"{prelude} changed {', '.join(changed)}"


def name(id: JobId) -> str:
    """An id as text."""
    return id.decode("ascii", "backslashreplace")


def names(ids: list[JobId]) -> str:
    """Ids as text."""
    return ", ".join(map(name, ids)) or "none"


def quoted(number: int | bytes) -> str:
    """A number as it was spelled."""
    return str(number) if isinstance(number, int) else repr(number)[1:]


def live_token(queue: Queue, id: JobId) -> str:
    """A job's live token, or `none`."""
    attempts = queue.rows[id].attempts
    return str(attempts) if live(queue, id, attempts) else "none"
