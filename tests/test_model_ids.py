"""Branded ids: what makes one valid, and what minting promises."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_model.ids import (
    EPOCH_MS,
    KIND,
    MOST,
    Snowflake,
    branded,
    is_branded,
    is_job_id,
    mint,
    parse,
)

NUMBERS = st.integers(0, MOST)
KINDS = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=3, max_size=3).map(str.encode)
LAST_MILLI = EPOCH_MS + 2**41 - 1


# --- the spelling ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("id", "number"),
    [
        (b"USR0KHTOWnGLuC", 274557032793636864),
        (b"USR0NgWEfAEJfs", 320636799581945856),
        (b"JOB00000000000", 0),
        (b"JOB0000000000A", 10),
        (b"JOB0000000000a", 36),
        (b"JOB0000000000z", 61),
        (b"JOB00000000010", 62),
        (b"JOBAzL8n0Y58m7", 2**63 - 1),
    ],
)
def test_the_vectors(id: bytes, number: int) -> None:
    assert parse(id) == (id[:3], number)
    assert branded(id[:3], number) == id


@given(KINDS, NUMBERS)
def test_what_is_spelled_parses_back(kind: bytes, number: int) -> None:
    id = branded(kind, number)
    assert is_branded(id)
    assert parse(id) == (kind, number)


@given(NUMBERS, NUMBERS)
def test_byte_order_is_numeric_order(one: int, other: int) -> None:
    assert (branded(KIND, one) < branded(KIND, other)) == (one < other)


MALFORMED = {
    "empty": b"",
    "kind only": b"JOB",
    "ten digits": b"JOB0KHTOWnGLu",
    "twelve digits": b"JOB0KHTOWnGLuC0",
    "trailing newline": b"JOB0KHTOWnGLuC\n",
    "newline for a digit": b"JOB0KHTOWnGLu\n",
    "leading newline": b"\nJOB0KHTOWnGLuC",
    "trailing NUL": b"JOB0KHTOWnGLuC\0",
    "NUL for a digit": b"JOB0KHTOWnGLu\0",
    "trailing blank": b"JOB0KHTOWnGLuC ",
    "lower-case kind": b"job0KHTOWnGLuC",
    "mixed-case kind": b"JoB0KHTOWnGLuC",
    "digit in the kind": b"J0B0KHTOWnGLuC",
    "two-letter kind": b"JO00KHTOWnGLuC",
    "dash": b"JOB0KHTOWnG-uC",
    "underscore": b"JOB0KHTOWnG_uC",
    "dash for the kind's end": b"JOB-0KHTOWnGLuC",
    "letter that is not ASCII": "JOB0KHTOWnGLé".encode(),
    "digit that is not ASCII": "JOB0KHTOWnGL٣".encode(),
    "one above the largest": b"JOBAzL8n0Y58m8",
    "far above the largest": b"JOBzzzzzzzzzzz",
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_id_is_refused(raw: bytes) -> None:
    assert not is_branded(raw)
    assert not is_job_id(raw)
    with pytest.raises(ValueError, match="not a branded id"):
        parse(raw)


def test_only_the_kind_JOB_names_a_job() -> None:
    assert is_job_id(b"JOB0KHTOWnGLuC")
    assert is_branded(b"USR0KHTOWnGLuC")
    assert not is_job_id(b"USR0KHTOWnGLuC")


@pytest.mark.parametrize("number", [-1, MOST + 1])
def test_a_number_out_of_range_has_no_spelling(number: int) -> None:
    with pytest.raises(ValueError, match=r"in 0 \.\.\. 2\^63-1"):
        branded(KIND, number)


@pytest.mark.parametrize("kind", [b"", b"JO", b"JOBS", b"job", b"J0B", b"JOB\n"])
def test_a_kind_is_three_capitals(kind: bytes) -> None:
    with pytest.raises(ValueError, match="three letters"):
        branded(kind, 0)


# --- the number --------------------------------------------------------------------------------


@given(NUMBERS)
def test_a_number_survives_being_taken_apart(number: int) -> None:
    assert Snowflake.of(number).number == number


@given(st.integers(0, 2**41 - 1), st.integers(0, 1023), st.integers(0, 4095))
def test_parts_survive_being_put_together(millis: int, node: int, sequence: int) -> None:
    parts = Snowflake(millis, node, sequence)
    assert Snowflake.of(parts.number) == parts


def test_where_the_parts_lie() -> None:
    assert Snowflake(millis=1, node=0, sequence=0).number == 1 << 22
    assert Snowflake(millis=0, node=1, sequence=0).number == 1 << 12
    assert Snowflake(millis=0, node=0, sequence=1).number == 1
    assert Snowflake(2**41 - 1, 1023, 4095).number == MOST


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("millis", -1),
        ("millis", 2**41),
        ("node", -1),
        ("node", 1024),
        ("sequence", -1),
        ("sequence", 4096),
    ],
)
def test_a_part_out_of_range_is_refused(part: str, value: int) -> None:
    parts = {"millis": 0, "node": 0, "sequence": 0} | {part: value}
    with pytest.raises(ValueError, match=f"{part} must be in"):
        Snowflake(**parts)


@pytest.mark.parametrize("number", [-1, MOST + 1])
def test_a_number_out_of_range_has_no_parts(number: int) -> None:
    with pytest.raises(ValueError, match="millis must be in"):
        Snowflake.of(number)


# --- minting -----------------------------------------------------------------------------------

CLOCKS = st.lists(st.integers(0, 5).map(lambda millis: EPOCH_MS + millis), min_size=2)


def test_the_first_mint_says_when_and_by_whom() -> None:
    kind, number = parse(mint(EPOCH_MS + 123, node=7))
    assert kind == KIND
    assert Snowflake.of(number) == Snowflake(millis=123, node=7, sequence=0)


def test_a_clock_that_stands_still_counts_in_sequence() -> None:
    first = mint(EPOCH_MS + 123, node=7)
    second = mint(EPOCH_MS + 123, node=7, after=first)
    assert Snowflake.of(parse(second)[1]) == Snowflake(123, 7, 1)


def test_a_clock_that_went_on_starts_a_new_sequence() -> None:
    first = mint(EPOCH_MS + 123, node=7)
    second = mint(EPOCH_MS + 124, node=7, after=first)
    assert Snowflake.of(parse(second)[1]) == Snowflake(124, 7, 0)


def test_a_used_up_sequence_borrows_the_next_millisecond() -> None:
    last = branded(KIND, Snowflake(123, 7, 4095).number)
    following = mint(EPOCH_MS + 123, node=7, after=last)
    assert Snowflake.of(parse(following)[1]) == Snowflake(124, 7, 0)


@given(clocks=CLOCKS, node=st.integers(0, 1023), sequence=st.integers(4090, 4095))
def test_mint_rises_under_any_clock(clocks: list[int], node: int, sequence: int) -> None:
    minted = [branded(KIND, Snowflake(2, node, sequence).number)]
    for now in clocks:
        minted.append(mint(now, node, after=minted[-1]))
    assert minted == sorted(set(minted))
    assert all(map(is_job_id, minted))


@given(clocks=CLOCKS, nodes=st.sets(st.integers(0, 1023), min_size=2, max_size=3))
def test_two_nodes_never_mint_the_same(clocks: list[int], nodes: set[int]) -> None:
    minted = []
    for node in nodes:
        last = None
        for now in clocks:
            last = mint(now, node, after=last)
            minted.append(last)
    assert len(set(minted)) == len(minted)


def test_the_first_and_the_last_millisecond_mint() -> None:
    assert mint(EPOCH_MS) == b"JOB00000000000"
    assert is_job_id(mint(LAST_MILLI, node=1023))


REFUSED_MINTS: dict[str, Callable[[], bytes]] = {
    "before 2024": lambda: mint(EPOCH_MS - 1),
    "after the last millisecond": lambda: mint(LAST_MILLI + 1),
    "node below 0": lambda: mint(EPOCH_MS, node=-1),
    "node above 1023": lambda: mint(EPOCH_MS, node=1024),
    "after no id": lambda: mint(EPOCH_MS, after=b"JOB1"),
    "after another kind": lambda: mint(EPOCH_MS, after=b"USR00000000000"),
    "after another node's id": lambda: mint(EPOCH_MS, node=1, after=mint(EPOCH_MS, node=2)),
    "after the last id of all": lambda: mint(EPOCH_MS, node=1023, after=branded(KIND, MOST)),
}


@pytest.mark.parametrize("minting", REFUSED_MINTS.values(), ids=REFUSED_MINTS)
def test_mint_refuses(minting: Callable[[], bytes]) -> None:
    with pytest.raises(ValueError, match=r"must be in|not a branded id|is not a job id"):
        minting()
