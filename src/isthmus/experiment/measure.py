"""Runs experiments on a device and saves every case as it ends."""

import random
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

import msgspec

from isthmus.errors import RunFileError
from isthmus.experiment import bandwidth
from isthmus.experiment.blocks import split_by_memory
from isthmus.experiment.devices import OpenDevice
from isthmus.experiment.fingerprint import read_fingerprint
from isthmus.experiment.machine import available_memory_bytes
from isthmus.experiment.options import MODES, Options, check_names
from isthmus.experiment.rounds import HARD_LIMIT, Clock, run_rounds
from isthmus.experiment.sampling import Rules
from isthmus.record import (
    FORMAT,
    GIB,
    LEAST_SAMPLES,
    MIB,
    SCHEMA_VERSION,
    Case,
    End,
    Placement,
    Run,
    RunWriter,
    Settings,
    format_bytes,
)

__all__ = ["EXPERIMENTS", "Progress", "check_experiments", "measure"]

# In the order in which the default plan runs them.
EXPERIMENTS = (bandwidth.NAME,)

# Where device memory is host memory, every buffer counts twice, on machines that are small as a rule.
_MOST_SHARED_BYTES = 3 * GIB

Progress = Callable[[int, int], None]


class _Group(NamedTuple):
    points: Sequence[bandwidth.Point]
    seconds: float


def check_experiments(names: Sequence[str]) -> list[str]:
    """The experiments named, or all of them.

    Raises UsageError for an unknown name, offering the nearest.
    """
    return check_names("experiment", names or EXPERIMENTS, EXPERIMENTS)


def measure(
    device: OpenDevice,
    options: Options,
    path: Path,
    command: Sequence[str],
    progress: Progress,
    ready: Callable[[], object],
) -> Path:
    """Measure, and write the run to `path`; returns it. `progress` is called with cases ended and cases in all.

    `ready` is called once buffers are there and before anything is timed: the moment to end what would disturb.

    The file is valid after every case. On KeyboardInterrupt it is completed with what was measured, and the exception
    goes on.

    Raises UsageError for options that make no sense, and RunFileError when the file cannot be written.
    """
    started = time.monotonic()
    points = bandwidth.plan(options)
    placement = device.placement
    fingerprint = read_fingerprint(device)
    rules = Rules(case_seconds=MODES[options.mode].case_seconds)
    settings = Settings(
        command=list(command),
        mode=options.mode,
        seed=options.seed,
        target_relative_half_width=rules.target_relative_half_width,
        minimum_samples=rules.least_samples,
        minimum_long_samples=LEAST_SAMPLES,
        long_seconds=rules.long_seconds,
        budget_seconds=options.chosen_budget_seconds,
        options=options.as_text,
    )
    now = datetime.now(timezone.utc)
    run = Run(
        format=FORMAT,
        schema_version=SCHEMA_VERSION,
        run=f"{now:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}",
        created=f"{now:%Y-%m-%dT%H:%M:%SZ}",
        fingerprint=fingerprint,
        settings=settings,
    )
    with RunWriter(path, run) as writer:
        session = _Session(device, options, rules, writer, progress, ready, len(points))
        try:
            pages = session.run_bandwidth(points, available_memory_bytes(fingerprint.host))
        except KeyboardInterrupt:
            message = f"interrupted with {session.ended} of {len(points)} cases measured"
            writer.finish(_end("interrupted", started, placement, message))
            raise
        except RunFileError:
            raise  # There is nowhere to note it.
        except Exception as error:  # Whatever it was, the file says that the run ended by it; then it goes on.
            writer.finish(_end("failed", started, placement, str(error)))
            raise
        writer.finish(_end("complete", started, msgspec.structs.replace(placement, pages=pages), ""))
    return path


def _end(status: str, started: float, placement: Placement, message: str) -> End:
    seconds = round(time.monotonic() - started, 3)
    return End(status=status, seconds=seconds, placement=placement, message=message)  # type: ignore[arg-type]


def _whole_mebibytes(count: int) -> str:
    return format_bytes(count >> 20 << 20 if count >= MIB else count)


class _Session:
    """One run: where its cases go, and how many have ended."""

    def __init__(
        self,
        device: OpenDevice,
        options: Options,
        rules: Rules,
        writer: RunWriter,
        progress: Progress,
        ready: Callable[[], object],
        total: int,
    ) -> None:
        self._device = device
        self._options = options
        self._rules = rules
        self._writer = writer
        self._progress = progress
        self._ready = ready
        self._total = total
        self._rng = random.Random(options.seed)
        self.ended = 0

    def run_bandwidth(self, points: Sequence[bandwidth.Point], available_bytes: int) -> dict[str, dict[str, float]]:
        """Measure all points; returns where the host memory lay, as `Placement.pages` has it."""
        possible = []
        other_bytes = 2 * max((point.bytes for point in points if point.memory != "managed"), default=0)
        for point in points:
            reason = bandwidth.why_not(point, self._device, other_bytes)
            if reason is None:
                possible.append(point)
            else:
                self._skip(point, reason)
        shared = self._device.description.shares_host_memory
        budget = self._options.memory_budget_bytes
        if budget is None:
            budget = min(available_bytes * 6 // 10, _MOST_SHARED_BYTES if shared else available_bytes)
        blocks = split_by_memory(possible, budget, shared)
        for point in blocks.too_large:
            self._skip(
                point,
                f"its buffers exceed the {_whole_mebibytes(budget)} of host memory that this run may take; "
                "--memory-budget allows more",
            )
        placement: dict[str, dict[str, float]] = {}
        hard_deadline = time.monotonic() + HARD_LIMIT * self._options.chosen_budget_seconds
        for group in self._with_time(blocks.groups):
            clock = Clock(time.monotonic() + group.seconds, hard_deadline)
            prepared = bandwidth.prepare(group.points, self._device, self._options)
            for case in prepared.skipped:
                self._finish([case])
            placement |= {kind: dict(shares) for kind, shares in prepared.placement.items()}
            self._ready()
            run_rounds(prepared.subjects, self._rules, clock, self._finish, self._rng)
            del prepared  # Or its buffers would still be there when the next group's are allocated.
        return placement

    def _with_time(self, groups: Sequence[Sequence[bandwidth.Point]]) -> list[_Group]:
        """Each group's share of the time, by what its least number of samples should take on a slow link."""
        weights = [sum(0.02 + point.bytes * self._rules.least_samples / 10e9 for point in group) for group in groups]
        budget = self._options.chosen_budget_seconds
        return [_Group(group, budget * weight / sum(weights)) for group, weight in zip(groups, weights, strict=True)]

    def _skip(self, point: bandwidth.Point, reason: str) -> None:
        case = bandwidth.template(point, self._options)
        self._finish([msgspec.structs.replace(case, skipped=True, note=reason)])

    def _finish(self, cases: list[Case]) -> None:
        for case in cases:
            self._writer.add(case)
        self.ended += 1
        self._progress(self.ended, self._total)
