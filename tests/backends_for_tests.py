"""Backends that are right, but say odd things about themselves."""

from emq_conformance.backend import ALL_ABILITIES, Ability, Context, Unknown
from emq_conformance.backends.lua import LuaBackend, LuaClient
from emq_conformance.backends.lua import create as create_lua
from emq_conformance.keys import command, reply_of
from emq_conformance.wire import Wire
from emq_model import Claim, Claimed, Reply, Verb


class Told(LuaBackend):
    """The scripts, with other words about them."""


def _told(context: Context) -> Told:
    right = create_lua(context)
    return Told(right.scripts, right.origin)


def honest_no_more(context: Context) -> LuaBackend:
    """Declares nothing, so what it does not keep is a violation."""
    backend = _told(context)
    backend.deviations = ()
    return backend


class _OneBeat(LuaClient):
    """Reads the pause flag in the same script as it claims."""

    def run(self, verb: Verb) -> Reply | Unknown:
        if not isinstance(verb, Claim):
            return super().run(verb)
        spelled = command(self.keys, verb)
        meta = f"redis.call('HEXISTS', KEYS[{len(spelled.keys)}] .. 'meta', 'paused')"
        script = f"if {meta} == 1 then return {{}} end\n".encode()
        script += self._scripts[spelled.name].source
        return reply_of(
            verb,
            self._wire.call("EVAL", script, len(spelled.keys), *spelled.keys, *spelled.args),
        )


class _OneBeatBackend(LuaBackend):
    def client(self, wire: Wire, queue: bytes) -> LuaClient:
        return _OneBeat(wire, queue, self.scripts)


def one_beat(context: Context) -> LuaBackend:
    """Keeps P3, and still declares that it does not."""
    right = create_lua(context)
    return _OneBeatBackend(right.scripts, right.origin)


def unobservable(context: Context) -> LuaBackend:
    """Its keys are its own affair, and it takes no raw arguments."""
    backend = _told(context)
    backend.abilities = ALL_ABILITIES - {Ability.RAW, Ability.RESTORE}
    return backend


class _Raising(LuaClient):
    def run(self, verb: Verb) -> Reply | Unknown:
        if isinstance(verb, Claim):
            raise RuntimeError("a bug in the client")
        return super().run(verb)


class _Miscounting(LuaClient):
    """Answers a token that is one too high."""

    def run(self, verb: Verb) -> Reply | Unknown:
        reply = super().run(verb)
        if isinstance(reply, Claimed):
            return Claimed(reply.id, reply.payload, reply.token + 1)
        return reply


def raising(context: Context) -> LuaBackend:
    """Its client raises."""

    class Raising(Told):
        def client(self, wire: Wire, queue: bytes) -> LuaClient:
            return _Raising(wire, queue, self.scripts)

    right = create_lua(context)
    return Raising(right.scripts, right.origin)


def miscounting(context: Context) -> LuaBackend:
    """Answers tokens that are one too high."""

    class Miscounting(Told):
        def client(self, wire: Wire, queue: bytes) -> LuaClient:
            return _Miscounting(wire, queue, self.scripts)

    right = create_lua(context)
    return Miscounting(right.scripts, right.origin)


def no_backend(_context: Context) -> str:
    """A factory that makes something else."""
    return "no backend"
