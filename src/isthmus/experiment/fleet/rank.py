"""A rank of a fleet: has its device measured as rank 0 orders, and reports. Never touches the device itself."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Literal, NamedTuple

import msgspec

from isthmus.errors import CallFailed, IsthmusError
from isthmus.experiment.fleet import reports as fleet_reports
from isthmus.experiment.fleet.member import Said, Task
from isthmus.experiment.fleet.reports import Report
from isthmus.experiment.fleet.schedule import Word
from isthmus.experiment.mpi.mailbox import Mailbox
from isthmus.experiment.mpi.ranks import RanksBroken
from isthmus.python import python_command, python_environment
from isthmus.record import Phase

# What a process that was killed may take to go; longer where a driver keeps it, and then it stays behind.
_REAP_SECONDS = 5.0
# What an interrupted process has to complete its run file.
_COMPLETE_SECONDS = 3.0
# How much it says at once: a line or two.
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
        words = python_command("isthmus.experiment.fleet.member")
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=python_environment()
            )
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
        events = [Event("ready") for each in self._said() if each.kind == "ready"]
        code = self._process.poll()
        if code is not None:
            self._said()  # What it said last.
            return [*events, Event("ended", self._why_ended(code))]
        if time.monotonic() > self._deadline:
            self.kill()
            return [
                *events,
                Event("ended", f"no end after {self._limit:g} s, so it was killed; --phase-limit allows more"),
            ]
        return events

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
        messages = [msgspec.json.decode(line, type=Said) for line in lines]
        self._why = next((each.why for each in messages if each.kind == "failed"), self._why)
        return messages

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


# So many are sent in vain before the other side counts as gone.
MISSED_BEATS = 6
_LEAST_BEAT_SECONDS = 2.0
# What rank 0 can take in while it measures a device of its own.
_BEATS_A_SECOND = 1000
# What rank 0 needs to take the last messages of many, and between two looks.
_FAREWELL_SECONDS = 10.0
_NAP_SECONDS = 0.01

TaskOf = Callable[[Phase], Task]


def beat_seconds(ranks: int) -> float:
    """How often a rank says that it is there."""
    return max(_LEAST_BEAT_SECONDS, ranks / _BEATS_A_SECOND)


class FleetRank:
    """Orders come in by `orders` and reports go out by `reports`; `task_of` says what to do in a phase."""

    def __init__(
        self, orders: Mailbox, reports: Mailbox, task_of: TaskOf, limit_seconds: float, beat_every_seconds: float
    ) -> None:
        self._orders = orders
        self._reports = reports
        self._task_of = task_of
        self._limit = limit_seconds
        self._beat_every = beat_every_seconds
        self._next_beat = 0.0
        self._process: MeasuringProcess | None = None

    def step(self) -> bool:
        """Do what there is to do, without waiting; False after the order to end. Raises RanksBroken without rank 0."""
        now = time.monotonic()
        if now >= self._next_beat:
            self._next_beat = now + self._beat_every
            self._reports.post(fleet_reports.BEAT, 0)
            silence = self._reports.oldest_seconds()
            if silence > MISSED_BEATS * self._beat_every:
                raise RanksBroken(f"rank 0 has taken no message for {silence:.0f} s, so it has died or hangs")
        for _, message in self._orders.take():
            word: Word = message.decode()  # type: ignore[assignment]
            if word == "end":
                self._reports.post(fleet_reports.BYE, 0)
                return False
            self._obey(word)
        process = self._process
        for event in process.events() if process is not None else ():
            if event.kind == "ready":
                self._reports.post(fleet_reports.READY, 0)
            else:
                assert process is not None
                self._process = None
                self._report(process.task, event.why)
        return True

    def leave(self) -> None:
        """Wait until rank 0 has taken all that was sent, or is not there any more."""
        while 0 < self._reports.oldest_seconds() < _FAREWELL_SECONDS:
            time.sleep(_NAP_SECONDS)

    def interrupt(self) -> None:
        """End what is being measured, whose run file is completed, and report what there is of it."""
        process, self._process = self._process, None
        if process is not None:
            process.interrupt()
            self._report(process.task, "interrupted")

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()

    def _obey(self, word: Word) -> None:
        if word == "go":
            if self._process is not None:
                self._process.go()
            return
        phase: Phase = "alone" if word == "alone" else "together"
        try:
            self._process = MeasuringProcess(self._task_of(phase), self._limit)
        except IsthmusError as error:
            self._reports.post(Report(kind="ended", phase=phase, why=str(error)).encode(), 0)

    def _report(self, task: Task, why: str) -> None:
        self._reports.post(fleet_reports.ended(Path(os.fsdecode(task.path)), task.launch.phase, why).encode(), 0)
