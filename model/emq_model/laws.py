"""The laws: each with its id, its words, where it comes from, and how one step is checked.

A check looks at one `Transition` and answers a `Finding`: the law's interesting case did not arise
in it (`VACUOUS`), it did and the law holds (`HOLDS`), or it is broken, and this is why (a str). No
check trusts `step`, except where a law says that something makes no difference (L3, P1): there the
machine tells what the difference would have been. So a law can be broken by the machine too.

A check takes for granted what held before the step: a state that was already wrong for a job is
not blamed on the verb that came next. By induction over a run, the first step that breaks a law is
the one that is named.

Some laws are not about one step: about two clients at once (P3), about the wire (W1-W3). They have
no check here; the suite has tests for them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from emq_model.ids import is_job_id
from emq_model.queue import (
    JobId,
    Millis,
    Queue,
    State,
    due,
    is_ghost,
    live,
    spelling,
)
from emq_model.replies import Answer, Claimed, Error, Moved, Reply
from emq_model.verbs import (
    LONGEST,
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


@dataclass(frozen=True, slots=True)
class Law:
    """A law of the protocol."""

    id: str
    statement: str
    source: str
    """The part of the protocol that it restates."""
    check: Callable[[Transition], Finding] | None = None
    """None for a law that no single step can show."""


# --- the fence ---------------------------------------------------------------------------------


def _settle(t: Transition) -> Settle | None:
    """The settle that this step tries on a row, its other arguments being well-formed."""
    verb = t.verb
    if not isinstance(verb, Complete | Retry | Extend) or is_ghost(t.before, verb.id):
        return None
    match verb:
        case Retry() if span(verb.delay, 0) is None or count(verb.max_attempts) is None:
            return None
        case Extend() if span(verb.lease, 1) is None:
            return None
    return verb


def _accepted(t: Transition) -> bool:
    return t.reply in (Answer.DONE, Answer.SCHEDULED, Answer.DEAD, Answer.EXTENDED)


def _f1(t: Transition) -> Finding:
    verb = _settle(t)
    if verb is None or live(t.before, verb.id, verb.token):
        return VACUOUS
    if t.reply is not Error.EMQSTALE:
        return (
            f"token {_quoted(verb.token)} is stale, for the live one is "
            f"{_live_token(t.before, verb.id)}; yet it was not refused"
        )
    return HOLDS


def _f2(t: Transition) -> Finding:
    if t.reply is not Error.EMQSTALE:
        return VACUOUS
    return _unchanged(t, "the token was refused, yet")


def _f3(t: Transition) -> Finding:
    claimed = t.reply.id if isinstance(t.verb, Claim) and isinstance(t.reply, Claimed) else None
    for id, row in t.before.rows.items():
        kept = t.after.rows.get(id)
        if id != claimed and kept is not None and kept.attempts != row.attempts:
            return (
                f"only its claim changes attempts; {_name(id)}: {row.attempts} to {kept.attempts}"
            )
    if claimed is None or claimed not in t.before.rows or not isinstance(t.reply, Claimed):
        return VACUOUS
    was, kept = t.before.rows[claimed].attempts, t.after.rows.get(claimed)
    if t.reply.token != was + 1 or kept is None or kept.attempts != was + 1:
        left = "no row" if kept is None else kept.attempts
        return (
            f"attempts stood at {was}, so the claim mints {was + 1}; "
            f"it answered {t.reply.token} and left {left}"
        )
    return HOLDS


def _f4(t: Transition) -> Finding:
    verb = _settle(t)
    if verb is None:
        return VACUOUS
    attempts, token = t.before.rows[verb.id].attempts, spelling(verb.token)
    if _accepted(t) and token != spelling(attempts):
        return f"token {_quoted(verb.token)} was accepted beside {attempts}, the job's latest"
    if attempts < 2:
        return VACUOUS
    superseded = (spelling(number) for number in range(1, min(attempts, 100)))
    return _accepted(t) or token in superseded


def _f5(t: Transition) -> Finding:
    verb = _settle(t)
    if verb is None:
        return VACUOUS
    text = spelling(verb.token)
    if text.isdigit() and not text.startswith(b"0"):
        return VACUOUS
    if t.reply is not Error.EMQSTALE:
        return (
            f"{_quoted(verb.token)} is no canonical spelling of a number >= 1, "
            "yet it was not refused"
        )
    return HOLDS


def _f6(t: Transition) -> Finding:
    for id, row in t.before.rows.items():
        kept = t.after.rows.get(id)
        if (
            kept is not None
            and row.spent == row.attempts == kept.attempts
            and kept.spent != row.spent
        ):
            return f"token {row.spent} was spent, and now the row no longer says so"
    if isinstance(t.verb, Promote):
        left = t.before.schedule.keys() - t.after.schedule.keys()
        return any(id in t.before.rows and t.before.rows[id].spent for id in left)
    verb = _settle(t)
    if verb is None:
        return VACUOUS
    spent = t.before.rows[verb.id].spent
    if spent is not None and spelling(verb.token) == spelling(spent):
        if t.reply is not Error.EMQSTALE:
            return f"token {spent} had settled its claim by retry: it is spent, yet not refused"
        return HOLDS
    if t.reply in (Answer.SCHEDULED, Answer.DEAD):
        if live(t.after, verb.id, verb.token):
            return f"token {_quoted(verb.token)} settled by retry, and is still live"
        return HOLDS
    return VACUOUS


# --- the lease ---------------------------------------------------------------------------------


def _deadline(t: Transition, id: JobId, lease: int | bytes) -> Finding:
    milliseconds = span(lease, 1)
    if milliseconds is None:
        return f"a lease of {_quoted(lease)} is malformed, yet it was granted"
    score, due_at = t.after.active.get(id), t.now + milliseconds
    if score != due_at:
        return (
            f"server clock {t.now} + lease {milliseconds} = {due_at}; "
            f"the score in active is {score}"
        )
    return HOLDS


def _l1(t: Transition) -> Finding:
    if not isinstance(t.verb, Claim) or not isinstance(t.reply, Claimed):
        return VACUOUS
    return _deadline(t, t.reply.id, t.verb.lease)


def _l2(t: Transition) -> Finding:
    if not isinstance(t.verb, Extend) or t.reply is not Answer.EXTENDED:
        return VACUOUS
    return _deadline(t, t.verb.id, t.verb.lease)


def _l3(t: Transition) -> Finding:
    if t.worker_now is None or t.worker_now == t.now:
        return VACUOUS
    by_worker = step(t.before, t.verb, t.worker_now)
    if by_worker == t.machine:
        return VACUOUS
    if (t.after, t.reply) == by_worker:
        return (
            f"this is the outcome at the worker's clock, {t.worker_now}; "
            f"the server's clock said {t.now}"
        )
    return HOLDS


def _l4(t: Transition) -> Finding:
    verb = _settle(t)
    stood = t.last_now is not None and t.now <= t.last_now
    if verb is None:
        if not isinstance(t.verb, Claim) or not stood:
            return VACUOUS
    elif not stood and not _lapsed(t, verb.id):
        return VACUOUS
    reached = False
    for law in (_f1, _f2, _f3, _f4, _f5, _f6):
        finding = law(t)
        if isinstance(finding, str):
            return f"whatever the clock says: {finding}"
        reached = reached or finding
    return reached


def _lapsed(t: Transition, id: JobId) -> bool:
    """Whether the job's last lease is over: its deadline has passed, or it was swept."""
    deadline = t.before.active.get(id)
    if deadline is None:
        return id in t.before.pending and t.before.rows[id].attempts > 0
    return deadline <= t.now


