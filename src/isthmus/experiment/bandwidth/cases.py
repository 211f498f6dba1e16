"""Rates and latencies of every kind of host memory, each way and both ways at once, from 1 B to 1 GiB.

It answers what bandwidthTest answered, and why pageable memory falls behind (seeds of the field: bandwidthTest in the
CUDA samples until 12.8; M. Harris, "How to Optimize Data Transfers in CUDA C/C++", 2012).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from isthmus import _native
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import TransferPoint, most_managed_bytes, over_budget, split_by_memory
from isthmus.experiment.engine.buffers import TransferBuffers, TransferLane, wrong_data
from isthmus.experiment.engine.options import Effort, ModeName, Options, powers_of_two
from isthmus.experiment.engine.rounds import Quota, Subject
from isthmus.experiment.engine.sampling import Collected, Companion, least_seconds, skipped_case
from isthmus.machine.devices import OpenDevice
from isthmus.record import GIB, KIB, MIB, Case, CommandMetric, format_bytes
from isthmus.record import MEMORY_KINDS as KINDS

NAME = "bandwidth"
# Kinds whose copies differ from one another; the device's own do not cross the link.
MEMORY_KINDS = tuple(
    kind.name for kind in KINDS.values() if kind.allocated and not kind.on_device and not kind.copied_as
)
DIRECTIONS = ("h2d", "d2h", "both")
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([1, 4 * KIB, 64 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB], 2.5, 0.2),
    # Between the last of them rates change little, and take most of a run's time to see.
    "default": Effort([*powers_of_two(0, 26), 256 * MIB, GIB], 17.0, 2.0),
    "full": Effort(powers_of_two(0, 32), 300.0, 5.0),
}
_METRICS: tuple[CommandMetric, ...] = ("host_seconds", "device_seconds", "enqueue_seconds")
_ALWAYS_CHECKED_BYTES = 16 * MIB
# How the native core orders the directions' own times when both run at once.
_LANES = ("h2d", "d2h")
_METHODS = {"mapped": "kernel", "managed": "prefetch"}
# Pageable memory is moved by the driver and by the library, and untouched where it is copied to.
_WAYS: Mapping[str, Sequence[tuple[str, str]]] = {
    "pageable": [(memory, method) for memory in ("pageable", "untouched") for method in ("", "isthmus")]
}
# malloc gives fresh pages from 128 KiB on (mallopt(3)); above, zeroing them would take most of a run's time.
_UNTOUCHED_BYTES = range(128 * KIB, 256 * MIB + 1)


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Every combination of the chosen kinds, directions and sizes, in groups whose buffers fit into `memory_bytes`."""
    points = all_points(options)
    possible = []
    skipped = []
    other_bytes = 2 * max((point.bytes for point in points if point.memory != "managed"), default=0)
    for point in points:
        reason = why_not(point, device, other_bytes)
        if reason is None:
            possible.append(point)
        else:
            skipped.append(_skipped(point, options, reason))
    blocks = split_by_memory(possible, memory_bytes, device.description.shares_host_memory)
    skipped += [_skipped(point, options, over_budget(memory_bytes)) for point in blocks.too_large]
    batches = [
        Batch(len(group), sum(least_seconds(point.bytes) for point in group), partial(prepare, group, device, options))
        for group in blocks.groups
    ]
    return Planned(batches, skipped)


def all_points(options: Options) -> list[TransferPoint]:
    """Every combination of the chosen kinds, directions and sizes; nothing but a destination can be untouched."""
    return [
        TransferPoint(memory, direction, size, method)  # type: ignore[arg-type]
        for kind in options.chosen(MEMORY_KINDS, options.memory)
        for direction in options.chosen(DIRECTIONS, options.directions)
        for size in options.effort(EFFORTS).sizes
        for memory, method in _WAYS.get(kind, [(kind, "")])
        if memory != "untouched" or (direction == "d2h" and size in _UNTOUCHED_BYTES)
    ]


def _skipped(point: TransferPoint, options: Options, reason: str) -> Case:
    return skipped_case(template(point, options), reason)


def template(point: TransferPoint, options: Options) -> Case:
    """The case of a point, without results."""
    return Case(
        experiment=NAME,
        method=point.method or _METHODS.get(point.memory, "copy"),
        direction=point.direction,
        host_memory=point.memory,
        bytes=point.bytes,
        alignment_bytes=options.alignment_bytes,
    )


def why_not(point: TransferPoint, device: OpenDevice, other_bytes: int = 0) -> str | None:
    """Why the device cannot measure this point, whatever the host's memory; None when it can.

    `other_bytes` of device memory will be taken by other kinds at the same time.
    """
    reason = device.native.why_not("pageable" if point.memory == "untouched" else point.memory)
    if reason is None and point.memory == "managed":
        reason = device.native.why_no_prefetch()
        # There is a buffer for each way, whether both are in use or not.
        limit = most_managed_bytes(device.native.free_bytes(), other_bytes)
        needed = 2 * point.bytes
        if reason is None and needed > limit:
            reason = (
                f"{format_bytes(needed)} of managed memory exceed half of the free device memory "
                f"({format_bytes(limit >> 20 << 20)})"
            )
    return reason


def prepare(points: Sequence[TransferPoint], device: OpenDevice, options: Options, *, cached_for: str = "") -> Prepared:
    """Allocate and fill what the points need. The memory lives as long as the subjects.

    `cached_for` is another experiment that needs the same transfers of data which the CPU's caches may hold.

    Raises CallFailed when the device fails at more than the lack of memory.
    """
    offset = options.alignment_bytes or 0
    buffers = TransferBuffers(points, device.native, offset, options.seed)
    subjects: list[Subject] = []
    ended: list[list[Case]] = []
    for point in points:
        reason = buffers.why_not(point)
        case = template(point, options)
        if cached_for:
            case = msgspec.structs.replace(case, experiment=cached_for)
        if reason is None:
            subjects.append(TransferSubject(case, buffers.lanes(point), offset, options.seed, bool(cached_for)))
        else:
            ended.append([skipped_case(case, reason)])
    return Prepared(subjects, ended, buffers.placement())


class TransferSubject:
    """A transfer that can be visited again and again."""

    def __init__(self, template: Case, lanes: list[TransferLane], offset: int, seed: int, from_caches: bool) -> None:
        self.template = template
        self._ways = [way for way, _, _ in lanes]
        self._make: Callable[[], _native.TimedTransfer] = lambda: _native.create_transfer(
            template.method, lanes, offset, template.bytes, seed, from_caches, template.host_memory == "untouched"
        )
        self._transfer: _native.TimedTransfer | None = None

    def visit(self, quota: Quota, collected: Collected) -> None:
        """Take samples; the first visit, and each of small sizes, checks every byte that arrived."""
        if self._transfer is None:
            self._transfer = self._make()
        # Checking takes as long as transferring, so that of large ones the first visit's must do.
        checked = not collected.count or self.template.bytes <= _ALWAYS_CHECKED_BYTES
        if checked:
            self._transfer.poison()
        collected.begin()
        samples = self._transfer.run(*quota)
        mismatches = self._transfer.verify() if checked else []
        for metric in _METRICS:
            collected.samples.setdefault(metric, []).extend(samples[metric])
        for way, values in zip(_LANES, samples["lanes"], strict=False):
            lane = msgspec.structs.replace(self.template, method="duplex", direction=way)
            collected.add_companion(Companion(lane, "device_seconds", values))
        collected.verified = True
        for way, (words, first) in zip(self._ways, mismatches, strict=False):
            if words and not collected.wrong:
                collected.wrong = wrong_data(way, words, first, self.template.bytes)
