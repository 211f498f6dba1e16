"""Thresholds derived from single costs against those measured end to end: how many agree, and what the others miss."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, NamedTuple

from isthmus.analysis.breakeven.measured import Key, interpolated, measured_once, measured_totals
from isthmus.analysis.breakeven.model import Derivation, Missing, derived_totals
from isthmus.analysis.breakeven.thresholds import Breakeven, Contest
from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.record import Interval, Run

__all__ = [
    "AGREEMENT",
    "TIGHT",
    "AgreementShare",
    "Blame",
    "BreakevenAnalysis",
    "Outcome",
    "ThresholdComparison",
    "analyse_breakeven",
    "share_of",
]

# Two sizes within this factor of each other are the same answer.
AGREEMENT = 1.5
# Where two ways differ by less, errors of a few percent move their threshold far.
TIGHT = 0.10

Outcome = Literal["agrees", "near", "differs", "undecided", "not_derived"]


class Blame(NamedTuple):
    """The cost that puts a derived threshold off the measured one.

    In the program, `part` of `way` ("use" of a buffer that is there, or "setup" once) takes `seconds` more than
    derived, with buffers of so many bytes. The median error of all ways counts as common to them and is left out.
    """

    way: str
    part: Literal["use", "setup"]
    seconds: float
    bytes: float


@dataclass(frozen=True)
class ThresholdComparison:
    """One contest's measured threshold beside the derived one.

    - ``agrees``: the same answer, sizes within a factor AGREEMENT of each other by their medians.
    - ``near``: only the intervals come within that factor, the ends of the range counting as sizes.
    - ``differs``: neither; `blame` says which cost explains it, and `gap` by what share the two ways' measured times
      differ at most between the two thresholds, so that a small one marks a threshold which small errors move far.
    - ``undecided``: at least one of the two cannot tell.
    - ``not_derived``: the run does not hold the costs; `missing` says which.
    """

    contest: Contest
    measured: Threshold
    derived: Threshold | None
    outcome: Outcome
    missing: tuple[Missing, ...] = ()
    blame: Blame | None = None
    gap: float = math.nan

    @property
    def ill_conditioned(self) -> bool:
        """Whether the two ways differ by less than TIGHT anywhere between the two thresholds."""
        return self.gap < TIGHT


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
    from_caches: bool  # derived from copies of data that caches may hold
    comparisons: tuple[ThresholdComparison, ...]


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
        _compared(measured, derived, derivation, contest, threshold)
        for contest, threshold in measured.thresholds.items()
    )
    return BreakevenAnalysis(
        measured_once(run), measured, derived, derivation.missing, derivation.from_caches, comparisons
    )


def share_of(comparisons: Sequence[ThresholdComparison]) -> AgreementShare:
    """How many of these agree."""
    count = {outcome: sum(each.outcome == outcome for each in comparisons) for outcome in ("agrees", "near", "differs")}
    return AgreementShare(count["agrees"], count["near"], sum(count.values()))


def _compared(
    measured: Breakeven, derived: Breakeven, derivation: Derivation, contest: Contest, found: Threshold
) -> ThresholdComparison:
    # Over the same range, or "never" would not mean the same.
    other = derived.threshold(contest, within=(found.first, found.last))
    if other is None:
        ways = (contest.incumbent, contest.challenger)
        reasons = [derivation.missing[contest.case, way] for way in ways if (contest.case, way) in derivation.missing]
        return ThresholdComparison(contest, found, None, "not_derived", missing=tuple(dict.fromkeys(reasons)))
    if "cannot_tell" in {found.state, other.state}:
        return ThresholdComparison(contest, found, other, "undecided")
    if _agree(found, other):
        return ThresholdComparison(contest, found, other, "agrees")
    if _near(found, other):
        return ThresholdComparison(contest, found, other, "near")
    place = math.sqrt(_place(found) * _place(other))
    blame = _blame(measured, derived, contest, place)
    return ThresholdComparison(contest, found, other, "differs", blame=blame, gap=_gap(measured, contest, found, other))


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


def _place(threshold: Threshold) -> float:
    return _clipped(threshold.value, threshold)


def _clipped(size: float, threshold: Threshold) -> float:
    return min(max(size, threshold.first), threshold.last)


def _gap(measured: Breakeven, contest: Contest, one: Threshold, other: Threshold) -> float:
    slow = measured.seconds(contest.case, contest.incumbent, contest.uses)
    fast = measured.seconds(contest.case, contest.challenger, contest.uses)
    first, last = sorted((_place(one), _place(other)))
    inside = [size for size in slow if size in fast and first <= size <= last]
    pairs = [(slow[size], fast[size]) for size in inside]
    pairs += [
        (low, high)
        for size in (first, last)
        if (low := interpolated(slow, size)) is not None and (high := interpolated(fast, size)) is not None
    ]
    return max((abs(float(low[0] / high[0]) - 1) for low, high in pairs), default=math.nan)


def _blame(measured: Breakeven, derived: Breakeven, contest: Contest, size: float) -> Blame | None:
    """The larger of the errors of setup and uses, and the way on whose side most of it lies."""
    errors = {way: _errors(measured, derived, contest.case, way, size) for way in measured.ways(contest.case)}
    known = {way: error for way, error in errors.items() if error is not None}
    if not {contest.incumbent, contest.challenger} <= known.keys():
        return None
    common = {part: median(error[part] for error in known.values()) for part in ("use", "setup")}
    candidates = [
        Blame(way, part, known[way][part] - common[part], size)
        for way in (contest.incumbent, contest.challenger)
        for part in ("use", "setup")
    ]
    return max(candidates, key=lambda each: abs(each.seconds) * (contest.uses if each.part == "use" else 1))


def _errors(
    measured: Breakeven, derived: Breakeven, case: str, way: str, size: float
) -> dict[Literal["use", "setup"], float] | None:
    """Measured less derived seconds of one use and of the setup; None where either is not known at that size."""
    both = []
    for source in (measured, derived):
        totals = source.totals.get((case, way))
        further = interpolated(totals.further, size) if totals and totals.further else None
        first = interpolated(source.seconds(case, way, 1), size)
        if further is None or first is None:
            return None
        both.append((float(further[0]), float(first[0] - further[0])))
    (use, setup), (other_use, other_setup) = both
    return {"use": use - other_use, "setup": setup - other_setup}
