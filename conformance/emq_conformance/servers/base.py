"""What the suite asks of a server, whichever it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol, Self

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping

    from emq_conformance.clock import SimulatedClock

REPLY_TIMEOUT_S: Final = 30.0
"""A server that says nothing for so long hangs, and that is an error."""


class Feature(StrEnum):
    """What a server may or may not offer; ``Server.lacks`` says why not."""

    CLOCK = "clock control"
    SPAWN = "private servers"
    BYTES = "raw bytes"


class ServerError(Exception):
    """A server that cannot be had, or cannot do what was asked; the message says what to do."""


class Connection(Protocol):
    """The part of redis-py's low-level connection that the suite uses. Replies are bytes."""

    def send_command(self, *args: bytes | str | int | float) -> Any:
        """Encode a command and send it."""

    def pack_command(self, *args: bytes | str | int | float) -> Any:
        """Encode a command."""

    def pack_commands(self, commands: Any) -> Any:
        """Encode a pipeline of commands."""

    def send_packed_command(self, command: Any) -> Any:
        """Send what was encoded."""

    def read_response(self) -> Any:
        """The next reply. An error reply is raised as ``redis.ResponseError``."""

    def disconnect(self) -> Any:
        """Close the connection; using it again connects it again."""


class Server(ABC):
    """A running server, and what it offers. A context manager: it is closed on the way out."""

    label: str
    """One line for a header. It never shows a password."""

    product: str
    """``Valkey``, ``Redis``, ``fakeredis`` or what the server calls itself."""

    version: tuple[int, ...]

    clock: SimulatedClock | None
    """The server's clock, or ``None`` if it lacks ``Feature.CLOCK``."""

    lacks: Mapping[Feature, str]
    """Each feature that is not offered, with the reason."""

    private: bool
    """Whether nobody else's data can be on it."""

    @abstractmethod
    def connect(self, protocol: int = 2) -> Connection:
        """A new connection that speaks RESP2 or RESP3, authenticated and on the right database.

        A reply that does not come within ``REPLY_TIMEOUT_S`` raises ``redis.TimeoutError``.

        Raises:
            ServerError: the server cannot be reached, or does not let us in.
        """

    def socket(self) -> socket.socket:
        """A new connection as a bare socket, speaking RESP2 (``Feature.BYTES``).

        Raises:
            ServerError: not offered, or the server cannot be reached.
        """
        self._refuse(Feature.BYTES)

    def spawn(self, **config: str) -> Server:  # noqa: ARG002
        """Another private server of the same binary, with its own clock (``Feature.SPAWN``).

        Args:
            config: directives as in a configuration file, with ``_`` for ``-`` in the name:
                ``appendonly="yes"``.

        Raises:
            ServerError: not offered, or the server does not start.
        """
        self._refuse(Feature.SPAWN)

    def replicate(self, **config: str) -> Server:  # noqa: ARG002
        """A spawned replica of this server, its link up (``Feature.SPAWN``).

        It has this server's directives, then ``config``.

        Raises:
            ServerError: not offered, or the link does not come up.
        """
        self._refuse(Feature.SPAWN)

    def cluster(self, **config: str) -> Server:  # noqa: ARG002
        """A spawned cluster of one node that owns every slot (``Feature.SPAWN``).

        Raises:
            ServerError: not offered, or the cluster does not come up.
        """
        self._refuse(Feature.SPAWN)

    def restart(self) -> None:
        """Stop in good order, saving no snapshot, and start again (``Feature.SPAWN``).

        Folder (and append-only file), directives, clock and socket stay the same; connections
        do not survive.

        Raises:
            ServerError: not offered, or the server does not stop or start.
        """
        self._refuse(Feature.SPAWN)

    def kill(self) -> None:
        """Kill the server process with SIGKILL, as a crash would (``Feature.SPAWN``)."""
        self._refuse(Feature.SPAWN)

    def start(self) -> None:
        """Start again what was killed, with all that ``restart`` keeps (``Feature.SPAWN``).

        Raises:
            ServerError: not offered, or the server does not start.
        """
        self._refuse(Feature.SPAWN)

    @abstractmethod
    def close(self) -> None:
        """Be done with the server. A server that we started ends, and its folder goes."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refuse(self, feature: Feature) -> NoReturn:
        raise ServerError(f"{self.label} does not offer {feature}: {self.lacks[feature]}")


def ask(connection: Connection, *command: bytes | str | int) -> Any:
    """Send one command and return its reply."""
    connection.send_command(*command)
    return connection.read_response()


def fields(reply: bytes) -> dict[str, str]:
    """What ``INFO`` and its like answer, as a mapping."""
    return dict(line.split(":", 1) for line in reply.decode().splitlines() if ":" in line)


def detach(connection: Any) -> socket.socket:
    """Take the socket out of a connected redis-py connection, handshake and all."""
    raw: socket.socket = connection._sock
    connection._sock = None
    return raw
