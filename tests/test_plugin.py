"""The plugin from end to end: what one types, and what one reads."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from emq_conformance.backends.lua import LuaBackend
from emq_conformance.faults.scripts import FAULTS, plant
from emq_conformance.servers import Server, open_server
from emq_conformance.wire import Wire
from emq_lua import load
from emq_model.laws import LAWS, RULES
from suite_runs import ANSI, ROOT, run_installed, run_suite

ONE = "test_F1_a_token_is_refused_before_any_claim"
TESTS = str(Path(__file__).parent)
BACKENDS = {"PYTHONPATH": TESTS}


# --- what is under test ------------------------------------------------------------------------


def test_the_header_says_what_is_under_test() -> None:
    run = run_suite("-k", ONE)
    for name, script in load().items():
        assert f"{name} {script.sha1[:8]}" in run.output
    assert "under test: lua" in run.output
    assert re.search(r"^server: Valkey [\d.]+ .*; clock: simulated$", run.output, re.MULTILINE)
    assert re.search(r"^profile: quick \(4 walks .*\), seed 0$", run.output, re.MULTILINE)
    for deviation in LuaBackend.deviations:
        assert f"{deviation.law} ({deviation.case})" in run.output


def test_the_table_has_every_law_and_every_verb() -> None:
    run = run_suite("-q", "-k", ONE)
    assert list(run.verdicts) == [law.id for law in (*LAWS, *RULES)]
    assert run.verdicts["F1"] == "holds"
    assert "26 laws: " in run.output


def test_it_is_plain_in_a_pipe_and_coloured_where_asked() -> None:
    assert not ANSI.search(run_suite("-k", ONE).output)
    assert ANSI.search(run_suite("-k", ONE, "--color=yes").output)


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--backend=nope"], "no backend is called 'nope'. There are: lua"),
        (["--backend=no.module:create"], "cannot import no.module"),
        (["--backend=backends_for_tests:missing"], "has no callable 'missing'"),
        (["--backend=backends_for_tests:no_backend"], "which is no emq_conformance Backend"),
        (["--lua-scripts=/no/such/folder"], "/no/such/folder is not a folder"),
        (["--server=no-such-server"], "no-such-server"),
        (["--server=/etc/hostname"], "/etc/hostname"),
        (["--server=ftp://somewhere"], "ftp:// is not a server's URL"),
        (["--server=redis://127.0.0.1:1"], "127.0.0.1:1"),
        (["--profile=nope"], "invalid choice: 'nope'"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_bad_input_is_a_usage_error_that_says_what_is_wrong(
    arguments: list[str], said: str
) -> None:
    run = run_suite("-k", ONE, *arguments, env=BACKENDS)
    assert run.status == 4, run.output
    assert said in run.output
    assert "Traceback" not in run.output


def test_a_missing_script_is_named(tmp_path: Path) -> None:
    plant(FAULTS[0], tmp_path)
    (tmp_path / "reap.lua").unlink()
    run = run_suite("-k", ONE, f"--lua-scripts={tmp_path}")
    assert run.status == 4
    assert "lacks reap.lua" in run.output


# --- installed, and beside others --------------------------------------------------------------


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["alone", "two processes"])
def test_it_runs_from_the_repository(processes: list[str]) -> None:
    run = run_suite("--backend=lua", "-k", "test_fence", *processes)
    assert run.status == 0, run.output
    assert run.output.count("26 laws: ") == 1
    assert run.output.count("under test: lua") == 1
    assert run.verdicts["F5"] == "holds"


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["alone", "two processes"])
def test_it_runs_installed_from_any_folder(tmp_path: Path, processes: list[str]) -> None:
    run = run_installed("--backend=lua", "-k", "test_fence", *processes, cwd=tmp_path)
    assert run.status == 0, run.output
    assert run.output.count("26 laws: ") == 1
    assert run.output.count("under test: lua") == 1
    assert run.verdicts["F5"] == "holds"


def test_two_processes_count_what_one_does() -> None:
    alone, together = (run_suite("-q", "-k", "test_fence", *more) for more in ([], ["-n", "2"]))
    table = re.compile(r"^[A-Z]\d .*$", re.MULTILINE)
    assert table.findall(alone.output) == table.findall(together.output)


def test_other_runs_are_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        "import sys\n"
        "def test_it(pytestconfig):\n"
        "    assert 'emq_conformance.plugin' not in sys.modules\n"
        "    assert not pytestconfig.pluginmanager.has_plugin('emq_conformance')\n"
    )
    plain = run_suite("-v", "test_other.py", cwd=tmp_path, target=())
    assert plain.status == 0, plain.output
    assert "emq" not in plain.output.replace(str(tmp_path), "")
    usage = run_suite("--help", cwd=tmp_path, target=())
    assert "--lua-scripts" not in usage.output
    assert run_suite("--backend=lua", "test_other.py", cwd=tmp_path, target=()).status == 4


def test_the_gate_loads_next_to_nothing() -> None:
    code = "import sys; import emq_conformance.gate; print(*sorted(sys.modules))"
    loaded = subprocess.check_output(
        [sys.executable, "-S", "-c", code], text=True, cwd=ROOT / ("conformance")
    )
    assert "hypothesis" not in loaded
    assert "redis" not in loaded
    assert {m for m in loaded.split() if m.startswith("emq")} == {
        "emq_conformance",
        "emq_conformance.gate",
    }


# --- a failure ---------------------------------------------------------------------------------


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    folder = tmp_path / "faulty scripts"
    folder.mkdir()
    return plant(next(fault for fault in FAULTS if fault.id == "extend-leaves-pending"), folder)


def again(output: str) -> list[str]:
    """What the report says to type to see the failure again."""
    command = shlex.split(output.split("to see it again:\n", 1)[1].splitlines()[0])
    assert command[0] == "pytest"
    return command[1:]


def story(output: str) -> str:
    """From the headline to what to type."""
    told = re.search(r"^\S+ is broken:.*?^to see it again:", output, re.MULTILINE | re.DOTALL)
    assert told is not None, output
    return told[0]


@pytest.mark.parametrize("tier", ["test_conservation", "walk"])
def test_a_failure_says_what_to_type_and_that_shows_it_again(faulty: Path, tier: str) -> None:
    first = run_suite("-q", "-x", "-k", tier, f"--lua-scripts={faulty}")
    assert first.status == 1
    assert ("--hypothesis-seed" in first.output) is (tier == "walk")
    second = run_suite(*again(first.output), target=())
    assert second.status == 1
    assert story(second.output) == story(first.output)


def test_it_can_be_typed_where_the_package_is_only_installed(faulty: Path, tmp_path: Path) -> None:
    first = run_installed("-q", "-x", "-k", "conservation", f"--lua-scripts={faulty}", cwd=tmp_path)
    second = run_suite(*again(first.output), target=(), cwd=tmp_path)
    assert second.status == 1
    assert story(second.output) == story(first.output)


def test_a_walk_is_the_same_in_every_process(faulty: Path) -> None:
    stories = {
        story(
            run_suite(
                "-q",
                "-x",
                "-k",
                "walk",
                f"--lua-scripts={faulty}",
                env={"PYTHONHASHSEED": hash_seed},
            ).output
        )
        for hash_seed in ("1", "2")
    }
    assert len(stories) == 1


def test_a_client_that_raises_is_an_error_and_no_law_is_blamed() -> None:
    run = run_suite("-q", "-k", "test_F3", "--backend=backends_for_tests:raising", env=BACKENDS)
    assert run.status == 1
    assert run.verdicts["F3"] == "error"
    assert "a bug in the client" in run.output
    assert run.violated == set()


# --- deviations --------------------------------------------------------------------------------


def test_a_declared_deviation_is_shown_and_does_not_fail() -> None:
    run = run_suite("-q", "-k", "test_P3 or corrupted_keyspace", "--profile=ci")
    assert run.status == 0, run.output
    assert run.verdicts["P3"] == run.verdicts["C4"] == "declared deviation"
    assert "3 xfailed" in run.output


def test_an_undeclared_deviation_is_a_violation() -> None:
    run = run_suite(
        "-q", "-k", "test_P3", "--backend=backends_for_tests:honest_no_more", env=BACKENDS
    )
    assert run.status == 1
    assert run.violated == {"P3"}


@pytest.mark.parametrize(("profile", "status"), [("quick", 0), ("ci", 1)])
def test_a_stale_deviation_is_shown_and_fails_a_strict_run(profile: str, status: int) -> None:
    run = run_suite(
        "-q",
        "-k",
        "test_P3",
        f"--profile={profile}",
        "--backend=backends_for_tests:one_beat",
        env=BACKENDS,
    )
    assert run.verdicts["P3"] == "stale deviation", run.output
    assert run.status == status


def test_a_deviation_does_not_hide_another_law() -> None:
    run = run_suite("-q", "-k", "test_F3", "--backend=backends_for_tests:miscounting", env=BACKENDS)
    assert run.status == 1
    assert "F3" in run.violated


def test_what_a_backend_cannot_is_not_run() -> None:
    run = run_suite(
        "-q", "-k", "test_F4 or test_C4", "--backend=backends_for_tests:unobservable", env=BACKENDS
    )
    assert run.status == 0, run.output
    assert run.verdicts["F4"] == "not run"
    assert "the backend cannot restore a state" in run.output


# --- servers -----------------------------------------------------------------------------------


@pytest.fixture
def shared() -> Iterator[Server]:
    with open_server("valkey") as server:
        yield server


def everything(server: Server) -> dict[bytes, object]:
    wire = Wire(server.connect())
    found = {name: wire.call("DUMP", name) for name in sorted(wire.call("KEYS", "*"))}
    wire.close()
    return found


def test_a_server_at_a_url_keeps_what_is_not_ours(shared: Server) -> None:
    wire = Wire(shared.connect())
    for key in ("mine", "emq:{mine}:pending", "emq:{conformance}:meta"):
        assert wire.call("SET", key, "x") == b"OK"
    before = everything(shared)
    address = f"unix://{shared.path}"  # type: ignore[attr-defined]
    run = run_suite("-q", "--backend=lua", f"--server={address}")
    assert run.status == 0, run.output
    assert everything(shared) == before
    commands = wire.call("INFO", "commandstats")
    assert b"flush" not in re.sub(rb"cmdstat_script\|flush", b"", commands)
    assert run.verdicts["F1"] == run.verdicts["W1"] == "holds"
    assert run.verdicts["W3"] == "not run"
    assert "keeps its own clock" in run.output
    wire.close()


def test_fakeredis_says_what_it_cannot_show() -> None:
    run = run_suite("-q", "-k", "test_W3 or test_F1", "--server=fakeredis")
    assert run.status == 0, run.output
    assert run.verdicts["W3"] == "not run"
    assert run.verdicts["F1"] == "holds"


def test_a_law_that_a_strict_run_never_reached_fails_it() -> None:
    suite = "conformance/emq_conformance/suite"
    without = [f"--ignore={suite}/test_{name}.py" for name in ("pause", "walk", "wire")]
    run = run_suite("-q", "--profile=ci", *without)
    assert run.verdicts["P2"] == run.verdicts["P3"] == "not exercised"
    assert re.search(r"^P1?.*P2, P3.*: never exercised, so profile ci fails$", run.output, re.M)
    assert run.status == 1
    assert run_suite("-q", *without).status == 0


@pytest.mark.parametrize("chosen", [["-k", ONE], ["-k", ONE, "-n", "2"]], ids=["alone", "two"])
def test_a_part_of_the_suite_is_not_blamed_for_what_it_misses(chosen: list[str]) -> None:
    run = run_suite("-q", "--profile=ci", *chosen)
    assert run.status == 0, run.output
    assert run.verdicts["P3"] == "not exercised"
