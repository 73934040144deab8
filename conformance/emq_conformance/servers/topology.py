"""A replica of a server, and a cluster of one node: both need TCP, on a free loopback port."""

from __future__ import annotations

import re
import socket
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import redis

from emq_conformance.servers.base import ServerError, ask, fields

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from emq_conformance.servers.embedded import EmbeddedServer

_PATIENCE_S: Final = 20.0
_ATTEMPTS: Final = 5
_BUS: Final = 10_000
"""A cluster node's bus listens so far above its port."""

_WRITABLE_DELAY_MS: Final = 2_000
"""How long a node that just started stays read-only, by its wall clock."""

_SLOTS: Final = 16_384


def replicate(primary: EmbeddedServer, config: Mapping[str, str]) -> EmbeddedServer:
    """Start a replica of ``primary``, and wait until its link is up."""
    port = listen(primary)
    # Sent straight to a replica, the snapshot would be followed by nothing for up to a second.
    primary.configure(repl_diskless_sync="no")
    # Loaded straight off the socket: through a file, Valkey 9.1 takes a second to notice its end.
    directives = {
        **primary.config,
        "port": "0",
        "replicaof": f"127.0.0.1 {port}",
        "repl_diskless_load": "on-empty-db",
    }
    if "requirepass" in primary.config:
        directives["masterauth"] = primary.config["requirepass"]
    replica = primary.spawn(**{**directives, **config})
    try:
        _await(replica, lambda: _linked(primary, replica))
    except BaseException:
        replica.close()
        raise
    return replica


def cluster(server: EmbeddedServer, config: Mapping[str, str]) -> EmbeddedServer:
    """Start a cluster of one node, of the same binary as ``server``."""
    for attempt in range(1, _ATTEMPTS + 1):
        port = free_port(bus=True)
        directives = {"cluster_enabled": "yes", "bind": "127.0.0.1", "port": str(port)}
        try:
            return server.spawn(**{**directives, **config})
        except ServerError as error:  # somebody may have taken the port
            if attempt == _ATTEMPTS or "in use" not in str(error):
                raise
    raise AssertionError


def await_cluster(node: EmbeddedServer) -> None:
    """Give a node that just started every slot, and wait until it takes writes.

    A node waits before it does, by the clock that stands still: so the clock is put forward for
    as long as it takes, and back.
    """
    if _fields(node, "CLUSTER", "INFO")["cluster_slots_assigned"] != str(_SLOTS):
        connection = node.connect()
        ask(connection, "CLUSTER", "ADDSLOTS", *range(_SLOTS))
        connection.disconnect()
    before = node.clock.now()

    def writable() -> bool:
        node.clock.set(node.clock.now() + _WRITABLE_DELAY_MS + 1)
        return _fields(node, "CLUSTER", "INFO")["cluster_state"] == "ok"

    try:
        _await(node, writable)
    finally:
        node.clock.set(before)


def listen(server: EmbeddedServer) -> int:
    """The TCP port of ``server``, which starts to listen on one if it does not yet."""
    if server.config["port"] != "0":
        return int(server.config["port"])
    server.configure(bind="127.0.0.1")
    for attempt in range(1, _ATTEMPTS + 1):
        port = free_port()
        try:
            server.configure(port=str(port))
        except ServerError:  # somebody took the port
            if attempt == _ATTEMPTS:
                raise
        else:
            return port
    raise AssertionError


def free_port(*, bus: bool = False) -> int:
    """A TCP port that nobody listens on now; with ``bus``, the one of the cluster bus too."""
    for _ in range(100):
        with ExitStack() as held:
            first = held.enter_context(socket.socket())
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
            if not bus:
                return port
            try:
                # The bus lies above the port; start from the port that is free, so go down.
                second = held.enter_context(socket.socket())
                second.bind(("127.0.0.1", port - _BUS))
            except (OSError, OverflowError):
                continue
            return port - _BUS
    raise ServerError("There is no pair of free TCP ports for a cluster node on 127.0.0.1.")


def _linked(primary: EmbeddedServer, replica: EmbeddedServer) -> bool:
    """Whether both ends say so: the primary's every replica is online, and ours is up."""
    ends = [value for name, value in _fields(primary).items() if re.fullmatch(r"slave\d+", name)]
    online = ends and all("state=online" in end for end in ends)
    return bool(online) and _fields(replica).get("master_link_status") == "up"


def _fields(server: EmbeddedServer, *command: str) -> dict[str, str]:
    """What ``INFO replication``, or another command of its kind, tells."""
    connection = server.connect()
    try:
        return fields(ask(connection, *(command or ("INFO", "replication"))))
    except redis.RedisError as error:
        raise ServerError(f"{server.label} does not tell its state: {error}") from error
    finally:
        connection.disconnect()


def _await(server: EmbeddedServer, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        if server.process.wait(0.005) is not None or time.monotonic() > deadline:
            raise ServerError(f"{server.label} does not get ready:\n{server.process.log()}")
