"""The few copies that tell whether devices' links are all right: pinned and pageable memory, large, in each direction,
and pinned memory in both at once.

Several devices are measured one after the other, and then all at once; those of CUDA by a program of its own.
"""

import os
import random
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from isthmus.cache import cache_folder
from isthmus.errors import DeviceAbsent, IsthmusError, UsageError
from isthmus.experiment.check_program import measure_by_program
from isthmus.experiment.engine.links import Group, LinkSweep
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.progress import Progress
from isthmus.experiment.engine.rounds import Clock, hard_limit, run_rounds
from isthmus.experiment.engine.sampling import Rules
from isthmus.experiment.engine.sweep import planned
from isthmus.experiment.measure import choose_experiments, measure
from isthmus.files import in_turn
from isthmus.machine.devices import OpenDevice, choose_device, name_in_turn, names_in_turn, open_device
from isthmus.messages import to_stderr
from isthmus.record import MIB, Case, Run, read_run

# One device; several share less, of which none has less than a part, and copy at once for some more.
_SECONDS, _SECONDS_OF_ALL, _LEAST_SECONDS, _AT_ONCE_SECONDS = 2.5, 2.0, 0.25, 0.5
# Several devices copy the first alone; the program copies as much.
SIZES = (64 * MIB, 256 * MIB)
_SHARED_SIZES = (4 * MIB, 16 * MIB)


def measure_links(
    spec: str | None,
    rank: int | None,
    command: Sequence[str],
    progress: Progress,
    *,
    is_single: bool = False,
    quietly: bool = False,
) -> Mapping[str, Run | IsthmusError]:
    """Measure a device, all of its kind, or that of a rank of this machine; an error of one ends no other.

    Without a name they are of the best kind that has a link. What several copied with all others at work are cases of
    `peers`. Standard error says which device is next, unless `quietly`. Raises UsageError where there are several and
    `is_single`, what `measure_by_program` and what `choose_device` raise.
    """
    with alone():
        measured = _measured_by_program(spec, rank, command, is_single=is_single, quietly=quietly)
        if measured is None and spec is None and choose_device(None).shares_host_memory:
            raise DeviceAbsent(
                "no accelerator found, so that there is no link to check; see why: isthmus devices; --device host "
                "looks at this machine's memory"
            )
        names = [*measured] if measured else names_in_turn(spec) if rank is None else [name_in_turn(spec, rank)]
        if is_single and len(names) > 1:
            raise UsageError(
                f"-o keeps the run of one device, and there are {len(names)}; name one with --device {names[0]}"
            )
        return measured or _measured_here(names, command, progress, quietly=quietly)


@contextmanager
def alone() -> Iterator[None]:
    """While no other check of this user measures on this machine: ranks that share its memory take turns."""
    try:
        folder = cache_folder("locks")
    except OSError:
        yield  # Without a place for it nobody waits.
        return
    with in_turn(folder / f"check-{socket.gethostname()}"):
        yield


def _measured_by_program(
    spec: str | None, rank: int | None, command: Sequence[str], *, is_single: bool, quietly: bool
) -> Mapping[str, Run | IsthmusError] | None:
    """None where another kind is named, or there is no such device."""
    kind, colon, number = (spec or "cuda").lower().partition(":")
    if kind != "cuda" or not (number or "0").isdecimal() or len(number) > 9:
        return None
    words = ["--device", number or "0"] if colon else [] if rank is None else ["--rank", str(rank)]
    return measure_by_program([*words, *(["--single"] if is_single else [])], command, quietly=quietly)


def _measured_here(
    names: Sequence[str], command: Sequence[str], progress: Progress, *, quietly: bool
) -> Mapping[str, Run | IsthmusError]:
    """Devices of other kinds; this thread, which is near one while that is measured, may run anywhere again between."""
    runs: dict[str, Run | IsthmusError] = {}
    opened: dict[str, OpenDevice] = {}
    allowed = os.sched_getaffinity(0)
    for name in names:
        spec = choose_device(name).spec
        if not quietly:
            to_stderr(f"checking {spec}")
        try:
            opened[spec] = open_device(name, bind=True)
            runs[spec] = _measured(opened[spec], command, progress, len(names))
        except IsthmusError as error:
            opened.pop(spec, None)
            runs[spec] = error
        finally:
            os.sched_setaffinity(0, allowed)
    for case in _at_once([*opened.values()]):
        if isinstance(run := runs.get(case.target), Run):
            runs[case.target] = msgspec.structs.replace(run, cases=[*run.cases, case])
    return runs


def _measured(device: OpenDevice, command: Sequence[str], progress: Progress, devices: int) -> Run:
    sizes = sizes_for(device)
    options = Options(
        mode="quick",
        sizes=sizes if devices == 1 else sizes[:1],
        memory=("pinned", "pageable"),
        directions=("h2d", "d2h"),
        both_memory=("pinned",),
        budget_seconds=_SECONDS if devices == 1 else max(_SECONDS_OF_ALL / devices, _LEAST_SECONDS),
    )
    experiments = choose_experiments(["bandwidth"], options)
    with tempfile.TemporaryDirectory() as folder:
        return read_run(measure(device, options, experiments, Path(folder) / "check.json", command, progress))


def sizes_for(device: OpenDevice) -> Sequence[int]:
    """Bytes of the copies, ascending."""
    return _SHARED_SIZES if device.description.shares_host_memory else SIZES


def _at_once(devices: Sequence[OpenDevice]) -> Sequence[Case]:
    """What each device copies while all do, each direction; nothing where there are not several that can."""
    if len(devices) < 2:
        return ()
    described = [device.description for device in devices]
    group = Group([each.spec for each in described])
    size = sizes_for(devices[0])[0]
    options = Options(mode="quick", directions=("h2d", "d2h"), sizes=[size])
    needed = 4 * len(devices) * size
    cases: list[Case] = []
    for batch in planned(LinkSweep(devices[0], options, needed, described, [group])).batches:
        prepared = batch.prepare()
        now = time.monotonic()
        clock = Clock(now + _AT_ONCE_SECONDS, now + hard_limit(_AT_ONCE_SECONDS))
        run_rounds(prepared.subjects, Rules(), clock, cases.extend, random.Random(0))
    return cases
