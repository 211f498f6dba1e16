"""Explicit against automatic data movement: one array, of which the device touches a part, by ten methods.

Source of the patterns and phases: IPSJ SIG Technical Report 2020-HPC-177 No. 13, sections 4.2, 5.1 and 5.2.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.batch import Batch, Planned
from isthmus.experiment.engine.blocks import most_managed_bytes, over_budget, over_half
from isthmus.experiment.engine.buffers import PAGE_BYTES
from isthmus.experiment.engine.doubles import doubles, initial_sum, initialise, subtract
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import reason_of, skipped_case
from isthmus.experiment.engine.sweep import Bench, Samples, Start, Sweep, Timed, planned
from isthmus.experiment.managed import granularity
from isthmus.experiment.managed.points import DOUBLE_BYTES, METHODS, SWEEPS, cases_of, chosen_sweep, step_bytes, touched
from isthmus.machine.devices import OpenDevice
from isthmus.record import GIB, MIB, Case, format_bytes

# What the device adds to each double that it touches.
_ADDED = 1.0
_MOST_THREADS = 8
# Caches hold no part worth mentioning of arrays this large: what is not written anew before a sample takes as long to
# move, so that the elements which the device has changed are changed back, in place of filling the whole array.
_CHANGED_BACK_BYTES = 4 * GIB
_ADVICE = {"read_mostly": "read_mostly", "prefer_device": "prefer_device", "accessed_by": "accessed_by_device"}
NAME = "managed"
MEMORY_KINDS = tuple(dict.fromkeys(memory for memories in METHODS.values() for memory in memories))
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([64 * MIB], 5.0, 0.05),
    "default": Effort([GIB], 60.0, 0.2),
    "full": Effort([8 * GIB], 900.0, 1.0),
}
# Where device memory is host memory, the processor does what the device does, and slowly.
_SHARED_SIZES: Mapping[ModeName, Sequence[int]] = {"quick": [16 * MIB], "default": [64 * MIB], "full": [256 * MIB]}


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """All methods and patterns of one size interleaved, size after size; then how pages migrate."""
    arrays = planned(ManagedSweep(device, options, memory_bytes))
    if "managed" not in options.chosen(MEMORY_KINDS, options.memory) or device.native.why_not("managed"):
        return arrays
    if why := device.native.why_no_migration():
        # What is measured then tells nothing about migration, so the record says so once.
        migration = Case(experiment=NAME, method="migration", host_memory="managed", bytes=0)
        return Planned(arrays.batches, [*arrays.skipped, skipped_case(migration, why)])
    pages = granularity.plan(device, options, memory_bytes)
    batches = _leaving(arrays.batches, sum(batch.weight for batch in pages.batches), options)
    return Planned([*batches, *pages.batches], [*arrays.skipped, *pages.skipped])


def _leaving(batches: Sequence[Batch], others_seconds: float, options: Options) -> list[Batch]:
    """The batches with weights that leave others their seconds of the time, of which arrays could take any amount."""
    budget, weights = options.effort(EFFORTS).budget_seconds, sum(batch.weight for batch in batches)
    scale = min(1.0, max(budget - others_seconds, budget / 2) / weights) if weights else 1.0
    return [batch._replace(weight=scale * batch.weight) for batch in batches]


class ManagedSweep(Sweep):
    """Arrays of each size by every method."""

    by_bytes = True

    def __init__(self, device: OpenDevice, options: Options, memory_bytes: int) -> None:
        super().__init__(device, options, memory_bytes)
        self._kinds = options.chosen(MEMORY_KINDS, options.memory)
        # One array of each kind and one for advice; where it is the same memory, the device's own too.
        advised = "managed" in self._kinds and self.native.why_no_advice() is None
        self._copies = max(len(self._kinds) + advised, 2) + self.shares_host_memory

    def cases(self) -> Iterator[Case]:
        """Size after size."""
        options = self.options
        chosen = options.percents or options.strides
        sweep = chosen_sweep(options.percents, options.strides) if chosen else SWEEPS[options.mode]
        for size in self.sizes(EFFORTS, _SHARED_SIZES[options.mode]):
            yield from cases_of(size, sweep, self._kinds)

    def why_not(self, case: Case) -> str | None:
        """By what the device lacks, and by size."""
        return why_no_method(self.native, case) or self._why_not_of_size(case)

    def _why_not_of_size(self, case: Case) -> str | None:
        size, limit = case.bytes, most_managed_bytes(self.native.free_bytes())
        if size % DOUBLE_BYTES:
            return f"{size} bytes are not a whole number of {DOUBLE_BYTES}-byte doubles"
        if size > limit:
            return f"an array of {format_bytes(size)} {over_half(limit)}"
        if self._copies * size > self.memory_bytes:
            return over_budget(self.memory_bytes)
        if touched(case) < 2:
            percent = f"{round(100 * (case.fraction or 0))} %"
            pattern = percent if case.stride_bytes is None else f"a stride of {format_bytes(step_bytes(case))}"
            return f"{pattern} leaves the device fewer than two doubles of {format_bytes(size)}"
        return None

    def shares(self, case: Case) -> int:
        """A batch for each size."""
        return case.bytes

    def prepare(self, cases: Sequence[Case]) -> Bench:
        """Allocate an array in memory of each kind, and the device's own."""
        buffers = allocate(self.device, cases[0].bytes, dict.fromkeys(case.host_memory for case in cases))

        def start(case: Case) -> Start | str:
            why = why_no_method(self.native, case) or buffers.refused.get(case.host_memory)
            return why or partial(MovedArray, case, buffers)

        return Bench(start, buffers.host_buffers)


