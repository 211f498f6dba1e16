"""The process that measures a rank's device, as the rank sees it: started, watched, and killed when it hangs."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import IO, Literal, NamedTuple

import msgspec

from isthmus.errors import CallFailed
from isthmus.experiment.fleet.member import Said, Task

# What a process that was killed may take to go; longer where a driver keeps it, and then it stays behind.
_REAP_SECONDS = 5.0
# What an interrupted process has to complete its run file.
_COMPLETE_SECONDS = 3.0
# Of what it says at once, a line or two.
_MOST_BYTES = 65536


class Event(NamedTuple):
    """What became of the process; `why` is empty where it has measured all."""

    kind: Literal["ready", "ended"]
    why: str = ""


class MeasuringProcess:
    """One phase of one device. Raises CallFailed where no process can be started."""

    def __init__(self, task: Task, limit_seconds: float) -> None:
        self.task = task
        self._limit = limit_seconds
        self._deadline = time.monotonic() + limit_seconds
        self._why = ""
        words = [sys.executable, "-m", "isthmus.experiment.fleet.member"]
        try:
            self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise CallFailed(f"no process to measure in can be started: {error.strerror or error}") from error
        os.set_blocking(self._out.fileno(), False)
        self._unfinished = b""
        self._write(msgspec.json.encode(task) + b"\n")

    def go(self) -> None:
        """Let it begin; its time starts anew, since it may have waited for others."""
        self._deadline = time.monotonic() + self._limit
        self._write(b"go\n")

    def events(self) -> list[Event]:
        """What has happened since; after ``ended`` there is nothing more."""
        found = [Event("ready") for said in self._said() if said.kind == "ready"]
        code = self._process.poll()
        if code is not None:
            self._said()  # What it said last.
            return [*found, Event("ended", self._why_ended(code))]
        if time.monotonic() > self._deadline:
            self.kill()
            return [
                *found,
                Event("ended", f"no end after {self._limit:g} s, so it was killed; --phase-limit allows more"),
            ]
        return found

    def interrupt(self) -> None:
        """Let it complete its run file, and end it."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_COMPLETE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_REAP_SECONDS)

    @property
    def _out(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _said(self) -> list[Said]:
        try:
            text = self._unfinished + os.read(self._out.fileno(), _MOST_BYTES)
        except BlockingIOError:
            return []
        *lines, self._unfinished = text.split(b"\n")
        said = [msgspec.json.decode(line, type=Said) for line in lines]
        self._why = next((each.why for each in said if each.kind == "failed"), self._why)
        return said

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # It is gone, as `events` will tell.
            os.write(self._process.stdin.fileno(), line)

    def _why_ended(self, code: int) -> str:
        if self._why or code == 0:
            return self._why
        if code < 0:
            return f"the process that measured was killed by {signal.Signals(-code).name}"
        return f"the process that measured ended with exit code {code}"
