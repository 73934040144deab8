"""Somebody else's server, at a URL: never flushed, restarted or told the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import redis
from redis.connection import Connection as TCPConnection
from redis.connection import parse_url

from emq_conformance.servers.base import (
    REPLY_TIMEOUT_S,
    Connection,
    Feature,
    Server,
    ServerError,
    ask,
    detach,
    fields,
)

if TYPE_CHECKING:
    import socket

SCHEMES: Final = ("redis", "rediss", "unix")
_OF_POOLS_ONLY: Final = ("max_connections", "timeout")
_CONNECT_TIMEOUT_S: Final = 10.0


class UrlServer(Server):
    """A running server at a URL that redis-py understands."""

    def __init__(self, url: str) -> None:
        """Connect once, to see that we can and what it is.

        Raises:
            ServerError: the URL makes no sense, or the server does not let us in.
        """
        self.clock = None
        self.lacks = {
            Feature.CLOCK: "a server at a URL keeps its own clock",
            Feature.SPAWN: "a server at a URL is not ours to start or stop",
        }
        self.private = False
        self._options = _options(url)
        self._connection_class = self._options.pop("connection_class", TCPConnection)
        self._address = self.label = address(url)
        connection = self.connect()
        try:
            told = fields(ask(connection, "INFO", "server"))
        except redis.RedisError as error:
            raise ServerError(f"{self._address} does not answer INFO: {error}") from None
        finally:
            connection.disconnect()
        self.product = "Valkey" if "valkey_version" in told else "Redis"
        version = told.get("valkey_version") or told["redis_version"]
        self.version = tuple(int(part) for part in version.split(".") if part.isdigit())
        self.label = f"{self._address} {self.product} {version}"

    def connect(self, protocol: int = 2) -> Connection:
        """A new connection. See ``Server.connect``."""
        try:
            connection: Any = self._connection_class(**{**self._options, "protocol": protocol})
            connection.connect()
        except (redis.RedisError, OSError, TypeError, ValueError) as error:
            # "from None": a chained traceback may show what the message takes care not to.
            raise ServerError(self._explain(error)) from None
        checked: Connection = connection
        return checked

    def socket(self) -> socket.socket:
        """A new bare connection, after the same AUTH and SELECT. See ``Server.socket``."""
        return detach(self.connect())

    def close(self) -> None:
        """Nothing: the server is not ours."""

    def _explain(self, error: Exception) -> str:
        said = str(error)
        if password := self._options.get("password"):
            said = said.replace(str(password), "***")
        if isinstance(error, redis.AuthenticationError):
            hint = "Check the user and password in the URL (percent-encoded)."
        elif "certificate" in said.lower():
            hint = "Name its authority with ?ssl_ca_certs=FILE at the end of the URL."
        elif any(sign in said for sign in ("SSL", "closed by server", "reset by peer")) or (
            isinstance(error, redis.TimeoutError) and self._address.startswith("rediss")
        ):
            hint = "Does it speak TLS? If so use rediss://, if not redis://."
        elif isinstance(error, (TypeError, ValueError)):
            hint = "Check the options after the ? in the URL."
        else:
            hint = "Is it running, and can it be reached from here?"
        return f"{self._address} cannot be used: {said}\n{hint}"


def address(url: str) -> str:
    """The URL without its user, password and options: fit to be shown."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return f"unix://{parts.path}"
    options = _options(url)
    host = options.get("host", "localhost")
    if ":" in host:
        host = f"[{host}]"
    return f"{parts.scheme}://{host}:{options.get('port', 6379)}/{options.get('db', 0)}"


def _options(url: str) -> dict[str, Any]:
    try:
        options = dict(parse_url(url))
    except ValueError:
        # What urlsplit complains of may be a piece of the password.
        raise ServerError(
            "The server's URL cannot be understood. It is redis://USER:PASSWORD@HOST:PORT/DB, and "
            "what is special in a URL must be percent-encoded in the password: / is %2F, @ is %40."
        ) from None
    for name in _OF_POOLS_ONLY:
        options.pop(name, None)
    options.update(decode_responses=False)
    options.setdefault("socket_timeout", REPLY_TIMEOUT_S)
    options.setdefault("socket_connect_timeout", _CONNECT_TIMEOUT_S)
    return options
