"""The refinement mapping: a queue's keys read as an `emq_model.Queue`, and written from one."""

import re
from collections.abc import Sequence
from typing import Any

from emq_conformance.keys import PAUSED, Keys
from emq_conformance.reading import FIELDS, Anomaly, Observation, ObservationError, Reading
from emq_conformance.wire import Argument, ErrorReply, Wire
from emq_model import JobId, Queue

__all__ = ["Anomaly", "Keyspace", "Observation", "ObservationError", "restoring"]

_FOREIGN = b"something that is not a row"
_READ: dict[bytes, tuple[Argument, ...]] = {
    b"hash": ("HGETALL",),
    b"zset": ("ZRANGE", 0, -1, "WITHSCORES"),
    b"string": ("GET",),
}
_INDEXES = ("pending", "active", "schedule", "dead")


class Keyspace:
    """The keys of one queue on one server, seen from outside the implementation."""

    def __init__(
        self, wire: Wire, keys: Keys, *, private: bool, row_fields: frozenset[bytes] = frozenset()
    ) -> None:
        """Look at the keys of a queue.

        Args:
            wire: a connection of the suite's own.
            keys: the queue's keys.
            private: whether the whole database is the suite's, so that stray keys can be seen.
            row_fields: what a row may hold besides the protocol's fields.
        """
        self._wire = wire
        self._keys = keys
        self._private = private
        self._fields = FIELDS | row_fields
        self._known: list[JobId] = []
        self._question: tuple[bytes, int] | None = None  # packed once, as it seldom changes

    def know(self, id: JobId) -> None:
        """Look for the row of `id` from now on, even if no index names it."""
        if id not in self._known:
            self._known.append(id)
            self._question = None

    @property
    def question(self) -> tuple[bytes, int]:
        """What to ask for the whole keyspace, packed; `read` reads the answers."""
        if self._question is None:
            self._question = self._wire.pack(self._commands())
        return self._question

    def observe(self) -> Observation:
        """Read the whole keyspace back: one round trip, and another for rows of unknown ids.

        Raises:
            ObservationError: if the server answers an error.
        """
        return self.read(self._wire.ask(*self.question))

    def read(self, answers: list[Any]) -> Observation:
        """Read the answers to `question`, in RESP2 or RESP3.

        Raises:
            ObservationError: if one of them is an error that no keyspace accounts for.
        """
        size, *rest = answers
        indexes, meta, rows = rest[:4], rest[4], rest[5:]
        reading = Reading(self._fields)
        for name, raw in zip(_INDEXES, indexes, strict=True):
            reading.index(name, raw)
        unknown = reading.ids() - set(self._known)
        if unknown:
            for id in sorted(unknown):
                self.know(id)
            return self.observe()
        reading.meta(meta)
        for id, raw in zip(self._known, rows, strict=True):
            reading.row(id, raw)
        if self._private and size != reading.size:
            reading.strays(self._strays())
        return reading.observation()

    def dump(self) -> dict[bytes, Any]:
        """Every key of the queue with its type, what it holds, and its time to live, unread.

        On the suite's own server, every other key too. This is for what must not change at all.
        """
        contents: dict[bytes, Any] = {}
        for name in sorted(self._listed(b"*" if self._private else _glob(self._keys.base) + b"*")):
            kind = self._wire.call("TYPE", name)
            read = _READ.get(kind, ("DUMP",))
            contents[name] = (
                kind,
                self._wire.call(read[0], name, *read[1:]),
                self._wire.call("PTTL", name),
            )
        return contents

    def restore(self, queue: Queue) -> None:
        """Make the keyspace hold `queue` and nothing else: one round trip after the erasure."""
        self.erase()
        for id in (*queue.rows, *queue.foreign):
            self.know(id)
        for answer in self._wire.batch(restoring(self._keys, queue)):
            _done(answer)

    def delete_row(self, id: JobId) -> None:
        """Take a row away from outside, as an eviction would. Its index entry is a ghost then."""
        _done(self._wire.call("DEL", self._keys.row(id)))

    def replace_row(self, id: JobId) -> None:
        """Put a string where a row was, from outside."""
        _done(self._wire.call("SET", self._keys.row(id), _FOREIGN))

    def erase(self) -> None:
        """Delete the queue's keys; on the suite's own server, every other key too."""
        k = self._keys
        names = [*k.indexes, k.meta, *map(k.row, self._known)]
        if self._private and self._wire.call("DBSIZE"):
            names += self._listed(b"*")
        _done(self._wire.call("DEL", *names))

    def _commands(self) -> list[Sequence[Argument]]:
        k = self._keys
        return [
            ("DBSIZE",),
            *(("ZRANGE", index, 0, -1, "WITHSCORES") for index in k.indexes),
            ("HGETALL", k.meta),
            *(("HGETALL", k.row(id)) for id in self._known),
        ]

    def _strays(self) -> list[bytes]:
        k = self._keys
        ours = {*k.indexes, k.meta, *map(k.row, self._known)}
        return [name for name in self._listed(b"*") if name not in ours]

    def _listed(self, pattern: bytes) -> list[bytes]:
        names: list[bytes] = []
        cursor = b"0"
        while True:
            answer = self._wire.call("SCAN", cursor, "MATCH", pattern, "COUNT", 1000)
            if isinstance(answer, ErrorReply):
                raise ObservationError(f"cannot list the keys: {answer.message}")
            cursor, found = answer
            names += found
            if cursor == b"0":
                return names


def restoring(keys: Keys, queue: Queue) -> list[tuple[Argument, ...]]:
    """The commands that write `queue` into an empty keyspace."""
    commands: list[tuple[Argument, ...]] = []
    for key, index in zip(keys.indexes, queue[:4], strict=True):
        for id, score in index.items():
            commands.append(("ZADD", key, score, id))
    for id, job in queue.rows.items():
        fields: list[Argument] = [
            *("state", job.state.value, "attempts", job.attempts, "payload", job.payload)
        ]
        if job.last_error is not None:
            fields += ["last_error", job.last_error]
        if job.spent is not None:
            fields += ["spent", job.spent]
        commands.append(("HSET", keys.row(id), *fields))
    commands += [("SET", keys.row(id), _FOREIGN) for id in queue.foreign]
    if queue.paused:
        commands.append(("HSET", keys.meta, PAUSED, 1))
    return commands


def _glob(literal: bytes) -> bytes:
    """A pattern that matches just this."""
    return re.sub(rb"([\\*?\[\]^-])", rb"\\\1", literal)


def _done(answer: object) -> None:
    if isinstance(answer, ErrorReply):
        raise ObservationError(f"cannot set the keyspace up: {answer.message}")
