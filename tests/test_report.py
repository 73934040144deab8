"""The report: from what single tests found to one verdict per law, and the table that shows it."""

import io
import itertools
from dataclasses import dataclass, field

import pytest
from _pytest._io import TerminalWriter

from emq_conformance.report import verdicts
from emq_conformance.report.table import write_table
from emq_conformance.report.verdicts import Line, Outcome, Record, Tally, Verdict, record_of, tally
from emq_model.laws import BY_ID, LAWS, RULES


def record(
    law: str | None,
    outcome: Outcome,
    reason: str = "",
    *,
    holds: dict[str, int] | None = None,
    breaches: list[str] | None = None,
    steps: int = 0,
) -> Record:
    return Record(
        law=law,
        outcome=outcome,
        reason=reason,
        holds=holds or {},
        breaches=breaches or [],
        steps=steps,
    )


def line(law: str, *records: Record) -> Line:
    """What the table says of a law after these records."""
    (found,) = [line for line in tally(records).lines() if line.law.id == law]
    return found


# --- verdicts ----------------------------------------------------------------------------------

# One record for each verdict on F1, strongest first: each outweighs all that come after it.
BY_PRECEDENCE: list[tuple[Verdict, Record | None]] = [
    (Verdict.VIOLATED, record("F1", "failed", breaches=["F1"])),
    (Verdict.ERROR, record("F1", "error", "no server")),
    (Verdict.STALE, record("F1", "stale", "it holds now")),
    (Verdict.DEVIATES, record("F1", "deviates", "declared")),
    (Verdict.HOLDS, record("F1", "passed", holds={"F1": 1})),
    (Verdict.NOT_RUN, record("F1", "skipped", "no clock")),
    (Verdict.NOT_EXERCISED, None),
]
WHYS = {
    Verdict.VIOLATED: "",
    Verdict.ERROR: "no server",
    Verdict.STALE: "it holds now",
    Verdict.DEVIATES: "declared",
    Verdict.HOLDS: "",
    Verdict.NOT_RUN: "no clock",
    Verdict.NOT_EXERCISED: "its interesting case was never reached",
}


def test_every_verdict_has_its_place() -> None:
    assert {verdict for verdict, _ in BY_PRECEDENCE} == {*Verdict}


@pytest.mark.parametrize(("verdict", "found"), BY_PRECEDENCE)
def test_every_verdict_is_reached_and_says_why(verdict: Verdict, found: Record | None) -> None:
    records = [] if found is None else [found]
    reached = line("F1", *records)
    assert (reached.verdict, reached.why) == (verdict, WHYS[verdict])


@pytest.mark.parametrize(
    ("stronger", "weaker"), [*itertools.combinations([f for _, f in BY_PRECEDENCE if f], 2)]
)
def test_the_stronger_verdict_outweighs_the_weaker_in_either_order(
    stronger: Record, weaker: Record
) -> None:
    expected = line("F1", stronger)
    for records in ((stronger, weaker), (weaker, stronger)):
        found = line("F1", *records)
        assert (found.verdict, found.why) == (expected.verdict, expected.why)


def test_a_failure_without_a_breach_is_one_of_the_law_in_the_tests_name() -> None:
    assert line("F1", record("F1", "failed")).verdict is Verdict.VIOLATED


def test_a_failure_with_a_breach_is_blamed_on_the_law_that_was_broken() -> None:
    failed = record("F1", "failed", breaches=["C1"])
    assert line("C1", failed).verdict is Verdict.VIOLATED
    assert line("F1", failed).verdict is Verdict.NOT_EXERCISED


def test_a_test_of_no_law_counts_for_the_laws_it_reached() -> None:
    walk = record(None, "passed", holds={"F1": 3, "claim": 5}, steps=9)
    assert (line("F1", walk).verdict, line("F1", walk).checks) == (Verdict.HOLDS, 3)
    assert line("claim", walk).checks == 5


def test_a_test_of_no_law_that_breaks_one_violates_it() -> None:
    assert line("F1", record(None, "failed", breaches=["F1"])).verdict is Verdict.VIOLATED


def test_a_passed_test_is_a_check_of_a_law_that_no_step_can_show() -> None:
    assert line("W3", record("W3", "passed"), record("W3", "passed")).checks == 2


def test_a_passed_test_that_never_reached_its_laws_case_is_no_check() -> None:
    assert line("F1", record("F1", "passed")).verdict is Verdict.NOT_EXERCISED


@pytest.mark.parametrize("outcome", ["failed", "skipped", "error", "deviates", "stale"])
def test_a_test_that_did_not_pass_is_no_check_of_its_law(outcome: Outcome) -> None:
    assert line("W3", record("W3", outcome)).checks == 0


def test_the_first_reason_is_the_one_that_is_told() -> None:
    records = record("F1", "skipped", "no clock"), record("F1", "skipped", "no cluster")
    assert line("F1", *records).why == "no clock"


def test_checks_steps_and_tests_add_up() -> None:
    total = tally([record("F1", "passed", holds={"F1": 2}, steps=3)] * 2)
    assert (total.holds["F1"], total.steps, total.tests) == (4, 6, 2)


def test_an_empty_tally_has_a_line_for_every_law_in_the_protocols_order() -> None:
    assert [line.law for line in Tally().lines()] == [*LAWS, *RULES]


