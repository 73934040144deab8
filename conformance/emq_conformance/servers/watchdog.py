"""The watchdog: a server lives no longer than the process that asked for it.

Run as a script (``python -I -S watchdog.py FOLDER NAME=VALUE... -- COMMAND...``) in a session of
its own, so that neither Ctrl-C nor a signal to the caller's process group reaches it. It makes
FOLDER, reports "ready", and obeys one-byte orders on standard input, each with a one-line report:

    s   start COMMAND, its output appended to FOLDER/log: "pid N"; "exit 127" if it cannot be run
    p   poll: "running", or "exit N" once the server has ended (negative: the signal)
    k   kill: "exit N"

Standard input is a pipe that only the caller holds. When it closes - the caller is done, or was
killed in any way whatever - the server is killed and FOLDER removed. Should the watchdog itself
be killed, the kernel kills the server (``PR_SET_PDEATHSIG`` in ``preload.c``).

Every server start waits for this script, so it imports nothing that costs milliseconds:
``signal``, ``shutil`` or ``pathlib`` would double its start-up time.
"""

# ruff: noqa: PTH102, PTH106, PTH108, PTH118, PTH123

import os
import sys
import time

LOG = "log"
SIGKILL = 9


class Watchdog:
    """The server, if it was started, and what keeps it."""

    def __init__(self, folder: str, environment: dict[str, str], command: list[str]) -> None:
        self.folder = folder
        self.environment = {**os.environ, **environment}
        self.command = command
        self.server = 0

    def run(self) -> None:
        """Obey until standard input closes."""
        os.mkdir(self.folder, 0o700)
        orders = {b"s": self.start, b"p": self.poll, b"k": self.kill}
        answer = "ready"
        try:
            while True:
                os.write(1, answer.encode() + b"\n")
                order = os.read(0, 1)
                if not order:
                    break
                answer = orders[order]()
        finally:
            self.kill()
            self.remove()

    def start(self) -> str:
        """Start the server, leading a process group of its own."""
        if self.poll() == "running":
            return "running"
        log = os.path.join(self.folder, LOG)
        files = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        try:
            self.server = os.posix_spawn(
                self.command[0], self.command, self.environment, file_actions=files, setpgroup=0
            )
        except OSError as error:
            with open(log, "a") as file:
                print(error, file=file)
            return "exit 127"
        return f"pid {self.server}"

    def poll(self) -> str:
        """Ask after the server, and reap it if it ended."""
        return self.reap(os.WNOHANG)

    def kill(self) -> str:
        """Kill the server and any child that it forked to save its data."""
        if self.server:
            os.killpg(self.server, SIGKILL)
        return self.reap(0)

    def reap(self, options: int) -> str:
        """The server's end, as a report."""
        if not self.server:
            return "exit 0"
        pid, status = os.waitpid(self.server, options)
        if not pid:
            return "running"
        self.server = 0
        return f"exit {os.waitstatus_to_exitcode(status)}"

    def remove(self) -> None:
        """Remove the folder; a killed child may write to it for a moment yet."""
        for _ in range(100):
            try:
                for path, folders, files in os.walk(self.folder, topdown=False):
                    for name in files:
                        os.unlink(os.path.join(path, name))
                    for name in folders:
                        os.rmdir(os.path.join(path, name))
                os.rmdir(self.folder)
            except OSError:
                time.sleep(0.01)
            else:
                break


if __name__ == "__main__":
    split = sys.argv.index("--")
    Watchdog(
        folder=sys.argv[1],
        environment=dict(pair.split("=", 1) for pair in sys.argv[2:split]),
        command=sys.argv[split + 1 :],
    ).run()
