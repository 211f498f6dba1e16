"""Runs experiments on a device and saves every case as it ends."""

import random
import time
import uuid
from collections.abc import Sequence
from datetime import datetime, timezone
from itertools import accumulate, repeat
from pathlib import Path

import msgspec

from isthmus.cache import reason
from isthmus.errors import RunFileError, UsageError
from isthmus.experiment.engine.batch import Planned, Planner, brief_planner, planner
from isthmus.experiment.engine.in_step import ALONE, OUT_OF_STEP, PARTLY_ALONE, Pace
from isthmus.experiment.engine.options import Options, check_names
from isthmus.experiment.engine.progress import Estimate, Moment, Progress, Sampled, rate_of_last
from isthmus.experiment.engine.rounds import INTERRUPTED, Clock, hard_limit, run_rounds
from isthmus.experiment.engine.sampling import TIME_UP, Collected, Rules, skipped_case
from isthmus.experiment.openacc.build import check_folder
from isthmus.experiment.stencil.points import CUTS
from isthmus.machine.devices import OpenDevice
from isthmus.machine.fingerprint import link_now, read_fingerprint
from isthmus.machine.host import available_memory_bytes
from isthmus.messages import to_stderr_once
from isthmus.record import (
    FORMAT,
    GIB,
    LEAST_SAMPLES,
    SCHEMA_VERSION,
    Case,
    End,
    Fingerprint,
    Launch,
    Placement,
    Run,
    RunWriter,
    Settings,
    keep_run,
)
from isthmus.registry import MEASURED

_ALL = "all"

# How often `progress` is called while no case ends.
_TELL_SECONDS = 0.2

# Where device memory is host memory, every buffer counts twice, on machines that are small as a rule.
_MOST_SHARED_BYTES = 3 * GIB


def choose_experiments(names: Sequence[str], options: Options, ranks: int = 1) -> list[Planner]:
    """The experiments named, all of them for ``all``, or the default ones for none, then with brief ones, too.

    Options that say what to measure, or for how long, leave brief ones out.

    Raises UsageError for an unknown name, offering the nearest, for a memory kind or direction that none of the
    chosen experiments knows, for a folder of OpenACC programs that has none, for the stencil of several `ranks`
    beside anything else, and for peers and paths of several.
    """
    known = [experiment.name for experiment in MEASURED]
    default = [experiment.name for experiment in MEASURED if experiment.is_default]
    chosen = check_names("experiment", names or default, (*known, _ALL))
    measured = set(known if _ALL in chosen else chosen)
    planners = [planner(experiment) for experiment in MEASURED if experiment.name in measured]
    if not names and ranks == 1 and options.is_open:
        planners += [brief_planner(experiment) for experiment in MEASURED if experiment.is_brief]
    _check("memory kind", options.memory, [each.memory_kinds for each in planners])
    _check("direction", options.directions, [each.directions for each in planners])
    if options.binaries:
        check_folder(Path(options.binaries))
    check_names("cut", options.cuts, CUTS)
    if ranks > 1 and "stencil" in measured and len(measured) > 1:
        raise UsageError(
            f"started as {ranks} MPI ranks, which measure stencil together and all else each on its own device; run "
            "`isthmus measure stencil` with them by itself"
        )
    if ranks > 1 and (whole := next((each for each in ("peers", "paths") if each in measured), None)):
        raise UsageError(
            f"started as {ranks} MPI ranks, and {whole} measures all devices of a host from one process; run `isthmus "
            f"measure {whole}` without mpirun or srun, once on each host"
        )
    return planners


def most_seconds(experiments: Sequence[Planner], options: Options) -> float | None:
    """Within how many seconds the last sample should begin, where the user asked for a time; else None."""
    if options.budget_seconds is None:
        return None
    return sum(hard_limit(options.effort(each.efforts).budget_seconds, asked=True) for each in experiments)


