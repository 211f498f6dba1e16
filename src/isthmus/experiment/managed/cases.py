"""Explicit against automatic data movement: one array, of which the device touches a part, by ten methods.

Source of the patterns and phases: IPSJ SIG Technical Report 2020-HPC-177 No. 13, sections 4.2, 5.1 and 5.2.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from isthmus import _native
from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.blocks import most_managed_bytes, over_budget, over_half
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.sampling import skipped_case
from isthmus.experiment.engine.sweep import Bench, Start, Sweep, planned
from isthmus.experiment.managed import granularity
from isthmus.experiment.managed.arrays import MovedArray, allocate
from isthmus.experiment.managed.points import DOUBLE_BYTES, METHODS, SWEEPS, cases_of, chosen_sweep, step_bytes, touched
from isthmus.machine.devices import OpenDevice
from isthmus.record import GIB, MIB, Case, format_bytes

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
    return Planned([*arrays.batches, *pages.batches], [*arrays.skipped, *pages.skipped])


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
