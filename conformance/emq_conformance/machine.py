"""The walk: a Hypothesis state machine over the verbs, the clocks, and the mishaps.

There is one rule for each verb, for each sort of bad input, for each move of a clock and for each
mishap. Every step runs on the implementation and on the reference machine (see `lockstep`).
"""

from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis.stateful import RuleBasedStateMachine, initialize
from hypothesis.stateful import rule as hypothesis_rule
from hypothesis.strategies import SearchStrategy

from emq_conformance import strategies as draw
from emq_conformance.clock.workers import Worker
from emq_conformance.ledger import Ledger
from emq_conformance.lockstep import Lockstep
from emq_conformance.subject import Subject
from emq_model import (
    Claim,
    Claimed,
    Complete,
    Enqueue,
    Extend,
    JobId,
    Pause,
    Promote,
    Reap,
    Resume,
    Retry,
    State,
    Verb,
)
from emq_model.laws import BY_ID
from emq_model.verbs import MOST_COUNT

LATEST = 2**52 + 2**51
"""No walk goes past this instant, so that instant + span stays exact as a score."""


def rule(**draws: SearchStrategy[Any]) -> Callable[[Callable[..., None]], Any]:
    """A rule that is never switched off.

    Hypothesis switches off some rules for the length of a history, by the names of their functions.
    But a history without enqueue, claim or a clock reaches next to nothing, and the switches cost
    half of the time of a step. Under one name for all they are never used.
    """

    def decorate(method: Callable[..., None]) -> Any:
        method.__name__ = "walk"
        return hypothesis_rule(**draws)(method)  # type: ignore[call-overload]

    return decorate


