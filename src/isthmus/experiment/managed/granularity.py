"""How pages of managed memory move, by timing alone: what a touch takes says whether its page had come along before.

Three kinds of probes, each by touches of the device and by touches of the CPU, and one of them by prefetching:

- ``neighbour``: one page of each block comes over; then the pages at a distance from those are touched. Up to the unit
  that moved they are there.
- ``grown``: of a part of each block, the first nine sixteenths are touched one by one; then the last page of the part.
  It is there if the driver completes parts of which clearly more than half is in use.
- ``stride``: pages at a stride are touched one by one; from the unit on each waits for its own migration.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from isthmus.cupti import cupti_libraries
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.buffers import PAGE_BYTES
from isthmus.experiment.engine.options import ModeName, Options, powers_of_two
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import reason_of, skipped_case
from isthmus.experiment.engine.sweep import Samples, Timed, TimedSubject
from isthmus.experiment.managed.migration_counts import (
    ARRAY_BYTES,
    BLOCK_BYTES,
    BLOCKS,
    MigrationArray,
    Pass,
    count,
    passes,
)
from isthmus.machine.devices import OpenDevice
from isthmus.record import Case, Direction, format_bytes

_MOST_TOUCHES = 1024
# 0 is the page itself: what a touch takes of a page that is there.
_DISTANCES = (0, *powers_of_two(12, 21))
# The last page of the smallest part is not among those that are touched before.
_PARTS = powers_of_two(14, 22)
_STRIDES = powers_of_two(12, 22)


class Probe(NamedTuple):
    """One point; `span` is the distance, the part or the stride in bytes."""

    kind: str
    mover: str  # who brings the first pages: device, host or prefetch
    direction: Direction
    span: int

    @property
    def touches(self) -> int:
        """How many touches are timed."""
        return min(_MOST_TOUCHES, ARRAY_BYTES // self.span) if self.kind == "stride" else BLOCKS

    @property
    def template(self) -> Case:
        """The case without results; its bytes are those of the pages that are touched."""
        return Case(
            experiment="managed",
            method=f"{self.kind}_{self.mover}",
            host_memory="managed",
            direction=self.direction,
            bytes=self.touches * PAGE_BYTES,
            pieces=self.touches,
            stride_bytes=self.span,
        )

    def seconds(self, array: MigrationArray) -> float:
        """Put all pages where they come from, bring the first ones over, and time the touches."""
        (array.to_host if self.direction == "h2d" else array.to_device)()
        touch = array.touch_on_device if self.direction == "h2d" else array.touch_on_host
        if self.kind == "stride":
            return touch(0, self.touches, self.span)
        if self.kind == "grown":
            for block in range(BLOCKS):
                touch(block * BLOCK_BYTES, -(-self.span * 9 // 16 // PAGE_BYTES), PAGE_BYTES)
            return touch(self.span - PAGE_BYTES, BLOCKS, BLOCK_BYTES)
        if self.mover == "prefetch":
            side = "device" if self.direction == "h2d" else "host"
            array.prefetch(side, PAGE_BYTES, BLOCKS, BLOCK_BYTES)
        else:
            touch(0, BLOCKS, BLOCK_BYTES)
        return touch(self.span, BLOCKS, BLOCK_BYTES)


def probes(mode: ModeName) -> list[Probe]:
    """Every probe of a mode; strides of a whole block in all of them, because other probes are judged by those."""
    chosen = []
    movers: tuple[tuple[str, Direction], ...] = (("device", "h2d"), ("host", "d2h"))
    for mover, direction in movers:
        chosen += [Probe("neighbour", mover, direction, distance) for distance in _DISTANCES]
        if mode == "quick":
            chosen.append(Probe("stride", mover, direction, BLOCK_BYTES))
            continue
        chosen += [Probe("neighbour", "prefetch", direction, distance) for distance in _DISTANCES]
        chosen += [Probe("grown", mover, direction, part) for part in _PARTS]
        chosen += [Probe("stride", mover, direction, stride) for stride in _STRIDES]
    return chosen


class _Probed(Timed):
    """A probe; after its first visit every page is looked at."""

    def __init__(self, probe: Probe, array: MigrationArray) -> None:
        self._probe, self._array = probe, array

    def warm_up(self, times: int) -> None:
        for _ in range(times):
            self._probe.seconds(self._array)

    def run(self, quota: Quota) -> Samples:
        samples: list[float] = []
        # What is not timed, sending all pages back, takes most of a visit.
        end = time.monotonic() + quota.seconds
        while len(samples) < quota.least or (len(samples) < quota.most and time.monotonic() < end):
            samples.append(self._probe.seconds(self._array))
        return {"host_seconds": samples}

    def verify(self) -> str:
        return self._array.wrong()


# Seconds that they should take; the weights of their batches.
_SECONDS_A_PROBE = 0.08
_SECONDS_A_PASS = 0.2
# The array, and the same on the host while it is filled and looked at.
_NEEDED_BYTES = 2 * (ARRAY_BYTES + BLOCK_BYTES)


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Two batches: probes, and after them the passes that are counted, since counting stays in the driver's way."""
    timed, counted = probes(options.mode), passes()
    if why := _why_not(device, memory_bytes):
        return Planned([], _skipped([*(each.template for each in timed), *(each.template for each in counted)], why))
    skipped: list[Case] = []
    if why := device.native.why_no_prefetch():
        skipped = _skipped([each.template for each in timed if each.mover == "prefetch"], why)
        timed = [each for each in timed if each.mover != "prefetch"]
    if device.description.backend != "cuda":
        why = "CUPTI counts migrations of CUDA's managed memory alone; timing says how it moves here"
        skipped += _skipped([each.template for each in counted], why)
        counted = []
    batches = [Batch([each.template for each in timed], _SECONDS_A_PROBE * len(timed), partial(_probe, device, timed))]
    if templates := [each.template for each in counted]:
        batches.append(Batch(templates, _SECONDS_A_PASS * len(counted), partial(_count, device, counted)))
    return Planned(batches, skipped)


def _skipped(templates: Sequence[Case], why: str) -> list[Case]:
    """One case for each method and direction: no distance or stride is the reason."""
    firsts = {(each.method, each.direction): each for each in reversed(templates)}
    return [skipped_case(each, why) for each in reversed(firsts.values())]


def _why_not(device: OpenDevice, memory_bytes: int) -> str | None:
    if memory_bytes < _NEEDED_BYTES:
        return f"needs {format_bytes(_NEEDED_BYTES)} of memory, of which {format_bytes(memory_bytes)} may be taken"
    return device.native.why_no_migration()


def _probe(device: OpenDevice, chosen: Sequence[Probe]) -> Prepared:
    try:
        array = MigrationArray(device.native)
    except IsthmusError as error:
        return Prepared([], [[skipped_case(each.template, reason_of(error))] for each in chosen])
    return Prepared([TimedSubject(each.template, partial(_Probed, each, array)) for each in chosen])


def _count(device: OpenDevice, chosen: Sequence[Pass]) -> Prepared:
    libraries = cupti_libraries(device.description.api_version)
    return Prepared([], [[case] for case in count(device.native, libraries, chosen)])
