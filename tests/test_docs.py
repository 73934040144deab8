"""What the documents say is what the code does."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from emq_conformance.backends import BUILT_IN
from emq_conformance.faults.scripts import FAULTS, plant
from emq_conformance.profiles import PROFILES
from emq_conformance.report.verdicts import Verdict
from emq_model.laws import LAWS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text()
BACKENDS = (ROOT / "docs" / "backends.md").read_text()


def table(text: str, cell: str) -> dict[str, str]:
    """The rows of a Markdown table whose first cell matches, as first cell to second."""
    return dict(re.findall(rf"^\| {cell} \| ([^|]*?) (?:\|.*)?\|$", text, re.MULTILINE))


@pytest.mark.parametrize("text", [README, PROTOCOL], ids=["README", "protocol"])
def test_the_laws_are_told_as_the_code_tells_them(text: str) -> None:
    told = table(text, r"([A-Z]\d)")
    assert {id: words.replace("`", "") for id, words in told.items()} == {
        law.id: law.statement for law in LAWS
    }


def test_every_verdict_is_explained() -> None:
    assert set(table(README, "`([a-z ]+)`")) == {verdict.value for verdict in Verdict}


def test_every_profile_and_backend_is_named() -> None:
    assert all(f"`{name}`" in README for name in (*PROFILES, *BUILT_IN))


def test_the_story_in_the_readme_is_what_the_walk_tells(tmp_path: Path) -> None:
    block = next(b for b in re.findall(r"```text\n(.*?)```", README, re.DOTALL) if "broken" in b)
    (fault,) = (fault for fault in FAULTS if fault.id == "no-spent")
    plant(fault, tmp_path)
    command = [sys.executable, "-m", "pytest", "conformance", "-q", "-x", "-k", "walk"]
    run = subprocess.run(
        [*command, f"--lua-scripts={tmp_path}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert block.replace("--lua-scripts=faulty", f"--lua-scripts={tmp_path}") in run.stdout


def test_the_examples_for_other_backends_are_python() -> None:
    blocks = re.findall(r"```python\n(.*?)```", BACKENDS, re.DOTALL)
    assert blocks
    for block in blocks:
        ast.parse(block)


def test_the_documents_link_to_what_is_there() -> None:
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