SWEEP = ManagedSweep


def why_no_method(native: _native.Device, case: Case) -> str | None:
    """Why this device cannot move any array by the case's method."""
    if why := native.why_no_doubles() or native.why_not(case.host_memory):
        return why
    match case.method:
        case "prefetch_whole" | "prefetch_touched":
            return native.why_no_prefetch()
        case "read_mostly" | "prefer_device" | "accessed_by":
            return native.why_no_advice()
        case "mapped" | "system":
            return native.why_no_reach(case.host_memory)
    return None


class Buffers(NamedTuple):
    """The array in each kind of memory, and the device's own; `refused` has the reasons of kinds that cannot be had.

    `warm` has the kinds that were used once: drivers make ready at the first use what they keep. `changed` has for
    kinds whose array is known how many elements of it differ from what it is filled with, and the bytes between them.
    """

    native: _native.Device
    arrays: Mapping[str, _native.Buffer]
    on_device: _native.Buffer
    refused: Mapping[str, str]
    stream: _native.Stream
    pool: ThreadPoolExecutor
    threads: int
    warm: set[str]
    changed: dict[str, tuple[int, int]]

    def host_buffers(self) -> list[_native.Buffer]:
        """Without managed memory, whose pages have no place of their own."""
        return [buffer for kind, buffer in self.arrays.items() if kind != "managed"]


def allocate(device: OpenDevice, size: int, kinds: Iterable[str]) -> Buffers:
    """An array in memory of each kind.

    Raises the errors of `isthmus.errors` where the device's own cannot be had.
    """
    native = device.native
    on_device = native.allocate("device", size)
    arrays: dict[str, _native.Buffer] = {}
    refused: dict[str, str] = {}
    for kind in kinds:
        try:
            arrays[kind] = native.allocate(kind, size)
        except IsthmusError as error:
            refused[kind] = reason_of(error)
    threads = min(_MOST_THREADS, _native.allowed_processors())
    return Buffers(
        native, arrays, on_device, refused, _native.Stream(native), ThreadPoolExecutor(threads), threads, set(), {}
    )


