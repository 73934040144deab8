"""The wire: replies to the byte, slots and bases, replication, and errors that change nothing."""

import pytest

from emq_conformance.backend import Ability, Client, Command, Unknown
from emq_conformance.keys import Keys, command
from emq_conformance.ledger import Ledger
from emq_conformance.lockstep import Lockstep
from emq_conformance.rawwire import RawWire
from emq_conformance.servers import Feature
from emq_conformance.subject import Subject
from emq_conformance.suite.stories import EVERY_VERB, EVERYTHING, A, B, C, admit, claim, sweep
from emq_conformance.wire import ErrorReply
from emq_model import (
    Answer,
    Claim,
    Claimed,
    Complete,
    Enqueue,
    Extend,
    Pause,
    Promote,
    Reap,
    Reply,
    Resume,
    Retry,
    Verb,
)

# W1: the same replies, whatever the protocol version and the cache.


def a_long_history(pair: Lockstep) -> list[object]:
    """Every verb, with every reply that it can give."""
    replies: list[object] = [
        pair(Claim(10)),
        pair(Enqueue(A, b"\x00\xff")),
        pair(Enqueue(A, b"again")),
        pair(Enqueue(b"bad id", b"")),
        pair(Enqueue(B, b"")),
        pair(Claim(60_000)),
        pair(Claim(b"01")),
        pair(Extend(A, 1, 60_000)),
        pair(Extend(A, 2, 60_000)),
        pair(Extend(C, 1, 60_000)),
        pair(Retry(A, 1, 0, 3, b"\r\n")),
        pair(Retry(A, 1, 0, 3, b"")),
        pair(Promote(EVERYTHING)),
        pair(Pause()),
        pair(Claim(60_000)),
        pair(Resume()),
        pair(Claim(60_000)),
        pair(Retry(A, 2, 0, 2, b"failed")),
        pair(Retry(C, 2, 0, 2, b"failed")),
        pair(Claim(60_000)),
        pair(Complete(B, 1)),
        pair(Complete(B, 1)),
        pair(Reap(EVERYTHING)),
        pair(Promote(EVERYTHING)),
    ]
    return replies


class Forgetful(Client):
    """A client whose server has lost its caches before each verb."""

    def __init__(self, pair: Lockstep) -> None:
        self._client, self._forget = pair.client, pair.forget

    def run(self, verb: Verb) -> Reply | Unknown:
        """Empty the caches, then run the verb."""
        self._forget()
        return self._client.run(verb)


def test_W1_the_replies_are_the_same_under_resp2_and_resp3(
    subject: Subject, ledger: Ledger
) -> None:
    replies = []
    for protocol in (2, 3):
        pair = Lockstep(subject, ledger, protocol)
        replies.append(a_long_history(pair))
        pair.close()
    assert replies[0] == replies[1]


@pytest.mark.parametrize("protocol", [2, 3])
def test_W1_the_replies_are_the_same_when_the_cache_is_emptied_before_each_verb(
    subject: Subject, ledger: Ledger, protocol: int
) -> None:
    replies = []
    for wrap in (lambda pair: pair.client, Forgetful):
        pair = Lockstep(subject, ledger, protocol)
        pair.client = wrap(pair)
        replies.append(a_long_history(pair))
        pair.close()
    assert replies[0] == replies[1]


@pytest.mark.needs(Feature.BYTES, Ability.RAW)
@pytest.mark.parametrize("protocol", [2, 3])
def test_W1_the_replies_are_these_bytes(subject: Subject, protocol: int) -> None:
    queue = subject.queue_name()
    keys, keyspace = Keys(queue), subject.keyspace(queue)
    for id in (A, B, C):
        keyspace.know(id)
    wire = RawWire(subject.server.socket())
    try:
        if protocol == 3:
            wire.call(("HELLO", "3"))

        def said(verb: Verb) -> bytes:
            return wire.call(subject.backend.spell(command(keys, verb)))

        assert said(Claim(10)) == b"*0\r\n"
        assert said(Enqueue(A, b"\x00\r\n\xff")) == b":1\r\n"
        assert said(Enqueue(A, b"")) == b":0\r\n"
        assert said(Enqueue(B, b"")) == b":1\r\n"
        assert said(Claim(60_000)) == b"*3\r\n$14\r\n%b\r\n$4\r\n\x00\r\n\xff\r\n:1\r\n" % A
        assert said(Claim(60_000)) == b"*3\r\n$14\r\n%b\r\n$0\r\n\r\n:1\r\n" % B
        assert said(Extend(A, 1, 60_000)) == b":1\r\n"
        assert said(Extend(C, 1, 60_000)) == b":0\r\n"
        assert said(Retry(A, 1, 60_000, 3, b"")) == b"$9\r\nscheduled\r\n"
        assert said(Retry(B, 1, 0, 1, b"")) == b"$4\r\ndead\r\n"
        assert said(Retry(C, 1, 0, 1, b"")) == b":0\r\n"
        assert said(Complete(C, 1)) == b":0\r\n"
        assert said(Reap(1)) == b":0\r\n"
        assert said(Promote(1)) == b":0\r\n"
        assert said(Complete(A, 1)).startswith(b"-EMQSTALE ")
        assert said(Claim(b"abc")).startswith(b"-EMQARG ")
        assert said(Enqueue(b"abc", b"")).startswith(b"-EMQKIND ")
    finally:
        wire.close()
        keyspace.erase()


