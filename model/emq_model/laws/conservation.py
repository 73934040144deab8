"""C1-C5: nothing is lost, nothing is doubled, nothing is made up."""

from emq_model.ids import is_job_id
from emq_model.laws.reap import swept
from emq_model.laws.transition import HOLDS, VACUOUS, Finding, Transition, name, unchanged
from emq_model.queue import JobId, Queue, State, is_ghost
from emq_model.replies import Answer, Error
from emq_model.verbs import Claim, Complete, Enqueue, Promote, span


def _places(queue: Queue, id: JobId) -> list[State]:
    return [state for state, index in queue.indexes if id in index]


def _well_placed(queue: Queue, id: JobId) -> bool:
    return id in queue.rows and _places(queue, id) == [queue.rows[id].state]


def c1(t: Transition) -> Finding:
    if isinstance(t.verb, Enqueue) and t.reply is Answer.ADMITTED and t.verb.id not in t.after.rows:
        return f"{name(t.verb.id)} was admitted, but there is no row"
    if not t.moved:
        return VACUOUS
    for id in t.touched:
        row = t.after.rows.get(id)
        if row is None:
            if id in t.before.rows and not (
                isinstance(t.verb, Complete) and t.verb.id == id and t.reply is Answer.DONE
            ):
                return f"{name(id)} vanished without being completed"
        elif not _well_placed(t.after, id) and (
            _well_placed(t.before, id) or not (id in t.before.rows or _places(t.before, id))
        ):
            places = " and ".join(_places(t.after, id)) or "no index"
            return f"{name(id)} says that it is {row.state}, and is in {places}"
        if t.after.dead.get(id, 0) not in (0, t.before.dead.get(id)):
            return f"{name(id)} stands in dead at {t.after.dead[id]}, not at 0"
    return HOLDS if t.before[:4] != t.after[:4] else VACUOUS


def c2(t: Transition) -> Finding:
    if not t.moved:
        return VACUOUS
    for id in t.touched:
        if id not in t.after.rows:
            for (state, index), (_, known) in zip(t.after.indexes, t.before.indexes, strict=True):
                if id in index and not (id in known and not _well_placed(t.before, id)):
                    return f"{name(id)} is in {state}, but it has no row"
        elif id not in t.before.rows and not (isinstance(t.verb, Enqueue) and t.verb.id == id):
            return f"a row for {name(id)} appeared, which nobody enqueued"
    return HOLDS if t.before.rows != t.after.rows else VACUOUS


def c3(t: Transition) -> Finding:
    match t.verb:
        case Claim():
            head = t.before.head
            if head is None or t.before.paused or not is_ghost(t.before, head):
                return VACUOUS
            if span(t.verb.lease, 1) is None:
                return VACUOUS
            if t.reply is not Answer.EMPTY:
                return f"{name(head)} is a ghost, so the answer is empty"
            if t.after != t.before._replace(pending=t.before.pending.drop(head)):
                return f"{name(head)} is a ghost: it leaves pending, and nothing is written"
            return HOLDS
        case Promote():
            left = [id for id in t.before.schedule if id not in t.after.schedule]
        case _:
            left = swept(t)
    gone = [id for id in left if is_ghost(t.before, id)]
    for id in gone:
        if id in t.after.rows or (id in t.after.pending and id not in t.before.pending):
            return f"{name(id)} is a ghost: it goes nowhere, and nothing is written"
    return bool(gone)


def c4(t: Transition) -> Finding:
    if not isinstance(t.reply, Error):
        return VACUOUS
    return unchanged(t, f"the answer was the error {t.reply}, yet")


def c5(t: Transition) -> Finding:
    assert isinstance(t.verb, Enqueue)
    if not is_job_id(t.verb.id):
        if t.reply is not Error.EMQKIND:
            return f"{t.verb.id!r} is not a job id, yet it was not refused"
        return unchanged(t, "a bad id was refused, yet")
    if t.verb.id in t.before.rows:
        if t.reply is not Answer.DUPLICATE:
            return f"a row for {name(t.verb.id)} exists, so the answer is duplicate"
        return unchanged(t, "a duplicate was enqueued, and")
    return VACUOUS
