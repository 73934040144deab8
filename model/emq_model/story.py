"""A run in the protocol's words: what was asked, what came back, and where two queues differ.

Jobs are called A, B, C ... in byte order, so that A is served before B. Instants are told from the
start of the run: `+10` is ten milliseconds after it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields

from emq_model.ids import is_job_id
from emq_model.queue import Job, JobId, Millis, Queue
from emq_model.replies import Answer, Claimed, Error, Moved
from emq_model.verbs import Enqueue, Promote, Reap, Verb


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a story: a verb, or something done from outside."""

    now: Millis
    """The server clock."""
    who: str
    """Who asked: a worker's name, or the outside."""
    what: Verb | str
    """The verb; or words, in which `{}` stands for the job that they are about."""
    reply: object = None
    """What came back: a reply, or whatever it was that is none."""
    about: JobId | None = None


class Names:
    """Short names for the jobs of a run, and instants counted from its start."""

    def __init__(self, ids: Iterable[JobId], start: Millis) -> None:
        """Name these ids."""
        ordered = sorted({id for id in ids if is_job_id(id)})
        self._names = {id: _letter(n) for n, id in enumerate(ordered)}
        self._start = start

    def job(self, id: JobId) -> str:
        """A job's letter; a malformed id as it is."""
        return self._names.get(id) or quoted(id)

    def instant(self, instant: Millis) -> str:
        """An instant, counted from the start."""
        return f"{instant - self._start:+,}"

    def legend(self) -> str:
        """Which letter stands for which id."""
        return ", ".join(f"{letter} = {id.decode()}" for id, letter in self._names.items())


def quoted(value: object) -> str:
    """A value as a story writes it: numbers plain, bytes in quotes, long ones cut."""
    if not isinstance(value, bytes):
        return str(value)
    text = repr(value)[1:]
    return text if len(text) <= 40 else f"{repr(value[:9])[1:-1]}…' ({len(value)} bytes)"


def verb_words(verb: Verb, names: Names) -> str:
    """A verb in the protocol's words: `retry A token 1 delay 5 max_attempts 3 error 'x'`."""
    words = [type(verb).__name__.lower()]
    for field in fields(verb):
        value = getattr(verb, field.name)
        if field.name == "id":
            words.append(names.job(value))
        else:
            words.append(f"{field.name} {quoted(value)}")
    return " ".join(words)


def reply_words(reply: object, verb: Verb | str, names: Names) -> str:
    """A reply in the protocol's words."""
    match reply:
        case Answer():
            return reply.value
        case Error():
            return str(reply)
        case Claimed(id, payload, token):
            return f"{names.job(id)}, token {token}" + (f", {quoted(payload)}" if payload else "")
        case Moved(count) if isinstance(verb, Reap):
            return f"{count} left active"
        case Moved(count) if isinstance(verb, Promote):
            return f"{count} left schedule"
        case None:
            return ""
    return f"no reply of the protocol: {getattr(reply, 'raw', reply)!r}"


def tell(steps: Sequence[Step], names: Names) -> list[str]:
    """The steps of a run, one a line, in columns; the last one is marked."""
    rows = [("clock", "who", "what", "answer")]
    for step in steps:
        what = _what(step, names)
        reply = reply_words(step.reply, step.what, names)
        rows.append((names.instant(step.now), step.who, what, reply))
    clock, who, what_width = (max(len(row[n]) for row in rows) for n in range(3))
    lines = [
        f"{now:>{clock}}  {name:<{who}}  {what:<{what_width}}  {reply}".rstrip()
        for now, name, what, reply in rows
    ]
    return [f"  {line}" for line in lines[:-1]] + [f"> {lines[-1]}"]


def _what(step: Step, names: Names) -> str:
    if not isinstance(step.what, str):
        return verb_words(step.what, names)
    return step.what if step.about is None else step.what.format(names.job(step.about))


def differences(expected: Queue, seen: Queue, names: Names) -> list[str]:
    """Where two queues differ, key by key: what was expected and what was found."""
    lines = []
    for name, index, found in zip(Queue._fields[:4], expected[:4], seen[:4], strict=True):
        for id in sorted(index.keys() | found.keys()):
            if index.get(id) != found.get(id):
                tell_score = str if name in ("pending", "dead") else names.instant
                lines.append(
                    f"{name}: {names.job(id)} expected {_at(index.get(id), tell_score)}, "
                    f"found {_at(found.get(id), tell_score)}"
                )
    for id in sorted(expected.rows.keys() | seen.rows.keys()):
        wanted, row = expected.rows.get(id), seen.rows.get(id)
        if wanted != row:
            lines.append(f"row {names.job(id)}: {_row_difference(wanted, row)}")
    for id in sorted(expected.foreign ^ seen.foreign):
        lines.append(f"row {names.job(id)}: a key that is no row {_came(id in seen.foreign)}")
    if expected.paused != seen.paused:
        lines.append(f"paused: expected {expected.paused}, found {seen.paused}")
    return lines


def ids_of(steps: Iterable[Step], *queues: Queue) -> set[JobId]:
    """Every job id that occurs in these steps and queues."""
    steps = list(steps)
    ids = {step.what.id for step in steps if isinstance(step.what, Enqueue)}
    ids.update(step.about for step in steps if step.about is not None)
    for queue in queues:
        ids.update(queue.rows, queue.foreign, *queue[:4])
    return ids


def _at(score: Millis | None, tell_score: Callable[[Millis], str]) -> str:
    return "absent" if score is None else f"at {tell_score(score)}"


def _row_difference(wanted: Job | None, row: Job | None) -> str:
    if wanted is None or row is None:
        return f"expected {_present(wanted)}, found {_present(row)}"
    return "; ".join(
        f"{name} expected {_told(value, found)}, found {_told(found, value)}"
        for name, value, found in zip(Job._fields, wanted, row, strict=True)
        if value != found
    )


def _told(value: object, other: object) -> str:
    """A value; and the byte at which it parts from another, if the cut would hide it."""
    text = quoted(value)
    if text != quoted(other) or not isinstance(value, bytes) or not isinstance(other, bytes):
        return text
    same = next((n for n, (a, b) in enumerate(zip(value, other, strict=False)) if a != b), None)
    return f"{text} from byte {same}: {repr(value[same : (same or 0) + 9])[1:]}"


def _came(there: bool) -> str:
    return "has appeared" if there else "has gone"


def _present(row: Job | None) -> str:
    return "none" if row is None else f"{row.state.value} at attempts {row.attempts}"


def _letter(n: int) -> str:
    return chr(ord("A") + n) if n < 26 else f"J{n + 1}"


__all__ = [
    "Names",
    "Step",
    "differences",
    "ids_of",
    "quoted",
    "reply_words",
    "tell",
    "verb_words",
]
