"""Faults in a client: backends that go wrong around scripts that are right.

Each is a factory, to be named with `--backend=emq_conformance.faults.clients:NAME`.
"""

import time

from emq_conformance.backend import Context, Unknown
from emq_conformance.backends.lua import LuaBackend, LuaClient
from emq_conformance.backends.lua import create as create_lua
from emq_conformance.wire import Wire
from emq_model import Claim, Claimed, Reply, Verb
from emq_model.verbs import span


class _WorkerClockClient(LuaClient):
    """Writes the deadline of a claim by the clock of the worker's machine."""

    def run(self, verb: Verb) -> Reply | Unknown:
        reply = super().run(verb)
        if isinstance(verb, Claim) and isinstance(reply, Claimed):
            deadline = time.time_ns() // 1_000_000 + (span(verb.lease, 1) or 0)
            self._wire.call("ZADD", self.keys.active, deadline, reply.id)
        return reply


class _WorkerClockBackend(LuaBackend):
    def client(self, wire: Wire, queue: bytes) -> LuaClient:
        return _WorkerClockClient(wire, queue, self.scripts)


def worker_clock(context: Context) -> LuaBackend:
    """Fault L3: the deadline comes from the worker's clock."""
    right = create_lua(context)
    return _WorkerClockBackend(right.scripts, right.origin)
