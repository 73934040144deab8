"""How fast the walk is, beside Hypothesis alone: `python -m emq_conformance.bench`.

Two machines that do nothing are run beside the walk, in one process and in turn: a bare one, of one
rule that draws nothing, and one that has the walk's own rules and draws. What counts are the
ratios: they say how much of a step is the price of Hypothesis.
"""

import argparse
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import hypothesis
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RULE_MARKER,
    RuleBasedStateMachine,
    rule,
    run_state_machine_as_test,
)

from emq_conformance.backend import Context
from emq_conformance.backends import open_backend
from emq_conformance.ledger import Ledger
from emq_conformance.machine import Walk
from emq_conformance.servers import open_server
from emq_conformance.subject import Subject

Machine = type[RuleBasedStateMachine]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark, and print a line for each machine."""
    parser = argparse.ArgumentParser(prog="python -m emq_conformance.bench", description=__doc__)
    parser.add_argument("--backend", default="lua", help="what the walk tests (%(default)s)")
    parser.add_argument("--server", default="valkey", help="and where (%(default)s)")
    parser.add_argument("--examples", type=int, default=200, help="histories (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the median counts")
    chosen = parser.parse_args(arguments)
    with open_server(chosen.server) as server:
        subject = Subject(open_backend(chosen.backend, Context()), server)
        print(f"{chosen.backend} on {server.label}, median of {chosen.rounds} rounds")
        machines: dict[str, Callable[[list[int]], Machine]] = {
            "no-op, one rule": bare,
            "no-op, the walk's rules": idle,
            "the walk": lambda count: walking(subject, count),
        }
        rates: dict[str, list[float]] = {name: [] for name in machines}
        for _ in range(chosen.rounds):
            for name, make in machines.items():
                rates[name].append(rate(make, chosen.examples))
        subject.close()
    walk = median(rates["the walk"])
    for name, seen in rates.items():
        print(f"{name:<24} {median(seen):>7,.0f} steps/s   walk / this {walk / median(seen):5.2f}")
    return 0


def rate(make: Callable[[list[int]], Machine], examples: int) -> float:
    """Steps per second of a machine, all of Hypothesis included."""
    count = [0]
    machine = hypothesis.seed(0)(make(count))
    chosen = settings(
        max_examples=examples,
        stateful_step_count=50,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    begun = time.perf_counter()
    run_state_machine_as_test(machine, settings=chosen)
    return count[0] / (time.perf_counter() - begun)


def bare(count: list[int]) -> Machine:
    """A machine of one rule that does nothing."""

    class Bare(RuleBasedStateMachine):
        @rule()
        def nothing(self) -> None:
            count[0] += 1

    return Bare


def idle(count: list[int]) -> Machine:
    """A machine with the rules and the draws of the walk, which does nothing with them."""

    def stand_in() -> Callable[..., None]:
        def does_nothing(_self: Any, **_drawn: Any) -> None:
            count[0] += 1

        return does_nothing

    body: dict[str, Any] = {}
    for name, method in vars(Walk).items():
        one = getattr(method, RULE_MARKER, None)
        if one is not None:
            method = stand_in()
            method.__name__ = one.function.__name__
            body[name] = rule(**one.arguments)(method)  # type: ignore[no-untyped-call]
    return type("Idle", (RuleBasedStateMachine,), body)


def walking(subject: Subject, count: list[int]) -> Machine:
    """The walk, counting the steps after which the whole state was compared."""

    class Walking(Walk):
        def teardown(self) -> None:
            super().teardown()
            count[0] += self.ledger.steps
            self.ledger.steps = 0

    Walking.subject, Walking.ledger = subject, Ledger()
    return Walking


if __name__ == "__main__":
    sys.exit(main())
