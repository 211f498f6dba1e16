"""The levels on which a difference may show (cases, groups, kinds, experiments), and verdicts on each."""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from isthmus.analysis.statistics.resample import Draws
from isthmus.compare.pairing import CasePair
from isthmus.compare.spread import corrected, least_p, robust_variance
from isthmus.record import Interval

Array = npt.NDArray[np.float64]
Verdict = Literal["slower", "faster", "same", "cannot_tell"]
VERDICTS: tuple[Verdict, ...] = ("slower", "faster", "same", "cannot_tell")

_SIGNIFICANT = 0.05
# Largest useful standard error: two runs that differ by more than this anyway say nothing.
_UNSTEADY = math.log(1.25)
# Medians of one machine measured twice have heavier tails than a normal distribution; those of Student's with six
# degrees of freedom fit the pairs of runs in results/ (docs/statistics.md). So many standard errors hold 95 % of it.
DEGREES = 6
_STUDENT_95 = 2.447
_Key = TypeVar("_Key", bound=Hashable)
# For each group, kind or whole the indices of what belongs to it.
Members = Sequence[npt.NDArray[np.int64]]

# The standard error of a median, in those of a mean of normally distributed values.
_MEDIAN_ERROR = 1.2533
# What moves a case between two runs moves all of its group by about this share of it: from pairs of kept runs.
_SHARED = 0.35
# What medians of groups differ by between two runs of one machine, as far as is known before looking.
_GROUP_SPREAD = 0.01
# Groups of fewer cases are known no better than single cases.
_LEAST_GROUP = 6


@dataclass(frozen=True)
class Level:
    """Logarithms of ratios, new over base, their standard errors, and p-values of their being beyond the margin.

    `raw` are the p-values of each alone, `limit` is the margin as a logarithm. `least` is the smallest p-value that
    each could have had, whatever its ratio: few samples cannot show anything. `forgiven` is how much of a difference
    does not count towards p-values: the margin, or nothing.
    """

    shift: Array
    error: Array
    raw: Array
    limit: float
    least: Array
    forgiven: float

    @cached_property
    def p(self) -> Array:
        """The p-values corrected for their number."""
        return corrected(self.raw)

    @cached_property
    def detectable(self) -> Array:
        """How far from 0 each would have had to be for being named, as one of so many; infinite where it could not.

        Benjamini and Hochberg's procedure asks less of each the more are named.
        """
        named = np.count_nonzero(self.p <= _SIGNIFICANT)
        needed = _SIGNIFICANT * min(named + 1, len(self.raw)) / max(len(self.raw), 1)
        named_from = np.maximum(self.limit, self.forgiven + _errors_beyond(needed) * self.error)
        return np.where(self.least <= needed, named_from, math.inf)

    def interval(self, index: int) -> Interval:
        """The ratio with its 95 % interval."""
        shift, half = self.shift[index], _STUDENT_95 * self.error[index]
        return Interval(*(math.exp(value) for value in (shift, shift - half, shift + half)))

    def differs(self, index: int) -> bool:
        """Whether the difference is significantly beyond the margin, as one of so many."""
        return bool(self.p[index] <= _SIGNIFICANT)

    def doubtful(self, index: int) -> bool:
        """Whether chance would not be expected to show such a difference even once among so many."""
        return bool(self.raw[index] <= min(_SIGNIFICANT, 1 / len(self.raw)))

    def steady(self, index: int) -> bool:
        """Whether there is enough of it, and what two runs of one machine differ by is known and small enough."""
        return bool(self.least[index] <= _SIGNIFICANT and self.error[index] <= _UNSTEADY)


def beyond(shift: Array, error: Array, limit: float) -> Array:
    """Two-sided p-values that the true difference is within the limit; 1 where the estimate itself is."""
    return tails(np.maximum(np.abs(shift) - limit, 0.0) / error)


def verdict(level: Level, index: int, above: tuple[Verdict, float, bool] = ("same", 0.0, False)) -> Verdict:
    """The verdict of one estimate: its own where that is significant, else that of what it belongs to, where it fits.

    `above` is the verdict of the level above, the logarithm of its ratio, and whether that level is steady. The same
    is what shows no difference, not even a doubtful one, where it or what it belongs to is steady.
    """
    shift, half = level.shift[index], _STUDENT_95 * level.error[index]
    if level.differs(index):
        return "slower" if shift > 0 else "faster"
    if abs(shift) + half <= level.limit:
        return "same"
    inherited, common, steady = above
    if inherited in ("slower", "faster") and abs(shift) > level.limit and (shift > 0) == (common > 0):
        return inherited
    if level.doubtful(index) or not (level.steady(index) or steady):
        return "cannot_tell"
    if inherited in ("slower", "faster"):
        # Unlike what it belongs to, or too uncertain to be distinguished from it.
        return "same" if abs(shift - common) > half else "cannot_tell"
    return inherited


def tails(scaled: Array) -> Array:
    """What Student's distribution with six degrees of freedom has beyond so many standard errors, on both sides.

    In closed form. Source: Abramowitz and Stegun, 26.7.4.
    """
    cosine_squared = DEGREES / (DEGREES + scaled**2)
    held: Array = np.sqrt(1 - cosine_squared) * (1 + cosine_squared / 2 + 3 / 8 * cosine_squared**2)
    return np.clip(1 - held, 0.0, 1.0)