class MovedArray(Timed):
    """One method to move the array and one pattern of what the device touches of it; made anew for every visit."""

    checks = "always"

    def __init__(self, case: Case, buffers: Buffers) -> None:
        """Raises the errors of `isthmus.errors`."""
        self._case, self._buffers = case, buffers
        self._touched, self._step = touched(case), step_bytes(case)
        self._expected = initial_sum(case.bytes // DOUBLE_BYTES) + self._touched * _ADDED
        self._wrong = ""
        # Advice works on an array of its own: drivers keep mappings that advice has made, and pages then move as they
        # never would.
        self._advised = case.method in _ADVICE
        memory = case.host_memory
        self._array = buffers.native.allocate(memory, case.bytes) if self._advised else buffers.arrays[memory]

    def warm_up(self, times: int) -> None:
        """At least once where nothing has used the array before."""
        memory, warm = self._case.host_memory, self._buffers.warm
        for _ in range(max(times, int(self._advised or memory not in warm))):
            self._sample(self._array)
        if not self._advised:
            warm.add(memory)

    def run(self, quota: Quota) -> Samples:
        """Seconds of both phases and their sums, until the array adds up to something else than it should."""
        phases: list[tuple[float, float]] = []
        # All else is compared with copies of the whole array.
        several = self._advised or self._case.method == "explicit_whole"
        least = quota.least_of_own if several else quota.least
        begin = time.monotonic()
        while len(phases) < quota.most and not self._wrong:
            if len(phases) >= least and time.monotonic() - begin >= quota.seconds:
                break
            into, out, total = self._sample(self._array)
            phases.append((into, out))
            if total != self._expected:
                self._wrong = f"wrong data: the array adds up to {total:.0f} in place of {self._expected:.0f}"
        into_seconds, out_seconds = [into for into, _ in phases], [out for _, out in phases]
        return {
            "host_seconds": [into + out for into, out in phases],
            "in_seconds": into_seconds,
            "out_seconds": out_seconds,
        }

    def verify(self) -> str:
        """What the sums say, one of which was taken of every sample."""
        return self._wrong

    def _sample(self, array: _native.Buffer) -> tuple[float, float, float]:
        """Seconds of copy in and computing, of copy out and adding up, and the sum.

        The array is all on the host when the clock starts. Giving advice counts, as a program must give it too; it is
        taken back afterwards, so that the next sample starts as this one did.
        """
        stream, advice = self._buffers.stream, _ADVICE.get(self._case.method)
        array.begin_host_access()
        self._fill(array)
        begin = time.perf_counter()
        array.end_host_access()
        if advice:
            array.advise(advice)
        try:
            match self._case.method:
                case "explicit_whole":
                    self._buffers.stream.copy(self._buffers.on_device, 0, array, 0, self._case.bytes)
                case "explicit_touched":
                    self._copy_touched(self._buffers.on_device, array)
                case "prefetch_whole":
                    self._buffers.stream.prefetch(array, 0, self._case.bytes, "device")
                case "prefetch_touched":
                    self._prefetch_touched(array, "device")
            worked_on = self._buffers.on_device if self._case.method.startswith("explicit") else array
            stream.add_doubles(worked_on, 0, self._touched, self._step, _ADDED)
            stream.synchronize()
            middle = time.perf_counter()
            match self._case.method:
                case "explicit_whole":
                    self._buffers.stream.copy(array, 0, self._buffers.on_device, 0, self._case.bytes)
                case "explicit_touched":
                    self._copy_touched(array, self._buffers.on_device)
                case "prefetch_whole":
                    self._buffers.stream.prefetch(array, 0, self._case.bytes, "host")
                case "prefetch_touched":
                    self._prefetch_touched(array, "host")
            stream.synchronize()
            array.begin_host_access()
            total = float(np.sum(doubles(array)))
            end = time.perf_counter()
            array.end_host_access()
        finally:
            if advice:
                array.advise(advice, False)
        if total == self._expected and not self._advised:
            self._buffers.changed[self._case.host_memory] = self._touched, self._step
        return middle - begin, end - middle, total

    def _fill(self, array: _native.Buffer) -> None:
        """Every element as it is before a sample; all of them anew where the last sample did not add up."""
        pool, threads, values = self._buffers.pool, self._buffers.threads, doubles(array)
        # What fails from here on leaves an array of which nothing is known.
        changed = None if self._advised else self._buffers.changed.pop(self._case.host_memory, None)
        if changed is None or self._case.bytes < _CHANGED_BACK_BYTES:
            initialise(values, pool, threads)
        else:
            count, step = changed
            subtract(values[:: step // DOUBLE_BYTES][:count], _ADDED, pool, threads)

    def _copy_touched(self, to: _native.Buffer, from_: _native.Buffer) -> None:
        """The leading part as it is; single doubles as a column of a 2-D array whose rows are a stride long."""
        count, step = self._touched, self._step
        if step == DOUBLE_BYTES:
            self._buffers.stream.copy(to, 0, from_, 0, count * DOUBLE_BYTES)
        else:
            self._buffers.stream.copy_section(to, 0, step, from_, 0, step, DOUBLE_BYTES, count)

    def _prefetch_touched(self, array: _native.Buffer, side: str) -> None:
        """The leading part at once; of single doubles the page of each, as far as the array goes."""
        count, step = self._touched, self._step
        if step == DOUBLE_BYTES:
            self._buffers.stream.prefetch(array, 0, count * DOUBLE_BYTES, side)
        else:
            page = min(PAGE_BYTES, self._case.bytes - (count - 1) * step)
            self._buffers.stream.prefetch(array, 0, page, side, count, step)
