"""The few copies that tell whether devices' links are all right: pinned and pageable memory, large, in each direction,
and pinned memory in both at once.

Several devices are opened and prepared at the same time, measured one after the other, and then all at once.
"""

import random
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec

from isthmus.cache import cache_folder
from isthmus.errors import DeviceAbsent, IsthmusError
from isthmus.experiment.engine.links import Group, LinkSweep
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.progress import Progress
from isthmus.experiment.engine.rounds import Clock, hard_limit, run_rounds
from isthmus.experiment.engine.sampling import Rules
from isthmus.experiment.engine.sweep import planned
from isthmus.experiment.measure import choose_experiments, measure
from isthmus.files import in_turn
from isthmus.machine.devices import OpenDevice, choose_device, open_device
from isthmus.machine.host import available_memory_bytes, read_host
from isthmus.record import GIB, MIB, Case, Device, Run, read_run

SECONDS = 2.5
SIZES = (64 * MIB, 256 * MIB)
_SHARED_SIZES = (4 * MIB, 16 * MIB)
# Several devices share so many seconds, which none has less than a part of, and copy at once for some more.
_SECONDS_OF_ALL, _LEAST_SECONDS, _AT_ONCE_SECONDS = 2.0, 0.25, 0.5
# Memory of the host for each that is prepared; where there is less, they are prepared one after the other.
_DEVICE_BYTES = 2 * GIB
# A device that has not been prepared by then is left to itself.
_MOST_PREPARING_SECONDS = 20.0

Measured: TypeAlias = "tuple[OpenDevice, Run]"


def measure_link(
    device: OpenDevice,
    command: Sequence[str],
    progress: Progress,
    path: Path | None = None,
    seconds: float = SECONDS,
    ready: Callable[[], object] = lambda: None,
    sizes: int = 2,
) -> Run:
    """Measure for some seconds, verified; the run is kept in `path`, if one is given.

    `ready` is called as `measure` says; `sizes` is how many there are, the smaller first. Raises what `measure` does.
    """
    options = Options(
        mode="quick",
        sizes=sizes_for(device)[:sizes],
        memory=("pinned", "pageable"),
        directions=("h2d", "d2h"),
        both_memory=("pinned",),
        budget_seconds=seconds,
    )
    with tempfile.TemporaryDirectory() as folder:
        kept = path or Path(folder) / "check.json"
        measure(device, options, choose_experiments(["bandwidth"], options), kept, command, progress, ready)
        return read_run(kept)


def linked_device(spec: str | None) -> Device:
    """The device that `choose_device` gives; without a name it must have a link. Raises what `choose_device` does."""
    device = choose_device(spec)
    if spec is None and device.shares_host_memory:
        raise DeviceAbsent(
            "no accelerator found, so that there is no link to check; see why: isthmus devices; --device host looks at "
            "this machine's memory"
        )
    return device


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


def sizes_for(device: OpenDevice) -> Sequence[int]:
    """Bytes of the copies, ascending."""
    return _SHARED_SIZES if device.description.shares_host_memory else SIZES


def measure_links(specs: Sequence[str], command: Sequence[str], progress: Progress) -> Mapping[str, Run | IsthmusError]:
    """Measure each device by itself, and what all of them copy at once; an error of one ends no other.

    The runs have the cases of `peers` for what each copied with all others at work, in pinned memory.
    """
    seconds = max(_SECONDS_OF_ALL / len(specs), _LEAST_SECONDS)
    schedule = _OneByOne(len(specs))
    is_scarce = available_memory_bytes(read_host()) < len(specs) * _DEVICE_BYTES

    def measured(spec: str) -> Measured:
        with schedule.join() as ready:
            if is_scarce:
                ready()
            opened = open_device(spec, bind=True)
            return opened, measure_link(opened, command, progress, None, seconds, ready, sizes=1)

    with ThreadPoolExecutor(len(specs)) as pool:
        begun = {spec: pool.submit(measured, spec) for spec in specs}
        try:
            wait(begun.values())
        except KeyboardInterrupt:
            schedule.stop()
            raise
    results: dict[str, Measured | IsthmusError] = {}
    for spec, future in begun.items():
        try:
            results[spec] = future.result()
        except IsthmusError as error:
            results[spec] = error
    right = [each for each in results.values() if not isinstance(each, IsthmusError)]
    cases = _at_once([device for device, _ in right])
    return {
        spec: each if isinstance(each, IsthmusError) else _with_cases(each, cases) for spec, each in results.items()
    }


def _with_cases(measured: Measured, cases: Sequence[Case]) -> Run:
    """The run of a device with the cases that are about it."""
    device, run = measured
    mine = [case for case in cases if case.target == device.description.spec]
    return msgspec.structs.replace(run, cases=[*run.cases, *mine])


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


class _OneByOne:
    """Devices that are prepared at the same time and measured one after the other, so that none disturbs another."""

    def __init__(self, devices: int) -> None:
        self._preparing, self._is_free, self._is_stopped = devices, True, False
        self._changed = threading.Condition()

    @contextmanager
    def join(self) -> Iterator[Callable[[], None]]:
        """For one device: gives what waits until no other is measured, when it is called first."""
        has_prepared = is_measured = False

        def prepared() -> None:
            nonlocal has_prepared
            if not has_prepared:
                has_prepared = True
                self._preparing -= 1
                self._changed.notify_all()

        def wait_until_alone() -> None:
            nonlocal is_measured
            if is_measured:
                return
            with self._changed:
                prepared()
                self._changed.wait_for(lambda: self._is_stopped or not self._preparing, _MOST_PREPARING_SECONDS)
                self._changed.wait_for(lambda: self._is_stopped or self._is_free)
                if self._is_stopped:
                    raise KeyboardInterrupt
                self._is_free, is_measured = False, True

        try:
            yield wait_until_alone
        finally:
            with self._changed:
                prepared()
                self._is_free = self._is_free or is_measured
                self._changed.notify_all()

    def stop(self) -> None:
        """Measure no further device: what waits is interrupted."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
