"""What memory costs: time to get it, to use it for the first time and to give it back, for every kind.

Source of the question: the allocation figures 1 to 4 that the field's literature on pinned memory keeps citing
(cudaMallocHost and cudaMalloc against malloc by size).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial

import msgspec

from isthmus import _native
from isthmus.experiment.engine.blocks import most_managed_bytes, over_budget, over_half
from isthmus.experiment.engine.options import Effort, ModeName, powers_of_two
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Companion
from isthmus.experiment.engine.sweep import Bench, Samples, Sweep, Timed
from isthmus.record import KIB, MIB, Case
from isthmus.record import MEMORY_KINDS as KINDS

NAME = "allocation"
MEMORY_KINDS = tuple(kind.name for kind in KINDS.values() if kind.allocated)
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([4 * KIB, MIB, 16 * MIB, 64 * MIB], 4.0, 0.2),
    # With those that papers name: 512 KiB and 512 MiB.
    "default": Effort(sorted([*powers_of_two(8, 30, 2), 512 * KIB, 512 * MIB]), 30.0, 2.0),
    "full": Effort(powers_of_two(8, 33), 300.0, 5.0),
}

# The same call as for pinned memory, with another flag: half a second for each gibibyte that says nothing new.
_VARIANTS = ("pinned_portable", "mapped")
_MOST_VARIANT_BYTES = 256 * MIB


class _Sweep(Sweep):
    def cases(self) -> Iterator[Case]:
        for kind in self.options.chosen(MEMORY_KINDS, self.options.memory):
            for size in self.sizes(EFFORTS):
                yield Case(experiment=NAME, method="allocate", host_memory=kind, bytes=size)

    def why_not(self, case: Case) -> str | None:
        kind, size, options = case.host_memory, case.bytes, self.options
        if why := self.native.why_not(kind):
            return why
        if kind == "managed" and (limit := most_managed_bytes(self.native.free_bytes())) < size:
            return over_half(limit)
        if size > self.memory_bytes and (not KINDS[kind].on_device or self.shares_host_memory):
            return over_budget(self.memory_bytes)
        if options.mode == "full" or options.sizes or kind not in _VARIANTS or size <= _MOST_VARIANT_BYTES:
            return None
        return "the call for pinned memory with another flag; --full measures it at this size too"

    def weight(self, _cases: Sequence[Case]) -> float:
        return 1.0

    def prepare(self, _cases: Sequence[Case]) -> Bench:
        return Bench(lambda case: cache(partial(_Allocation, self.native, case)))


class _Allocation(Timed):
    """Memory of one kind and size that is got and given back again and again."""

    checks = "never"

    def __init__(self, device: _native.Device, case: Case) -> None:
        self._case = case
        self._made = _native.create_allocation(device, case.host_memory, case.bytes)
        self._phases: Mapping[str, Sequence[float]] = {}

    def run(self, quota: Quota) -> Samples:
        samples = self._made.run(*quota)
        self._phases = {"touch": samples["touch"], "free": samples["free"]}
        return {"host_seconds": samples["allocate"]}

    def described(self, case: Case) -> Case:
        width, rows, pitch = self._made.shape
        shape = {"width_bytes": width, "rows": rows, "pitch_bytes": pitch or None}
        return msgspec.structs.replace(case, **shape) if width else case

    def companions(self) -> Iterator[Companion]:
        for phase, seconds in self._phases.items():
            yield Companion(self.described(msgspec.structs.replace(self._case, method=phase)), "host_seconds", seconds)


plan = _Sweep.plan