# --- the reaper --------------------------------------------------------------------------------


def _swept(t: Transition) -> list[JobId]:
    return [id for id in t.before.active if id not in t.after.active]


def _r1(t: Transition) -> Finding:
    if not isinstance(t.verb, Reap) or (limit := count(t.verb.limit)) is None:
        return VACUOUS
    lapsed, left = due(t.before.active, t.now)[:limit], _swept(t)
    if sorted(left) != sorted(lapsed):
        return (
            f"at {t.now}, with limit {limit}, the lapsed are {_names(lapsed)}; "
            f"out of active went {_names(left)}"
        )
    if t.reply != Moved(len(lapsed)):
        return f"{len(lapsed)} ids left active, but the answer was another"
    return HOLDS if t.before.active else VACUOUS


def _r2(t: Transition) -> Finding:
    if not isinstance(t.verb, Reap):
        return VACUOUS
    swept = [id for id in _swept(t) if not is_ghost(t.before, id)]
    for id in swept:
        row, was = t.after.rows.get(id), t.before.rows[id]
        if t.after.pending.get(id) != 0 or row is None or row.state is not State.PENDING:
            return f"{_name(id)} was swept, but it is not pending at score 0"
        if row.attempts != was.attempts:
            return f"{_name(id)} was swept at attempts {was.attempts}, which became {row.attempts}"
    return bool(swept)


