"""How much managed memory moves at a time, mechanism by mechanism: counters next to timing, and whether they agree."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from isthmus.analysis.managed.counts import Counted, counted_passes, grown_by_counts, unit_by_counts
from isthmus.analysis.managed.timing import Touches, Unit, grown_by_timing, touches, unit_by_timing
from isthmus.language import say
from isthmus.record import Interval, Run, format_bytes


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