class Walk(RuleBasedStateMachine):
    """A random history of one queue, with several workers, old tokens, and clocks that misbehave.

    Subclass it with a `subject` and a `ledger` before it is run.
    """

    subject: ClassVar[Subject]
    ledger: ClassVar[Ledger]

    @initialize(protocol=draw.one_of((2, 3)))
    def begin(self, protocol: int) -> None:
        """Begin with an empty queue, under RESP2 or RESP3."""
        self.pair = Lockstep(self.subject, self.ledger, protocol, patient=True)
        self.held: list[tuple[JobId, int]] = []

    # The verbs.

    @rule(verb=draw.admissions)
    def enqueue(self, verb: Enqueue) -> None:
        """A job comes in; it may be there already."""
        self.run(verb)

    @rule(verb=draw.refusals)
    def enqueue_what_is_no_job(self, verb: Enqueue) -> None:
        """Something comes in that has no valid id."""
        self.run(verb)

    @rule(claim=draw.claims)
    def claim(self, claim: tuple[int, Worker]) -> None:
        """A worker claims, and remembers the token for good."""
        lease, worker = claim
        reply = self.run(Claim(self.bearable(lease)), worker)
        if isinstance(reply, Claimed):
            self.held.append((reply.id, reply.token))

    @rule(completion=draw.completions)
    def complete(self, completion: tuple[int, Worker]) -> None:
        """A worker completes, with a token that may be long stale."""
        which, worker = completion
        self.run(Complete(*self.token(which)), worker)

    @rule(retry=draw.retries)
    def retry(self, retry: tuple[int, int, int, bytes, Worker]) -> None:
        """A worker reports a failure, with a token that may be long stale."""
        which, delay, most, error, worker = retry
        self.run(Retry(*self.token(which), self.bearable(delay), most, error), worker)

    @rule(extension=draw.extensions)
    def extend(self, extension: tuple[int, int, Worker]) -> None:
        """A worker extends, with a token that may be long stale."""
        which, lease, worker = extension
        self.run(Extend(*self.token(which), self.bearable(lease)), worker)

    @rule(odd=draw.odd_settles)
    def settle_with_an_odd_token(
        self, odd: tuple[int, Callable[[JobId, bytes], Verb], Callable[[int], bytes]]
    ) -> None:
        """A worker settles with what is almost the token, or nothing like it."""
        which, settle, spell = odd
        id, token = self.token(which)
        self.run(settle(id, spell(token)))

    @rule(malformed=draw.malformed)
    def malformed_argument(self, malformed: tuple[int, Callable[[JobId, int], Verb]]) -> None:
        """A verb comes with an argument that is no canonical number in its bounds."""
        which, verb = malformed
        self.run(verb(*self.token(which)))

    @rule(sweep=draw.sweeps)
    def reap(self, sweep: tuple[int, Worker]) -> None:
        """The reaper returns what has lapsed."""
        limit, worker = sweep
        self.run(Reap(limit), worker)

    @rule(sweep=draw.sweeps)
    def promote(self, sweep: tuple[int, Worker]) -> None:
        """What is due becomes pending."""
        limit, worker = sweep
        self.run(Promote(limit), worker)

    @rule(verb=draw.pauses)
    def pause_or_resume(self, verb: Pause | Resume) -> None:
        """The queue is paused, or more often resumed."""
        self.run(verb)

    # The clocks.

    @rule(edge=draw.edges)
    def go_to_an_edge(self, edge: tuple[int, int]) -> None:
        """The clock comes to just before, exactly at, or just after a deadline or a due time."""
        off, which = edge
        queue = self.pair.queue
        instants = sorted({*queue.active.values(), *queue.schedule.values()})
        if not instants:
            self.pair.pass_time(1)
            return
        self.go_to(instants[which % len(instants)] + off)

    @rule(by=draw.leaps)
    def leap_forward(self, by: int) -> None:
        """The server's clock leaps forward."""
        self.go_to(self.pair.now + by)

    @rule(by=draw.leaps)
    def step_back(self, by: int) -> None:
        """The server's clock is set back."""
        self.pair.set_clock(max(self.pair.now - by, 0))

    # The mishaps.

    @rule(mishap=draw.mishaps)
    def mishap(self, mishap: tuple[str, JobId]) -> None:
        """A row is deleted or overwritten from outside, or the server loses its script cache."""
        what, id = mishap
        queue = self.pair.queue
        if what == "forget":
            self.pair.forget()
        elif what == "replace" and id in queue.rows:
            self.pair.replace_row(id)
        elif what == "delete" and (id in queue.rows or id in queue.foreign):
            self.pair.lose_row(id)

    # The end.

    def teardown(self) -> None:
        """Drain the queue: once the clock has passed every instant, every job is reached (R4)."""
        if not hasattr(self, "pair"):
            return
        try:
            if not self.pair.broken:
                self.pair.catch_up()
                self.drain()
                self.pair.catch_up()
        finally:
            self.pair.close()

    def drain(self) -> None:
        """Resume, pass every instant, and claim until nothing is left but the dead."""
        pair = self.pair
        waiting = {id for id, row in pair.queue.rows.items() if row.state is not State.DEAD}
        astray = {id for id in waiting if len(self.places(id)) != 1}  # enqueued over a ghost
        if pair.queue.paused:
            self.run(Resume())
        instants = [*pair.queue.active.values(), *pair.queue.schedule.values()]
        if instants:
            self.go_to(max(instants))
            self.run(Reap(MOST_COUNT))
            self.run(Promote(MOST_COUNT))
        reached = set()
        while pair.queue.pending:
            reply = self.run(Claim(1))
            if isinstance(reply, Claimed):
                reached.add(reply.id)
        assert reached >= waiting - astray, f"never reached: {waiting - astray - reached}"
        if reached:
            self.ledger.held(BY_ID["R4"])

    # Helpers.

    def run(self, verb: Verb, worker: Worker = draw.WORKERS[0]) -> object:
        """One verb by a worker."""
        return self.pair(verb, worker)

    def token(self, which: int) -> tuple[JobId, int]:
        """A token that was handed out, the latest being 0; before any, one that never was."""
        if not self.held:
            return draw.JOBS[0], 1
        return self.held[-1 - which % len(self.held)]

    def places(self, id: JobId) -> list[State]:
        """The indexes that a job stands in."""
        return [state for state, index in self.pair.queue.indexes if id in index]

    def bearable(self, span: int) -> int:
        """The span, unless instant + span would no longer be exact as a score."""
        return span if self.pair.now + span <= LATEST else 10

    def go_to(self, instant: int) -> None:
        """Move the server's clock: forward by letting time pass, back by setting it."""
        instant = min(instant, LATEST)
        if instant >= self.pair.now:
            self.pair.pass_time(instant - self.pair.now)
        else:
            self.pair.set_clock(instant)
