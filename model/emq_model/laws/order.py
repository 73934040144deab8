"""O1, P1 and P2: who is served first, and what a pause holds back."""

from emq_model.laws.transition import HOLDS, VACUOUS, Finding, Transition, name, unchanged
from emq_model.replies import Answer, Claimed
from emq_model.verbs import Claim, Pause, Resume, span, step


def o1(t: Transition) -> Finding:
    for id, score in t.after.pending.items():
        if score != 0 and t.before.pending.get(id) != score:
            return f"{name(id)} stands in pending at {score}, not at 0: so bytes do not decide"
    if not isinstance(t.verb, Claim) or not isinstance(t.reply, Claimed):
        return VACUOUS
    if any(t.before.pending.values()):
        return VACUOUS  # an earlier step is to blame for the order
    smallest = min(t.before.pending, default=None)
    if t.reply.id != smallest:
        first = "none" if smallest is None else name(smallest)
        return f"the byte-smallest pending id is {first}; served was {name(t.reply.id)}"
    return len(t.before.pending) > 1


def p1(t: Transition) -> Finding:
    if not t.before.paused or isinstance(t.verb, Pause | Resume):
        return VACUOUS
    if isinstance(t.verb, Claim):
        if span(t.verb.lease, 1) is None:
            return VACUOUS
        if t.reply is not Answer.EMPTY:
            return "the queue is paused, so the answer to a claim is empty"
        finding = unchanged(t, "the queue is paused, yet a claim")
        return finding if isinstance(finding, str) else bool(t.before.pending)
    running = t.before._replace(paused=False)
    if step(running, t.verb, t.now)[0] == running:
        return VACUOUS
    if not t.moved:
        return "a pause holds back claims only; this verb was held back too"
    return HOLDS


def p2(t: Transition) -> Finding:
    if t.after != t.before._replace(paused=False):
        return "resume lifts the pause and changes nothing else, so the head is the same"
    return t.before.paused and bool(t.before.pending)
