"""A server process of our own: on a unix socket, in a temporary folder, with a clock we move."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import redis
from redis.connection import UnixDomainSocketConnection

from emq_conformance.clock import ClockUnavailable, PageClock, preload_environment, preload_library
from emq_conformance.servers import topology
from emq_conformance.servers.base import (
    REPLY_TIMEOUT_S,
    Connection,
    Server,
    ServerError,
    ask,
    detach,
    fields,
)
from emq_conformance.servers.process import Process, new_folder

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping

    from emq_conformance.servers.binary import Binary

_PATIENCE_S: Final = 30.0
_SETTLE_S: Final = 5.0

# Nothing listens on TCP and nothing is saved unless it is asked for.
_DEFAULTS: Final = {
    "port": "0",
    "save": "",
    "appendonly": "no",
    "daemonize": "no",
    "io_threads": "1",
    "always_show_logo": "no",
}

_UnixConnection: Final[Any] = UnixDomainSocketConnection  # abstract, as redis-py types it


class EmbeddedServer(Server):
    """A Redis or Valkey process that we started, and that ends with us."""

    def __init__(self, binary: Binary, config: Mapping[str, str] | None = None) -> None:
        """Start the server; it is ready when this returns.

        Args:
            binary: what to run.
            config: directives, with ``_`` for ``-`` in the name.

        Raises:
            ServerError: it does not start, or its clock cannot be simulated.
        """
        self.binary = binary
        self.config = {**_DEFAULTS, **(config or {})}
        self.label = binary.label
        self.product = binary.product
        self.version = binary.version
        self.lacks = {}
        self.private = True
        self._settling: Connection | None = None
        folder = new_folder()
        self.path = folder / "socket"
        preload, page = folder / "preload.so", folder / PageClock.NAME
        self.process = Process(
            folder, [binary.path, folder / "server.conf"], preload_environment(preload, page)
        )
        try:
            preload.symlink_to(preload_library())
            self.clock: PageClock = PageClock(folder)
            self.start()
        except BaseException as error:
            self.close()
            if isinstance(error, ClockUnavailable):
                raise ServerError(str(error)) from error
            raise

    # Connections

    def connect(self, protocol: int = 2) -> Connection:
        """A new connection over the unix socket. See ``Server.connect``."""
        try:
            return self._connect(protocol)
        except redis.RedisError as error:
            raise ServerError(f"{self.label} cannot be connected to: {error}") from error

    def _connect(self, protocol: int = 2) -> Connection:
        connection: Any = _UnixConnection(
            path=str(self.path),
            password=self.config.get("requirepass"),
            protocol=protocol,
            socket_timeout=REPLY_TIMEOUT_S,
            socket_connect_timeout=REPLY_TIMEOUT_S,
        )
        connection.connect()
        checked: Connection = connection
        return checked

    def socket(self) -> socket.socket:
        """A new bare connection over the unix socket. See ``Server.socket``."""
        return detach(self.connect())

    # Other servers like this one

    def spawn(self, **config: str) -> EmbeddedServer:
        """Another server of the same binary. See ``Server.spawn``."""
        return EmbeddedServer(self.binary, config)

    def replicate(self, **config: str) -> EmbeddedServer:
        """A replica of this server. See ``Server.replicate``."""
        return topology.replicate(self, config)

    def cluster(self, **config: str) -> EmbeddedServer:
        """A one-node cluster of the same binary. See ``Server.cluster``."""
        return topology.cluster(self, config)

    # Its life

    def start(self) -> None:
        """Start the process and wait until it answers. See ``Server.start``."""
        self._write_config()
        self.process.start()
        self._await_ready()
        self._check_clock()
        if self.config.get("cluster_enabled") == "yes":
            topology.await_cluster(self)

    def restart(self) -> None:
        """Stop in good order and start again. See ``Server.restart``."""
        self._shut_down()
        if self.process.wait(_PATIENCE_S) is None:
            raise ServerError(f"{self.label} does not shut down:\n{self.process.log()}")
        self._stop_settling()
        self.start()

    def _shut_down(self) -> None:
        # NOW: replicas that lag would be given a time that, by a clock standing still, never ends.
        # A Redis before 7 does not know the word, and does not wait either.
        connection = self.connect()
        for command in (("SHUTDOWN", "NOSAVE", "NOW"), ("SHUTDOWN", "NOSAVE")):
            try:
                ask(connection, *command)
            except redis.ConnectionError:
                break
            except redis.ResponseError:
                continue
        connection.disconnect()

    def kill(self) -> None:
        """Kill the process. See ``Server.kill``."""
        self.process.kill()
        self._stop_settling()

    def close(self) -> None:
        """Kill the process and remove its folder."""
        self._stop_settling()
        self.process.close()
        if hasattr(self, "clock"):
            self.clock.close()

    # Directives

    def configure(self, **config: str) -> None:
        """Set directives on the running server, and for when it is started again.

        Raises:
            ServerError: the server refuses one.
        """
        connection = self.connect()
        try:
            for name, value in config.items():
                ask(connection, "CONFIG", "SET", name.replace("_", "-"), value)
                self.config[name] = value
        except redis.ResponseError as error:
            raise ServerError(f"{self.label} refuses {name}={value}: {error}") from error
        finally:
            connection.disconnect()

    def _write_config(self) -> None:
        """Directives go in a file, not on the command line: there, anyone could read a password."""
        folder = self.process.folder
        lines = [f"dir {folder}", f"unixsocket {self.path}", "unixsocketperm 700"]
        for name, value in self.config.items():
            if "\n" in value:
                raise ServerError(f"A directive is one line; {name} is not.")
            lines.append(f"{name.replace('_', '-')} " + (value or '""'))
        (folder / "server.conf").write_text("\n".join(lines) + "\n")

    # Starting

    def _await_ready(self) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                connection = self._connect()
                ask(connection, "PING")
                connection.disconnect()
            except redis.AuthenticationError as error:
                raise ServerError(f"{self.label} does not let us in: {error}") from error
            except (redis.ConnectionError, redis.TimeoutError) as error:  # or loading its data
                code = self.process.wait(0.001)
                if code is None and time.monotonic() < deadline:
                    continue
                ended = f"ended at once, with code {code}"
                if code is None:
                    ended = f"does not answer ({error})"
                raise ServerError(
                    f"{self.label} {ended}.\n"
                    f"Command: {self.binary.path} {self.process.folder}/server.conf\n"
                    f"Its last words:\n{self.process.log() or '(none)'}\n"
                    f"See whether it runs by itself ({self.binary.path} --port 0 --unixsocket "
                    f"/tmp/s); if a directive is unknown to it, use a newer one."
                ) from error
            else:
                return

    def _check_clock(self) -> None:
        """See that the preload library took, and whether a move shows at once."""
        self._settle(self.clock.now())
        assert self._settling is not None
        # A server that keeps time with a counter of the processor asks for the wall clock only
        # about once a millisecond, and until then it goes on from what it knew.
        told = fields(ask(self._settling, "INFO", "server"))
        by_counter = not told.get("monotonic_clock", "").startswith("POSIX")
        self.clock.settle = self._settle if by_counter else None
        if not by_counter:
            self._stop_settling()

    def _settle(self, instant: int) -> None:
        """Wait until the server shows ``instant``."""
        if self.process.pid is None:
            return
        if self._settling is None:
            self._settling = self.connect()
        deadline = time.monotonic() + _SETTLE_S
        while (shown := _time(self._settling)) != instant:
            if time.monotonic() > deadline:
                raise ServerError(
                    f"{self.label} shows {shown} ms where its simulated clock stands at {instant}. "
                    f"LD_PRELOAD does not take in a server that is statically linked, setuid, or "
                    f"built for another C library: use another binary, or --server=fakeredis.\n"
                    f"{self.process.log()}".rstrip()
                )

    def _stop_settling(self) -> None:
        if self._settling is not None:
            self._settling.disconnect()
            self._settling = None


def _time(connection: Connection) -> int:
    seconds, microseconds = ask(connection, "TIME")
    return int(seconds) * 1000 + int(microseconds) // 1000
