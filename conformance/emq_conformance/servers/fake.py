"""fakeredis: a server in this process, for machines without a compiler or a server binary."""

from __future__ import annotations

from typing import Any, Final

from emq_conformance.clock import FakeClock
from emq_conformance.servers.base import REPLY_TIMEOUT_S, Connection, Feature, Server, ServerError

_SPEAKS_AS: Final = (8, 0)


class FakeRedisServer(Server):
    """One fakeredis server, which nothing else in the process shares.

    Only ``TIME`` follows the clock: keys that expire do so by the machine's.
    """

    def __init__(self) -> None:
        """Make an empty server.

        Raises:
            ServerError: fakeredis, or its Lua, is not installed.
        """
        fakeredis = _import()
        self.label = label()
        self.product = "fakeredis"
        self.version = tuple(int(part) for part in fakeredis.__version__.split(".")[:3])
        self.clock: FakeClock = FakeClock()
        self.lacks = {
            Feature.SPAWN: "it is no process of its own",
            Feature.BYTES: "it has no sockets",
        }
        self.private = True
        self._server = fakeredis.FakeServer(version=_SPEAKS_AS, server_type="valkey")
        self._connection_class = _timed_by(self.clock, fakeredis)

    def connect(self, protocol: int = 2) -> Connection:
        """A new connection. See ``Server.connect``."""
        connection: Connection = self._connection_class(
            server=self._server, protocol=protocol, socket_timeout=REPLY_TIMEOUT_S
        )
        connection.connect()  # type: ignore[attr-defined]
        return connection

    def close(self) -> None:
        """Forget the data; connections fail from now on."""
        self._server.connected = False
        self._server.dbs.clear()


def label() -> str:
    """The header's line for fakeredis.

    Raises:
        ServerError: fakeredis, or its Lua, is not installed.
    """
    speaks_as = ".".join(map(str, _SPEAKS_AS))
    return f"fakeredis {_import().__version__} (in process, speaks as Valkey {speaks_as})"


def _import() -> Any:
    try:
        import fakeredis
        import lupa  # noqa: F401 - without it fakeredis knows no EVAL
    except ImportError as error:
        raise ServerError(
            f"fakeredis cannot be used ({error}). pip install 'emq-conformance[fakeredis]'"
        ) from error
    return fakeredis


def _timed_by(clock: FakeClock, fakeredis: Any) -> Any:
    """A class of connections to which ``TIME`` answers by ``clock``, in scripts as well.

    fakeredis looks a command up as an attribute of the connection's socket, so an attribute of
    that one socket is enough.
    """
    # FakeConnection is the class's name in versions before FakeRedisConnection.
    base: Any = getattr(fakeredis, "FakeRedisConnection", None) or fakeredis.FakeConnection

    class TimedConnection(base):  # type: ignore[misc]
        def _connect(self) -> Any:
            socket = super()._connect()
            socket.time = clock.answer
            return socket

    return TimedConnection
