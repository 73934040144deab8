"""The refinement mapping, on a real server: what is written is read, and what is odd is named."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emq_conformance.keys import Keys
from emq_conformance.keyspace import Anomaly, Keyspace, ObservationError, restoring
from emq_conformance.servers import Server, open_server
from emq_conformance.wire import Argument, Wire
from emq_model import Job, Queue, State
from emq_model.frozen import Frozen

A, B = b"JOB0KHTOWnGLuA", b"JOB0KHTOWnGLuB"
KEYS = Keys(b"q")
ROW = KEYS.row(A)
SOUND: dict[str, Argument] = {"state": "pending", "attempts": 0, "payload": b"a"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with open_server("valkey") as opened:
        yield opened


@pytest.fixture(scope="module")
def connected(server: Server) -> Iterator[Wire]:
    wire = Wire(server.connect())
    yield wire
    wire.close()


@pytest.fixture
def wire(connected: Wire) -> Wire:
    """A connection to an empty server."""
    connected.call("FLUSHALL")
    return connected


@pytest.fixture
def keyspace(wire: Wire) -> Keyspace:
    return Keyspace(wire, KEYS, private=True)


@pytest.fixture
def shared(wire: Wire) -> Keyspace:
    """The queue's keys on a server that is not the suite's."""
    return Keyspace(wire, KEYS, private=False)


def write(wire: Wire, key: bytes, fields: dict[str, Argument]) -> None:
    wire.call("HSET", key, *(part for pair in fields.items() for part in pair))


# --- what is written is what is read -----------------------------------------------------------

EXACT = 2**53
IDS = (A, B, b"USR0KHTOWnGLuA", b"", b"\xff\x00\r\n", b"{x}")
ids = st.sampled_from(IDS)
jobs = st.builds(
    Job,
    payload=st.binary(),
    state=st.sampled_from(State),
    attempts=st.integers(0, 2**63),
    last_error=st.none() | st.binary(),
    spent=st.none() | st.integers(1, 2**63),
)
indexes = st.dictionaries(ids, st.integers(-EXACT, EXACT)).map(Frozen)
rows = st.dictionaries(ids, st.none() | jobs)
"""What stands at each row key; None for something that is no row."""


@st.composite
def queues(draw: st.DrawFn) -> Queue:
    placed = draw(st.tuples(indexes, indexes, indexes, indexes))
    found = draw(rows)
    return Queue(
        *placed,
        rows=Frozen({id: job for id, job in found.items() if job is not None}),
        foreign=frozenset(id for id, job in found.items() if job is None),
        paused=draw(st.booleans()),
    )


on_one_server = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@on_one_server
@given(first=queues(), second=queues())
def test_a_queue_that_is_restored_is_observed(
    keyspace: Keyspace, first: Queue, second: Queue
) -> None:
    for queue in (first, second):
        keyspace.restore(queue)
        assert keyspace.observe().queue == queue
        assert keyspace.observe().anomalies == ()


@on_one_server
@given(queue=queues())
def test_someone_who_knows_no_ids_finds_those_that_an_index_names(
    wire: Wire, keyspace: Keyspace, queue: Queue
) -> None:
    keyspace.restore(queue)
    placed = set().union(*queue[:4])
    assert Keyspace(wire, KEYS, private=False).observe().queue == queue._replace(
        rows=Frozen({id: job for id, job in queue.rows.items() if id in placed}),
        foreign=queue.foreign & placed,
    )


def test_an_empty_queue_takes_no_commands_to_write() -> None:
    assert restoring(KEYS, Queue()) == []


def test_nothing_is_observed_of_an_empty_server(keyspace: Keyspace) -> None:
    assert keyspace.observe().queue == Queue()


def test_an_observation_is_one_round_trip(wire: Wire, keyspace: Keyspace) -> None:
    keyspace.restore(Queue(pending=Frozen({A: 0}), rows=Frozen({A: Job(b"")})))
    before = wire.round_trips
    keyspace.observe()
    assert wire.round_trips == before + 1


def test_an_id_that_an_index_newly_names_takes_a_second_look(
    wire: Wire, keyspace: Keyspace
) -> None:
    write(wire, ROW, SOUND)
    wire.call("ZADD", KEYS.pending, 0, A)
    before = wire.round_trips
    assert keyspace.observe().queue.rows == {A: Job(b"a")}
    assert wire.round_trips == before + 2


def test_a_row_in_no_index_is_seen_if_its_id_is_known(wire: Wire, keyspace: Keyspace) -> None:
    write(wire, ROW, SOUND)
    keyspace.know(A)
    assert keyspace.observe().queue == Queue(rows=Frozen({A: Job(b"a")}))


@pytest.mark.parametrize(
    ("written", "score"),
    [("1.5", 1.5), ("-0.25", -0.25), ("inf", float("inf")), ("-inf", float("-inf"))],
)
def test_a_score_that_is_no_integer_is_kept_and_equals_none(
    wire: Wire, keyspace: Keyspace, written: str, score: float
) -> None:
    wire.call("ZADD", KEYS.active, written, A)
    seen = keyspace.observe().queue.active[A]
    assert seen == score
    assert seen not in range(-2, 3)


@pytest.mark.parametrize("score", [0, -1, 2**52, EXACT, 10**17, 2**60, 10**20])
def test_a_score_that_is_an_integer_is_an_int(wire: Wire, keyspace: Keyspace, score: int) -> None:
    wire.call("ZADD", KEYS.active, float(score), A)
    seen = keyspace.observe().queue.active[A]
    assert seen == score
    assert isinstance(seen, int)


# --- what no queue can hold --------------------------------------------------------------------

UNREADABLE = "the row of JOB0KHTOWnGLuA"

ODD_ROWS: dict[str, tuple[dict[str, Argument], Anomaly]] = {
    **{
        f"no {lacking}": (
            {name: value for name, value in SOUND.items() if name != lacking},
            Anomaly("C2", f"{UNREADABLE} is a skeleton: it lacks {lacking}"),
        )
        for lacking in SOUND
    },
    "only a state": (
        {"state": "pending"},
        Anomaly("C2", f"{UNREADABLE} is a skeleton: it lacks attempts, payload"),
    ),
    "an odd field": (
        {**SOUND, "owner": "w1"},
        Anomaly("C2", f"{UNREADABLE} has fields of its own: [b'owner']"),
    ),
    "an odd state": (
        {**SOUND, "state": "done"},
        Anomaly("C2", f"{UNREADABLE} says state 'done', attempts b'0'"),
    ),
    "a state that is no text": (
        {**SOUND, "state": b"\xff"},
        Anomaly("C2", f"{UNREADABLE} says state '\N{REPLACEMENT CHARACTER}', attempts b'0'"),
    ),
    **{
        f"attempts {odd!r}": (
            {**SOUND, "attempts": odd},
            Anomaly("C2", f"{UNREADABLE} says state 'pending', attempts {odd!r}"),
        )
        for odd in (b"01", b"x", b"", b"-1", b"1.0", b"+1", "²".encode())
    },
    **{
        f"spent {odd!r}": (
            {**SOUND, "spent": odd},
            Anomaly("F6", f"{UNREADABLE} says spent {odd!r}, which is no token"),
        )
        for odd in (b"01", b"x", b"", b"-1")
    },
}


@pytest.mark.parametrize(("fields", "anomaly"), ODD_ROWS.values(), ids=ODD_ROWS)
def test_an_odd_row_is_an_anomaly_and_no_row(
    wire: Wire, keyspace: Keyspace, fields: dict[str, Argument], anomaly: Anomaly
) -> None:
    write(wire, ROW, fields)
    wire.call("ZADD", KEYS.pending, 0, A)
    seen = keyspace.observe()
    assert seen.anomalies == (anomaly,)
    assert seen.queue == Queue(pending=Frozen({A: 0}))


def test_an_odd_row_of_a_bad_id_is_named_readably(wire: Wire, keyspace: Keyspace) -> None:
    write(wire, KEYS.row(b"\xff"), {"state": "pending"})
    keyspace.know(b"\xff")
    (anomaly,) = keyspace.observe().anomalies
    assert anomaly.text.startswith(r"the row of \xff is a skeleton")


def test_a_field_that_a_backend_declares_is_not_odd(wire: Wire) -> None:
    write(wire, ROW, {**SOUND, "claimed_at": 1})
    wire.call("ZADD", KEYS.pending, 0, A)
    declared = Keyspace(wire, KEYS, private=True, row_fields=frozenset({b"claimed_at"}))
    assert declared.observe().anomalies == ()
    undeclared = Keyspace(wire, KEYS, private=True)
    assert [anomaly.law for anomaly in undeclared.observe().anomalies] == ["C2"]


@pytest.mark.parametrize("name", ["pending", "active", "schedule", "dead"])
def test_an_index_of_a_wrong_type_is_an_anomaly(wire: Wire, keyspace: Keyspace, name: str) -> None:
    wire.call("SET", KEYS.base + name.encode(), "x")
    (anomaly,) = keyspace.observe().anomalies
    assert anomaly.law == "W2"
    assert anomaly.text.startswith(f"{name} is no sorted set: WRONGTYPE ")


@pytest.mark.parametrize(
    "command",
    [
        ("HSET", KEYS.meta, "paused", 1, "since", 0),
        ("HSET", KEYS.meta, "since", 0),
        ("SET", KEYS.meta, "paused"),
    ],
    ids=["paused and more", "something else", "no hash"],
)
def test_a_meta_with_anything_but_paused_is_an_anomaly(
    wire: Wire, keyspace: Keyspace, command: tuple[Argument, ...]
) -> None:
    wire.call(*command)
    (anomaly,) = keyspace.observe().anomalies
    assert anomaly.law == "W2"
    assert anomaly.text.startswith("meta ")


@pytest.mark.parametrize("stray", [b"stray", b"emq:{r}:pending", KEYS.base + b"lock"])
def test_a_stray_key_is_an_anomaly_on_a_private_server(
    wire: Wire, keyspace: Keyspace, stray: bytes
) -> None:
    wire.call("SET", stray, "x")
    anomaly = Anomaly("W2", f"key {stray!r} is none of the queue's, nor a row of a known job")
    assert keyspace.observe().anomalies == (anomaly,)


def test_a_row_that_nobody_knows_of_is_an_anomaly_on_a_private_server(
    wire: Wire, keyspace: Keyspace
) -> None:
    write(wire, ROW, SOUND)
    (anomaly,) = keyspace.observe().anomalies
    assert anomaly.law == "W2"
    assert repr(ROW) in anomaly.text


def test_a_stray_key_is_nobodys_business_on_a_shared_server(wire: Wire, shared: Keyspace) -> None:
    wire.call("SET", "stray", "x")
    assert shared.observe().anomalies == ()


def test_every_anomaly_is_told_at_once(wire: Wire, keyspace: Keyspace) -> None:
    wire.batch([("SET", KEYS.dead, "x"), ("HSET", KEYS.meta, "x", 1), ("HSET", ROW, "x", 1)])
    wire.call("SET", "stray", "x")
    keyspace.know(A)
    assert [anomaly.law for anomaly in keyspace.observe().anomalies] == ["W2", "W2", "C2", "W2"]


# --- a server that refuses ---------------------------------------------------------------------


@pytest.fixture
def forbid(wire: Wire) -> Iterator[Wire]:
    """A connection on which the test takes permissions away."""
    yield wire
    wire.call("ACL", "SETUSER", "default", "+@all")


def test_a_server_that_refuses_to_be_read_is_an_error(forbid: Wire, keyspace: Keyspace) -> None:
    forbid.call("ACL", "SETUSER", "default", "-zrange")
    with pytest.raises(ObservationError, match="cannot read the keyspace back: NOPERM"):
        keyspace.observe()


def test_a_server_that_refuses_to_list_its_keys_is_an_error(
    forbid: Wire, keyspace: Keyspace
) -> None:
    forbid.call("ACL", "SETUSER", "default", "-scan")
    with pytest.raises(ObservationError, match="cannot list the keys: NOPERM"):
        keyspace.dump()


# --- from outside ------------------------------------------------------------------------------

ALONE = Queue(pending=Frozen({A: 0}), rows=Frozen({A: Job(b"a")}))


def test_a_deleted_row_leaves_a_ghost(keyspace: Keyspace) -> None:
    keyspace.restore(ALONE)
    keyspace.delete_row(A)
    assert keyspace.observe().queue == Queue(pending=Frozen({A: 0}))


def test_a_replaced_row_is_foreign(keyspace: Keyspace) -> None:
    keyspace.restore(ALONE)
    keyspace.replace_row(A)
    assert keyspace.observe().queue == Queue(pending=Frozen({A: 0}), foreign=frozenset({A}))


# --- erasing -----------------------------------------------------------------------------------

FULL = Queue(
    pending=Frozen({A: 0}),
    active=Frozen({A: 1}),
    schedule=Frozen({A: 2}),
    dead=Frozen({A: 0}),
    rows=Frozen({A: Job(b"a")}),
    foreign=frozenset({B}),
    paused=True,
)


def test_erase_leaves_nothing(wire: Wire, keyspace: Keyspace) -> None:
    keyspace.restore(FULL)
    wire.call("SET", "stray", "x")
    keyspace.erase()
    assert wire.call("DBSIZE") == 0


def test_erase_of_an_empty_server_is_no_harm(wire: Wire, keyspace: Keyspace) -> None:
    keyspace.erase()
    assert wire.call("DBSIZE") == 0


def test_erase_leaves_other_keys_alone_on_a_shared_server(wire: Wire, shared: Keyspace) -> None:
    others = [b"stray", b"emq:{r}:pending", b"emq:{qq}:meta"]
    for other in others:
        wire.call("SET", other, "x")
    shared.restore(FULL)
    shared.erase()
    assert sorted(wire.call("KEYS", "*")) == sorted(others)


def test_erase_lists_more_keys_than_one_scan_answers(wire: Wire, keyspace: Keyspace) -> None:
    wire.batch([("SET", f"stray {n}", "x") for n in range(3000)])
    keyspace.erase()
    assert wire.call("DBSIZE") == 0


# --- dumping -----------------------------------------------------------------------------------


def test_a_dump_shows_each_key_with_its_type_contents_and_time_to_live(
    wire: Wire, keyspace: Keyspace
) -> None:
    keyspace.restore(ALONE._replace(foreign=frozenset({B}), paused=True))
    wire.call("PEXPIRE", KEYS.meta, 5000)
    row = [b"state", b"pending", b"attempts", b"0", b"payload", b"a"]
    assert keyspace.dump() == {
        ROW: (b"hash", row, -1),
        KEYS.row(B): (b"string", b"something that is not a row", -1),
        KEYS.meta: (b"hash", [b"paused", b"1"], 5000),
        KEYS.pending: (b"zset", [A, b"0"], -1),
    }


def test_a_dump_is_in_the_order_of_the_keys(keyspace: Keyspace) -> None:
    keyspace.restore(FULL)
    assert [*keyspace.dump()] == sorted(keyspace.dump())


def test_a_dump_tells_keys_of_other_types_apart_too(wire: Wire, keyspace: Keyspace) -> None:
    wire.call("RPUSH", KEYS.dead, "x")
    before = keyspace.dump()
    wire.call("RPUSH", KEYS.dead, "y")
    after = keyspace.dump()
    assert before[KEYS.dead][0] == after[KEYS.dead][0] == b"list"
    assert before != after


@pytest.mark.parametrize(("private", "seen"), [(True, {b"stray", ROW}), (False, {ROW})])
def test_a_dump_shows_other_keys_on_a_private_server_only(
    wire: Wire, private: bool, seen: set[bytes]
) -> None:
    wire.call("SET", "stray", "x")
    write(wire, ROW, SOUND)
    assert Keyspace(wire, KEYS, private=private).dump().keys() == seen
