"""What memory costs: time to get it, to use it for the first time and to give it back, in every way there is.

Source of the question: the allocation figures 1 to 4 that the field's literature on pinned memory keeps citing
(cudaMallocHost and cudaMalloc against malloc by size).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from isthmus import _native
from isthmus.errors import CallFailed
from isthmus.experiment.allocation.first_calls import FIRST_BYTES, measure_first_calls
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import most_managed_bytes, over_budget, over_half
from isthmus.experiment.engine.options import Effort, ModeName, Options, powers_of_two
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected, reason_of, skipped_case
from isthmus.machine.devices import OpenDevice
from isthmus.record import KIB, MIB, Case, Series
from isthmus.record import MEMORY_KINDS as KINDS

NAME = "allocation"
MEMORY_KINDS = tuple(kind.name for kind in KINDS.values() if kind.allocated)
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([4 * KIB, MIB, 16 * MIB, 64 * MIB], 4.0, 0.2),
    "default": Effort(powers_of_two(8, 30, 2), 26.0, 2.0),
    "full": Effort(powers_of_two(8, 33), 300.0, 5.0),
}
_PHASES = ("touch", "free")


# Small blocks of these are carved out of larger ones, which go with the last block in them.
_CARVED = ("pinned", "write_combined", "managed", "device")
_BESIDE_BYTES = 4 * MIB
# The same call as for pinned memory, with another flag: half a second for each gibibyte that says nothing new.
_VARIANTS = ("pinned_portable", "mapped")
_MOST_VARIANT_BYTES = 256 * MIB


class _Point(NamedTuple):
    kind: str
    bytes: int
    beside: bool = False


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Every chosen kind and size, and the first call of each kind in a new process."""
    kinds = options.chosen(MEMORY_KINDS, options.memory)
    points, skipped, possible = [], [], []
    for kind in kinds:
        reason = device.native.why_not(kind)
        if reason is None:
            possible.append(kind)
        for point in _points(kind, options.effort(EFFORTS).sizes):
            why = reason or _why_too_large(point, device, memory_bytes) or _why_not_by_default(point, options)
            if why is None:
                points.append(point)
            else:
                skipped.append(skipped_case(_template(point), why))
    batches = [Batch(1 + len(possible), 0.01, partial(_first_calls, device, possible))]
    if points:
        batches.append(Batch(len(points), 1.0, partial(_prepare, device.native, points)))
    return Planned(batches, skipped)


def _points(kind: str, sizes: Sequence[int]) -> list[_Point]:
    beside = [size for size in sizes if size <= _BESIDE_BYTES] if kind in _CARVED else []
    return [*(_Point(kind, size) for size in sizes), *(_Point(kind, size, beside=True) for size in beside)]


def _why_too_large(point: _Point, device: OpenDevice, memory_bytes: int) -> str | None:
    on_device = KINDS[point.kind].on_device
    if point.kind == "managed" and (limit := most_managed_bytes(device.native.free_bytes())) < point.bytes:
        return over_half(limit)
    if point.bytes > memory_bytes and (not on_device or device.description.shares_host_memory):
        return over_budget(memory_bytes)
    return None


def _why_not_by_default(point: _Point, options: Options) -> str | None:
    if options.mode == "full" or options.sizes or point.kind not in _VARIANTS or point.bytes <= _MOST_VARIANT_BYTES:
        return None
    return "the call for pinned memory with another flag; --full measures it at this size too"


def _template(point: _Point, phase: str = "allocate") -> Case:
    method = f"beside_{phase}" if point.beside else phase
    return Case(experiment=NAME, method=method, host_memory=point.kind, bytes=point.bytes)


def _prepare(device: _native.Device, points: Sequence[_Point]) -> Prepared:
    return Prepared([_AllocationSubject(device, point) for point in points])


class _AllocationSubject:
    """Memory of one kind and size that can be got and given back again and again."""

    def __init__(self, device: _native.Device, point: _Point) -> None:
        self.template = _template(point)
        self._device = device
        self._point = point
        self._case: _native.AllocationCase | None = None

    def visit(self, quota: Quota, collected: Collected) -> None:
        if self._case is None:
            self._case = _native.create_allocation(self._device, *self._point)
        collected.begin()
        samples = self._case.run(*quota)
        width, rows, pitch = self._case.shape
        if width:
            shape = {"width_bytes": width, "rows": rows, "pitch_bytes": pitch or None}
            collected.template = msgspec.structs.replace(self.template, **shape)
        collected.samples.setdefault("host_seconds", []).extend(samples["allocate"])
        for phase in _PHASES:
            method = collected.template.method.replace("allocate", phase)
            template = msgspec.structs.replace(collected.template, method=method)
            collected.add_companion(phase, template, "host_seconds", samples[phase])  # type: ignore[literal-required]


def _first_calls(device: OpenDevice, kinds: Sequence[str]) -> Prepared:
    opening = Case(experiment=NAME, method="open_device", host_memory="", bytes=0)
    try:
        seconds, calls = measure_first_calls(device, kinds)
    except CallFailed as error:
        return Prepared([], [[skipped_case(opening, reason_of(error))]])
    ended = [[_measured(opening, seconds)]]
    for kind, phases in calls.items():
        point = _Point(kind, FIRST_BYTES)
        if isinstance(phases, str):
            ended.append([skipped_case(_template(point, "first_allocate"), phases)])
        else:
            ended.append([_measured(_template(point, f"first_{phase}"), each) for phase, each in phases.items()])
    return Prepared([], ended)


def _measured(case: Case, seconds: float) -> Case:
    return msgspec.structs.replace(case, series=[Series(metric="host_seconds", samples=[seconds])])
