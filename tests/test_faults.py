"""The suite bites: each fault is caught, and on the law that it breaks."""

from pathlib import Path

import pytest

from emq_conformance.faults.scripts import FAULTS, Fault, plant
from emq_lua import load
from suite_runs import run_suite

WORKER_CLOCK = "emq_conformance.faults.clients:worker_clock"

each_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)


@each_fault
def test_the_examples_catch_it_on_the_law_that_it_breaks(fault: Fault, tmp_path: Path) -> None:
    run = run_suite("-q", "-k", "not walk", f"--lua-scripts={plant(fault, tmp_path)}")
    assert run.status == 1, run.output
    assert fault.law in run.violated, run.output
    assert fault.law in run.headlines, run.output


@each_fault
def test_the_walk_alone_catches_it_on_the_law_that_it_breaks(fault: Fault, tmp_path: Path) -> None:
    run = run_suite("-q", "-x", "-k", "walk", f"--lua-scripts={plant(fault, tmp_path)}")
    assert run.status == 1, run.output
    assert fault.law in run.violated, run.output


@pytest.mark.parametrize("tier", ["not walk", "walk"])
def test_a_deadline_by_the_workers_clock_is_caught_on_L3(tier: str) -> None:
    run = run_suite("-q", "-k", tier, "--maxfail=30", f"--backend={WORKER_CLOCK}")
    assert run.status == 1, run.output
    assert "L3" in run.violated, run.output


def test_the_scripts_pass_as_somebody_elses(tmp_path: Path) -> None:
    for name, script in load().items():
        (tmp_path / f"{name}.lua").write_bytes(script.source)
    run = run_suite("-q", "-k", "not walk", f"--lua-scripts={tmp_path}")
    assert run.status == 0, run.output
    assert run.violated == set()


@each_fault
def test_a_fault_changes_its_script_and_no_other(fault: Fault, tmp_path: Path) -> None:
    planted, right = load(plant(fault, tmp_path)), load()
    differ = {name for name in right if planted[name].sha1 != right[name].sha1}
    assert differ == {fault.script}


def test_a_fault_that_no_longer_applies_is_an_error(tmp_path: Path) -> None:
    fault = Fault("gone", "changes what is not there", "F1", "claim", [("no such text", "")])
    with pytest.raises(ValueError, match=r"gone: 'no such text' is not once in claim\.lua"):
        plant(fault, tmp_path)