def _check(what: str, given: Sequence[str], known: Sequence[Sequence[str]]) -> None:
    names = list(dict.fromkeys(name for of_experiment in known for name in of_experiment))
    if given and not names:
        raise UsageError(f"no experiment that was chosen has a {what} to choose; leave the option out")
    check_names(what, given, names)


def measure(
    device: OpenDevice,
    options: Options,
    experiments: Sequence[Planner],
    path: Path,
    command: Sequence[str],
    progress: Progress,
    launch: Launch | None = None,
    pace: Pace = ALONE,
) -> Path:
    """Measure, and write the run to `path`; returns it. `progress` is called as cases end.

    `launch` says which part of a fleet's run this is, `pace` with whom it is in step.

    The file is valid after every case. On KeyboardInterrupt it is completed with what was measured, and the exception
    goes on.

    Raises RunFileError when the file cannot be written.
    """
    started = time.monotonic()
    placement = device.placement
    fingerprint = read_fingerprint(device)
    rules = Rules()
    brief = ",".join(experiment.name for experiment in experiments if experiment.is_brief)
    settings = Settings(
        command=list(command),
        mode=options.mode,
        seed=options.seed,
        target_relative_half_width=rules.target_relative_half_width,
        minimum_samples=rules.least_samples,
        minimum_long_samples=LEAST_SAMPLES,
        long_seconds=rules.long_seconds,
        budget_seconds=sum(options.effort(experiment.efforts).budget_seconds for experiment in experiments),
        options=options.as_text | ({"brief": brief} if brief else {}),
    )
    with RunWriter(path, begun_run(fingerprint, settings, launch)) as writer:
        runner = _Runner(device, options, writer, progress, pace)
        try:
            pages = runner.run(experiments, _memory_budget(device, options, available_memory_bytes(fingerprint.host)))
        except KeyboardInterrupt:
            message = f"interrupted with {runner.ended} of {runner.total} cases measured"
            writer.finish(_end("interrupted", started, placement, message))
            raise
        except RunFileError:
            raise  # There is nowhere to note it.
        except Exception as error:  # Whatever it was, the file says that the run ended by it; then it goes on.
            writer.finish(_end("failed", started, placement, str(error)))
            raise
        message = OUT_OF_STEP if pace.lost else PARTLY_ALONE if pace.partly_alone else ""
        end = _end("complete", started, msgspec.structs.replace(placement, pages=pages), message)
        writer.finish(msgspec.structs.replace(end, link=link_now(device)))
    return path


def begun_run(fingerprint: Fingerprint, settings: Settings, launch: Launch | None = None) -> Run:
    """A run of this moment, with a name of its own and without cases."""
    now = datetime.now(timezone.utc)
    return Run(
        format=FORMAT,
        schema_version=SCHEMA_VERSION,
        run=f"{now:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}",
        created=f"{now:%Y-%m-%dT%H:%M:%SZ}",
        fingerprint=fingerprint,
        settings=settings,
        launch=launch,
    )


def keep(run: Run, device: OpenDevice) -> None:
    """Keep the run for plans. What a host pretends to be is no machine, and aligned buffers are no usual ones."""
    usual = not device.model and not run.settings.options.get("alignment")
    if not usual or not any(case.series for case in run.cases):
        return
    try:
        keep_run(run)
    except OSError as error:
        to_stderr_once(f"isthmus: the run is not kept for plans: {reason(error)}")


def _end(status: str, started: float, placement: Placement, message: str) -> End:
    seconds = round(time.monotonic() - started, 3)
    return End(status=status, seconds=seconds, placement=placement, message=message)  # type: ignore[arg-type]


