"""What is wrong is refused before anything is written (C4), seen at the bare commands."""

from collections.abc import Callable, Iterator

import pytest

from emq_conformance.backend import Ability, Command
from emq_conformance.keys import Keys, command
from emq_conformance.ledger import Ledger
from emq_conformance.lockstep import Lockstep
from emq_conformance.servers import Feature
from emq_conformance.subject import Subject
from emq_conformance.suite.stories import EVERY_VERB, A, B, C, admit, claim
from emq_conformance.violation import Breach, violation
from emq_conformance.wire import ErrorReply
from emq_model import (
    Answer,
    Claim,
    Complete,
    Enqueue,
    Job,
    Moved,
    Promote,
    Queue,
    Reap,
    Retry,
    State,
    Verb,
)
from emq_model.frozen import Frozen
from emq_model.laws import BY_ID

each_verb = pytest.mark.parametrize("verb", EVERY_VERB.values(), ids=EVERY_VERB)


def busy(now: int) -> Queue:
    """A queue in which every verb of EVERY_VERB would change something."""
    return Queue(
        pending=Frozen({C: 0}),
        active=Frozen({A: now - 1}),
        schedule=Frozen({b"JOB0000000000s": now - 1}),
        rows=Frozen(
            {
                A: Job(b"a", State.ACTIVE, attempts=1),
                C: Job(b"c"),
                b"JOB0000000000s": Job(b"s", State.SCHEDULED, 1, last_error=b"failed", spent=1),
            }
        ),
    )


@pytest.fixture
def corrupt(subject: Subject) -> Iterator[Callable[..., None]]:
    """Call a verb on a keyspace that was spoilt first: it must answer an error, and change nothing.

    Raises a Violation of C4 otherwise.
    """
    queue = subject.queue_name()
    keys, keyspace = Keys(queue), subject.keyspace(queue)

    def check(spoil: Callable[[Keys], list[tuple[str | bytes, ...]]], spelled: Command) -> None:
        seconds, _ = subject.control.call("TIME")
        keyspace.restore(busy(int(seconds) * 1000))
        for spoiling in spoil(keys):
            subject.control.call(*spoiling)
        before = keyspace.dump()
        named = Command(spelled.name, tuple(_in(keys, key) for key in spelled.keys), spelled.args)
        answer = subject.control.call(*subject.backend.spell(named))
        after = keyspace.dump()
        why = ""
        if not isinstance(answer, ErrorReply):
            why = f"{spelled.name} answered {answer!r} where an error was due"
        elif after != before:
            changed = [
                name.removeprefix(keys.base).decode("ascii", "backslashreplace")
                for name in sorted(before.keys() | after.keys())
                if before.get(name) != after.get(name)
            ]
            why = f"{spelled.name} answered {answer.code}, yet it changed {', '.join(changed)}"
        if why:
            raise violation([Breach("C4", BY_ID["C4"].statement, why)], [])

    yield check
    keyspace.erase()


ANY = Keys(b"any")
"""Keys to spell a command with; `corrupt` puts the queue's own in their place."""


def _in(keys: Keys, key: bytes) -> bytes:
    return keys.base + key.removeprefix(ANY.base)


def _roles(verb: Verb) -> list[str]:
    return [key.removeprefix(ANY.base).decode() for key in command(ANY, verb).keys[:-1]]


@pytest.mark.needs(Ability.RAW, Ability.OBSERVE)
@pytest.mark.parametrize("kind", ["string", "hash", "list"])
@pytest.mark.parametrize(
    ("verb", "role"),
    [
        pytest.param(verb, role, id=f"{name}-{role}")
        for name, verb in EVERY_VERB.items()
        for role in _roles(verb)
        if (name, role) != ("claim", "active")
    ],
)
def test_C4_a_key_of_the_wrong_type_is_an_error_that_changes_nothing(
    corrupt: Callable[..., None], verb: Verb, role: str, kind: str
) -> None:
    write = {"string": ("SET", "x"), "hash": ("HSET", "f", "v"), "list": ("RPUSH", "x")}[kind]
    corrupt(
        lambda keys: [("DEL", getattr(keys, role)), (write[0], getattr(keys, role), *write[1:])],
        command(ANY, verb),
    )


@pytest.mark.needs(Ability.RAW, Ability.OBSERVE)
@pytest.mark.case("corrupted-keyspace")
@pytest.mark.parametrize("what", ["active-of-the-wrong-type", "attempts-not-an-integer"])
def test_C4_a_claim_on_a_corrupted_keyspace_changes_nothing(
    corrupt: Callable[..., None], what: str
) -> None:
    def spoil(keys: Keys) -> list[tuple[str | bytes, ...]]:
        if what == "attempts-not-an-integer":
            return [("HSET", keys.row(C), "attempts", "many")]
        return [("DEL", keys.active), ("SET", keys.active, "x")]

    corrupt(spoil, command(ANY, Claim(1000)))


@pytest.mark.needs(Ability.RAW, Ability.OBSERVE)
@each_verb
@pytest.mark.parametrize("wrong", ["argument-missing", "argument-too-many", "key-missing", "empty"])
def test_C4_a_wrong_number_of_arguments_changes_nothing(
    corrupt: Callable[..., None], verb: Verb, wrong: str
) -> None:
    right = command(ANY, verb)
    corrupt(
        lambda _: [],
        {
            "argument-missing": Command(right.name, right.keys, right.args[:-1]),
            "argument-too-many": Command(right.name, right.keys, (*right.args, b"1")),
            "key-missing": Command(right.name, right.keys[1:], right.args),
            "empty": Command(right.name, (), ()),
        }[wrong],
    )


@pytest.mark.needs(Feature.SPAWN, Ability.RAW, Ability.OBSERVE)
def test_C4_a_server_out_of_memory_loses_no_job(subject: Subject, ledger: Ledger) -> None:
    """A verb is refused as a whole or done as a whole, and settling is still possible."""
    with subject.server.spawn(maxmemory_policy="noeviction") as server:
        full = Subject(subject.backend, server)
        pair = Lockstep(full, ledger)
        try:
            admit(pair, A, B, C)
            token = claim(pair, 60_000)
            full.control.call("CONFIG", "SET", "maxmemory", 1)
            before = pair.keyspace.dump()
            answer = pair.client.run(Enqueue(b"JOB0000000000z", b"one too many"))
            assert isinstance(getattr(answer, "raw", None), ErrorReply), answer
            assert pair.keyspace.dump() == before
            for verb in (Claim(60_000), Retry(B, 1, 0, 3, b"failed"), Reap(1), Promote(1)):
                before = pair.keyspace.dump()
                if isinstance(getattr(pair.client.run(verb), "raw", None), ErrorReply):
                    assert pair.keyspace.dump() == before
            assert pair.client.run(Complete(A, token)) is Answer.DONE
            full.control.call("CONFIG", "SET", "maxmemory", 0)
            seen = pair.keyspace.observe()
            assert not seen.anomalies
            for id in (B, C):
                places = [state for state, index in seen.queue.indexes if id in index]
                assert places == [seen.queue.rows[id].state]
        finally:
            full.close()


@pytest.mark.needs(Feature.CLOCK)
def test_C4_a_refused_reap_leaves_the_lapsed_for_the_next(pair: Lockstep) -> None:
    admit(pair, A)
    claim(pair)
    pair.pass_time(10)
    pair(Reap(b"all"))
    assert pair(Reap(1)) == Moved(1)