def test_a_report_may_carry_a_record() -> None:
    @dataclass
    class Report:
        emq_record: Record

    found = record("F1", "passed")
    assert record_of(Report(found)) is found
    assert record_of(object()) is None


# --- the table ---------------------------------------------------------------------------------


@dataclass
class FakeTerminal:
    """Keeps what is written, and how each part of it is marked up."""

    hasmarkup: bool = False
    fullwidth: int = 80
    text: str = ""
    marked: dict[str, set[str]] = field(default_factory=dict)

    def line(self, s: str = "", **markup: bool) -> None:
        self.write(s + "\n", **markup)

    def write(self, msg: str, **markup: bool) -> None:
        self.text += msg
        if markup:
            self.marked[msg.strip()] = {name for name, on in markup.items() if on}


@pytest.fixture
def few_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    """The protocol has three laws and two verbs."""
    monkeypatch.setattr(verdicts, "LAWS", tuple(BY_ID[id] for id in ("F1", "P3", "W3")))
    monkeypatch.setattr(verdicts, "RULES", tuple(BY_ID[id] for id in ("claim", "pause")))


SMALL = [
    record("F1", "passed", holds={"F1": 1234, "claim": 7}, steps=4567),
    record("P3", "deviates", "the flag is read first"),
    record(None, "failed", breaches=["pause"], steps=1),
]


PLAIN = """\
law       verdict                checks  what it says
F1        holds                   1,234  complete, retry and extend with a stale token are refused
P3        declared deviation          0  the flag is read first
W3        not exercised               0  its interesting case was never reached
verb
claim     holds                       7  claim answers and leaves what the reference machine does
pause     violated                    0  pause answers and leaves what the reference machine does

3 laws: 1 holds, 1 not exercised, 1 deviates as declared. \
2 verbs: 1 holds, 1 violated. 4,568 steps compared in 3 tests.
"""


@pytest.mark.usefixtures("few_laws")
def test_a_table_in_a_pipe_is_plain_text() -> None:
    pipe = FakeTerminal()
    write_table(pipe, tally(SMALL))
    assert [line.rstrip() for line in pipe.text.splitlines()] == PLAIN.splitlines()


def last_line(*records: Record) -> str:
    pipe = FakeTerminal()
    write_table(pipe, tally(records))
    return pipe.text.splitlines()[-1]


def test_the_last_line_counts_the_verdicts() -> None:
    others = [record(id, "passed", holds={id: 1}) for id in ("F2", "F3")]
    worse = [
        record("L1", "failed"),
        record("L2", "error"),
        record("L3", "stale"),
        record("R1", "deviates"),
        record("R2", "deviates"),
        record("C1", "skipped"),
    ]
    assert last_line(*others, *worse).startswith(
        "26 laws: 2 hold, 1 not run, 18 not exercised, 2 deviate as declared, "
        "1 stale deviation, 1 error, 1 violated. 9 verbs: 9 not exercised. "
    )


def test_a_whole_table_has_a_line_for_each_law_and_each_verb() -> None:
    pipe = FakeTerminal()
    write_table(pipe, Tally())
    starts = [line.split(" ")[0] for line in pipe.text.splitlines()[:-2]]
    assert starts == ["law", *(law.id for law in LAWS), "verb", *(law.id for law in RULES)]


@pytest.mark.parametrize(("verdict", "found"), BY_PRECEDENCE)
def test_every_verdict_is_marked_up(verdict: Verdict, found: Record | None) -> None:
    terminal = FakeTerminal(hasmarkup=True)
    write_table(terminal, tally([] if found is None else [found]))
    assert terminal.marked[verdict.value]


def test_only_verdicts_are_marked_up() -> None:
    terminal = FakeTerminal(hasmarkup=True)
    write_table(terminal, tally(SMALL))
    assert terminal.marked.keys() <= {verdict.value for verdict in Verdict}


@pytest.mark.parametrize("hasmarkup", [False, True])
def test_pytests_own_terminal_shows_colours_only_with_markup(hasmarkup: bool) -> None:
    written = io.StringIO()
    terminal = TerminalWriter(written)
    terminal.hasmarkup = hasmarkup
    write_table(terminal, tally(SMALL))
    assert ("\x1b[" in written.getvalue()) is hasmarkup


LONG = record("F1", "skipped", "x" * 100)


@pytest.mark.parametrize("width", [100, 120])
def test_a_line_ends_before_the_edge_of_a_terminal(width: int) -> None:
    terminal = FakeTerminal(hasmarkup=True, fullwidth=width)
    write_table(terminal, tally([LONG]))
    table = terminal.text.splitlines()[:-1]
    assert max(map(len, table)) == width - 1
    assert table[1].endswith("x…")


def test_a_line_in_a_pipe_is_whole() -> None:
    pipe = FakeTerminal(fullwidth=100)
    write_table(pipe, tally([LONG]))
    assert pipe.text.splitlines()[1].endswith("  " + "x" * 100)


def test_a_narrow_terminal_still_shows_some_words() -> None:
    terminal = FakeTerminal(hasmarkup=True, fullwidth=20)
    write_table(terminal, tally([LONG]))
    assert terminal.text.splitlines()[1].endswith("x" * 39 + "…")
