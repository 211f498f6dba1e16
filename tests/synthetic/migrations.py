"""Managed memory whose truth is known: which unit a fault moves, how far the driver grows it, what both take."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
import numpy.typing as npt

from isthmus.experiment.engine.buffers import PAGE_BYTES
from isthmus.experiment.managed.granularity import Probe, probes
from isthmus.experiment.managed.migration_counts import ARRAY_BYTES, Pass, Report, counted_case, passes
from isthmus.record import KIB, MIB, Case, Series

ADDRESS = 0x7F00_0000_0000


@dataclass
class Pretended:
    """Stands for a MigrationArray; units are bytes, a tree of 0 is none, `reports` are those of the driver."""

    device_unit: int = 64 * KIB
    host_unit: int = 4 * KIB
    prefetch_unit: int = 4 * KIB
    device_tree: int = 2 * MIB
    host_tree: int = 0
    fault: float = 20e-6
    rate: float = 40e9
    touch: float = 0.4e-6
    launch: float = 8e-6
    noise: float = 0.02
    on_device: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(ARRAY_BYTES // PAGE_BYTES, bool))
    reports: list[Report] = field(default_factory=list)
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(5))
    address: int = ADDRESS

    def to_device(self) -> None:
        self.on_device[:] = True

    def to_host(self) -> None:
        self.on_device[:] = False

    def prefetch(self, side: str, bytes: int, count: int = 1, stride: int = 0) -> None:
        for index in range(count):
            for begin in range(index * stride, index * stride + bytes, 2 * MIB):
                self._bring(side, begin, max(min(bytes, 2 * MIB), self.prefetch_unit), "user")

    def touch_on_device(self, offset: int, count: int, stride: int) -> float:
        return self._touch("device", range(offset, offset + count * stride, stride)) + self.launch

    def touch_on_host(self, offset: int, count: int, stride: int) -> float:
        return self._touch("host", range(offset, offset + count * stride, stride))

    def sweep_on_device(self) -> None:
        self._touch("device", range(0, ARRAY_BYTES, PAGE_BYTES))

    def _touch(self, side: str, offsets: Iterable[int]) -> float:
        unit, tree = (self.device_unit, self.device_tree) if side == "device" else (self.host_unit, self.host_tree)
        seconds = 0.0
        for offset in offsets:
            seconds += self.touch
            if self.on_device[offset // PAGE_BYTES] == (side == "device"):
                continue
            self.reports.append((f"{side}_fault", "", 1, self.address + offset, 0, 0))
            # As an H200's driver reports it: the page that was touched, and all that comes with it as a prefetch.
            moved = self._bring(side, offset, PAGE_BYTES, "coherence")
            moved += self._bring(side, offset, self._grown(side, offset, unit, tree), "prefetch")
            seconds += self.fault + moved / self.rate
        return seconds

    def _grown(self, side: str, offset: int, unit: int, tree: int) -> int:
        """The largest of the parts around it of which more than half is there with the unit; else the unit."""
        largest = self._pages(offset, max(unit, tree))
        there = self.on_device[largest] == (side == "device")
        part, grown = unit, unit
        while part <= max(unit, tree):
            pages = self._pages(offset, part)
            within = there[pages.start - largest.start : pages.stop - largest.start]
            if part == unit:
                within[:] = True
            elif within.mean() > 0.51:
                grown = part
            part *= 2
        return grown

    def _pages(self, offset: int, size: int) -> slice:
        first = offset // size * size // PAGE_BYTES
        return slice(first, first + size // PAGE_BYTES)

    def _bring(self, side: str, offset: int, size: int, cause: str) -> int:
        """What of an aligned part is not there yet comes over; a report for each contiguous piece."""
        pages = self._pages(offset, size)
        missing = np.flatnonzero(self.on_device[pages] != (side == "device"))
        for piece in np.split(missing, np.flatnonzero(np.diff(missing) > 1) + 1):
            if piece.size:
                where = self.address + (pages.start + int(piece[0])) * PAGE_BYTES
                way = "h2d" if side == "device" else "d2h"
                self.reports.append((way, cause, int(piece.size) * PAGE_BYTES, where, 0, 0))
        self.on_device[pages] = side == "device"
        return int(missing.size) * PAGE_BYTES

    def wrong(self) -> str:
        return ""


def probed(array: Pretended, chosen: Sequence[Probe] | None = None, count: int = 7) -> list[Case]:
    """The cases of probes, with so many samples each."""
    found = []
    for probe in probes("default") if chosen is None else chosen:
        seconds = probe.seconds(array)  # type: ignore[arg-type]
        samples = [seconds * float(array.random.normal(1, array.noise)) for _ in range(count)]
        series = [Series(metric="host_seconds", samples=samples)]
        found.append(msgspec.structs.replace(probe.template, series=series, verified="yes"))
    return found


def counted(array: Pretended, chosen: Sequence[Pass] | None = None, lost: int = 0) -> list[Case]:
    """The cases of passes that were counted."""
    found = []
    for each in passes() if chosen is None else chosen:
        each.prepare(array)  # type: ignore[arg-type]
        array.reports.clear()
        each.run(array)  # type: ignore[arg-type]
        found.append(counted_case(each.template, array.reports, array.address, lost, ""))
    return found


def gpu_cases(**truth: object) -> list[Case]:
    """What a GPU gives whose faults move 64 KiB, grown up to 2 MiB, and whose CPU's faults move pages of 4 KiB."""
    return [*probed(Pretended(**truth)), *counted(Pretended(**truth))]  # type: ignore[arg-type]
