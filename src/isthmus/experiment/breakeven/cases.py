"""When a way to move data pays: whole trips from getting a buffer to giving it back, for every way and number of uses.

Two cases: data goes there and comes back, or it goes there and a reduction's result comes back. Each from data that
arrives by memcpy, and from a producer that writes in place.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.bandwidth import cases as bandwidth
from isthmus.experiment.engine.arena import PAGE_BYTES
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import TransferPoint, most_managed_bytes, over_budget, over_half
from isthmus.experiment.engine.options import Effort, ModeName, Options, powers_of_two
from isthmus.experiment.engine.rounds import Quota, Subject
from isthmus.experiment.engine.sampling import Collected, Companion, reason_of, skipped_case
from isthmus.machine.devices import OpenDevice
from isthmus.record import KIB, MIB, Case

NAME = "breakeven"
# The ways, each with the memory that the device must have for it.
_NEEDS = {
    "pageable": "pageable",
    "pinned": "pinned",
    "registered": "registered",
    "touched_registered": "touched_registered",
    "staging": "pinned",
    "managed": "managed",
    "managed_prefetch": "managed",
    "mapped": "mapped",
}
MEMORY_KINDS = tuple(_NEEDS)
_WORKS = ("round_trip", "reduction")
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([64 * KIB, MIB, 16 * MIB], 5.0, 0.2),
    "default": Effort([*powers_of_two(12, 24), 64 * MIB, 128 * MIB], 44.0, 2.0),
    "full": Effort(powers_of_two(12, 30), 300.0, 5.0),
}
_WORD_BYTES = 4
# Single copies of data that caches hold, as a program's are that has just written them: `bandwidth` avoids those, and
# the model needs them. Larger ones no cache holds.
_STEP_KINDS = ("pageable", "pinned", "registered", "mapped")
_MOST_STEP_BYTES = 64 * MIB


class _Point(NamedTuple):
    way: str
    work: str
    in_place: bool
    bytes: int


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Every way, case and size, measured interleaved from one source and to one buffer of the device."""
    points, skipped = [], []
    free_bytes = device.native.free_bytes()
    # Without pageable memory there would be nothing to compare with.
    for way in dict.fromkeys(["pageable", *options.chosen(MEMORY_KINDS, options.memory)]):
        reason = _why_not(way, device)
        for work in _WORKS:
            for in_place in (False, True):
                for size in options.effort(EFFORTS).sizes:
                    point = _Point(way, work, in_place, size)
                    why = reason or _why_not_of_size(point, device, free_bytes, memory_bytes)
                    if why is None:
                        points.append(point)
                    else:
                        skipped.append(_skipped(point, why))
    if not points:
        return Planned([], skipped)
    steps = _steps(points, device, memory_bytes)
    return Planned([Batch(len(points) + len(steps), 1.0, partial(_prepare, device, points, steps, options))], skipped)


def _steps(points: Sequence[_Point], device: OpenDevice, memory_bytes: int) -> list[TransferPoint]:
    """Those in which the CPU takes part, which alone its caches help."""
    shared = device.description.shares_host_memory
    helped = [
        kind for kind in _STEP_KINDS if (shared or device.native.copy_blocks(kind)) and not _why_not(kind, device)
    ]
    # Buffers of each kind and of the device, for each direction.
    most = min(_MOST_STEP_BYTES, memory_bytes // (4 * (len(helped) + 1)))
    sizes = sorted({point.bytes for point in points if point.bytes <= most})
    return [
        TransferPoint(kind, way, size, method)
        for kind in helped
        for way in ("h2d", "d2h")
        for size in sizes
        for method in (("", "isthmus") if kind == "pageable" else ("",))
    ]


def _why_not(way: str, device: OpenDevice) -> str | None:
    reason = device.native.why_not(_NEEDS[way])
    if reason is None and way == "managed_prefetch":
        reason = device.native.why_no_prefetch()
    return reason


def _why_not_of_size(point: _Point, device: OpenDevice, free_bytes: int, memory_bytes: int) -> str | None:
    if point.bytes % _WORD_BYTES:
        return f"no multiple of {_WORD_BYTES} bytes, the size of the words that the kernels add"
    limit = most_managed_bytes(free_bytes, point.bytes)
    if _NEEDS[point.way] == "managed" and point.bytes > limit:
        return over_half(limit)
    # The source, the buffer, and where device memory is host memory the device's.
    copies = 3 if device.description.shares_host_memory else 2
    return over_budget(memory_bytes) if copies * point.bytes > memory_bytes else None


def _template(point: _Point) -> Case:
    method = point.work + ("_in_place" if point.in_place else "")
    return Case(experiment=NAME, method=method, host_memory=point.way, bytes=point.bytes, uses=1)


def _skipped(point: _Point, reason: str) -> Case:
    return skipped_case(msgspec.structs.replace(_template(point), uses=None), reason)


def _prepare(
    device: OpenDevice, points: Sequence[_Point], steps: Sequence[TransferPoint], options: Options
) -> Prepared:
    largest = max(point.bytes for point in points)
    try:
        # A page more, so that two different contents can start in it.
        source = device.native.allocate("pageable", largest + PAGE_BYTES)
        source.fill_pattern(0, source.bytes, options.seed)
        on_device = device.native.allocate("device", largest)
    except IsthmusError as error:
        return Prepared([], [[_skipped(point, reason_of(error))] for point in points])
    trips: list[Subject] = [_TripSubject(point, source, on_device) for point in points]
    copies = bandwidth.prepare(steps, device, options._replace(alignment_bytes=None), cached_for=NAME)
    return Prepared([*trips, *copies.subjects], copies.ended)


class _TripSubject:
    """A trip that can be made again and again."""

    def __init__(self, point: _Point, source: _native.Buffer, device: _native.Buffer) -> None:
        self.template = _template(point)
        self._point = point
        self._buffers = source, device
        self._trip: _native.Trip | None = None

    def visit(self, quota: Quota, collected: Collected) -> None:
        way, work, in_place, size = self._point
        if self._trip is None:
            self._trip = _native.create_trip(way, work, in_place, size, *self._buffers)
        collected.begin()
        samples = self._trip.run(*quota)
        for uses, seconds in samples["totals"].items():
            if uses == self.template.uses:
                collected.samples.setdefault("host_seconds", []).extend(seconds)
            else:
                collected.add_companion(Companion(self._case(uses=uses), "host_seconds", seconds))
        further = self._case(method=f"further_{self.template.method}", uses=None)
        collected.add_companion(Companion(further, "host_seconds", samples["further"]))
        collected.verified = True
        if self._trip.wrong_words and not collected.wrong:
            what = "32-bit words did not come back as computed" if work == "round_trip" else "sums are wrong"
            collected.wrong = f"wrong data: {self._trip.wrong_words} {what}"

    def _case(self, **changes: object) -> Case:
        return msgspec.structs.replace(self.template, **changes)