def _errors_beyond(p: float) -> float:
    """How many standard errors have tails of `p`, by bisection; p-values below 1e-10 count as that."""
    low, high = 0.0, 200.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if tails(np.array(middle)) > p else (low, middle)
    return high


@dataclass(frozen=True)
class Levels:
    """From narrow to wide: cases, groups of one class of sizes, kinds of all sizes, all kinds of a class of sizes."""

    cases: Level
    groups: Level
    kinds: Level
    wholes: Level


def members_of(keys: Iterable[_Key]) -> dict[_Key, npt.NDArray[np.int64]]:
    """The indices of each key, in the order in which the keys first appear."""
    members: dict[_Key, list[int]] = defaultdict(list)
    for index, key in enumerate(keys):
        members[key].append(index)
    return {key: np.array(indices) for key, indices in members.items()}


def levels(
    pairs: Sequence[CasePair],
    ratios: Draws,
    between: Array,
    ranks: Array,
    members: Members,
    kinds: Members,
    parts: Members,
    limit: float,
) -> Levels:
    """All levels of these pairs.

    `ratios` are logarithms with their draws, `between` the variances between two runs, `ranks` the rank tests'
    p-values; `members` are the cases of each group, `kinds` and `parts` the groups of each kind and of each whole.
    """
    least = np.array([least_p(len(pair.base_samples), len(pair.new_samples)) for pair in pairs])
    groups = _groups(ratios[:, 0], between, least, members, limit)
    wholes = _wholes(groups, between, members, parts, limit)
    return Levels(
        cases=_cases(ratios, between, ranks, least, limit),
        groups=groups,
        kinds=_kinds(groups, wholes, kinds, parts, limit),
        wholes=wholes,
    )


def _cases(ratios: Draws, between: Array, ranks: Array, least: Array, limit: float) -> Level:
    """A difference must show in the rank test, and be more than such cases differ by between two runs.

    The spread between runs was seen in medians of samples, so it has that of typical samples in it.
    """
    shift = ratios[:, 0]
    error = np.sqrt(np.maximum(np.var(ratios[:, 1:], axis=1), between))
    return Level(shift, error, np.maximum(ranks, beyond(shift, error, limit)), limit, least, forgiven=limit)


def _groups(shift: Array, between: Array, least: Array, members: Members, limit: float) -> Level:
    """Medians of cases.

    A group of erratic cases is erratic itself, if less so: its error is in proportion to theirs. One of few cases is
    known no better than they are.
    """
    medians = np.array([np.median(shift[cases]) for cases in members])
    spread = np.array([between[cases[0]] for cases in members])
    error = np.sqrt(_sampling(between, members) + _SHARED**2 * spread)
    enough = np.array([0.0 if len(cases) >= _LEAST_GROUP else float(np.median(least[cases])) for cases in members])
    return Level(medians, error, np.maximum(enough, beyond(medians, error, limit)), limit, least=enough, forgiven=limit)


def _kinds(groups: Level, wholes: Level, kinds: Members, parts: Members, limit: float) -> Level:
    """Means of the groups of one kind, weighted by how well they are known.

    They are tested against what all groups do, as far as that is within the margin, and not against the margin itself:
    else 5 % of one kind would be lost between a margin of 3 % and the errors. What counts is beyond the margin anyway.
    """
    drift = np.empty_like(groups.shift)
    for part, common in zip(parts, wholes.shift, strict=True):
        drift[part] = np.clip(common, -limit, limit)
    weights = 1 / groups.error**2
    total = np.array([np.sum(weights[kind]) for kind in kinds])
    shift = np.array([np.average(groups.shift[kind], weights=weights[kind]) for kind in kinds])
    apart = np.array([np.average((groups.shift - drift)[kind], weights=weights[kind]) for kind in kinds])
    least = np.array([np.min(groups.least[kind]) for kind in kinds])
    error = 1 / np.sqrt(total)
    differs = (np.abs(shift) > limit) & (shift * apart > 0)
    p = np.where(differs, tails(np.abs(apart) / error), 1.0)
    return Level(shift, error, np.maximum(least, p), limit, least, forgiven=0.0)


def _wholes(groups: Level, between: Array, members: Members, parts: Members, limit: float) -> Level:
    """Medians of groups, and how far those differ from one another."""
    sampling = _sampling(between, members)
    shifts, errors = [], []
    for part in parts:
        typical = float(np.median(sampling[part]))
        spread = max(0.0, robust_variance(groups.shift[part], _GROUP_SPREAD**2) - typical)
        shifts.append(float(np.median(groups.shift[part])))
        errors.append(_MEDIAN_ERROR * math.sqrt((spread + typical) / len(part)))
    shift, error = np.array(shifts), np.array(errors)
    least = np.array([np.min(groups.least[part]) for part in parts])
    return Level(shift, error, np.maximum(least, beyond(shift, error, limit)), limit, least, forgiven=limit)


def _sampling(between: Array, members: Members) -> Array:
    """The variance of the median of so many cases."""
    return np.array([_MEDIAN_ERROR**2 * between[cases[0]] / len(cases) for cases in members])
