"""What a verb answers, as values. The wire form of each is the caller's concern."""

from dataclasses import dataclass
from enum import Enum, StrEnum

from emq_model.queue import JobId


class Answer(Enum):
    """The plain answers."""

    ADMITTED = "admitted"
    """enqueue: the job is in."""
    DUPLICATE = "duplicate"
    """enqueue: a row of that id exists; nothing changed."""
    EMPTY = "empty"
    """claim: no job was handed out."""
    DONE = "done"
    """complete: the row is deleted."""
    GONE = "gone"
    """complete, retry, extend: there is no such row."""
    SCHEDULED = "scheduled"
    """retry: the job waits for its time."""
    DEAD = "dead"
    """retry: the job had used up its attempts."""
    EXTENDED = "extended"
    """extend: the lease has a new deadline."""
    OK = "ok"
    """pause, resume: the flag is as asked."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """claim: this job is leased to the caller, under this token."""

    id: JobId
    payload: bytes
    token: int


@dataclass(frozen=True, slots=True)
class Moved:
    """reap: how many ids left active. promote: how many ids left schedule."""

    count: int


class Error(StrEnum):
    """An error's class. A verb that answers one has changed nothing (law C4)."""

    EMQKIND = "EMQKIND"
    """enqueue: not a valid JOB id."""
    EMQSTALE = "EMQSTALE"
    """complete, retry, extend: the token is stale. This is what the laws call a refusal."""
    EMQARG = "EMQARG"
    """A malformed argument."""
    WRONGTYPE = "WRONGTYPE"
    """A key of the queue holds a value of another type."""


Reply = Answer | Claimed | Moved | Error
