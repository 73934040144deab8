"""A keyspace's raw answers read as an `emq_model.Queue`, and what of them no Queue can hold."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from emq_conformance.keys import PAUSED
from emq_conformance.wire import ErrorReply
from emq_model import Job, JobId, Queue, State
from emq_model.frozen import Frozen
from emq_model.queue import Index

_NEEDED = frozenset({b"state", b"attempts", b"payload"})
FIELDS = _NEEDED | {b"last_error", b"spent"}
"""The fields of a row."""
_STATES = frozenset(State)


class ObservationError(Exception):
    """The server refused to be read; the message says what it answered."""


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something in the keyspace that no Queue can hold, and the law that it breaks."""

    law: str
    text: str


@dataclass(frozen=True, slots=True)
class Observation:
    """A keyspace as it was read: what a Queue can hold, and what it cannot."""

    queue: Queue
    anomalies: tuple[Anomaly, ...] = ()


class Reading:
    """One reading of a keyspace: collects what a Queue can hold, and notes what it cannot."""

    def __init__(self, fields: frozenset[bytes]) -> None:
        """Allow a row these fields."""
        self.size = 0  # how many keys there were
        self._allowed = fields
        self._indexes: dict[str, Index] = {}
        self._rows: dict[JobId, Job] = {}
        self._foreign: set[JobId] = set()
        self._paused = False
        self._anomalies: list[Anomaly] = []

    def index(self, name: str, raw: Any) -> None:
        """Take the answer to ZRANGE, or an error if it is no sorted set."""
        if isinstance(raw, ErrorReply):
            self.size += 1
            self._note("W2", f"{name} is no sorted set: {_expected(raw, 'WRONGTYPE')}")
        elif raw:
            self.size += 1
            if isinstance(raw[0], list):  # RESP3 pairs each member with its score
                raw = [part for pair in raw for part in pair]
            scores = map(_number, raw[1::2])
            self._indexes[name] = Frozen(zip(raw[::2], scores, strict=True))

    def ids(self) -> set[JobId]:
        """The ids in the indexes that were taken."""
        return set().union(*self._indexes.values())

    def meta(self, raw: Any) -> None:
        """Take the answer to HGETALL of `meta`."""
        if isinstance(raw, ErrorReply):
            self.size += 1
            self._note("W2", f"meta is no hash: {_expected(raw, 'WRONGTYPE')}")
        elif raw:
            self.size += 1
            self._paused = True
            if (fields := _flat(raw)[::2]) != [PAUSED]:
                self._note("W2", f"meta holds {fields}, not just the field `paused`")

    def row(self, id: JobId, raw: Any) -> None:
        """Take the answer to HGETALL of a row, or an error if something else stands there."""
        if isinstance(raw, ErrorReply):
            self.size += 1
            _expected(raw, "WRONGTYPE")
            self._foreign.add(id)
        elif raw:
            self.size += 1
            row = _row(tuple(_flat(raw)), self._allowed)
            if isinstance(row, Job):
                self._rows[id] = row
            else:
                self._note(
                    row.law, f"the row of {id.decode('ascii', 'backslashreplace')} {row.text}"
                )

    def strays(self, names: list[bytes]) -> None:
        """Take the names of keys that are none of the queue's."""
        for name in names:
            self._note("W2", f"key {name!r} is none of the queue's, nor a row of a known job")

    def observation(self) -> Observation:
        """What was read, all in all."""
        queue = Queue(
            **self._indexes,
            rows=Frozen(self._rows),
            foreign=frozenset(self._foreign),
            paused=self._paused,
        )
        return Observation(queue, tuple(self._anomalies))

    def _note(self, law: str, text: str) -> None:
        self._anomalies.append(Anomaly(law, text))


@lru_cache(maxsize=4096)
def _row(raw: tuple[bytes, ...], allowed: frozenset[bytes]) -> Job | Anomaly:
    """Read a row's fields and values."""
    fields = dict(zip(raw[::2], raw[1::2], strict=True))
    if lacking := _NEEDED - fields.keys():
        names = ", ".join(sorted(name.decode() for name in lacking))
        return Anomaly("C2", f"is a skeleton: it lacks {names}")
    if odd := fields.keys() - allowed:
        return Anomaly("C2", f"has fields of its own: {sorted(odd)}")
    state, attempts = fields[b"state"].decode("ascii", "replace"), fields[b"attempts"]
    if state not in _STATES or not _is_count(attempts):
        return Anomaly("C2", f"says state {state!r}, attempts {attempts!r}")
    spent = fields.get(b"spent")
    if spent is not None and (not _is_count(spent) or spent == b"0"):
        return Anomaly("F6", f"says spent {spent!r}, which is no token")
    return Job(
        payload=fields[b"payload"],
        state=State(state),
        attempts=int(attempts),
        last_error=fields.get(b"last_error"),
        spent=None if spent is None else int(spent),
    )


def _number(score: bytes | float) -> int:
    """A score as the model has it; one that is no integer stays what it is, and equals none."""
    if isinstance(score, bytes) and score.isdigit():
        return int(score)
    value = float(score)
    return int(value) if value.is_integer() else value  # type: ignore[return-value]


def _is_count(text: bytes) -> bool:
    """Whether this is a canonical decimal, and not absurdly long."""
    return text.isdigit() and len(text) < 30 and (text == b"0" or not text.startswith(b"0"))


def _flat(fields: Any) -> list[Any]:
    """A hash as fields and values in turn, which RESP3 has as a map."""
    return (
        [part for pair in fields.items() for part in pair] if isinstance(fields, dict) else fields
    )


def _expected(error: ErrorReply, code: str) -> str:
    if error.code != code:
        raise ObservationError(f"cannot read the keyspace back: {error.message}")
    return error.message
