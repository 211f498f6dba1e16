"""Measures from a notebook or a script, which stays as it was: its thread is not bound, and Ctrl-C ends the run."""

import ctypes
import math
import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from isthmus.errors import IsthmusError, UsageError
from isthmus.messages import to_stderr_in_place
from isthmus.notebook.measured_run import MeasuredRun, named_reference, of
from isthmus.record import RunWriter, format_rate, parse_sizes, read_run

if TYPE_CHECKING:
    from isthmus.experiment.engine.options import ModeName, Options
    from isthmus.experiment.engine.progress import Moment, Progress

_Result = TypeVar("_Result")
_PathLike = str | os.PathLike[str]
_MODES = ("quick", "default", "full")
# A thread that Ctrl-C ends in its last steps cannot say so.
_LOOK_SECONDS = 0.5
# Two that measure at the same time would measure one another.
_one_at_a_time = threading.Lock()


def measure(
    *experiments: str,
    device: str | None = None,
    mode: "ModeName" = "default",
    sizes: str | Iterable[int] = (),
    memory: Iterable[str] = (),
    direction: Iterable[str] = (),
    seconds: float | None = None,
    seed: int = 0,
    output: _PathLike | None = None,
    reference: str | None = None,
    progress: bool = False,
) -> MeasuredRun:
    """Run experiments on a device, as `isthmus measure` does; without names the default ones, "all" for all.

    `device` is cuda:0, opencl:0 or host, by default the best; `mode` quick, default or full; `sizes` are bytes, or text
    such as "4KiB:1GiB"; `memory` and `direction` are names such as pinned and h2d; `seconds` is the time for each
    experiment. The run is kept for plans, and in the new file `output` if one is named. With `progress` a line on
    stderr says how far it is.

    Ctrl-C ends it with KeyboardInterrupt; `open_run(output)` then has what was measured. Other threads go on, and a
    second call waits for the first.

    Raises UsageError for names that make no sense and for a file that exists, DeviceAbsent, RunFileError.
    """
    from isthmus.experiment.engine.options import Options, check_names
    from isthmus.experiment.measure import choose_experiments, keep
    from isthmus.experiment.measure import measure as run_experiments
    from isthmus.machine.devices import open_device

    check_names("mode", [mode], _MODES)
    if seconds is not None and not 0 < seconds < math.inf:
        raise UsageError(f"seconds is {seconds}; expected the time for each experiment, above 0")
    if not 0 <= seed < 1 << 63:
        raise UsageError(f"seed is {seed}; expected a whole number from 0 to 2^63 - 1")
    named = named_reference(reference)  # before minutes of measurement, not after them
    options = Options(
        mode=mode,
        sizes=_sizes(sizes),
        memory=_names(memory),
        directions=_names(direction),
        budget_seconds=seconds,
        seed=seed,
    )
    chosen = choose_experiments(experiments, options)
    path = _new(output)

    def work() -> MeasuredRun:
        opened = open_device(device, bind=True)
        command = _command(experiments, device, options)
        with tempfile.TemporaryDirectory() as folder, _shown(progress) as show:
            kept = path or Path(folder) / "run.json"
            run_experiments(opened, options, chosen, kept, command, show)
            run = read_run(kept)
        keep(run, opened)
        return of(run, path, named)

    return _on_thread_of_its_own(work)


def check(
    device: str | None = None, *, output: _PathLike | None = None, reference: str | None = None, progress: bool = False
) -> MeasuredRun:
    """Measure for seconds what says whether a device's link is all right; `level` of the run is the verdict.

    `device`, `output`, `reference` and `progress` are as for `measure`, and so are threads and errors; Ctrl-C keeps
    nothing. Raises DeviceAbsent where no device has a link and none is named, CallFailed where a driver hangs or dies.
    """
    from isthmus.experiment.check import measure_links

    path = _new(output)
    named = named_reference(reference)  # before minutes of measurement, not after them

    def work() -> MeasuredRun:
        with _shown(progress) as show:
            (run,) = measure_links(device, 0, ["isthmus", "check"], show, quietly=not progress).values()
        if isinstance(run, IsthmusError):
            raise run
        if path is not None:
            RunWriter.write(path, run)
        return of(run, path, named)

    return _on_thread_of_its_own(work)


def _on_thread_of_its_own(work: Callable[[], _Result]) -> _Result:
    """Do `work` where binding to a NUMA node and what drivers keep for a thread do not stay with the caller's thread.

    KeyboardInterrupt, which Python raises in the main thread, is raised in that one, too, which completes its file.
    """
    results: list[_Result] = []
    errors: list[BaseException] = []
    # Up to Python 3.12 a join that Ctrl-C ends takes the thread for ended.
    ended = threading.Event()
    context = copy_context()

    def run() -> None:
        try:
            results.append(context.run(work))
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    interrupted = False
    with _one_at_a_time:
        thread = threading.Thread(target=run, name="isthmus-measure")
        thread.start()
        while not ended.is_set() and thread.is_alive():
            try:
                ended.wait(_LOOK_SECONDS)
            except KeyboardInterrupt:
                # Once: what is written then must not be cut off by the next one.
                if not interrupted and not (results or errors):
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(thread.ident or 0), ctypes.py_object(KeyboardInterrupt)
                    )
                interrupted = True
        thread.join()
    if interrupted:
        raise KeyboardInterrupt
    if errors:
        raise errors[0]
    return results[0]


def _sizes(given: str | Iterable[int]) -> Sequence[int]:
    text = given if isinstance(given, str) else ",".join(map(str, given))
    return parse_sizes(text) if text else ()


def _names(given: Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _new(output: _PathLike | None) -> Path | None:
    if output is None:
        return None
    path = Path(output)
    if path.exists():
        raise UsageError(f"{path} exists; name a new file, or remove it")
    return path


def _command(experiments: Iterable[str], device: str | None, options: "Options") -> list[str]:
    """The command line that measures the same, for the record of the run."""
    given = options.as_text | ({"device": device} if device else {})
    if options.budget_seconds is not None:
        given["time"] = f"{options.budget_seconds:g}s"
    if options.seed:
        given["seed"] = str(options.seed)
    modes = [] if options.mode == "default" else [f"--{options.mode}"]
    return ["isthmus", "measure", *experiments, *modes, *(f"--{name}={value}" for name, value in given.items())]


@contextmanager
def _shown(progress: bool) -> "Iterator[Progress]":
    """What shows how far a run is, in one line; with no `progress` it shows nothing."""

    def show(moment: "Moment") -> None:
        rate = format_rate(moment.rate) if moment.rate else ""
        cases = f"{moment.experiment} {moment.number}/{moment.experiments}, {moment.ended} of {moment.total} cases"
        to_stderr_in_place(" · ".join(filter(None, (cases, rate))))

    try:
        yield show if progress else lambda _: None
    finally:
        if progress:
            to_stderr_in_place("")
