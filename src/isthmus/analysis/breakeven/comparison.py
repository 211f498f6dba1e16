"""Thresholds derived from single costs against those measured end to end: how many agree."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from isthmus.analysis.breakeven.measured import Key, measured_once, measured_totals
from isthmus.analysis.breakeven.model import Missing, derived_totals
from isthmus.analysis.breakeven.thresholds import Breakeven, Contest
from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.record import MIB, Interval, Run

# Two sizes within this factor of each other are the same answer.
AGREEMENT = 1.5
# Large enough to be worth a transfer, small enough that every machine measures it.
_REFERENCE_BYTES = 64 * MIB

Outcome = Literal["agrees", "near", "differs", "undecided", "not_derived"]


@dataclass(frozen=True)
class ThresholdComparison:
    """One contest's measured threshold beside the derived one.

    - ``agrees``: the same answer, sizes within a factor AGREEMENT of each other by their medians.
    - ``near``: only the intervals come within that factor, the ends of the range counting as sizes.
    - ``differs``: neither.
    - ``undecided``: at least one of the two cannot tell.
    - ``not_derived``: the run does not hold the costs.
    """

    contest: Contest
    measured: Threshold
    derived: Threshold | None
    outcome: Outcome


class AgreementShare(NamedTuple):
    """How many contests agree by their medians, how many more by their intervals, and how many can be compared."""

    agreeing: int
    near: int
    comparable: int


@dataclass(frozen=True)
class BreakevenAnalysis:
    """What a run says about its ways, measured and derived."""

    once: dict[Key, dict[int, Interval]]  # seconds of one use as they were measured, by size
    measured: Breakeven
    derived: Breakeven
    missing: dict[Key, Missing]
    comparisons: tuple[ThresholdComparison, ...]

    @property
    def reference_bytes(self) -> int:
        """64 MiB, or the largest measured size where that is less."""
        return min(_REFERENCE_BYTES, max(size for totals in self.measured.totals.values() for size in totals.seconds))


@once()
def analyse_breakeven(run: Run) -> BreakevenAnalysis | None:
    """Everything that the breakeven experiment of a run says; None where it has no case that counts."""
    measured = Breakeven(measured_totals(run))
    sizes = sorted({size for totals in measured.totals.values() for size in totals.seconds})
    if not sizes:
        return None
    derivation = derived_totals(run, sizes[0], sizes[-1], measured.cases())
    derived = Breakeven(derivation.totals)
    comparisons = tuple(
        _compared(contest, threshold, derived.threshold(contest, within=(threshold.first, threshold.last)))
        for contest, threshold in measured.thresholds.items()
    )
    return BreakevenAnalysis(measured_once(run), measured, derived, derivation.missing, comparisons)


def share_of(comparisons: Sequence[ThresholdComparison]) -> AgreementShare:
    """How many of these agree."""
    count = {outcome: sum(each.outcome == outcome for each in comparisons) for outcome in ("agrees", "near", "differs")}
    return AgreementShare(count["agrees"], count["near"], sum(count.values()))


def _compared(contest: Contest, found: Threshold, derived: Threshold | None) -> ThresholdComparison:
    """`derived` is over the same range as `found`, or "never" would not mean the same."""
    outcome: Outcome
    if derived is None:
        outcome = "not_derived"
    elif "cannot_tell" in {found.state, derived.state}:
        outcome = "undecided"
    elif _agree(found, derived):
        outcome = "agrees"
    else:
        outcome = "near" if _near(found, derived) else "differs"
    return ThresholdComparison(contest, found, derived, outcome)


def _agree(one: Threshold, other: Threshold) -> bool:
    if one.state != other.state:
        return False
    return one.state in {"always", "never"} or _within(one.value, one.value, other.value, other.value)


def _near(one: Threshold, other: Threshold) -> bool:
    kinds = {state for state in (one.state, other.state) if state in {"from", "up_to"}}
    if len(kinds) > 1:
        return False
    rising = "from" in kinds
    (low, high), (other_low, other_high) = _ends(one, rising=rising), _ends(other, rising=rising)
    return _within(low, high, other_low, other_high)


def _ends(threshold: Threshold, *, rising: bool) -> tuple[float, float]:
    """The interval in sizes of the range, with "always" and "never" at those ends that the other answer's kind has."""
    low, high = threshold.low, threshold.high
    if threshold.state in {"always", "never"} and threshold.certain:
        low = high = 0.0 if (threshold.state == "always") == rising else math.inf
    return _clipped(low, threshold), _clipped(high, threshold)


def _within(low: float, high: float, other_low: float, other_high: float) -> bool:
    return low <= other_high * AGREEMENT and other_low <= high * AGREEMENT


def _clipped(size: float, threshold: Threshold) -> float:
    return min(max(size, threshold.first), threshold.last)
