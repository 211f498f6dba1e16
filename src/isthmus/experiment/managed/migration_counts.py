"""Migrations and faults of managed memory as the driver reports them, in passes whose pages are known."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple, cast

import msgspec

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.arena import PAGE_BYTES
from isthmus.experiment.engine.sampling import reason_of, skipped_case
from isthmus.experiment.managed.migration_array import ARRAY_BYTES, BLOCK_BYTES, BLOCKS, MigrationArray
from isthmus.record import Case, Direction, Faults, Migrations

# A report of the driver: what, cause, value, address, begin and end; see _native.MigrationCounter.
Report = tuple[str, str, int, int, int, int]

# Reports come within some milliseconds of the end of the work, from a thread of the driver.
_QUIET_SECONDS = 0.06
_MOST_SECONDS = 2.0

_How = Literal["touches", "sweep", "prefetch"]


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