def _r3(t: Transition) -> Finding:
    if not isinstance(t.verb, Reap) or not isinstance(t.reply, Moved):
        return VACUOUS
    limit = count(t.verb.limit)
    if limit is None or t.reply.count >= limit or not due(t.before.active, t.now):
        return VACUOUS
    left = due(t.after.active, t.now)
    if left:
        return f"the reaper stopped below its limit, yet {_names(left)} had lapsed and are left"
    return HOLDS


def _r4(t: Transition) -> Finding:
    horizon = t.now + LONGEST
    for known, index in ((t.before.active, t.after.active), (t.before.schedule, t.after.schedule)):
        for id, instant in index.items():
            if not instant <= horizon and instant != known.get(id):
                return f"{_name(id)} stands at {instant}: no clock ever passes that"
    if isinstance(t.verb, Claim) and t.reply is Answer.EMPTY and not t.before.paused:
        head = t.before.head
        if head is not None and not is_ghost(t.before, head):
            return f"{_name(head)} is pending and the queue is not paused, yet nothing was served"
    return isinstance(t.reply, Claimed) or t.reply is Answer.EXTENDED


# --- conservation ------------------------------------------------------------------------------


def _places(queue: Queue, id: JobId) -> list[State]:
    return [state for state, index in queue.indexes if id in index]


def _well_placed(queue: Queue, id: JobId) -> bool:
    return id in queue.rows and _places(queue, id) == [queue.rows[id].state]


def _c1(t: Transition) -> Finding:
    if isinstance(t.verb, Enqueue) and t.reply is Answer.ADMITTED and t.verb.id not in t.after.rows:
        return f"{_name(t.verb.id)} was admitted, but there is no row"
    if not t.moved:
        return VACUOUS
    for id in t.before.rows:
        if id not in t.after.rows and not (
            isinstance(t.verb, Complete) and t.verb.id == id and t.reply is Answer.DONE
        ):
            return f"{_name(id)} vanished without being completed"
    for id, row in t.after.rows.items():
        if not _well_placed(t.after, id) and (
            _well_placed(t.before, id) or not (id in t.before.rows or _places(t.before, id))
        ):
            places = " and ".join(_places(t.after, id)) or "no index"
            return f"{_name(id)} says that it is {row.state}, and is in {places}"
    for id, score in t.after.dead.items():
        if score != 0 and id not in t.before.dead:
            return f"{_name(id)} stands in dead at {score}, not at 0"
    return HOLDS if t.before[:4] != t.after[:4] else VACUOUS


def _c2(t: Transition) -> Finding:
    if not t.moved:
        return VACUOUS
    for (state, index), (_, known) in zip(t.after.indexes, t.before.indexes, strict=True):
        for id in index:
            if is_ghost(t.after, id) and not (id in known and not _well_placed(t.before, id)):
                return f"{_name(id)} is in {state}, but it has no row"
    for id in t.after.rows:
        if id not in t.before.rows and not (isinstance(t.verb, Enqueue) and t.verb.id == id):
            return f"a row for {_name(id)} appeared, which nobody enqueued"
    return HOLDS if t.before.rows != t.after.rows else VACUOUS