def _memory_budget(device: OpenDevice, options: Options, available_bytes: int) -> int:
    """Bytes of host memory that the run may take."""
    if options.memory_budget_bytes is not None:
        return options.memory_budget_bytes
    most = _MOST_SHARED_BYTES if device.description.shares_host_memory else available_bytes
    return min(available_bytes * 6 // 10, most)


def _shares(planned: Planned, budget_seconds: float) -> list[float]:
    """The seconds of each batch."""
    weights = sum(batch.weight for batch in planned.batches)
    return [budget_seconds * batch.weight / weights for batch in planned.batches]


class _Runner:
    """One run: where its cases go, and how many have ended."""

    def __init__(self, device: OpenDevice, options: Options, writer: RunWriter, progress: Progress, pace: Pace) -> None:
        self._device = device
        self._options = options
        self._writer = writer
        self._progress = progress
        self._pace = pace
        self._rng = random.Random(options.seed)
        # How many of the cases that can be measured have ended, and how many there are.
        self.ended = 0
        self.total = 0
        self._at = ("", 0, 0)
        self._rate: float | None = None
        self._tell_next = 0.0

    def run(self, experiments: Sequence[Planner], memory_bytes: int) -> dict[str, dict[str, float]]:
        """Measure all of them; returns where the host memory lay, as `Placement.pages` has it."""
        plans = [experiment.plan(self._device, self._options, memory_bytes) for experiment in experiments]
        self.total = sum(len(batch.cases) for planned in plans for batch in planned.batches)
        efforts = [self._options.effort(experiment.efforts) for experiment in experiments]
        budgets = [_shares(planned, effort.budget_seconds) for planned, effort in zip(plans, efforts, strict=True)]
        asked = self._options.budget_seconds is not None
        hard_limits = [hard_limit(effort.budget_seconds, asked=asked) for effort in efforts]
        self._estimate = Estimate([seconds for each in budgets for seconds in each], time.monotonic)
        placement: dict[str, dict[str, float]] = {}
        for number, (experiment, planned, effort) in enumerate(zip(experiments, plans, efforts, strict=True)):
            self._at = (experiment.name, number + 1, len(experiments))
            for case in planned.skipped:
                self._writer.add(case)
            rules = Rules(case_seconds=effort.case_seconds)
            began, limit = time.monotonic(), hard_limits[number]
            # Where the time is kept, a batch that needs more than its part of it leaves the next ones theirs.
            shares = _shares(planned, limit) if asked else [limit] * len(planned.batches)
            limits = accumulate(shares) if asked else repeat(limit)
            for index, (batch, share, seconds) in enumerate(zip(planned.batches, shares, limits, strict=False)):
                self._pace.enter((number, index))
                # Allocating and filling counts too.
                clock = Clock(time.monotonic() + budgets[number][index], began + seconds)
                self._estimate.begin_batch()
                if asked:
                    self._estimate.latest = max(began + limit, time.monotonic()) + sum(hard_limits[number + 1 :])
                # Devices in step go through all batches together: the first of them says what is left out.
                if batch.cases and self._pace is ALONE and time.monotonic() >= began + limit:
                    for case in batch.cases:
                        self._finish([skipped_case(case, TIME_UP)])
                    continue
                self._rate = None
                self._tell()
                prepared = batch.prepare()
                for cases in prepared.ended:
                    self._finish(cases)
                placement |= {kind: dict(shares) for kind, shares in prepared.placement.items()}
                if asked:  # what others and allocating took is not taken from its part while there is time
                    clock = clock.until(min(began + limit, time.monotonic() + share))
                self._estimate.begin_timing()
                visited = Sampled(len(prepared.subjects), rules, self._estimate, self._visited)
                run_rounds(prepared.subjects, rules, clock, self._finish, self._rng, self._pace, visited)
                del prepared  # Or its buffers would still be there when the next batch's are allocated.
        return placement

    def _finish(self, cases: Sequence[Case]) -> None:
        for case in cases:
            self._writer.add(case)
        self.ended += not any(INTERRUPTED in case.note for case in cases)
        self._tell()

    def _visited(self, collected: Collected) -> None:
        self._rate = rate_of_last(collected) or self._rate
        # Visits can last microseconds.
        if time.monotonic() > self._tell_next:
            self._tell()

    def _tell(self) -> None:
        self._tell_next = time.monotonic() + _TELL_SECONDS
        self._progress(Moment(*self._at, self.ended, self.total, self._estimate.ends_at(), self._rate))
