"""The backend `lua`: the seven scripts, and the small client that runs them."""

from pathlib import Path

from emq_conformance.backend import (
    Backend,
    BackendError,
    Client,
    Command,
    Context,
    Deviation,
    Unknown,
)
from emq_conformance.keys import PAUSED, Keys, command, reply_of
from emq_conformance.wire import Argument, ErrorReply, Wire
from emq_lua import Script, ScriptError, load
from emq_model import Answer, Claim, Error, Pause, Reply, Resume, Verb
from emq_model.verbs import span


class LuaClient(Client):
    """A worker's client: EVALSHA first, EVAL when the server has lost the script."""

    def __init__(self, wire: Wire, queue: bytes, scripts: dict[str, Script]) -> None:
        """Run `scripts` on `queue` over this connection."""
        self.keys = Keys(queue)
        self._wire = wire
        self._scripts = scripts

    def run(self, verb: Verb) -> Reply | Unknown:
        """Run one verb. A claim is two beats: the pause flag first, then the script."""
        match verb:
            case Pause():
                return _done(self._wire.call("HSET", self.keys.meta, PAUSED, 1))
            case Resume():
                return _done(self._wire.call("HDEL", self.keys.meta, PAUSED))
            case Claim(lease):
                paused = self._wire.call("HEXISTS", self.keys.meta, PAUSED)
                if isinstance(paused, ErrorReply):
                    return reply_of(verb, paused)
                if paused:
                    # The script would have refused it; a pause must not hide a bad argument.
                    return Answer.EMPTY if span(lease, least=1) is not None else Error.EMQARG
        return reply_of(verb, self._evaluate(verb))

    def _evaluate(self, verb: Verb) -> object:
        spelled = command(self.keys, verb)
        script = self._scripts[spelled.name]
        tail: tuple[int | bytes, ...] = (len(spelled.keys), *spelled.keys, *spelled.args)
        answer = self._wire.call("EVALSHA", script.sha1, *tail)
        if isinstance(answer, ErrorReply) and answer.code == "NOSCRIPT":
            answer = self._wire.call("EVAL", script.source, *tail)
        return answer


def _done(raw: object) -> Reply | Unknown:
    return Answer.OK if isinstance(raw, int) else reply_of(Pause(), raw)


class LuaBackend(Backend):
    """The seven scripts under test: our own, or those of `--lua-scripts`."""

    name = "lua"
    plain_calls = True
    deviations: tuple[Deviation, ...] = (
        Deviation(
            law="C4",
            case="corrupted-keyspace",
            reason="the claim pops before it meets active of a wrong type or odd attempts",
        ),
        Deviation(
            law="P3",
            case="pause-between-beats",
            reason="the client reads the pause flag in a round trip of its own",
        ),
    )

    def __init__(self, scripts: dict[str, Script], origin: str) -> None:
        """Test these scripts; `origin` says in the header where they came from."""
        self.scripts = scripts
        self.origin = origin

    def client(self, wire: Wire, queue: bytes) -> LuaClient:
        """Answer a client for `queue`."""
        return LuaClient(wire, queue, self.scripts)

    def describe(self) -> list[str]:
        """Where the scripts came from, and the SHA1 of each."""
        names = [f"{name} {script.sha1[:8]}" for name, script in self.scripts.items()]
        return [f"scripts: {self.origin}", f"sha1: {', '.join(names)}"]

    def spell(self, command: Command) -> tuple[Argument, ...]:
        """Write a verb as an EVAL of its script."""
        source = self.scripts[command.name].source
        return ("EVAL", source, len(command.keys), *command.keys, *command.args)

    def forget(self, wire: Wire) -> None:
        """Empty the server's script cache."""
        wire.call("SCRIPT", "FLUSH")


def create(context: Context) -> LuaBackend:
    """Make the backend.

    Raises:
        BackendError: if a script of `--lua-scripts` is missing or cannot be read.
    """
    folder = Path(context.lua_scripts) if context.lua_scripts is not None else None
    try:
        scripts = load(folder)
    except ScriptError as error:
        raise BackendError(f"--lua-scripts: {error}") from error
    return LuaBackend(scripts, "emq_lua" if folder is None else str(folder))
