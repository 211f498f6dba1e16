"""Migrations and faults of managed memory as the driver reports them, in passes whose pages are known."""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple, cast

import msgspec
import numpy as np

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.buffers import PAGE_BYTES
from isthmus.experiment.engine.sampling import reason_of, skipped_case
from isthmus.record import MIB, Case, Direction, Faults, Migrations

# A report of the driver: what, cause, value, address, begin and end; see _native.MigrationCounter.
Report = tuple[str, str, int, int, int, int]

# Reports come within some milliseconds of the end of the work, from a thread of the driver.
_QUIET_SECONDS = 0.06
_MOST_SECONDS = 2.0

_How = Literal["touches", "sweep", "prefetch"]
# Drivers keep books on 2 MiB: points so far apart cannot share anything.
BLOCK_BYTES = 4 * MIB
BLOCKS = 16
ARRAY_BYTES = BLOCKS * BLOCK_BYTES

_WORD_BYTES = 4
_PAGE_WORDS = PAGE_BYTES // _WORD_BYTES
_PAGES = ARRAY_BYTES // PAGE_BYTES
# Where in a page everything is touched that is not counted: a 64-bit zero.
_AT_REST = 16
_REST_BYTES = _AT_REST * _WORD_BYTES
_MIX = np.uint32(2654435761)


