"""A rank of a fleet: has its device measured as rank 0 orders, and reports. Never touches the device itself."""

import time
from collections.abc import Callable
from pathlib import Path

from isthmus.errors import IsthmusError
from isthmus.experiment.fleet import reports as fleet_reports
from isthmus.experiment.fleet.mailbox import Mailbox
from isthmus.experiment.fleet.member import Task
from isthmus.experiment.fleet.process import MeasuringProcess
from isthmus.experiment.fleet.ranks import RanksBroken
from isthmus.experiment.fleet.reports import Report
from isthmus.experiment.fleet.schedule import Word
from isthmus.record import Phase

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
        self._watch()
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

    def _watch(self) -> None:
        process = self._process
        for event in process.events() if process is not None else ():
            if event.kind == "ready":
                self._reports.post(fleet_reports.READY, 0)
            else:
                assert process is not None
                self._process = None
                self._report(process.task, event.why)

    def _report(self, task: Task, why: str) -> None:
        self._reports.post(fleet_reports.ended(Path(task.path), task.launch.phase, why).encode(), 0)
