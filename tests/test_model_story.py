"""A story: a run told in the protocol's words, and where two queues differ."""

import pytest

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
    Resume,
    Retry,
    State,
    Verb,
    step,
)
from emq_model.frozen import Frozen
from emq_model.story import (
    Names,
    Step,
    differences,
    ids_of,
    quoted,
    reply_words,
    tell,
    verb_words,
)

A, B, C = b"JOB0KHTOWnGLuA", b"JOB0KHTOWnGLuB", b"JOB0KHTOWnGLuC"
START = 1_800_000_000_000
NAMES = Names([A, B, C], START)


# --- names -------------------------------------------------------------------------------------


def test_letters_are_given_in_byte_order() -> None:
    names = Names([C, A, B, A], START)
    assert [names.job(id) for id in (A, B, C)] == ["A", "B", "C"]


def test_the_legend_says_which_letter_is_which_id() -> None:
    assert Names([B, A], START).legend() == "A = JOB0KHTOWnGLuA, B = JOB0KHTOWnGLuB"


@pytest.mark.parametrize(
    ("bad", "shown"),
    [(b"", "''"), (b"JOB1", "'JOB1'"), (b"JOB\xff\n", r"'JOB\xff\n'")],
)
def test_a_bad_id_is_shown_as_it_is(bad: bytes, shown: str) -> None:
    names = Names([A, bad], START)
    assert names.job(bad) == shown
    assert names.legend() == "A = JOB0KHTOWnGLuA"


def test_an_id_that_has_no_letter_is_shown_as_it_is() -> None:
    assert Names([A], START).job(B) == "'JOB0KHTOWnGLuB'"


def test_after_26_letters_jobs_are_numbered() -> None:
    ids = [b"JOB%011d" % n for n in range(28)]
    names = Names(ids, START)
    assert [names.job(id) for id in ids[24:]] == ["Y", "Z", "J27", "J28"]


@pytest.mark.parametrize(
    ("instant", "shown"), [(START, "+0"), (START + 12_345, "+12,345"), (START - 1, "-1")]
)
def test_instants_are_told_from_the_start(instant: int, shown: str) -> None:
    assert NAMES.instant(instant) == shown


def test_an_instant_that_never_comes_is_shown_as_such() -> None:
    assert NAMES.instant(float("inf")) == "+inf"  # type: ignore[arg-type]


# --- words -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "shown"),
    [(5, "5"), (None, "None"), (State.DEAD, "dead"), (b"x", "'x'"), (b"\x00'", '"\\x00\'"')],
)
def test_a_value_is_shown_plain_and_bytes_in_quotes(value: object, shown: str) -> None:
    assert quoted(value) == shown


@pytest.mark.parametrize(("size", "is_cut"), [(38, False), (39, True)])
def test_long_bytes_are_cut(size: int, is_cut: bool) -> None:
    shown = quoted(b"x" * size)
    assert shown.endswith(f"…' ({size} bytes)") is is_cut
    assert len(shown) <= 40


VERBS: dict[str, Verb] = {
    "enqueue A payload 'x'": Enqueue(A, b"x"),
    "enqueue 'JOB1' payload ''": Enqueue(b"JOB1", b""),
    "claim lease 10": Claim(10),
    "claim lease '1e1'": Claim(b"1e1"),
    "complete A token 1": Complete(A, 1),
    "retry A token 1 delay 5 max_attempts 3 error 'x'": Retry(A, 1, 5, 3, b"x"),
    "extend A token 1 lease 10": Extend(A, 1, 10),
    "reap limit 1": Reap(1),
    "promote limit 1": Promote(1),
    "pause": Pause(),
    "resume": Resume(),
}


@pytest.mark.parametrize(("words", "verb"), VERBS.items(), ids=VERBS)
def test_a_verb_is_told_with_its_arguments(words: str, verb: Verb) -> None:
    assert verb_words(verb, NAMES) == words


@pytest.mark.parametrize("answer", Answer)
def test_a_plain_answer_is_its_own_word(answer: Answer) -> None:
    assert reply_words(answer, Claim(1), NAMES) == answer.value


@pytest.mark.parametrize("error", Error)
def test_an_error_is_told_by_its_class(error: Error) -> None:
    assert reply_words(error, Claim(1), NAMES) == error.value


@pytest.mark.parametrize(
    ("reply", "verb", "words"),
    [
        (Claimed(A, b"", 2), Claim(1), "A, token 2"),
        (Claimed(A, b"x", 2), Claim(1), "A, token 2, 'x'"),
        (Moved(3), Reap(9), "3 left active"),
        (Moved(3), Promote(9), "3 left schedule"),
        (None, "a row is deleted", ""),
    ],
)
def test_a_reply_is_told_in_words(reply: object, verb: Verb | str, words: str) -> None:
    assert reply_words(reply, verb, NAMES) == words


@pytest.mark.parametrize("reply", [17, b"OK", [A, None]])
def test_a_reply_that_the_protocol_does_not_know_is_shown_raw(reply: object) -> None:
    assert reply_words(reply, Claim(1), NAMES) == f"no reply of the protocol: {reply!r}"


# --- a whole story -----------------------------------------------------------------------------


