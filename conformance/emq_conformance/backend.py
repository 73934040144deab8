"""What an implementation offers to the suite, and what it declares about itself.

To put another implementation under the suite, subclass `Backend` and `Client` and name the factory
in an entry point of the group `emq_conformance.backends`, or as `package.module:factory`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from emq_conformance.wire import Argument, Wire
from emq_model import Reply, Verb


class Ability(StrEnum):
    """What the suite can do with an implementation besides giving it verbs."""

    OBSERVE = "observe the keyspace"
    """Its keys are the protocol's, so they can be read as a Queue."""
    RESTORE = "restore a state"
    """The protocol's keys, written from outside, are a state that it takes up."""
    CLOCK = "follow the server's clock"
    """Its instants are those of the server that it is tested on, and of no other machine."""
    RAW = "take raw wire arguments"
    """Malformed arguments reach it as they are, and `Backend.spell` writes a verb as a command."""


ALL_ABILITIES = frozenset(Ability)


@dataclass(frozen=True, slots=True)
class Deviation:
    """A case of a law that an implementation does not keep, and says so.

    The suite checks that it still occurs: one that is gone is reported as stale.
    """

    law: str
    case: str
    """Which case of the law; the test of that case carries the same word."""
    reason: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A reply that the protocol does not know."""

    raw: object


@dataclass(frozen=True, slots=True)
class Context:
    """What a backend is made from: the command line's choices, and nothing else."""

    lua_scripts: str | None = None
    """`--lua-scripts`: a folder that holds the seven files."""
    native_module: str | None = None
    """`--native-module`: the module's file."""


@dataclass(frozen=True, slots=True)
class Command:
    """A verb on the wire: the keys it declares, the base last, and its arguments."""

    name: str
    keys: tuple[bytes, ...]
    args: tuple[bytes, ...]


class BackendError(Exception):
    """A backend cannot be had; the message says what to do."""


class Client(ABC):
    """One worker's hold on one queue of the implementation."""

    @abstractmethod
    def run(self, verb: Verb) -> Reply | Unknown:
        """Give the implementation one verb, and answer what it said.

        Code that runs in here sees the worker's clock: `time.time()`, `datetime.now()` and the
        like answer what that worker believes.
        """


class Backend(ABC):
    """An implementation under test."""

    name: str
    abilities: frozenset[Ability] = ALL_ABILITIES
    deviations: tuple[Deviation, ...] = ()
    row_fields: frozenset[bytes] = frozenset()
    """Fields that its rows may have besides the protocol's."""
    plain_calls: bool = False
    """Whether its clients send nothing but plain commands over their wire, so that the suite may
    send its own right behind each. It saves a round trip a step. Not so with MULTI or SELECT."""

    @abstractmethod
    def client(self, wire: Wire, queue: bytes) -> Client:
        """Answer a client for `queue` over this connection.

        Raises:
            ValueError: if the queue's name is not valid.
        """

    def describe(self) -> list[str]:
        """Lines for the header of a run: what exactly is under test."""
        return []

    def spell(self, command: Command) -> tuple[Argument, ...]:
        """Write a verb as the one command that a server is sent, its arguments as they are.

        Needs `Ability.RAW`.
        """
        raise NotImplementedError(f"the backend {self.name} cannot {Ability.RAW}")

    def prepare(self, wire: Wire) -> None:
        """Make a server ready, once; load what it needs."""

    def forget(self, wire: Wire) -> None:
        """Make a server drop what it may drop at any time (a script cache). By default nothing."""


Factory = Callable[[Context], Backend]
