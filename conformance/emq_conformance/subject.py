"""The implementation under test, on the server that it is tested on."""

import itertools
import secrets

from emq_conformance.backend import Ability, Backend, Client
from emq_conformance.clock.workers import World
from emq_conformance.keys import Keys
from emq_conformance.keyspace import Keyspace
from emq_conformance.servers import Server
from emq_conformance.wire import Wire


class Subject:
    """A backend on a server, with the connections that the suite holds to it."""

    def __init__(self, backend: Backend, server: Server) -> None:
        """Test `backend` on `server`. The server is closed by whoever opened it."""
        self.backend = backend
        self.server = server
        self._run = secrets.token_hex(4).encode()  # two runs on one server do not meet
        self._numbers = itertools.count(1)
        self._wires: dict[int, Wire] = {}
        self._world: World | None = None
        self.control = self.connect()
        backend.prepare(self.control)

    def connect(self, protocol: int = 2) -> Wire:
        """Open a connection of its own; the caller closes it."""
        return Wire(self.server.connect(protocol), protocol)

    def wire(self, protocol: int = 2) -> Wire:
        """The connection that the implementation's clients share, one for each protocol."""
        if protocol not in self._wires:
            self._wires[protocol] = self.connect(protocol)
        return self._wires[protocol]

    @property
    def world(self) -> World | None:
        """True time and the server's clock; None if that clock cannot be controlled."""
        if self.server.clock is None or Ability.CLOCK not in self.backend.abilities:
            return None
        if self._world is None:
            self._world = World(self.server.clock)
        return self._world

    def queue_name(self) -> bytes:
        """A name that no other queue on this server has."""
        return b"conformance-%s-%d" % (self._run, next(self._numbers))

    def client(self, queue: bytes, protocol: int = 2) -> Client:
        """The implementation's client for a queue."""
        return self.backend.client(self.wire(protocol), queue)

    def keyspace(self, queue: bytes) -> Keyspace:
        """The queue's keys, as the suite sees them, over a connection of its own."""
        return Keyspace(
            self.control,
            Keys(queue),
            private=self.server.private,
            row_fields=self.backend.row_fields,
        )

    def close(self) -> None:
        """Close the connections."""
        for wire in (self.control, *self._wires.values()):
            wire.close()