def test_a_story_is_told_in_columns_and_its_last_line_is_marked() -> None:
    steps = [
        Step(START, "w1", Enqueue(B, b"b"), Answer.ADMITTED),
        Step(START, "w1", Enqueue(A, b""), Answer.ADMITTED),
        Step(START, "w2", Claim(10), Claimed(A, b"", 1)),
        Step(START + 10, "—", "10 ms go by"),
        Step(START + 10, "reaper", Reap(100), Moved(1)),
        Step(START + 1_010, "w1", Claim(10), Claimed(A, b"", 2)),
        Step(START + 1_010, "w2", Complete(A, 1), Answer.DONE),
    ]
    assert tell(steps, Names(ids_of(steps), START)) == [
        "   clock  who     what                   answer",
        "      +0  w1      enqueue B payload 'b'  admitted",
        "      +0  w1      enqueue A payload ''   admitted",
        "      +0  w2      claim lease 10         A, token 1",
        "     +10  —       10 ms go by",
        "     +10  reaper  reap limit 100         1 left active",
        "  +1,010  w1      claim lease 10         A, token 2",
        "> +1,010  w2      complete A token 1     done",
    ]


def test_a_story_ends_with_where_the_queues_differ() -> None:
    before = step(step(Queue(), Enqueue(A, b"a"), START)[0], Claim(10), START)[0]
    expected, _ = step(before, Complete(A, 1), START)
    assert differences(expected, before, NAMES) == [
        "active: A expected absent, found at +10",
        "row A: expected none, found active at attempts 1",
    ]


# --- differences -------------------------------------------------------------------------------

ROW = Job(b"x", State.ACTIVE, attempts=1)
ACTIVE = Queue(active=Frozen({A: START + 10}), rows=Frozen({A: ROW}))


def with_row(**fields: object) -> Queue:
    return ACTIVE._replace(rows=Frozen({A: ROW._replace(**fields)}))  # type: ignore[arg-type]


def test_equal_queues_do_not_differ() -> None:
    assert differences(ACTIVE, ACTIVE, NAMES) == []


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (
            ACTIVE._replace(active=Frozen({A: START + 20})),
            "active: A expected at +10, found at +20",
        ),
        (ACTIVE._replace(active=Frozen()), "active: A expected at +10, found absent"),
        (ACTIVE._replace(dead=Frozen({B: 0})), "dead: B expected absent, found at 0"),
        (with_row(attempts=2), "row A: attempts expected 1, found 2"),
        (
            with_row(state=State.DEAD, spent=1),
            "row A: state expected active, found dead; spent expected None, found 1",
        ),
        (ACTIVE._replace(rows=Frozen()), "row A: expected active at attempts 1, found none"),
        (ACTIVE._replace(paused=True), "paused: expected False, found True"),
    ],
    ids=["score", "absent", "too many", "row field", "row fields", "row missing", "paused"],
)
def test_a_difference_says_what_was_expected_and_what_was_found(seen: Queue, told: str) -> None:
    assert differences(ACTIVE, seen, NAMES) == [told]


def test_a_foreign_key_is_a_difference() -> None:
    there = Queue(foreign=frozenset({A}))
    assert differences(Queue(), there, NAMES) == ["row A: a key that is no row has appeared"]
    assert differences(there, Queue(), NAMES) == ["row A: a key that is no row has gone"]


def test_payloads_that_the_cut_would_make_alike_are_told_from_where_they_part() -> None:
    one, other = (Queue(rows=Frozen({A: Job(b"x" * 99 + end)})) for end in (b"1", b"2"))
    (told,) = differences(one, other, NAMES)
    assert told == (
        "row A: payload expected 'xxxxxxxxx…' (100 bytes) from byte 99: '1', "
        "found 'xxxxxxxxx…' (100 bytes) from byte 99: '2'"
    )


def test_a_payload_that_goes_on_is_told_from_where_the_other_ends() -> None:
    one, other = (Queue(rows=Frozen({A: Job(b"x" * size)})) for size in (100, 101))
    (told,) = differences(one, other, NAMES)
    assert "(100 bytes)" in told
    assert "(101 bytes)" in told


def test_differences_are_told_index_by_index_in_byte_order() -> None:
    seen = Queue(pending=Frozen({B: 0, A: 0}), dead=Frozen({C: 0}))
    assert [line.partition(" expected")[0] for line in differences(Queue(), seen, NAMES)] == [
        "pending: A",
        "pending: B",
        "dead: C",
    ]


# --- which ids a story needs names for ---------------------------------------------------------


def test_the_ids_of_a_story_are_those_enqueued_and_those_in_the_queues() -> None:
    steps = [Step(START, "w1", Enqueue(A, b"")), Step(START, "w1", Claim(1))]
    queues = (Queue(rows=Frozen({B: ROW})), Queue(foreign=frozenset({C})))
    assert ids_of(steps, *queues) == {A, B, C}


IN_AN_INDEX = [
    Queue(pending=Frozen({A: 0})),
    Queue(active=Frozen({A: 0})),
    Queue(schedule=Frozen({A: 0})),
    Queue(dead=Frozen({A: 0})),
]


@pytest.mark.parametrize("queue", IN_AN_INDEX, ids=Queue._fields[:4])
def test_an_id_in_any_index_needs_a_name(queue: Queue) -> None:
    assert ids_of([], queue) == {A}


def test_words_about_a_job_name_it_by_its_letter() -> None:
    step = Step(START, "—", "the row of {} is deleted", about=B)
    assert "the row of B is deleted" in tell([step], NAMES)[-1]
    assert ids_of([step]) == {B}
