"""An implementation and the reference machine, side by side.

Each verb goes to both. Then the whole keyspace is read back, and the step that was seen is held
against every law, and against what the machine did. The first step that differs is a `Violation`,
with the whole story up to it.
"""

from collections.abc import Callable
from contextlib import nullcontext

from emq_conformance.backend import Unknown
from emq_conformance.clock.workers import Worker, World
from emq_conformance.ledger import Ledger
from emq_conformance.reading import Anomaly, Observation
from emq_conformance.subject import Subject
from emq_conformance.violation import Breach, Violation, violation
from emq_model import Claim, Claimed, Enqueue, Extend, JobId, Queue, Reply, Retry, Verb, step
from emq_model.laws import BY_ID, Transition, findings
from emq_model.story import Names, Step, differences, ids_of, reply_words, tell
from emq_model.verbs import span

PUNCTUAL = Worker("w1")
"""A worker whose clock is right."""


class Lockstep:
    """One queue, held by an implementation and by the reference machine.

    Call it with a verb. After each call both hold the same queue, or a `Violation` was raised;
    one that is `patient` holds a step against the laws while the server is busy with the next one,
    or in `catch_up`, and raises it then.
    """

    def __init__(
        self, subject: Subject, ledger: Ledger, protocol: int = 2, *, patient: bool = False
    ) -> None:
        """Begin with an empty queue of a new name, and with the clocks at their start."""
        self.subject = subject
        self.name = subject.queue_name()
        self.client = subject.client(self.name, protocol)
        self._wire = subject.wire(protocol)
        self.keyspace = subject.keyspace(self.name)
        self.world = subject.world
        self.queue = Queue()
        self.steps: list[Step] = []
        self.broken = False
        self._ledger = ledger
        self._patient = patient
        self._unjudged: Transition | None = None
        self._anomalies: tuple[Anomaly, ...] = ()
        self._found: Violation | None = None
        self._last_now: int | None = None
        if self.world is not None:
            self.world.begin()
        self._start = self.now

    @property
    def now(self) -> int:
        """The server's clock, in milliseconds."""
        if self.world is not None:
            return self.world.now
        seconds, micros = self.subject.control.call("TIME")
        return int(seconds) * 1000 + int(micros) // 1000

    def __call__(self, verb: Verb, worker: Worker = PUNCTUAL) -> Reply:
        """Give `verb` to both, on behalf of `worker`, and answer the reply that both gave.

        Raises:
            Violation: if the step breaks a law, or is not what the machine does.
        """
        before, now = self.queue, self.now
        if isinstance(verb, Enqueue):
            self.keyspace.know(verb.id)
        worker_now = None if self.world is None else worker.now(self.world.elapsed)
        belief = worker.believing(self.world.elapsed) if self.world is not None else nullcontext()
        with belief:
            answer, seen = self._run(verb)
        if self.world is None:
            now = self._inferred(verb, answer, seen.queue, now)
        self.steps.append(Step(now, worker.name, verb, answer))
        reply = None if isinstance(answer, Unknown) else answer
        self._unjudged = Transition(
            before, verb, now, reply, seen.queue, worker_now, self._last_now
        )
        self._anomalies = seen.anomalies
        self._last_now = now
        self.queue = seen.queue
        if not self._patient or reply is None:
            self.catch_up()
        assert reply is not None  # an unknown reply has been judged
        return reply

    def catch_up(self) -> None:
        """Hold the latest step against the laws, if that is still to be done.

        Raises:
            Violation: if it breaks a law, or is not what the machine does.
        """
        transition, self._unjudged = self._unjudged, None
        if transition is not None:
            self._judge(transition, [(a.law, a.text) for a in self._anomalies])
        if self._found is not None:
            raise self._found

    def _use_the_wait(self) -> None:
        """Catch up in the middle of a client's call, which may catch what is raised."""
        try:
            self.catch_up()
        except Violation as found:
            self._found = found

    def _run(self, verb: Verb) -> tuple[Reply | Unknown, Observation]:
        """Run the verb, and read the keyspace: if that may be, behind the verb's last call."""
        wire = self._wire
        wire.take_trailed()
        if self.subject.backend.plain_calls:
            wire.trail = self.keyspace.question
        wire.meanwhile = self._use_the_wait
        try:
            answer = self.client.run(verb)
        except BaseException:
            wire.close()  # replies may be waiting in it; the next call opens it again
            raise
        finally:
            wire.trail = wire.meanwhile = None
            self.catch_up()
        trailed = wire.take_trailed()
        return answer, self.keyspace.observe() if trailed is None else self.keyspace.read(trailed)

    def pass_time(self, milliseconds: int) -> None:
        """Let true time go by, and the clocks with it."""
        world = self._needs_world()
        world.pass_time(milliseconds)
        self._outside(f"{milliseconds:,} ms go by")

    def set_clock(self, instant: int) -> None:
        """Set the server's clock to `instant`, forward or back; no time goes by."""
        world = self._needs_world()
        moved = instant - world.now
        world.set_server(instant)
        self._outside(f"the server's clock is set {moved:+,} ms")

    def lose_row(self, id: JobId) -> None:
        """Take a row away from outside. What is left of the job in the indexes is a ghost."""
        self.keyspace.delete_row(id)
        self._from_outside(
            id, "is deleted", lambda q: q._replace(rows=q.rows.drop(id), foreign=q.foreign - {id})
        )

    def replace_row(self, id: JobId) -> None:
        """Put a string where a row was, from outside: a ghost of the other sort."""
        self.keyspace.replace_row(id)
        self.keyspace.know(id)
        self._from_outside(
            id,
            "becomes a string",
            lambda q: q._replace(rows=q.rows.drop(id), foreign=q.foreign | {id}),
        )

    def forget(self) -> None:
        """Make the server drop what it may drop at any time, like its script cache."""
        self.subject.backend.forget(self.subject.control)
        self._outside("the server's caches are emptied")

    def restore(self, queue: Queue) -> None:
        """Put both into `queue`, from outside."""
        self.keyspace.restore(queue)
        self.queue = queue
        self._outside("a state is restored")

    def close(self) -> None:
        """Delete what the queue left on the server."""
        self.keyspace.erase()

    def _judge(self, t: Transition, anomalies: list[tuple[str, str]]) -> None:
        breaches = [Breach(law, BY_ID[law].statement, why) for law, why in anomalies]
        for law, finding in findings(t):
            if isinstance(finding, str):
                breaches.append(Breach(law.id, law.statement, finding))
            else:
                self._ledger.held(law)
        self._ledger.steps += 1
        if breaches:
            self.broken = True
            raise violation(breaches, self._story(t))

    def _story(self, t: Transition) -> list[str]:
        names = Names(ids_of(self.steps, t.before, t.after), self._start)
        expected, reply = step(t.before, t.verb, t.now)
        lines = tell(self.steps, names)
        if t.reply != reply:
            lines += ["", f"expected: {reply_words(reply, t.verb, names)}"]
        unlike = differences(expected, t.after, names)
        if unlike:
            lines += ["", "in the keyspace:", *(f"  {line}" for line in _shown(unlike))]
        if legend := names.legend():
            lines += ["", legend]
        return lines

    def _inferred(self, verb: Verb, answer: object, after: Queue, earliest: int) -> int:
        """The instant of a step on a clock that goes on: the one its new score was counted from.

        It lies between the clock's readings before and after. A step that wrote no instant took
        place at the first of them, as far as anyone can tell.
        """
        match verb, answer:
            case Claim(lease), Claimed(id, _, _):
                score, length = after.active.get(id), span(lease, 1)
            case Extend(id, _, lease), _:
                score, length = after.active.get(id), span(lease, 1)
            case Retry(id, _, delay, _, _), _:
                score, length = after.schedule.get(id), span(delay, 0)
            case _:
                return earliest
        if score is None or length is None or not earliest <= score - length <= self.now:
            return earliest
        return score - length

    def _from_outside(self, id: JobId, what: str, change: Callable[[Queue], Queue]) -> None:
        self.queue = change(self.queue)
        self._outside(f"the row of {{}} {what}", id)

    def _outside(self, what: str, about: JobId | None = None) -> None:
        """Note what was done from outside, and see that both still hold the same queue."""
        self.catch_up()
        self.steps.append(Step(self.now, "—", what, about=about))
        seen = self.keyspace.observe()
        self._ledger.steps += 1
        if seen.queue != self.queue or seen.anomalies:
            names = Names(ids_of(self.steps, self.queue, seen.queue), self._start)
            unlike = _shown(differences(self.queue, seen.queue, names))
            unlike += [anomaly.text for anomaly in seen.anomalies]
            law = BY_ID["C1"]
            story = [*tell(self.steps, names), "", *unlike]
            self.broken = True
            raise violation([Breach("C1", law.statement, "the queue changed by itself")], story)

    def _needs_world(self) -> World:
        if self.world is None:
            raise RuntimeError("this server's clock cannot be controlled: mark the test as such")
        return self.world


def _shown(lines: list[str], most: int = 12) -> list[str]:
    """The first few lines, and how many there are beyond them."""
    more = len(lines) - most
    return lines if more <= 0 else [*lines[:most], f"and {more} more"]
