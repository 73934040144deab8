"""The Lua scripts: what loads them, and what their headers say."""

import doctest
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import emq_lua
from emq_conformance.keys import Keys, command
from emq_conformance.servers import open_server
from emq_conformance.wire import Wire
from emq_lua import NAMES, Script, ScriptError, load, loader
from emq_model import Claim, Complete, Enqueue, Extend, Promote, Reap, Retry

every_script = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with open_server("valkey") as server:
        wire = Wire(server.connect())
        yield wire
        wire.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds seven scripts."""
    for name in NAMES:
        (tmp_path / f"{name}.lua").write_text(f"return '{name}'")
    return tmp_path


# --- loading -----------------------------------------------------------------------------------


def test_there_are_seven_scripts_in_the_protocols_order() -> None:
    assert [*load()] == ["enqueue", "claim", "complete", "retry", "extend", "reap", "promote"]


def test_a_script_knows_its_name() -> None:
    assert all(script.name == name for name, script in load().items())


@every_script
def test_the_sha1_is_the_one_that_a_server_gives(name: str, wire: Wire) -> None:
    script = load()[name]
    assert wire.call("SCRIPT", "LOAD", script.source) == script.sha1.encode()


def test_scripts_are_read_from_the_folder_that_is_named(folder: Path) -> None:
    assert load(folder)["claim"] == Script("claim", b"return 'claim'")


def test_a_script_is_its_very_bytes(folder: Path) -> None:
    source = b"\xef\xbb\xbf-- \xff\r\nreturn 1"
    (folder / "claim.lua").write_bytes(source)
    assert load(folder)["claim"].source == source


def test_other_files_in_the_folder_do_no_harm(folder: Path) -> None:
    (folder / "README").touch()
    assert len(load(folder)) == 7


def test_the_source_is_not_in_the_repr() -> None:
    assert "return" not in repr(Script("claim", b"return 1"))


# --- what can be wrong with a folder -----------------------------------------------------------


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=re.escape(f"{tmp_path / 'none'} is not a folder")):
        load(tmp_path / "none")


def test_a_file_is_not_a_folder(folder: Path) -> None:
    with pytest.raises(ScriptError, match=r"claim\.lua is not a folder"):
        load(folder / "claim.lua")


def test_missing_scripts_are_named(folder: Path) -> None:
    (folder / "retry.lua").unlink()
    (folder / "claim.lua").unlink()
    with pytest.raises(ScriptError, match=r"lacks claim\.lua, retry\.lua; it must hold enqueue"):
        load(folder)


@every_script
def test_any_one_script_can_be_missing(folder: Path, name: str) -> None:
    (folder / f"{name}.lua").unlink()
    with pytest.raises(ScriptError, match=rf"lacks {name}\.lua;"):
        load(folder)


def test_a_script_that_cannot_be_read_is_named_with_the_reason(folder: Path) -> None:
    (folder / "claim.lua").unlink()
    (folder / "claim.lua").mkdir()
    with pytest.raises(ScriptError, match=r"cannot read .*claim\.lua: Is a directory"):
        load(folder)


@pytest.mark.parametrize("source", [b"", b" \n\t\r\n"])
def test_an_empty_script_is_named(folder: Path, source: bytes) -> None:
    (folder / "claim.lua").write_bytes(source)
    with pytest.raises(ScriptError, match=r"claim\.lua is empty: it must hold the script `claim`"):
        load(folder)


@pytest.mark.parametrize("module", [emq_lua, loader], ids=lambda module: module.__name__)
def test_the_examples_in_the_words_are_true(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


# --- what the headers say ----------------------------------------------------------------------

KEYS = Keys(b"q")
KEY_NAMES = {
    KEYS.pending: "pending",
    KEYS.active: "active",
    KEYS.schedule: "schedule",
    KEYS.dead: "dead",
    KEYS.base: "base",
}

# Each argument is its own name.
SPELLED = {
    spelled.name: spelled
    for spelled in (
        command(KEYS, verb)
        for verb in (
            Enqueue(b"id", b"payload"),
            Claim(b"lease_ms"),
            Complete(b"id", b"token"),
            Retry(b"id", b"token", b"delay_ms", b"max_attempts", b"error"),
            Extend(b"id", b"token", b"lease_ms"),
            Reap(b"limit"),
            Promote(b"limit"),
        )
    )
}


def header(name: str, title: str) -> list[str]:
    """The names on one line of a script's opening comment."""
    source = load()[name].source.decode()
    (line,) = re.findall(rf"^--   {title}  +(.+)$", source, re.MULTILINE)
    return [word.strip() for word in line.split(",")]


@every_script
def test_the_first_line_of_a_script_is_its_name(name: str) -> None:
    assert load()[name].source.startswith(b"-- %s: " % name.encode())


@every_script
def test_a_script_names_its_keys_in_the_order_in_which_they_are_sent(name: str) -> None:
    assert header(name, "KEYS") == [KEY_NAMES[key] for key in SPELLED[name].keys]


@every_script
def test_a_script_names_its_arguments_in_the_order_in_which_they_are_sent(name: str) -> None:
    assert header(name, "ARGV") == [arg.decode() for arg in SPELLED[name].args]


@every_script
def test_a_script_without_keys_says_which_keys_and_arguments_it_takes(
    name: str, wire: Wire
) -> None:
    refused = wire.call("EVAL", load()[name].source, 0)
    keys, args = header(name, "KEYS"), header(name, "ARGV")
    assert refused.code == "EMQARG"
    assert refused.message.startswith(f"EMQARG {name} takes {len(keys)} keys ({', '.join(keys)})")
    assert re.search(rf"and {len(args)} arguments? \({', '.join(args)}\)$", refused.message)
