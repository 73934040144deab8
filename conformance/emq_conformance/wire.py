"""A connection to the server as a backend sees it: one call, one round trip, one reply."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from redis.exceptions import ResponseError

from emq_conformance.servers.base import Connection

Argument = bytes | str | int | float


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An error that the server answered: a value here, not an exception."""

    code: str
    """The error's class, its first word: `EMQSTALE`, `WRONGTYPE`, `NOSCRIPT`, `ERR`."""
    message: str


class Wire:
    """One connection. Each call is one round trip, and a tap can be set in front of one.

    The taps are how the suite puts another client's verb *between* two round trips of one verb,
    at the very same place every time, and without any thread.
    """

    def __init__(self, connection: Connection, protocol: int = 2) -> None:
        """Talk over `connection`, which speaks RESP `protocol` (2 or 3)."""
        self.protocol = protocol
        self.round_trips = 0
        self.trail: tuple[bytes, int] | None = None
        """A question (see `pack`) to send right behind each call, in the same round trip."""
        self.meanwhile: Callable[[], None] | None = None
        """What to do, once, while the server is busy with the next call. It must not raise."""
        self._trailed: list[Any] | None = None
        self._connection = connection
        self._tap: tuple[int, Callable[[], None]] | None = None

    def call(self, *command: Argument) -> Any:
        """Send one command and answer its reply; an error reply is an `ErrorReply`.

        Raises:
                redis.exceptions.ConnectionError: if the server is gone, or lets nobody in.
        """
        self._before_round_trip()
        question, count = self.trail or (b"", 0)
        self._connection.send_packed_command([encoded(command) + question])
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        answer = self._read()
        if self.trail is not None:
            self._trailed = [self._read() for _ in range(count)]
        return answer

    def batch(self, commands: Sequence[Sequence[Argument]]) -> list[Any]:
        """Send many commands at once and answer their replies, in order: one round trip."""
        return self.ask(*self.pack(commands))

    def pack(self, commands: Sequence[Sequence[Argument]]) -> tuple[bytes, int]:
        """Encode many commands, for `ask`: their bytes, and how many they are."""
        return b"".join(map(encoded, commands)), len(commands)

    def ask(self, packed: bytes, count: int) -> list[Any]:
        """Send what `pack` encoded and answer the replies, in order: one round trip."""
        self._before_round_trip()
        self._trailed = None
        self._connection.send_packed_command([packed])
        return [self._read() for _ in range(count)]

    def take_trailed(self) -> list[Any] | None:
        """What the trail answered behind the latest call, once; None if it was not asked there."""
        trailed, self._trailed = self._trailed, None
        return trailed

    def tap(self, round_trips: int, action: Callable[[], None]) -> None:
        """Run `action` once, when `round_trips` more round trips have been made."""
        self._tap = (self.round_trips + round_trips, action)

    def untap(self) -> bool:
        """Take a tap away. Answer whether there was one that had not run."""
        waiting, self._tap = self._tap is not None, None
        return waiting

    def close(self) -> None:
        """Close the connection."""
        self._connection.disconnect()

    def _before_round_trip(self) -> None:
        if self._tap is not None and self.round_trips == self._tap[0]:
            _, action = self._tap
            self._tap = None
            action()
        self.round_trips += 1

    def _read(self) -> Any:
        try:
            return self._connection.read_response()
        except ResponseError as error:
            return error_reply(error)


def encoded(command: Sequence[Argument]) -> bytes:
    """A command as an array of bulk strings."""
    parts = [part if isinstance(part, bytes) else str(part).encode() for part in command]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(p), p) for p in parts)


def error_reply(error: ResponseError) -> ErrorReply:
    """Put an error's class and its text back together: redis-py takes some classes off.

    Which ones, and of which it tells the class all the same, differs between its versions.
    """
    text, code = str(error), error.status_code
    first = text.split(" ", 1)[0]
    if code is None:
        code = first if first.isalnum() and first.isupper() else "ERR"
    return ErrorReply(code, text if first == code else f"{code} {text}")