def _c3(t: Transition) -> Finding:
    match t.verb:
        case Claim():
            head = t.before.head
            if head is None or t.before.paused or not is_ghost(t.before, head):
                return VACUOUS
            if span(t.verb.lease, 1) is None:
                return VACUOUS
            if t.reply is not Answer.EMPTY:
                return f"{_name(head)} is a ghost, so the answer is empty"
            if t.after != t.before._replace(pending=t.before.pending.drop(head)):
                return f"{_name(head)} is a ghost: it leaves pending, and nothing is written"
            return HOLDS
        case Reap():
            gone = {id for id in _swept(t) if is_ghost(t.before, id)}
        case Promote():
            gone = {
                id
                for id in t.before.schedule
                if id not in t.after.schedule and is_ghost(t.before, id)
            }
        case _:
            return VACUOUS
    for id in gone:
        if id in t.after.rows or (id in t.after.pending and id not in t.before.pending):
            return f"{_name(id)} is a ghost: it goes nowhere, and nothing is written"
    return bool(gone)


def _c4(t: Transition) -> Finding:
    if not isinstance(t.reply, Error):
        return VACUOUS
    return _unchanged(t, f"the answer was the error {t.reply}, yet")


def _c5(t: Transition) -> Finding:
    if not isinstance(t.verb, Enqueue):
        return VACUOUS
    if not is_job_id(t.verb.id):
        if t.reply is not Error.EMQKIND:
            return f"{t.verb.id!r} is not a job id, yet it was not refused"
        return _unchanged(t, "a bad id was refused, yet")
    if t.verb.id in t.before.rows:
        if t.reply is not Answer.DUPLICATE:
            return f"a row for {_name(t.verb.id)} exists, so the answer is duplicate"
        return _unchanged(t, "a duplicate was enqueued, and")
    return VACUOUS


# --- order and pause ---------------------------------------------------------------------------


def _o1(t: Transition) -> Finding:
    for id, score in t.after.pending.items():
        if score != 0 and t.before.pending.get(id) != score:
            return f"{_name(id)} stands in pending at {score}, not at 0: so bytes do not decide"
    if not isinstance(t.verb, Claim) or not isinstance(t.reply, Claimed):
        return VACUOUS
    if any(t.before.pending.values()):
        return VACUOUS  # an earlier step is to blame for the order
    smallest = min(t.before.pending, default=None)
    if t.reply.id != smallest:
        first = "none" if smallest is None else _name(smallest)
        return f"the byte-smallest pending id is {first}; served was {_name(t.reply.id)}"
    return len(t.before.pending) > 1


def _p1(t: Transition) -> Finding:
    if not t.before.paused or isinstance(t.verb, Pause | Resume):
        return VACUOUS
    if isinstance(t.verb, Claim):
        if span(t.verb.lease, 1) is None:
            return VACUOUS
        if t.reply is not Answer.EMPTY:
            return "the queue is paused, so the answer to a claim is empty"
        finding = _unchanged(t, "the queue is paused, yet a claim")
        return finding if isinstance(finding, str) else bool(t.before.pending)
    running = t.before._replace(paused=False)
    if step(running, t.verb, t.now)[0] == running:
        return VACUOUS
    if not t.moved:
        return "a pause holds back claims only; this verb was held back too"
    return HOLDS


def _p2(t: Transition) -> Finding:
    if not isinstance(t.verb, Resume):
        return VACUOUS
    if t.after != t.before._replace(paused=False):
        return "resume lifts the pause and changes nothing else, so the head is the same"
    return t.before.paused and bool(t.before.pending)


# --- words -------------------------------------------------------------------------------------


def _unchanged(t: Transition, prelude: str) -> Finding:
    if not t.moved:
        return HOLDS
    changed = [
        name
        for name, before, after in zip(Queue._fields, t.before, t.after, strict=True)
        if before != after
    ]
    return f"{prelude} changed {', '.join(changed)}"


def _name(id: JobId) -> str:
    return id.decode("ascii", "backslashreplace")


def _names(ids: list[JobId]) -> str:
    return ", ".join(map(_name, ids)) or "none"


