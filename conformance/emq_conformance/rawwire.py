"""The wire itself: commands as the bytes that are sent, replies as the bytes that came back."""

import socket
from collections.abc import Sequence

from emq_conformance.wire import Argument, encoded


class RawWire:
    """A bare socket to the server. Nothing between the test and the bytes."""

    def __init__(self, connection: socket.socket) -> None:
        """Talk over this socket; `close` closes it."""
        self._socket = connection
        self._buffer = b""

    def call(self, command: Sequence[Argument]) -> bytes:
        """Send a command, and answer its reply to the byte."""
        self._socket.sendall(encoded(command))
        return self._reply()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _reply(self) -> bytes:
        line = self._line()
        kind, rest = line[:1], line[1:-2]
        if kind in b"+-:_#,(":
            return line
        length = int(rest)
        if kind in b"$=!":
            return line if length < 0 else line + self._exactly(length + 2)
        if kind in b"*~>%":
            items = max(length, 0) * (2 if kind == b"%" else 1)
            return line + b"".join(self._reply() for _ in range(items))
        raise ValueError(f"not RESP: {line!r}")

    def _line(self) -> bytes:
        while b"\r\n" not in self._buffer:
            self._receive()
        line, self._buffer = self._buffer.split(b"\r\n", 1)
        return line + b"\r\n"

    def _exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            self._receive()
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    def _receive(self) -> None:
        chunk = self._socket.recv(65536)
        if not chunk:
            raise ConnectionError("the server closed the connection in the middle of a reply")
        self._buffer += chunk
