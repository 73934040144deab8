"""The simulated clock: a move is seen at once, on that server, and on no other."""

from __future__ import annotations

import random
import shutil
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_conformance.clock import (
    EPOCH_MS,
    LATEST_MS,
    ClockUnavailable,
    FakeClock,
    PageClock,
    build,
    preload_environment,
    preload_library,
)
from emq_conformance.servers import Connection, Server, ask, open_server

if TYPE_CHECKING:
    from collections.abc import Iterator

YEAR_MS = 365 * 24 * 3600 * 1000
SPECS = ("valkey", "redis-server", "fakeredis")


@pytest.fixture(scope="module", params=SPECS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    if request.param == "redis-server" and shutil.which("redis-server") is None:
        pytest.skip("redis-server is not on PATH")
    with open_server(request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
def connection(server: Server) -> Connection:
    return server.connect()


def shown(connection: Connection) -> int:
    seconds, microseconds = ask(connection, "TIME")
    assert int(microseconds) % 1000 == 0
    return int(seconds) * 1000 + int(microseconds) // 1000


def shown_in_script(connection: Connection) -> int:
    script = "local t = redis.call('TIME'); return t[1] .. ' ' .. t[2]"
    seconds, microseconds = ask(connection, "EVAL", script, 0).split()
    return int(seconds) * 1000 + int(microseconds) // 1000


# What a server shows


def test_a_clock_starts_at_the_epoch_and_stands_still() -> None:
    with open_server("valkey") as server:
        connection = server.connect()
        assert {shown(connection) for _ in range(200)} == {EPOCH_MS}


@pytest.mark.parametrize(
    "step",
    [1, -1, 1000, YEAR_MS, -YEAR_MS, 50 * YEAR_MS, -50 * YEAR_MS],
    ids=["1 ms", "-1 ms", "1 s", "1 year", "-1 year", "50 years", "-50 years"],
)
def test_a_move_is_seen_at_once(server: Server, connection: Connection, step: int) -> None:
    assert server.clock is not None
    server.clock.set(EPOCH_MS)
    assert shown(connection) == EPOCH_MS
    server.clock.set(EPOCH_MS + step)
    assert server.clock.now() == EPOCH_MS + step
    assert shown(connection) == EPOCH_MS + step
    assert shown_in_script(connection) == EPOCH_MS + step
    assert shown(server.connect()) == EPOCH_MS + step


def test_500_random_moves_are_all_seen_at_once(server: Server, connection: Connection) -> None:
    assert server.clock is not None
    moves = random.Random(500)
    for number in range(500):
        instant = moves.choice(
            [
                server.clock.now() + moves.choice([-1, 1]),
                EPOCH_MS + moves.randrange(-50 * YEAR_MS, 50 * YEAR_MS),
                moves.randrange(LATEST_MS + 1),
            ]
        )
        server.clock.set(max(0, instant))
        ask_now = shown_in_script if number % 2 else shown
        assert ask_now(connection) == server.clock.now()


@pytest.mark.parametrize("instant", [0, LATEST_MS])
def test_the_ends_of_the_clock(server: Server, connection: Connection, instant: int) -> None:
    assert server.clock is not None
    server.clock.set(instant)
    assert shown(connection) == shown_in_script(connection) == instant


@pytest.mark.parametrize("instant", [-1, LATEST_MS + 1])
def test_no_instant_beyond_the_ends(server: Server, connection: Connection, instant: int) -> None:
    assert server.clock is not None
    server.clock.set(EPOCH_MS)
    with pytest.raises(ValueError, match=str(instant)):
        server.clock.set(instant)
    assert server.clock.now() == shown(connection) == EPOCH_MS


def test_a_key_expires_by_the_clock() -> None:
    with open_server("valkey") as server:
        connection = server.connect()
        ask(connection, "SET", "k", "v", "PX", 10)
        assert server.clock is not None
        server.clock.set(EPOCH_MS + 9)
        assert ask(connection, "GET", "k") == b"v"
        server.clock.set(EPOCH_MS + 11)
        assert ask(connection, "GET", "k") is None


@pytest.mark.parametrize("spec", ["valkey", "fakeredis"])
def test_two_servers_keep_two_clocks(spec: str) -> None:
    before = time.time()
    with open_server(spec) as one, open_server(spec) as other:
        assert one.clock is not None
        one.clock.set(EPOCH_MS + 5)
        assert shown(one.connect()) == EPOCH_MS + 5
        assert shown(other.connect()) == EPOCH_MS
        assert abs(time.time() - before) < 60  # and this process keeps its own


def test_valkey_asks_for_the_wall_clock_every_time() -> None:
    with open_server("valkey") as server:
        told = ask(server.connect(), "INFO", "server")
        assert b"monotonic_clock:POSIX clock_gettime" in told


def test_a_server_that_times_by_a_counter_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "preload.c"
    text = build._SOURCE.read_text()
    source.write_text(text.replace('"/proc/cpuinfo"', '"/proc/no-such-file"'))
    assert source.read_text() != text
    monkeypatch.setattr(build, "_SOURCE", source)
    monkeypatch.setenv("EMQ_CACHE_DIR", str(tmp_path))
    build._fingerprint.cache_clear()
    try:
        with open_server("valkey") as server:
            connection = server.connect()
            if b"monotonic_clock:POSIX" in ask(connection, "INFO", "server"):
                pytest.skip("this processor has no counter that Valkey would use")
            assert server.clock is not None
            for step in range(1, 101):
                server.clock.set(EPOCH_MS - step)
                seconds, microseconds = map(int, ask(connection, "TIME"))
                # The counter runs on within the millisecond, but not beyond it.
                assert seconds * 1000 + microseconds // 1000 == EPOCH_MS - step
    finally:
        build._fingerprint.cache_clear()


FAKE = open_server("fakeredis")
FAKE_CONNECTIONS = {protocol: FAKE.connect(protocol) for protocol in (2, 3)}


@given(st.integers(0, LATEST_MS), st.sampled_from([2, 3]))
def test_fakeredis_shows_every_instant_exactly(instant: int, protocol: int) -> None:
    assert FAKE.clock is not None
    FAKE.clock.set(instant)
    assert shown(FAKE_CONNECTIONS[protocol]) == instant


def test_fakeredis_queues_time_in_a_transaction() -> None:
    assert FAKE.clock is not None
    connection = FAKE.connect()
    ask(connection, "MULTI")
    ask(connection, "TIME")
    FAKE.clock.set(1234)
    assert ask(connection, "EXEC") == [[b"1", b"234000"]]


# The page


@given(st.integers(0, LATEST_MS))
def test_a_fake_clock_answers_whole_milliseconds(instant: int) -> None:
    clock = FakeClock()
    clock.set(instant)
    seconds, microseconds = map(int, clock.answer())
    assert (seconds * 1000, microseconds) == (instant // 1000 * 1000, instant % 1000 * 1000)


def test_the_page_holds_microseconds(tmp_path: Path) -> None:
    settled: list[int] = []
    clock = PageClock(tmp_path, settled.append)
    for instant in (EPOCH_MS, 0, LATEST_MS):
        clock.set(instant)
        page = clock.path.read_bytes()
        assert int.from_bytes(page[:8], sys.byteorder, signed=True) == instant * 1000
    assert settled == [EPOCH_MS, 0, LATEST_MS]
    clock.close()


CLOCK_REALTIME_COARSE = 5  # Python does not name it
PRELOADED = f"""
import os, sys, time
start = time.monotonic_ns()
print(time.time_ns(), time.clock_gettime_ns({CLOCK_REALTIME_COARSE}), flush=True)
child = os.fork()
sys.stdin.readline()
if child == 0:
    print(time.time_ns(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
assert time.monotonic_ns() > start
"""


def test_a_forked_child_sees_the_clock_move(tmp_path: Path) -> None:
    clock = PageClock(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", PRELOADED],
        env=preload_environment(preload_library(), clock.path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    epoch_ns = EPOCH_MS * 1_000_000
    assert process.stdout.readline().split() == [str(epoch_ns)] * 2
    clock.set(EPOCH_MS + 1)
    out, _ = process.communicate("\n\n", timeout=20)
    assert out.strip() == str(epoch_ns + 1_000_000)
    assert process.returncode == 0


EARLY = """
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
__attribute__((constructor)) static void early(void) {
    struct timespec wall, monotonic; struct timeval tv;
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_MONOTONIC, &monotonic);
    gettimeofday(&tv, NULL);
    printf("%ld %ld %ld %d\\n", (long)wall.tv_sec, (long)tv.tv_sec, (long)time(NULL),
           monotonic.tv_sec > 0 && monotonic.tv_sec != wall.tv_sec);
    fflush(stdout);
}
"""


def test_it_answers_before_its_constructor_has_run(tmp_path: Path) -> None:
    source, early = tmp_path / "early.c", tmp_path / "early.so"
    source.write_text(EARLY)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", early, source], check=True)
    environment = preload_environment(preload_library(), PageClock(tmp_path).path)
    # Of two preloaded libraries the later is set up first.
    environment["LD_PRELOAD"] += f":{early}"
    out = subprocess.run(["true"], env=environment, capture_output=True, text=True, check=True)
    assert out.stdout.split() == [str(EPOCH_MS // 1000)] * 3 + ["1"]


def test_it_never_falls_back_to_the_real_clock(tmp_path: Path) -> None:
    environment = preload_environment(preload_library(), tmp_path / "no-page")
    out = subprocess.run(["date"], env=environment, capture_output=True, text=True, check=False)
    assert out.returncode == 127
    assert "cannot map EMQ_CLOCK_PAGE" in out.stderr
    assert out.stdout == ""


# Building


@pytest.fixture
def counted_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that leaves a line in the file returned for each time it compiles."""
    count, script = tmp_path / "count", tmp_path / "counted-cc"
    script.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] || echo compiled >> {count}\nexec cc "$@"\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CC", str(script))
    count.touch()
    return count


def test_it_is_compiled_once(tmp_path: Path, counted_compiler: Path) -> None:
    library = preload_library(tmp_path / "cache")
    assert preload_library(tmp_path / "cache") == library
    assert counted_compiler.read_text() == "compiled\n"


def test_workers_that_race_leave_one_library(tmp_path: Path, counted_compiler: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        built = set(pool.map(preload_library, [tmp_path / "cache"] * 8))
    assert "compiled\ncompiled\n" in counted_compiler.read_text()  # they did race
    assert list((tmp_path / "cache").iterdir()) == list(built)
    page = PageClock(tmp_path)
    environment = preload_environment(built.pop(), page.path)
    out = subprocess.run(["date", "+%s"], env=environment, capture_output=True, check=True)
    assert int(out.stdout) == EPOCH_MS // 1000


def test_the_cache_is_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMQ_CACHE_DIR", str(tmp_path / "elsewhere"))
    assert preload_library().parent == tmp_path / "elsewhere"


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    script = (
        "import pathlib, sys; from emq_conformance.clock import preload_library;"
        "path = preload_library(pathlib.Path(sys.argv[1])); assert path.is_file(); print(path)"
    )
    command = [sys.executable, "-c", script, str(in_the_way / "cache")]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not Path(out.stdout.strip()).parent.exists()  # it went with the process


def test_without_a_compiler_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    build._fingerprint.cache_clear()
    with pytest.raises(ClockUnavailable) as caught:
        preload_library(tmp_path)
    assert "apt-get install gcc libc6-dev" in str(caught.value)
    assert "--server=fakeredis" in str(caught.value)


def test_a_compiler_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "failing-cc"
    script.write_text("#!/bin/sh\necho 'time.h: No such file or directory' >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    with pytest.raises(ClockUnavailable, match=r"time\.h: No such file"):
        preload_library(tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_other_systems_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(ClockUnavailable, match=r"Linux only.*darwin.*--server=fakeredis"):
        preload_library()
