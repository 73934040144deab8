"""F1-F6 and L4: only the live token settles, whatever the clock says."""

from emq_model.laws.transition import (
    HOLDS,
    VACUOUS,
    Finding,
    Transition,
    live_token,
    name,
    quoted,
    unchanged,
)
from emq_model.queue import JobId, live, spelling
from emq_model.replies import Answer, Claimed, Error
from emq_model.verbs import Claim, Promote


def f1(t: Transition) -> Finding:
    verb = t.settle
    if verb is None or live(t.before, verb.id, verb.token):
        return VACUOUS
    if t.reply is not Error.EMQSTALE:
        return (
            f"token {quoted(verb.token)} is stale, for the live one is "
            f"{live_token(t.before, verb.id)}; yet it was not refused"
        )
    return HOLDS


def f2(t: Transition) -> Finding:
    if t.reply is not Error.EMQSTALE:
        return VACUOUS
    return unchanged(t, "the token was refused, yet")


def f3(t: Transition) -> Finding:
    counted = (
        (t.before.head, t.reply.id if isinstance(t.reply, Claimed) else None)
        if isinstance(t.verb, Claim)
        else ()
    )
    for id in t.touched:
        row, kept = t.before.rows.get(id), t.after.rows.get(id)
        if id in counted or row is None or kept is None:
            continue
        if kept.attempts != row.attempts:
            return f"only its claim changes attempts; {name(id)}: {row.attempts} to {kept.attempts}"
    if not isinstance(t.reply, Claimed) or t.reply.id not in t.before.rows:
        return VACUOUS
    was, kept = t.before.rows[t.reply.id].attempts, t.after.rows.get(t.reply.id)
    if t.reply.token != was + 1 or kept is None or kept.attempts != was + 1:
        left = "no row" if kept is None else kept.attempts
        return (
            f"attempts stood at {was}, so the claim mints {was + 1}; "
            f"it answered {t.reply.token} and left {left}"
        )
    return HOLDS


def f4(t: Transition) -> Finding:
    verb = t.settle
    if verb is None:
        return VACUOUS
    attempts, token = t.before.rows[verb.id].attempts, spelling(verb.token)
    if t.accepted and token != spelling(attempts):
        return f"token {quoted(verb.token)} was accepted beside {attempts}, the job's latest"
    if attempts < 2:
        return VACUOUS
    superseded = (spelling(number) for number in range(1, min(attempts, 100)))
    return t.accepted or token in superseded


def f5(t: Transition) -> Finding:
    verb = t.settle
    if verb is None:
        return VACUOUS
    text = spelling(verb.token)
    if text.isdigit() and not text.startswith(b"0"):
        return VACUOUS
    if t.reply is not Error.EMQSTALE:
        return (
            f"{quoted(verb.token)} is no canonical spelling of a number >= 1, "
            "yet it was not refused"
        )
    return HOLDS


def f6(t: Transition) -> Finding:
    for id in t.touched:
        row, kept = t.before.rows.get(id), t.after.rows.get(id)
        if (
            row is not None
            and kept is not None
            and row.spent == row.attempts == kept.attempts
            and kept.spent != row.spent
        ):
            return f"token {row.spent} was spent, and now the row no longer says so"
    if isinstance(t.verb, Promote):
        left = t.before.schedule.keys() - t.after.schedule.keys()
        return any(id in t.before.rows and t.before.rows[id].spent for id in left)
    verb = t.settle
    if verb is None:
        return VACUOUS
    spent = t.before.rows[verb.id].spent
    if spent is not None and spelling(verb.token) == spelling(spent):
        if t.reply is not Error.EMQSTALE:
            return f"token {spent} had settled its claim by retry: it is spent, yet not refused"
        return HOLDS
    if t.reply in (Answer.SCHEDULED, Answer.DEAD):
        if live(t.after, verb.id, verb.token):
            return f"token {quoted(verb.token)} settled by retry, and is still live"
        return HOLDS
    return VACUOUS


def l4(t: Transition) -> Finding:
    verb = t.settle
    stood = t.last_now is not None and t.now <= t.last_now
    if verb is None:
        if not isinstance(t.verb, Claim) or not stood:
            return VACUOUS
    elif not stood and not _lapsed(t, verb.id):
        return VACUOUS
    reached = False
    for law in (f1, f2, f3, f4, f5, f6):
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
