"""L1-L3: deadlines come from the server's clock, and from no other."""

from emq_model.laws.transition import HOLDS, VACUOUS, Finding, Transition, quoted
from emq_model.queue import JobId
from emq_model.replies import Answer, Claimed
from emq_model.verbs import Claim, Extend, span, step


def _deadline(t: Transition, id: JobId, lease: int | bytes) -> Finding:
    milliseconds = span(lease, 1)
    if milliseconds is None:
        return f"a lease of {quoted(lease)} is malformed, yet it was granted"
    score, due_at = t.after.active.get(id), t.now + milliseconds
    if score != due_at:
        return (
            f"server clock {t.now} + lease {milliseconds} = {due_at}; "
            f"the score in active is {score}"
        )
    return HOLDS


def l1(t: Transition) -> Finding:
    if not isinstance(t.verb, Claim) or not isinstance(t.reply, Claimed):
        return VACUOUS
    return _deadline(t, t.reply.id, t.verb.lease)


def l2(t: Transition) -> Finding:
    if not isinstance(t.verb, Extend) or t.reply is not Answer.EXTENDED:
        return VACUOUS
    return _deadline(t, t.verb.id, t.verb.lease)


def l3(t: Transition) -> Finding:
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
