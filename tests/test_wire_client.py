"""The wire, the keys and the Lua client: what is sent, and how what comes back is read."""

from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint

import pytest
from redis.crc import key_slot
from redis.exceptions import ResponseError

from emq_conformance import backends
from emq_conformance.backend import BackendError, Command, Context, Unknown
from emq_conformance.backends import known, open_backend
from emq_conformance.backends.lua import LuaBackend, LuaClient
from emq_conformance.keys import Keys, command, reply_of
from emq_conformance.keyspace import Keyspace
from emq_conformance.servers import Server, open_server
from emq_conformance.wire import ErrorReply, Wire, error_reply
from emq_lua import Script, load
from emq_model import (
    Answer,
    Claim,
    Claimed,
    Complete,
    Enqueue,
    Error,
    Extend,
    Job,
    Moved,
    Pause,
    Promote,
    Queue,
    Reap,
    Reply,
    Resume,
    Retry,
    State,
    Verb,
    step,
)
from emq_model.frozen import Frozen

A, B = b"JOB0KHTOWnGLuA", b"JOB0KHTOWnGLuB"
KEYS = Keys(b"q")
BACKEND = LuaBackend(load(), "emq_lua")


@pytest.fixture(scope="module", params=["valkey", "fakeredis"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with open_server(request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
def connected(server: Server) -> Iterator[Wire]:
    wire = Wire(server.connect())
    yield wire
    wire.close()


@pytest.fixture
def wire(connected: Wire) -> Wire:
    """A connection to a server without keys, scripts and taps."""
    connected.untap()
    connected.call("FLUSHALL")
    connected.call("SCRIPT", "FLUSH")
    return connected


@pytest.fixture
def client(wire: Wire) -> LuaClient:
    return BACKEND.client(wire, KEYS.queue)


# --- between sending and reading ---------------------------------------------------------------


def test_what_is_done_meanwhile_is_done_once(wire: Wire) -> None:
    done: list[int] = []
    wire.meanwhile = lambda: done.append(wire.round_trips)
    before = wire.round_trips
    assert wire.call("PING") == wire.call("PING") == b"PONG"
    assert done == [before + 1]


# --- errors ------------------------------------------------------------------------------------


def refuse(text: str) -> tuple[str, ...]:
    """A command that answers the error `text`."""
    return "EVAL", f"return redis.error_reply('{text}')", "0"


ERRORS: dict[str, tuple[tuple[str, ...], str]] = {
    "NOSCRIPT": (("EVALSHA", "0" * 40, "0"), "NOSCRIPT No matching script"),
    "OOM": (refuse("OOM used memory"), "OOM used memory"),
    "WRONGTYPE": (("LPUSH", "text", "x"), "WRONGTYPE Operation against"),
    "EMQSTALE": (refuse("EMQSTALE the token"), "EMQSTALE the token"),
    "EMQARG": (refuse("EMQARG lease_ms must be"), "EMQARG lease_ms must be"),
    "READONLY": (refuse("READONLY a replica"), "READONLY a replica"),
}


@pytest.mark.parametrize(("code", "sent", "message"), [(c, *e) for c, e in ERRORS.items()])
def test_an_error_is_a_value_with_its_class_and_its_text(
    wire: Wire, code: str, sent: tuple[str, ...], message: str
) -> None:
    wire.call("SET", "text", "x")
    answer = wire.call(*sent)
    assert isinstance(answer, ErrorReply)
    assert answer.code == code
    assert answer.message.startswith(message)


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (("GET",), "ERR wrong number of arguments"),
        (("NOSUCH",), "ERR unknown command"),
        (("SELECT", "999"), "ERR DB index is out of range"),
        (refuse("ERR HELD back"), "ERR HELD back"),
        (refuse("words of its own"), "ERR words of its own"),
    ],
)
def test_an_error_without_a_class_of_its_own_is_ERR(
    wire: Wire, sent: tuple[str, ...], message: str
) -> None:
    answer = wire.call(*sent)
    assert answer.code == "ERR"
    assert answer.message.startswith(message)


def test_a_server_that_is_out_of_memory_says_OOM() -> None:
    with open_server("valkey", maxmemory="1") as full:
        wire = Wire(full.connect())
        assert wire.call("SET", "x", "y").code == "OOM"
        wire.close()


def stripped(code: str, text: str) -> ResponseError:
    """An error whose class the client library took off its text, and kept."""
    error = ResponseError(text)
    error.status_code = code
    return error


@pytest.mark.parametrize(
    ("error", "read"),
    [
        (ResponseError("EMQSTALE no"), ErrorReply("EMQSTALE", "EMQSTALE no")),
        (ResponseError("EMQSTALE"), ErrorReply("EMQSTALE", "EMQSTALE")),
        (ResponseError("no such key"), ErrorReply("ERR", "ERR no such key")),
        (ResponseError(""), ErrorReply("ERR", "ERR ")),
        (stripped("OOM", "full"), ErrorReply("OOM", "OOM full")),
        (stripped("ERR", "DB index"), ErrorReply("ERR", "ERR DB index")),
        (stripped("NOSCRIPT", "No match"), ErrorReply("NOSCRIPT", "NOSCRIPT No match")),
    ],
)
def test_an_error_gets_back_the_class_that_was_taken_off(
    error: ResponseError, read: ErrorReply
) -> None:
    assert error_reply(error) == read


# --- round trips and taps ----------------------------------------------------------------------


def test_a_batch_is_one_round_trip_and_its_replies_are_in_order(wire: Wire) -> None:
    before = wire.round_trips
    answers = wire.batch([("SET", "x", 1), ("LPUSH", "x", 1), ("GET", "x")])
    assert wire.round_trips == before + 1
    assert answers[::2] == [b"OK", b"1"]
    assert answers[1].code == "WRONGTYPE"


def test_a_batch_carries_any_bytes(wire: Wire) -> None:
    odd = bytes(range(256)) * 1000
    assert wire.batch([("SET", "x", odd), ("GET", "x")])[1] == odd


def test_what_was_packed_can_be_asked_again(wire: Wire) -> None:
    packed = wire.pack([("INCR", "x")])
    assert [wire.ask(*packed), wire.ask(*packed)] == [[1], [2]]


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_tap_runs_once_after_so_many_round_trips(wire: Wire, after: int) -> None:
    order: list[str] = []
    wire.tap(after, lambda: order.append("tap"))
    for _ in range(4):
        wire.call("PING")
        order.append("call")
    assert order.index("tap") == after
    assert order.count("tap") == 1


def test_a_tap_runs_before_the_command_is_sent(wire: Wire, server: Server) -> None:
    other = Wire(server.connect())
    wire.tap(0, lambda: other.call("SET", "x", "tapped"))
    assert wire.call("GET", "x") == b"tapped"
    other.close()


def test_a_tap_may_use_the_connection_that_it_taps(wire: Wire) -> None:
    wire.tap(0, lambda: wire.call("SET", "x", "tapped"))
    assert wire.call("GET", "x") == b"tapped"


def test_a_batch_runs_a_tap_too(wire: Wire) -> None:
    order: list[str] = []
    wire.tap(0, lambda: order.append("tap"))
    wire.batch([("PING",), ("PING",)])
    assert order == ["tap"]


def test_untap_takes_a_tap_away_and_says_whether_it_was_waiting(wire: Wire) -> None:
    order: list[str] = []
    wire.tap(0, lambda: order.append("tap"))
    assert wire.untap()
    wire.call("PING")
    assert order == []
    assert not wire.untap()


def test_a_tap_that_has_run_is_not_waiting(wire: Wire) -> None:
    wire.tap(0, lambda: None)
    wire.call("PING")
    assert not wire.untap()


# --- keys --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [b"", b"{", b"a}", b"{a}", b"a{b"])
def test_a_queues_name_is_not_empty_and_holds_no_brace(name: bytes) -> None:
    with pytest.raises(ValueError, match="holds no brace"):
        Keys(name)


@pytest.mark.parametrize("name", [b"q", b" ", b":", b"\xff\x00"])
def test_W2_the_keys_of_a_queue_are_derived_from_its_base_and_share_a_slot(name: bytes) -> None:
    keys = Keys(name)
    every_key = [*keys.indexes, keys.meta, keys.row(A), keys.row(b"{odd}")]
    assert all(key.startswith(b"emq:{" + name + b"}:") for key in every_key)
    assert {key_slot(key) for key in every_key} == {key_slot(name)}


PENDING, ACTIVE, SCHEDULE, DEAD, BASE = *KEYS.indexes, KEYS.base

COMMANDS: list[tuple[Verb, Command]] = [
    (Enqueue(A, b"x"), Command("enqueue", (PENDING, BASE), (A, b"x"))),
    (Claim(10), Command("claim", (PENDING, ACTIVE, BASE), (b"10",))),
    (Complete(A, 1), Command("complete", (PENDING, ACTIVE, BASE), (A, b"1"))),
    (
        Retry(A, 1, 5, 3, b"no"),
        Command("retry", (PENDING, ACTIVE, SCHEDULE, DEAD, BASE), (A, b"1", b"5", b"3", b"no")),
    ),
    (Extend(A, 1, 10), Command("extend", (PENDING, ACTIVE, BASE), (A, b"1", b"10"))),
    (Reap(9), Command("reap", (PENDING, ACTIVE, BASE), (b"9",))),
    (Promote(9), Command("promote", (PENDING, SCHEDULE, BASE), (b"9",))),
]
every_command = pytest.mark.parametrize(
    ("verb", "spelled"), COMMANDS, ids=[spelled.name for _, spelled in COMMANDS]
)


@every_command
def test_a_verb_is_spelled_as_the_protocol_has_it(verb: Verb, spelled: Command) -> None:
    assert command(KEYS, verb) == spelled


def test_an_odd_number_is_sent_as_it_is() -> None:
    assert command(KEYS, Claim(b" 0x1")).args == (b" 0x1",)


@pytest.mark.parametrize("verb", [Pause(), Resume()])
def test_pause_and_resume_are_no_commands(verb: Verb) -> None:
    with pytest.raises(ValueError, match="is not a command"):
        command(KEYS, verb)


# --- replies -----------------------------------------------------------------------------------

ENQUEUE, CLAIM, COMPLETE, RETRY, EXTEND, REAP, PROMOTE = (verb for verb, _ in COMMANDS)

REPLIES: list[tuple[Verb, object, Reply]] = [
    (ENQUEUE, 1, Answer.ADMITTED),
    (ENQUEUE, 0, Answer.DUPLICATE),
    (CLAIM, [], Answer.EMPTY),
    (CLAIM, [A, b"x", 1], Claimed(A, b"x", 1)),
    (COMPLETE, 1, Answer.DONE),
    (COMPLETE, 0, Answer.GONE),
    (RETRY, b"scheduled", Answer.SCHEDULED),
    (RETRY, b"dead", Answer.DEAD),
    (RETRY, 0, Answer.GONE),
    (EXTEND, 1, Answer.EXTENDED),
    (EXTEND, 0, Answer.GONE),
    (REAP, 0, Moved(0)),
    (PROMOTE, 7, Moved(7)),
]


@pytest.mark.parametrize(("verb", "raw", "reply"), REPLIES)
def test_a_reply_of_the_protocol_is_known(verb: Verb, raw: object, reply: Reply) -> None:
    assert reply_of(verb, raw) == reply


@pytest.mark.parametrize("error", Error)
def test_an_error_of_the_protocol_is_known(error: Error) -> None:
    assert reply_of(CLAIM, ErrorReply(error.value, f"{error} because")) is error


STRANGE: list[tuple[Verb, object]] = [
    (CLAIM, None),
    (CLAIM, [A, None, 1]),
    (CLAIM, [None, b"x", 1]),
    (CLAIM, [A]),
    (CLAIM, [A, b"x"]),
    (CLAIM, [A, b"x", 1, 2]),
    (CLAIM, [A, b"x", b"1"]),
    (CLAIM, [A, b"x", 1.0]),
    (CLAIM, [[A, b"x", 1]]),
    (CLAIM, {}),
    (CLAIM, 0),
    (CLAIM, b""),
    (ENQUEUE, 2),
    (ENQUEUE, -1),
    (ENQUEUE, b"1"),
    (ENQUEUE, []),
    (COMPLETE, None),
    (COMPLETE, b"OK"),
    (COMPLETE, [1]),
    (EXTEND, b"1"),
    (RETRY, 1),
    (RETRY, b"Dead"),
    (RETRY, b"pending"),
    (RETRY, "dead"),
    (REAP, b"1"),
    (REAP, [A]),
    (PROMOTE, None),
    (CLAIM, ErrorReply("ERR", "ERR user_script:1: boom")),
    (CLAIM, ErrorReply("NOSCRIPT", "NOSCRIPT No matching script.")),
]


@pytest.mark.parametrize(("verb", "raw"), STRANGE)
def test_any_other_reply_is_unknown(verb: Verb, raw: object) -> None:
    assert reply_of(verb, raw) == Unknown(raw)


@pytest.mark.parametrize(
    ("verb", "raw"),
    [(ENQUEUE, True), (COMPLETE, False), (RETRY, False), (REAP, True), (CLAIM, [A, b"x", True])],
)
def test_a_boolean_is_no_integer(verb: Verb, raw: object) -> None:
    assert isinstance(reply_of(verb, raw), Unknown)


# --- the Lua client ----------------------------------------------------------------------------


def trips(wire: Wire, run: Callable[[], object]) -> int:
    """How many round trips something takes."""
    before = wire.round_trips
    run()
    return wire.round_trips - before


EVERY_VERB: list[Verb] = [*(verb for verb, _ in COMMANDS), Pause(), Resume()]
every_verb = pytest.mark.parametrize("verb", EVERY_VERB, ids=lambda v: type(v).__name__.lower())


@every_verb
def test_a_claim_is_two_round_trips_and_every_other_verb_is_one(
    wire: Wire, client: LuaClient, verb: Verb
) -> None:
    client.run(verb)  # the server has the script from here on
    client.run(Resume())
    assert trips(wire, lambda: client.run(verb)) == (2 if isinstance(verb, Claim) else 1)


def test_a_paused_claim_is_one_round_trip(wire: Wire, client: LuaClient) -> None:
    client.run(Pause())
    assert trips(wire, lambda: client.run(CLAIM)) == 1


def test_the_pause_flag_is_read_before_the_script_runs(wire: Wire, client: LuaClient) -> None:
    client.run(Enqueue(A, b"x"))
    wire.tap(1, lambda: wire.call("HSET", KEYS.meta, "paused", 1))
    assert client.run(CLAIM) == Claimed(A, b"x", 1)


@pytest.mark.parametrize("paused", [False, True])
def test_a_claim_with_a_malformed_lease_is_EMQARG(client: LuaClient, paused: bool) -> None:
    client.run(Enqueue(A, b"x"))
    client.run(Pause() if paused else Resume())
    assert client.run(Claim(b"1e1")) is Error.EMQARG


def test_a_paused_claim_is_empty(client: LuaClient) -> None:
    client.run(Enqueue(A, b"x"))
    assert client.run(Pause()) is Answer.OK
    assert client.run(CLAIM) is Answer.EMPTY
    assert client.run(Resume()) is Answer.OK
    assert client.run(CLAIM) == Claimed(A, b"x", 1)


@pytest.mark.parametrize("verb", [Claim(10), Pause(), Resume()])
def test_a_meta_that_is_no_hash_is_WRONGTYPE(wire: Wire, client: LuaClient, verb: Verb) -> None:
    wire.call("SET", KEYS.meta, "x")
    assert client.run(verb) is Error.WRONGTYPE


# Each verb changes this queue, and would change it again if it ran twice.
START = 1_800_000_000_000
BUSY = Queue(
    pending=Frozen({B: 0}),
    active=Frozen({A: START + 5}),
    schedule=Frozen({b"JOB0KHTOWnGLuC": START - 1, b"JOB0KHTOWnGLuD": START - 2}),
    rows=Frozen(
        {
            A: Job(b"a", State.ACTIVE, attempts=1),
            B: Job(b"b"),
            b"JOB0KHTOWnGLuC": Job(b"c", State.SCHEDULED, attempts=1, spent=1),
            b"JOB0KHTOWnGLuD": Job(b"d", State.SCHEDULED, attempts=1, spent=1),
        }
    ),
)
ONCE: list[Verb] = [
    Enqueue(b"JOB0KHTOWnGLuE", b"e"),
    Claim(10),
    Complete(A, 1),
    Retry(A, 1, 5, 3, b"no"),
    Extend(A, 1, 10),
    Reap(1),
    Promote(1),
]


@pytest.mark.parametrize("verb", ONCE, ids=lambda v: type(v).__name__.lower())
@pytest.mark.parametrize("cached", [False, True], ids=["script flushed", "script cached"])
def test_W1_a_verb_runs_exactly_once_with_and_without_its_script_cached(
    wire: Wire, client: LuaClient, server: Server, verb: Verb, cached: bool
) -> None:
    if cached:
        client.run(verb)
    else:
        BACKEND.forget(wire)
    keyspace = Keyspace(wire, KEYS, private=True)
    keyspace.restore(BUSY)
    assert server.clock is not None
    server.clock.set(START + 10)
    reply = client.run(verb)
    assert (keyspace.observe().queue, reply) == step(BUSY, verb, START + 10)


def test_a_verb_whose_script_was_flushed_is_sent_a_second_time(
    wire: Wire, client: LuaClient
) -> None:
    client.run(COMPLETE)
    BACKEND.forget(wire)
    assert trips(wire, lambda: client.run(COMPLETE)) == 2
    assert trips(wire, lambda: client.run(COMPLETE)) == 1


def test_a_NOSCRIPT_from_within_a_script_that_is_sent_whole_is_no_reply(wire: Wire) -> None:
    scripts = {"reap": Script("reap", b"return {err='NOSCRIPT always'}")}
    client = LuaClient(wire, KEYS.queue, scripts)
    assert client.run(REAP) == Unknown(ErrorReply("NOSCRIPT", "NOSCRIPT always"))


@every_command
def test_a_verb_can_be_spelled_as_one_command_that_a_server_is_sent(
    wire: Wire, verb: Verb, spelled: Command
) -> None:
    assert not isinstance(reply_of(verb, wire.call(*BACKEND.spell(spelled))), Unknown)


def test_a_client_refuses_a_queues_bad_name(wire: Wire) -> None:
    with pytest.raises(ValueError, match="holds no brace"):
        BACKEND.client(wire, b"{q}")


def test_the_header_says_where_the_scripts_come_from_and_which_they_are() -> None:
    origin, sha1 = BACKEND.describe()
    assert origin == "scripts: emq_lua"
    assert f"claim {load()['claim'].sha1[:8]}, " in sha1


# --- backends ----------------------------------------------------------------------------------

HERE = Context()


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package names a backend of its own."""
    entry = EntryPoint("other", "emq_conformance.backends.lua:create", backends.GROUP)

    def found(group: str, name: str | None = None) -> list[EntryPoint]:
        assert group == backends.GROUP
        return [entry] if name in (None, "other") else []

    monkeypatch.setattr(backends, "entry_points", found)


@pytest.mark.parametrize("name", ["lua", "emq_conformance.backends.lua:create"])
def test_a_backend_is_opened_by_its_name_or_its_factory(name: str) -> None:
    assert isinstance(open_backend(name, HERE), LuaBackend)


@pytest.mark.usefixtures("entries")
def test_a_backend_is_opened_by_its_entry_point() -> None:
    assert isinstance(open_backend("other", HERE), LuaBackend)
    assert known() == ["lua", "other"]


@pytest.mark.usefixtures("entries")
def test_an_unknown_backend_is_told_with_those_that_are_known() -> None:
    with pytest.raises(BackendError, match=r"'nope'\. There are: lua, other; or name a factory"):
        open_backend("nope", HERE)


def test_a_module_that_cannot_be_imported_is_named() -> None:
    with pytest.raises(BackendError, match=r"cannot import no\.such: No module named 'no'"):
        open_backend("no.such:create", HERE)


@pytest.mark.parametrize("attribute", ["nope", "", "__doc__"])
def test_an_attribute_that_is_no_factory_is_named(attribute: str) -> None:
    with pytest.raises(BackendError, match=f"json has no callable '{attribute}'"):
        open_backend(f"json:{attribute}", HERE)


def test_a_factory_that_answers_something_else_is_named() -> None:
    with pytest.raises(
        BackendError, match=r"^builtins:id answered \d+, which is no emq_conformance"
    ):
        open_backend("builtins:id", HERE)


def test_scripts_that_cannot_be_loaded_are_a_backend_that_cannot_be_had() -> None:
    with pytest.raises(BackendError, match="--lua-scripts: /no/such is not a folder"):
        open_backend("lua", Context(lua_scripts="/no/such"))
