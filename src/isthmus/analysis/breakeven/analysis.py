"""What the breakeven experiment of a run says of its memory kinds."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.analysis.breakeven.derived import Derived, derived_thresholds
from isthmus.analysis.breakeven.measured import Key, measured_once, measured_totals
from isthmus.analysis.breakeven.thresholds import Breakeven
from isthmus.analysis.statistics.once import once
from isthmus.record import MIB, Interval, Run

# Large enough to be worth a transfer, small enough that every machine measures it.
_REFERENCE_BYTES = 64 * MIB


@dataclass(frozen=True)
class BreakevenAnalysis:
    """Times of one use, and which way wins where."""

    once: dict[Key, dict[int, Interval]]  # seconds of one use as they were measured, by size
    measured: Breakeven
    derived: Sequence[Derived]  # pinned against pageable memory

    @property
    def reference_bytes(self) -> int:
        """64 MiB, or the largest measured size where that is less."""
        return min(_REFERENCE_BYTES, max(size for totals in self.measured.totals.values() for size in totals.seconds))


@once()
def analyse_breakeven(run: Run) -> BreakevenAnalysis | None:
    """Everything that the breakeven experiment of a run says; None where it has no case that counts."""
    measured = Breakeven(measured_totals(run))
    if not any(totals.seconds for totals in measured.totals.values()):
        return None
    return BreakevenAnalysis(measured_once(run), measured, derived_thresholds(run, measured.thresholds))
