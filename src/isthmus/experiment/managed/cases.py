"""Explicit against automatic data movement: one array, of which the device touches a part, by ten ways.

Source of the patterns and phases: IPSJ SIG Technical Report 2020-HPC-177 No. 13, sections 4.2, 5.1 and 5.2.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from isthmus.errors import IsthmusError
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import most_managed_bytes, over_budget, over_half
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.rounds import Subject
from isthmus.experiment.engine.sampling import least_seconds, reason_of, skipped_case
from isthmus.experiment.managed import granularity
from isthmus.experiment.managed.points import DOUBLE_BYTES, SWEEPS, WAYS, ArrayPoint, points_of
from isthmus.experiment.managed.subjects import ArraySubject, allocate, template
from isthmus.machine.devices import OpenDevice
from isthmus.record import GIB, MIB, Case, format_bytes

NAME = "managed"
MEMORY_KINDS = tuple(dict.fromkeys(memory for memories in WAYS.values() for memory in memories))
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([64 * MIB], 5.0, 0.05),
    "default": Effort([GIB], 60.0, 0.2),
    "full": Effort([8 * GIB], 900.0, 1.0),
}
# Where device memory is host memory, the processor does what the device does, and slowly.
_SHARED_SIZES: Mapping[ModeName, Sequence[int]] = {"quick": [16 * MIB], "default": [64 * MIB], "full": [256 * MIB]}


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """All ways and patterns of one size interleaved, size after size."""
    batches: list[Batch] = []
    skipped: list[Case] = []
    chosen = options.chosen(MEMORY_KINDS, options.memory)
    free_bytes = device.native.free_bytes()
    sizes = _sizes(device, options)
    for size in sizes:
        points = list(points_of(size, SWEEPS[options.mode], chosen))
        refused = {
            point: why
            for point in points
            if (why := why_not(device, point) or _why_not_of_size(device, point, chosen, free_bytes, memory_bytes))
        }
        skipped += [skipped_case(template(point), why) for point, why in refused.items()]
        measured = [point for point in points if point not in refused]
        if measured:
            weight = least_seconds(size) * len(measured)
            batches.append(Batch(len(measured), weight, partial(_prepare, device, measured)))
    if "managed" in chosen and not device.native.why_not("managed"):
        if why := device.native.why_no_migration():
            # What is measured then tells nothing about migration, so the record says so once.
            skipped.append(skipped_case(Case(experiment=NAME, method="migration", host_memory="managed", bytes=0), why))
        else:
            grains = granularity.plan(device, options, memory_bytes)
            batches += grains.batches
            skipped += grains.skipped
    return Planned(batches, skipped)


def _sizes(device: OpenDevice, options: Options) -> Sequence[int]:
    if device.description.shares_host_memory and not options.sizes:
        return _SHARED_SIZES[options.mode]
    return options.effort(EFFORTS).sizes


def why_not(device: OpenDevice, point: ArrayPoint) -> str | None:
    """Why this device cannot move any array in this way."""
    native = device.native
    if why := native.why_no_doubles() or native.why_not(point.memory):
        return why
    match point.method:
        case "prefetch_whole" | "prefetch_touched":
            return native.why_no_prefetch()
        case "read_mostly" | "prefer_device" | "accessed_by":
            return native.why_no_advice()
        case "mapped" | "system":
            return native.why_no_reach(point.memory)
    return None


def _why_not_of_size(
    device: OpenDevice, point: ArrayPoint, kinds: Sequence[str], free_bytes: int, memory_bytes: int
) -> str | None:
    if point.bytes % DOUBLE_BYTES:
        return f"{point.bytes} bytes are not a whole number of {DOUBLE_BYTES}-byte doubles"
    if point.bytes > most_managed_bytes(free_bytes):
        return f"an array of {format_bytes(point.bytes)} {over_half(most_managed_bytes(free_bytes))}"
    # One array of each kind and one for advice; where it is the same memory, the device's own too.
    advised = "managed" in kinds and device.native.why_no_advice() is None
    copies = max(len(kinds) + advised, 2) + device.description.shares_host_memory
    if copies * point.bytes > memory_bytes:
        return over_budget(memory_bytes)
    if point.touched < 2:
        pattern = (
            f"{point.percent} %" if point.stride_bytes is None else f"a stride of {format_bytes(point.step_bytes)}"
        )
        return f"{pattern} leaves the device fewer than two doubles of {format_bytes(point.bytes)}"
    return None


def _prepare(device: OpenDevice, points: Sequence[ArrayPoint]) -> Prepared:
    try:
        buffers = allocate(device, points[0].bytes, dict.fromkeys(point.memory for point in points))
    except IsthmusError as error:
        return Prepared([], [[skipped_case(template(point), reason_of(error))] for point in points])
    subjects: list[Subject] = []
    ended: list[list[Case]] = []
    for point in points:
        if why := buffers.refused.get(point.memory):
            ended.append([skipped_case(template(point), why)])
        else:
            subjects.append(ArraySubject(point, buffers))
    return Prepared(subjects, ended, buffers.placement())
