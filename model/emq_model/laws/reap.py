"""R1-R4: the reaper returns what lapsed, all of it, and nothing else."""

from emq_model.laws.transition import HOLDS, VACUOUS, Finding, Transition, name, names
from emq_model.queue import JobId, State, due, is_ghost
from emq_model.replies import Answer, Claimed, Moved
from emq_model.verbs import LONGEST, Claim, Reap, count, span


def swept(t: Transition) -> list[JobId]:
    """The ids that left active."""
    return [id for id in t.before.active if id not in t.after.active]


def r1(t: Transition) -> Finding:
    if not isinstance(t.verb, Reap) or (limit := count(t.verb.limit)) is None:
        return VACUOUS
    lapsed, left = due(t.before.active, t.now)[:limit], swept(t)
    if sorted(left) != sorted(lapsed):
        return (
            f"at {t.now}, with limit {limit}, the lapsed are {names(lapsed)}; "
            f"out of active went {names(left)}"
        )
    if t.reply != Moved(len(lapsed)):
        return f"{len(lapsed)} ids left active, but the answer was another"
    return HOLDS if t.before.active else VACUOUS


def r2(t: Transition) -> Finding:
    returned = [id for id in swept(t) if not is_ghost(t.before, id)]
    for id in returned:
        row, was = t.after.rows.get(id), t.before.rows[id]
        if t.after.pending.get(id) != 0 or row is None or row.state is not State.PENDING:
            return f"{name(id)} was swept, but it is not pending at score 0"
        if row.attempts != was.attempts:
            return f"{name(id)} was swept at attempts {was.attempts}, which became {row.attempts}"
    return bool(returned)


def r3(t: Transition) -> Finding:
    if not isinstance(t.verb, Reap) or not isinstance(t.reply, Moved):
        return VACUOUS
    limit = count(t.verb.limit)
    if limit is None or t.reply.count >= limit or not due(t.before.active, t.now):
        return VACUOUS
    left = due(t.after.active, t.now)
    if left:
        return f"the reaper stopped below its limit, yet {names(left)} had lapsed and are left"
    return HOLDS


def r4(t: Transition) -> Finding:
    horizon = t.now + LONGEST
    for known, index in ((t.before.active, t.after.active), (t.before.schedule, t.after.schedule)):
        for id, instant in index.items():
            if not instant <= horizon and instant != known.get(id):
                return f"{name(id)} stands at {instant}: no clock ever passes that"
    well_formed = isinstance(t.verb, Claim) and span(t.verb.lease, 1) is not None
    if well_formed and t.reply is Answer.EMPTY and not t.before.paused:
        head = t.before.head
        if head is not None and not is_ghost(t.before, head):
            return f"{name(head)} is pending and the queue is not paused, yet nothing was served"
    return isinstance(t.reply, Claimed) or t.reply is Answer.EXTENDED
