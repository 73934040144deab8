"""The keys of a queue, and its verbs as commands: shared by all that speak the wire protocol."""

from typing import Any

from emq_conformance.backend import Command, Unknown
from emq_conformance.wire import ErrorReply
from emq_model import (
    Answer,
    Claim,
    Claimed,
    Complete,
    Enqueue,
    Error,
    Extend,
    JobId,
    Moved,
    Promote,
    Reap,
    Reply,
    Retry,
    Verb,
)
from emq_model.queue import spelling

PAUSED = b"paused"
"""The field of `meta` that is present iff the queue is paused."""


class Keys:
    """The names of one queue's keys. They share the hash tag `{queue}`, and so one slot (W2)."""

    def __init__(self, queue: bytes) -> None:
        """Name the keys of `queue`.

        Raises:
            ValueError: if the name is empty or holds a brace: the tag would not be the name.
        """
        if not queue or b"{" in queue or b"}" in queue:
            raise ValueError(f"a queue's name is not empty and holds no brace: {queue!r}")
        self.queue = queue
        self.base = b"emq:{" + queue + b"}:"
        self.pending = self.base + b"pending"
        self.active = self.base + b"active"
        self.schedule = self.base + b"schedule"
        self.dead = self.base + b"dead"
        self.indexes = (self.pending, self.active, self.schedule, self.dead)
        self.meta = self.base + b"meta"

    def row(self, id: JobId) -> bytes:
        """The key of a job's row."""
        return self.base + b"job:" + id


def command(keys: Keys, verb: Verb) -> Command:
    """Spell one of the seven verbs with its keys and arguments, in the protocol's order.

    Raises:
        ValueError: for pause and resume, which are a field of `meta` and no command.
    """
    k, base = keys, keys.base
    match verb:
        case Enqueue(id, payload):
            return Command("enqueue", (k.pending, base), (id, payload))
        case Claim(lease):
            return Command("claim", (k.pending, k.active, base), (spelling(lease),))
        case Complete(id, token):
            return Command("complete", (k.pending, k.active, base), (id, spelling(token)))
        case Retry(id, token, delay, most, error):
            wanted = (id, spelling(token), spelling(delay), spelling(most), error)
            return Command("retry", (k.pending, k.active, k.schedule, k.dead, base), wanted)
        case Extend(id, token, lease):
            lengthen = (id, spelling(token), spelling(lease))
            return Command("extend", (k.pending, k.active, base), lengthen)
        case Reap(limit):
            return Command("reap", (k.pending, k.active, base), (spelling(limit),))
        case Promote(limit):
            return Command("promote", (k.pending, k.schedule, base), (spelling(limit),))
    raise ValueError(f"{type(verb).__name__.lower()} is not a command")


_INTEGERS: dict[type[Verb], dict[int, Answer]] = {
    Enqueue: {1: Answer.ADMITTED, 0: Answer.DUPLICATE},
    Complete: {1: Answer.DONE, 0: Answer.GONE},
    Retry: {0: Answer.GONE},
    Extend: {1: Answer.EXTENDED, 0: Answer.GONE},
}
_WORDS = {b"scheduled": Answer.SCHEDULED, b"dead": Answer.DEAD}


def reply_of(verb: Verb, raw: Any) -> Reply | Unknown:
    """Read the wire's answer to a verb as a reply; what the protocol does not know is `Unknown`."""
    match raw:
        case bool() | [_, _, bool()]:
            return Unknown(raw)  # RESP3 has booleans, which Python takes for integers
        case ErrorReply(code):
            return Error(code) if code in Error.__members__ else Unknown(raw)
        case [] if isinstance(verb, Claim):
            return Answer.EMPTY
        case [bytes() as id, bytes() as payload, int() as token] if isinstance(verb, Claim):
            return Claimed(id, payload, token)
        case int() if isinstance(verb, Reap | Promote):
            return Moved(raw)
        case int() if raw in _INTEGERS.get(type(verb), {}):
            return _INTEGERS[type(verb)][raw]
        case bytes() if isinstance(verb, Retry) and raw in _WORDS:
            return _WORDS[raw]
    return Unknown(raw)
