"""Branded ids: three letters that name the kind, eleven base-62 digits that name the thing.

    J O B 0 K H T O W n G L u C
    ----- ---------------------
    kind  snowflake, base 62, left-padded with 0

The digits run `0-9A-Za-z`, which is ASCII order, and the width is fixed: so comparing two ids of
one kind byte by byte compares their numbers, and byte order is mint order.

The number is a *snowflake* of 63 bits: 41 bits of milliseconds since 2024-01-01T00:00Z, 10 bits of
node, 12 bits of sequence.
"""

import re
from dataclasses import dataclass

EPOCH_MS = 1_704_067_200_000
"""2024-01-01T00:00Z, in milliseconds since 1970: where a snowflake's time starts."""

KIND = b"JOB"
"""The kind of every job id."""

MOST = 2**63 - 1
"""The largest number an id can carry."""

NODE_BITS = 10
SEQUENCE_BITS = 12

_DIGITS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_VALUE = {digit: value for value, digit in enumerate(_DIGITS)}
_WIDTH = 11
_SHAPE = re.compile(rb"[A-Z]{3}[0-9A-Za-z]{11}")
_LAST = b"AzL8n0Y58m7"


@dataclass(frozen=True, slots=True)
class Snowflake:
    """The parts of an id's number."""

    millis: int
    """Milliseconds since `EPOCH_MS`, 0 ... 2^41-1."""
    node: int
    """Who minted it, 0 ... 1023."""
    sequence: int
    """Which one of that node in that millisecond, 0 ... 4095."""

    def __post_init__(self) -> None:
        for name, bits in (("millis", 41), ("node", NODE_BITS), ("sequence", SEQUENCE_BITS)):
            value = getattr(self, name)
            if not 0 <= value < 1 << bits:
                raise ValueError(f"{name} must be in 0 ... {(1 << bits) - 1}, not {value}")

    @classmethod
    def of(cls, number: int) -> "Snowflake":
        """Take the parts out of a number in 0 ... 2^63-1."""
        return cls(
            millis=number >> NODE_BITS + SEQUENCE_BITS,
            node=number >> SEQUENCE_BITS & (1 << NODE_BITS) - 1,
            sequence=number & (1 << SEQUENCE_BITS) - 1,
        )

    @property
    def number(self) -> int:
        """The 63-bit number that these parts make."""
        return (self.millis << NODE_BITS | self.node) << SEQUENCE_BITS | self.sequence

    def next(self) -> "Snowflake":
        """The same node's next snowflake: next in sequence, or the next millisecond's first."""
        if self.sequence + 1 < 1 << SEQUENCE_BITS:
            return Snowflake(self.millis, self.node, self.sequence + 1)
        return Snowflake(self.millis + 1, self.node, 0)


def is_branded(raw: bytes) -> bool:
    """Say whether `raw` is a branded id of any kind."""
    return _SHAPE.fullmatch(raw) is not None and raw[3:] <= _LAST


def is_job_id(raw: bytes) -> bool:
    """Say whether `raw` may name a job. What is not, enqueue refuses with `EMQKIND`.

    >>> is_job_id(b"JOB0KHTOWnGLuC"), is_job_id(b"USR0KHTOWnGLuC"), is_job_id(b"JOB1")
    (True, False, False)
    """
    return is_branded(raw) and raw.startswith(KIND)


def branded(kind: bytes, number: int) -> bytes:
    """Spell the id of `kind` with this number.

    Raises:
        ValueError: if kind is not three letters A-Z, or number is not in 0 ... 2^63-1.

    >>> branded(b"USR", 274557032793636864)
    b'USR0KHTOWnGLuC'
    >>> branded(b"USR", 320636799581945856)
    b'USR0NgWEfAEJfs'
    """
    if re.fullmatch(rb"[A-Z]{3}", kind) is None:
        raise ValueError(f"a kind is three letters A-Z, not {kind!r}")
    if not 0 <= number <= MOST:
        raise ValueError(f"an id's number is in 0 ... 2^63-1, not {number}")
    digits = bytearray()
    for _ in range(_WIDTH):
        number, value = divmod(number, 62)
        digits.append(_DIGITS[value])
    return kind + bytes(reversed(digits))


def parse(raw: bytes) -> tuple[bytes, int]:
    """Take a branded id apart, into its kind and its number.

    Raises:
        ValueError: if `raw` is not a branded id.

    >>> parse(b"USR0NgWEfAEJfs")
    (b'USR', 320636799581945856)
    """
    if not is_branded(raw):
        raise ValueError(f"not a branded id: {raw!r}")
    number = 0
    for digit in raw[3:]:
        number = number * 62 + _VALUE[digit]
    return raw[:3], number


def mint(now: int, node: int = 0, after: bytes | None = None) -> bytes:
    """Mint the job id that follows `after` on this node.

    Args:
        now: the minter's clock, in milliseconds since 1970; not before 2024.
        node: who mints, 0 ... 1023. Two minters with one node number may mint the same id twice.
        after: the id this node minted last, if any.

    The new id is greater than `after` even if the clock stood still or went back.

    Raises:
        ValueError: if now or node is out of range, or `after` is not this node's job id.

    >>> first = mint(EPOCH_MS + 1000, node=7)
    >>> second = mint(EPOCH_MS + 1000, node=7, after=first)
    >>> third = mint(EPOCH_MS + 1, node=7, after=second)  # the clock went back
    >>> first < second < third
    True
    """
    fresh = Snowflake(now - EPOCH_MS, node, 0)
    if after is not None:
        kind, number = parse(after)
        last = Snowflake.of(number)
        if kind != KIND or last.node != node:
            raise ValueError(f"{after!r} is not a job id that node {node} minted")
        if fresh.number <= last.number:
            fresh = last.next()
    return branded(KIND, fresh.number)
