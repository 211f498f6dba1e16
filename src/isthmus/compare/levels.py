"""The levels on which a difference may show: single cases, groups and kinds of them, and all of an experiment."""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from isthmus.analysis.statistics.resample import Draws
from isthmus.compare.level import Array, Level, beyond, tails
from isthmus.compare.pairing import CasePair
from isthmus.compare.rank_test import least_p
from isthmus.compare.spread import robust_variance

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
class Levels:
    """From narrow to wide: cases, groups of one class of sizes, kinds of all sizes, all kinds of a class of sizes."""

    cases: Level
    groups: Level
    kinds: Level
    wholes: Level


def members_of(keys: Iterable[_Key]) -> dict[_Key, npt.NDArray[np.int64]]:
    """The indices of each key, in the order in which the keys first appear."""
    found: dict[_Key, list[int]] = defaultdict(list)
    for index, key in enumerate(keys):
        found[key].append(index)
    return {key: np.array(indices) for key, indices in found.items()}


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