# W2: one slot, and keys from the declared base.


def test_W2_no_key_is_touched_but_those_of_the_queue(pair: Lockstep) -> None:
    a_long_history(pair)
    names = pair.keyspace.dump()
    assert names
    assert all(name.startswith(b"emq:{" + pair.name + b"}:") for name in names)


@pytest.mark.parametrize("name", [b"", b"{", b"}", b"a{b", b"a}b", b"{a}"], ids=repr)
def test_W2_a_queue_name_that_would_break_the_tag_is_refused(subject: Subject, name: bytes) -> None:
    with pytest.raises(ValueError, match="name"):
        subject.backend.client(subject.wire(), name)


@pytest.mark.needs(Ability.RAW, Ability.OBSERVE)
def test_W2_the_row_is_derived_from_the_declared_base(subject: Subject) -> None:
    """The keys of one queue, the base of another: the row must be found at the base."""
    queue = subject.queue_name()
    keys, keyspace = Keys(queue), subject.keyspace(queue)
    elsewhere = keys.base + b"elsewhere:"
    call = subject.control.call
    try:
        for verb in (Enqueue(A, b"x"), Claim(60_000), Extend(A, 1, 60_000), Complete(A, 1)):
            spelled = command(keys, verb)
            moved = Command(spelled.name, (*spelled.keys[:-1], elsewhere), spelled.args)
            answer = call(*subject.backend.spell(moved))
            assert not isinstance(answer, ErrorReply), answer
            at_home = call("EXISTS", keys.row(A))
            at_base = call("EXISTS", elsewhere + b"job:" + A)
            assert (at_home, at_base) == (0, 0 if isinstance(verb, Complete) else 1)
    finally:
        call("DEL", elsewhere + b"job:" + A)
        keyspace.erase()


@pytest.mark.needs(Feature.SPAWN, Ability.RAW)
def test_W2_keys_of_two_slots_are_refused_by_a_cluster(subject: Subject) -> None:
    with subject.server.cluster() as cluster:
        clustered = Subject(subject.backend, cluster)
        try:
            keys, other = Keys(b"one"), Keys(b"two")
            call = clustered.control.call
            for verb in EVERY_VERB.values():
                spelled = command(keys, verb)
                whole = call(*subject.backend.spell(spelled))
                assert getattr(whole, "code", "") not in ("CROSSSLOT", "CLUSTERDOWN"), whole
                torn = Command(spelled.name, (other.pending, *spelled.keys[1:]), spelled.args)
                answer = call(*subject.backend.spell(torn))
                assert isinstance(answer, ErrorReply)
                assert answer.code == "CROSSSLOT"
        finally:
            clustered.close()


# W3: effects replicate.


def a_history_with_instants(pair: Lockstep) -> None:
    """Rows in every index, with deadlines and due times that a replay must not count anew."""
    admit(pair, A, B, C)
    for id in (A, B):
        pair(Retry(id, claim(pair), 5000 if id == A else 0, 1 if id == B else 9, b"failed"))
    claim(pair, 10_000)
    pair.pass_time(777)
    pair(Extend(C, 1, 20_000))
    pair(Enqueue(b"JOB0000000000z", b"waits"))
    pair(Enqueue(b"JOB0000000000y", b"is swept"))
    claim(pair, 1)
    sweep(pair, 1)
    pair(Pause())


@pytest.mark.needs(Feature.SPAWN)
@pytest.mark.parametrize("how", ["restart", "crash"])
def test_W3_a_restart_from_the_aof_holds_the_same_keys(
    subject: Subject, ledger: Ledger, how: str
) -> None:
    with subject.server.spawn(appendonly="yes", appendfsync="always") as server:
        durable = Subject(subject.backend, server)
        pair = Lockstep(durable, ledger)
        a_history_with_instants(pair)
        before = pair.keyspace.dump()
        pair.pass_time(3_600_000)  # a replay that asked the clock would show it
        durable.close()
        if how == "restart":
            server.restart()
        else:
            server.kill()
            server.start()
        recovered = Subject(subject.backend, server)
        try:
            keyspace = recovered.keyspace(pair.name)
            after = keyspace.dump()
            assert after == before
            client = recovered.client(pair.name)  # and it works on, its scripts forgotten
            assert client.run(Resume()) is Answer.OK
            assert client.run(Claim(10)) == Claimed(b"JOB0000000000y", b"is swept", 2)
        finally:
            recovered.close()


@pytest.mark.needs(Feature.SPAWN)
def test_W3_a_replica_holds_the_same_keys(subject: Subject, ledger: Ledger) -> None:
    with subject.server.spawn() as primary, primary.replicate() as replica:
        assert replica.clock is not None
        replica.clock.set(replica.clock.now() + 3_600_000)  # an hour off
        leading, following = Subject(subject.backend, primary), Subject(subject.backend, replica)
        try:
            pair = Lockstep(leading, ledger)
            a_history_with_instants(pair)
            acknowledged = leading.control.call("WAIT", 1, 10_000)
            assert acknowledged == 1, "the replica did not catch up within ten seconds"
            assert following.keyspace(pair.name).dump() == pair.keyspace.dump()
        finally:
            leading.close()
            following.close()
