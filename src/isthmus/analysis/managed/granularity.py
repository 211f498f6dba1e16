"""How much managed memory moves at a time, mechanism by mechanism: counters next to timing, and whether they agree."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from isthmus.analysis.managed.timing import Touches, Unit, grown_by_timing, touches, unit_by_timing
from isthmus.language import say
from isthmus.record import MIB, Case, Interval, Run, format_bytes

# Parts that are touched or prefetched alone lie farther apart than anything that drivers treat as one.
_FAR_APART = 2 * MIB


@dataclass(frozen=True)
class Counted:
    """One pass whose migrations the driver reported."""

    case: Case

    @property
    def is_far_apart(self) -> bool:
        """Whether what moved for one part cannot have served another."""
        return (self.case.stride_bytes or 0) > _FAR_APART

    @property
    def sizes(self) -> Counter[int]:
        """How many migrations of each size in bytes there were in the pass's own direction."""
        sizes: Counter[int] = Counter()
        for each in self.case.migrations:
            if each.direction == self.case.direction:
                sizes[each.bytes] += each.count
        return sizes

    @property
    def moved_bytes(self) -> int:
        """Bytes that went the pass's own way."""
        return sum(size * count for size, count in self.sizes.items())


def counted_passes(run: Run) -> list[Counted]:
    """Passes with reports of migrations, whose data was right."""
    return [
        Counted(case)
        for case in run.cases
        if case.experiment == "managed"
        and case.method.startswith("counted_")
        and case.migrations
        and not case.skipped
        and case.verified != "no"
    ]


def unit_by_counts(passes: Sequence[Counted], method: str, direction: str) -> Unit | None:
    """What moved for each of many parts far apart; None where that was not counted."""
    counted = next((each for each in _of(passes, method, direction) if each.is_far_apart), None)
    if counted is None or not counted.case.pieces:
        return None
    each, rest = divmod(counted.moved_bytes, counted.case.pieces)
    if rest or not each or each & (each - 1):
        return Unit(why=say("granularity.no_step"))
    return Unit(each)


def grown_by_counts(passes: Sequence[Counted], side: str, direction: str, unit: Unit | None) -> Unit | None:
    """The largest part that came over as one when everything was touched, one by one or at once.

    One by one, a part that is in use by half is completed by the other half: so what moved at once is half of it, and
    less by what the fault itself brought.
    """
    near = [
        each
        for method in (f"counted_{side}_touches", f"counted_{side}_sweep")
        for each in _of(passes, method, direction)
        if not each.is_far_apart and each.sizes
    ]
    if not near or unit is None or unit.bytes is None:
        return None
    return Unit(max(unit.bytes, *(_reach(each, unit.bytes) for each in near)))


def _reach(of: Counted, unit: int) -> int:
    """The part that the largest migration belongs to; 0 where none is larger than a fault's unit explains."""
    moved = [each for each in of.case.migrations if each.direction == of.case.direction]
    in_turn = not of.case.method.endswith("_sweep")
    # One by one, what came with a fault is reported apart from the page that was touched.
    page = min((each.bytes for each in moved if each.cause != "prefetch"), default=0)
    sizes = [each.bytes + page if in_turn and each.cause == "prefetch" else each.bytes for each in moved]
    largest = max(sizes, default=0)
    return (1 << (largest - 1).bit_length()) * (2 if in_turn else 1) if largest > unit else 0


def _of(passes: Sequence[Counted], method: str, direction: str) -> list[Counted]:
    return [each for each in passes if each.case.method == method and each.case.direction == direction]


@dataclass(frozen=True)
class Mechanism:
    """One method for pages to move; `counted` and `timed` are None where that was not tried."""

    key: str
    counted: Unit | None
    timed: Unit | None
    there: Interval | None = None
    waiting: Interval | None = None

    @property
    def name(self) -> str:
        """In words."""
        side = self.key.removesuffix("_grown")
        name = say(f"granularity.mechanism_{side}")
        return name if side == self.key else say("granularity.mechanism_grown", mechanism=name)

    @property
    def unit(self) -> Unit | None:
        """The better of both: what was counted, else what timing tells."""
        return next((each for each in (self.counted, self.timed) if each and each.bytes is not None), None)

    @property
    def agreement(self) -> Literal["yes", "no", "cannot tell"]:
        """Whether counters and timing say the same."""
        if not (self.counted and self.timed) or self.counted.bytes is None or self.timed.bytes is None:
            return "cannot tell"
        if self.timed.beyond:
            least = self.timed.bytes + (not self.timed.reached)
            return "yes" if self.counted.bytes >= least else "no"
        least = self.timed.more_than + 1 if self.timed.more_than else self.timed.bytes
        return "yes" if least <= self.counted.bytes <= self.timed.bytes else "no"


def mechanisms(run: Run) -> list[Mechanism]:
    """Every mechanism of which anything was probed or counted."""
    probed = {(each.mover, each.direction): each for each in touches(run)}
    return list(_mechanisms(probed, counted_passes(run)))


def _mechanisms(probed: dict[tuple[str, str], Touches], passes: list[Counted]) -> Iterator[Mechanism]:
    for side, direction in (("device", "h2d"), ("host", "d2h")):
        of = probed.get((side, direction))
        timed = unit_by_timing(of) if of else None
        counted = unit_by_counts(passes, f"counted_{side}_touches", direction)
        if timed or counted:
            yield Mechanism(side, counted, timed, of.there if of else None, of.waiting if of else None)
        grown = grown_by_timing(of, timed) if of and timed else None
        added = grown_by_counts(passes, side, direction, counted)
        if grown or added:
            yield Mechanism(f"{side}_grown", added, grown)
    for direction in ("h2d", "d2h"):
        of = probed.get(("prefetch", direction))
        timed = unit_by_timing(of) if of else None
        counted = unit_by_counts(passes, "counted_prefetch", direction)
        if timed or counted:
            yield Mechanism(f"prefetch_{direction}", counted, timed)


def unit_words(unit: Unit) -> str:
    """``64 KiB``, ``> 2 MiB``, ``≥ 4 MiB``, a range where there is a gap, or ``?``."""
    if unit.bytes is None:
        return "?"
    size = format_bytes(unit.bytes)
    if unit.beyond:
        return f"≥ {size}" if unit.reached else f"> {size}"
    return say("common.range", low=format_bytes(unit.more_than), high=size) if unit.more_than else size