class MigrationArray:
    """Managed memory of 64 MiB that begins at a multiple of a block; offsets count from there, in bytes.

    Touches are of the first word of a page. Those of the device add 1 to it, which `wrong` looks for.
    """

    def __init__(self, device: _native.Device) -> None:
        """Allocate, and fill on the host. Raises the errors of `isthmus.errors`."""
        self._memory = device.allocate("managed", ARRAY_BYTES + BLOCK_BYTES)
        self._stream = _native.Stream(device)
        self._prefetches = device.why_no_prefetch() is None
        self._memory.begin_host_access()
        everything = self._memory.host_array()
        self.address = -(-everything.ctypes.data // BLOCK_BYTES) * BLOCK_BYTES
        self._start = self.address - everything.ctypes.data
        self._words = everything[self._start : self._start + ARRAY_BYTES].view(np.uint32)
        self._words[:] = np.arange(self._words.size, dtype=np.uint32)
        self._words *= _MIX
        by_page = self._words.reshape(_PAGES, _PAGE_WORDS)
        by_page[:, _AT_REST : _AT_REST + 2] = 0
        self._heads, self._tails = by_page[:, 0], by_page[:, -1]
        self._expected_heads, self._expected_tails = self._heads.copy(), self._tails.copy()
        self._seen = np.empty(_PAGES, np.uint32)
        self._memory.end_host_access()

    def to_device(self) -> None:
        """Bring every page to the device."""
        if self._prefetches:
            self._stream.prefetch(self._memory, self._start, ARRAY_BYTES, "device")
        else:
            self._stream.touch_in_turn(self._memory, self._start + _REST_BYTES, _PAGES, PAGE_BYTES)
        self._stream.synchronize()

    def to_host(self) -> None:
        """Bring every page to the host."""
        if self._prefetches:
            self._stream.prefetch(self._memory, self._start, ARRAY_BYTES, "host")
            self._stream.synchronize()
        else:
            self.touch_on_host(0, _PAGES, PAGE_BYTES)

    def prefetch(self, side: str, bytes: int, count: int = 1, stride: int = 0) -> None:
        """Bring `count` parts of so many bytes to ``host`` or ``device``, a stride apart."""
        self._stream.prefetch(self._memory, self._start, bytes, side, count, stride)
        self._stream.synchronize()

    def touch_on_device(self, offset: int, count: int, stride: int) -> float:
        """Touch pages one by one; returns seconds from before the launch to after the last."""
        begin = time.perf_counter()
        self._stream.touch_in_turn(self._memory, self._start + offset, count, stride)
        self._stream.synchronize()
        seconds = time.perf_counter() - begin
        self._expected_heads[self._pages(offset, count, stride)] += np.uint32(1)
        return seconds

    def sweep_on_device(self) -> None:
        """Touch every page, all at once. Raises Unsupported where kernels cannot compute on doubles."""
        self._stream.add_doubles(self._memory, self._start + _REST_BYTES, _PAGES, PAGE_BYTES, 0.0)
        self._stream.synchronize()

    def touch_on_host(self, offset: int, count: int, stride: int) -> float:
        """Read pages one by one; returns seconds. Access is asked for before and not timed."""
        pages = self._pages(offset, count, stride)
        heads, seen = self._heads[pages], self._seen[:count]
        self._memory.begin_host_access()
        begin = time.perf_counter()
        np.copyto(seen, heads)
        seconds = time.perf_counter() - begin
        self._memory.end_host_access()
        return seconds

    def wrong(self) -> str:
        """What is not as it must be after all touches; empty where all is well. Brings every page to the host."""
        # Or each page that is looked at would fault.
        self.to_host()
        self._memory.begin_host_access()
        try:
            for name, found, expected in (
                ("first", self._heads, self._expected_heads),
                ("last", self._tails, self._expected_tails),
            ):
                pages = np.flatnonzero(found != expected)
                if pages.size:
                    where = f"{pages.size} of {_PAGES} pages differ, page {pages[0]} first"
                    return f"wrong data: the {name} words of {where}"
        finally:
            self._memory.end_host_access()
        return ""

    @staticmethod
    def _pages(offset: int, count: int, stride: int) -> slice:
        """The pages of a row of touches; of several within one page there is none."""
        first, step = offset // PAGE_BYTES, stride // PAGE_BYTES
        return slice(first, first + (count - 1) * step + 1, step)


class Pass(NamedTuple):
    """Pages that go one way: touched one by one, swept all at once or prefetched; a stride apart, or (0) as a whole."""

    how: _How
    direction: Direction
    stride: int

    @property
    def template(self) -> Case:
        """The case without counts."""
        side = "device" if self.direction == "h2d" else "host"
        parts = ARRAY_BYTES // self.stride if self.stride else 1
        width = PAGE_BYTES if self.stride else ARRAY_BYTES
        return Case(
            experiment="managed",
            method="counted_prefetch" if self.how == "prefetch" else f"counted_{side}_{self.how}",
            host_memory="managed",
            direction=self.direction,
            bytes=parts * width,
            pieces=parts,
            width_bytes=width,
            stride_bytes=self.stride or None,
        )

    def prepare(self, array: MigrationArray) -> None:
        """Put all pages where they come from."""
        (array.to_host if self.direction == "h2d" else array.to_device)()

    def run(self, array: MigrationArray) -> None:
        """Make them move. Raises Unsupported for what the device cannot do."""
        if self.how == "prefetch":
            side = "device" if self.direction == "h2d" else "host"
            if self.stride:
                array.prefetch(side, PAGE_BYTES, BLOCKS, self.stride)
            else:
                array.prefetch(side, ARRAY_BYTES)
        elif self.how == "sweep":
            array.sweep_on_device()
        else:
            touch = array.touch_on_device if self.direction == "h2d" else array.touch_on_host
            touch(0, ARRAY_BYTES // self.stride, self.stride)


def passes() -> list[Pass]:
    """Touches far apart show the unit of a fault; all pages, one by one or at once, what the driver adds."""
    directions: tuple[Direction, ...] = ("h2d", "d2h")
    all_passes = [Pass("touches", each, stride) for each in directions for stride in (BLOCK_BYTES, PAGE_BYTES)]
    all_passes.append(Pass("sweep", "h2d", PAGE_BYTES))
    return all_passes + [Pass("prefetch", each, stride) for each in directions for stride in (BLOCK_BYTES, 0)]


def count(device: _native.Device, libraries: Sequence[str], chosen: Sequence[Pass]) -> list[Case]:
    """A case for each pass; all of them skipped with the reason where nothing can be counted."""
    try:
        # First, since the driver reports nothing of memory that was there before.
        counter = _native.count_migrations(list(libraries))
        array = MigrationArray(device)
    except IsthmusError as error:
        reason = f"migrations cannot be counted: {reason_of(error)}"
        return [skipped_case(each.template, reason) for each in chosen]
    return [_counted(array, counter, each) for each in chosen]


def _counted(array: MigrationArray, counter: "_native.MigrationCounter", chosen: Pass) -> Case:
    try:
        chosen.prepare(array)
        counter.collect(_QUIET_SECONDS, _MOST_SECONDS)
        chosen.run(array)
        reports, lost = counter.collect(_QUIET_SECONDS, _MOST_SECONDS)
        wrong = array.wrong()
    except IsthmusError as error:
        return skipped_case(chosen.template, reason_of(error))
    return counted_case(chosen.template, reports, array.address, lost, wrong)


def counted_case(template: Case, reports: Sequence[Report], address: int, lost: int, wrong: str) -> Case:
    """The case with what was reported of the array at `address`; skipped where no report speaks of it."""
    ours = [each for each in reports if address <= each[3] < address + ARRAY_BYTES]
    migrations = _migrations(ours, address)
    faults = _faults(ours)
    if not migrations and not faults:
        return skipped_case(
            template, "the driver reported no migration of this array; its reports may have come too late"
        )
    notes = [wrong, f"{lost} reports were lost, so these counts are too low" if lost else ""]
    return msgspec.structs.replace(
        template,
        migrations=migrations,
        faults=faults,
        verified="no" if wrong else "yes",
        note="; ".join(filter(None, notes)),
    )


def _migrations(reports: Sequence[Report], address: int) -> list[Migrations]:
    kinds = [((what, cause, value), where - address) for what, cause, value, where, *_ in reports]
    moved = [(kind, offset) for kind, offset in kinds if kind[0] in ("h2d", "d2h")]
    counts = Counter(kind for kind, _ in moved)
    alignments = dict.fromkeys(counts, ARRAY_BYTES)
    for kind, offset in moved:
        if offset:
            alignments[kind] = min(alignments[kind], offset & -offset)
    order = {"h2d": 0, "d2h": 1}
    return [
        Migrations(
            direction=cast(Literal["h2d", "d2h"], what),
            cause=cause,
            bytes=value,
            count=counts[what, cause, value],
            alignment_bytes=alignments[what, cause, value],
        )
        for what, cause, value in sorted(counts, key=lambda kind: (order[kind[0]], *kind[1:]))
    ]


def _faults(reports: Sequence[Report]) -> list[Faults]:
    """A report of the device's faults has those of one page that were handled together; the CPU has one at a time."""
    on_device = [value for what, _, value, *_ in reports if what == "device_fault"]
    on_host = sum(what == "host_fault" for what, *_ in reports)
    faults = [Faults(side="device", count=sum(on_device), groups=len(on_device))] if on_device else []
    return faults + ([Faults(side="host", count=on_host, groups=on_host)] if on_host else [])