def _quoted(number: int | bytes) -> str:
    return str(number) if isinstance(number, int) else repr(number)[1:]


def _live_token(queue: Queue, id: JobId) -> str:
    attempts = queue.rows[id].attempts
    return str(attempts) if live(queue, id, attempts) else "none"


# --- the table ---------------------------------------------------------------------------------

_FENCE, _LEASE, _REAP, _CONSERVE = "live token", "lease, server clock", "reap", "ghost, skeleton"

LAWS: tuple[Law, ...] = (
    Law("F1", "complete, retry and extend with a stale token are refused", _FENCE, _f1),
    Law("F2", "a refusal changes no key", _FENCE, _f2),
    Law("F3", "each claim of a row answers attempts+1: tokens strictly increase", "token", _f3),
    Law("F4", "at most one token of a job is live at any time", _FENCE, _f4),
    Law(
        "F5",
        "only the canonical spelling of the live number is accepted; 0 never is",
        _FENCE,
        _f5,
    ),
    Law("F6", "a spent token is stale for good: after retry, promote, death", "spent", _f6),
    Law("L1", "deadline = server clock at the claim + lease, the score in active", _LEASE, _l1),
    Law("L2", "extend re-scores from the server clock", _LEASE, _l2),
    Law("L3", "no outcome depends on any worker's clock", "server clock", _l3),
    Law(
        "L4", "F1-F6 hold under every server clock: jumps, steps back, standing still", _FENCE, _l4
    ),
    Law("R1", "reap takes exactly the lapsed, earliest first, at most its limit", _REAP, _r1),
    Law("R2", "a swept job is pending at score 0, attempts unchanged", "swept", _r2),
    Law("R3", "reap again at the same instant, below the limit, and nothing moves", _REAP, _r3),
    Law("R4", "once the clock has passed every deadline, every job is reached", _REAP, _r4),
    Law("C1", "every admitted job is in exactly one index, or completed", "keys", _c1),
    Law("C2", "no skeleton row; every index entry has its row", _CONSERVE, _c2),
    Law("C3", "a ghost is consumed, the answer is empty, nothing is written", "ghost", _c3),
    Law("C4", "a verb that answers an error changed nothing", "arguments", _c4),
    Law("C5", "a duplicate enqueue changes nothing; a bad id is refused first", "enqueue", _c5),
    Law("O1", "claim serves the byte-smallest pending id", "claim", _o1),
    Law("P1", "a paused queue claims empty; everything else goes on", "pause", _p1),
    Law("P2", "resume restores the same head", "resume", _p2),
    Law("P3", "pause is atomic with claim: after pause answered, no claim succeeds", "pause"),
    Law("W1", "same replies under RESP2 and RESP3, with and without a cached script", "replies"),
    Law("W2", "all keys in one slot and derived from the declared base", "keys"),
    Law("W3", "effects replicate: a replica and a restart from AOF hold the same keys", "keys"),
)
"""The laws, in the protocol's order."""


def _rule(verb: type[Verb]) -> Callable[[Transition], Finding]:
    def check(t: Transition) -> Finding:
        if not isinstance(t.verb, verb):
            return VACUOUS
        after, reply = t.machine
        if t.reply != reply:
            return "the reply is not the machine's"
        return HOLDS if t.after == after else "the queue is not the machine's"

    return check


RULES: tuple[Law, ...] = tuple(
    Law(
        verb.__name__.lower(),
        f"{verb.__name__.lower()} answers and leaves what the reference machine does",
        f"verbs: {verb.__name__.lower()}",
        _rule(verb),
    )
    for verb in (Enqueue, Claim, Complete, Retry, Extend, Reap, Promote, Pause, Resume)
)
"""One rule per verb: its whole effect, where the laws say only what matters most."""

BY_ID: dict[str, Law] = {law.id: law for law in (*LAWS, *RULES)}


def findings(t: Transition) -> Iterator[tuple[Law, Finding]]:
    """Check one step against every law and rule that a step can show; skip the vacuous ones."""
    for law in BY_ID.values():
        if law.check is not None and (finding := law.check(t)) is not VACUOUS:
            yield law, finding
