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

from emq_model.laws import conservation, fence, lease, order, reap
from emq_model.laws.transition import EVERY, HOLDS, SETTLES, VACUOUS, Finding, Transition
from emq_model.verbs import Claim, Enqueue, Extend, Promote, Reap, Resume, Retry, Verb

__all__ = [
    "BY_ID",
    "EVERY",
    "HOLDS",
    "LAWS",
    "RULES",
    "VACUOUS",
    "Finding",
    "Law",
    "Transition",
    "findings",
]


@dataclass(frozen=True, slots=True)
class Law:
    """A law of the protocol."""

    id: str
    statement: str
    source: str
    """The part of the protocol that it restates."""
    check: Callable[[Transition], Finding] | None = None
    """None for a law that no single step can show."""
    verbs: tuple[type[Verb], ...] = EVERY
    """The verbs whose steps can show it."""


_FENCE = "words: live token, stale"
_LEASE = "words: lease, deadline, server clock"
_REAP = "verbs: reap"
_CONSERVE = "words: ghost, skeleton"
_KEYS = "keys of a queue"

LAWS: tuple[Law, ...] = (
    Law(
        "F1", "complete, retry and extend with a stale token are refused", _FENCE, fence.f1, SETTLES
    ),
    Law("F2", "a refusal changes no key", _FENCE, fence.f2, SETTLES),
    Law(
        "F3",
        "each claim of a row answers attempts+1: tokens strictly increase",
        "words: token",
        fence.f3,
    ),
    Law("F4", "at most one token of a job is live at any time", _FENCE, fence.f4, SETTLES),
    Law(
        "F5",
        "only the canonical spelling of the live number is accepted; 0 never is",
        _FENCE,
        fence.f5,
        SETTLES,
    ),
    Law(
        "F6",
        "a spent token is stale for good: after retry, after promote, after death",
        "words: spent",
        fence.f6,
    ),
    Law(
        "L1",
        "deadline = server clock at the claim + lease, and it is the score in active",
        _LEASE,
        lease.l1,
        (Claim,),
    ),
    Law("L2", "extend re-scores from the server clock", _LEASE, lease.l2, (Extend,)),
    Law(
        "L3",
        "no outcome depends on any worker's clock",
        "words: server clock",
        lease.l3,
        (Claim, Retry, Extend, Reap, Promote),  # the others have no instant in them
    ),
    Law(
        "L4",
        "F1-F6 hold under every server clock: jumps, steps back, standing still",
        _FENCE,
        fence.l4,
        (Claim, *SETTLES),
    ),
    Law(
        "R1",
        "reap takes exactly the lapsed, earliest first, at most its limit",
        _REAP,
        reap.r1,
        (Reap,),
    ),
    Law(
        "R2",
        "a swept job is pending at score 0, attempts unchanged; its next claim mints attempts+1",
        "words: swept",
        reap.r2,
        (Reap,),
    ),
    Law(
        "R3",
        "reap again at the same instant, below the limit, and nothing moves",
        _REAP,
        reap.r3,
        (Reap,),
    ),
    Law(
        "R4",
        "once the clock has passed every deadline, reap and claim reach every job",
        _REAP,
        reap.r4,
    ),
    Law(
        "C1",
        "every admitted job is in exactly one of pending, active, schedule, dead, or completed",
        _KEYS,
        conservation.c1,
    ),
    Law(
        "C2",
        "no skeleton row; every index entry has its row, unless the row was taken from outside",
        _CONSERVE,
        conservation.c2,
    ),
    Law(
        "C3",
        "a ghost is consumed, the answer is empty, nothing is written",
        "words: ghost",
        conservation.c3,
        (Claim, Reap, Promote),
    ),
    Law("C4", "a verb that answers an error changed nothing", "verbs: arguments", conservation.c4),
    Law(
        "C5",
        "a duplicate enqueue changes nothing; a bad id is refused before any write",
        "verbs: enqueue",
        conservation.c5,
        (Enqueue,),
    ),
    Law("O1", "claim serves the byte-smallest pending id", "verbs: claim", order.o1),
    Law(
        "P1",
        "a paused queue claims empty and keeps its backlog; enqueue, settle, reap, promote go on",
        "verbs: pause",
        order.p1,
    ),
    Law("P2", "resume restores the same head", "verbs: resume", order.p2, (Resume,)),
    Law(
        "P3",
        "pause is atomic with claim: after pause has answered, no claim succeeds",
        "verbs: pause",
    ),
    Law(
        "W1",
        "same replies under RESP2 and RESP3, with and without the script cached (NOSCRIPT)",
        "verbs: replies",
    ),
    Law("W2", "all keys in one slot and derived from the declared base", _KEYS),
    Law(
        "W3",
        "effects replicate: a replica and a server restarted from its AOF hold the same keyspace",
        _KEYS,
    ),
)
"""The laws, in the protocol's order."""


def _rule(t: Transition) -> Finding:
    after, reply = t.machine
    if t.reply != reply:
        return "the reply is not the machine's"
    return HOLDS if t.after == after else "the queue is not the machine's"


RULES: tuple[Law, ...] = tuple(
    Law(
        verb.__name__.lower(),
        f"{verb.__name__.lower()} answers and leaves what the reference machine does",
        f"verbs: {verb.__name__.lower()}",
        _rule,
        (verb,),
    )
    for verb in EVERY
)
"""One rule per verb: its whole effect, where the laws say only what matters most."""

BY_ID: dict[str, Law] = {law.id: law for law in (*LAWS, *RULES)}


_BY_VERB = {
    verb: [(law, law.check) for law in BY_ID.values() if law.check and verb in law.verbs]
    for verb in EVERY
}


def findings(t: Transition) -> Iterator[tuple[Law, Finding]]:
    """Check one step against every law and rule that its verb can show; skip the vacuous ones."""
    for law, check in _BY_VERB[type(t.verb)]:
        if (finding := check(t)) is not VACUOUS:
            yield law, finding
