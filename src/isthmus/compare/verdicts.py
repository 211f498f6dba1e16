"""What became of each case, each group of cases and each experiment: slower, faster, the same, or cannot tell.

A difference may show on any of several levels first: all of an experiment by 5 %, where every single case swings by
more; one kind, such as pinned copies to the device, in all sizes or in one class of them; or one case alone. What does
not stand out from what it belongs to goes with it. docs/statistics.md says why, and on what runs constants were found.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from isthmus.analysis.statistics.resample import DRAWS, Draws, interval_of, resampled_medians
from isthmus.compare.levels import DEGREES, Array, Level, Levels, Verdict, levels, members_of, verdict
from isthmus.compare.pairing import CasePair
from isthmus.compare.spread import GroupKey, SizeClass, group_key, rank_test, spreads
from isthmus.record import Interval

# What `verdict` takes as the level above: its verdict, the logarithm of its ratio, and whether it is steady.
_Above = tuple[Verdict, float, bool]


@dataclass(frozen=True)
class CaseResult:
    """One case of both runs: medians in seconds and their ratio, new over base, above 1 for slower.

    The ratio's interval, 95 %, is the bootstrap's over the samples, widened by what medians of such cases differ by
    between two runs. `rank_p` is the rank test's p-value; `p` the larger of that and of the ratio's being within the
    margin, corrected for the number of cases. `own` tells that the case stands out alone and does not just go with its
    group. `detectable` is how much more time, as a share, the case and those like it would have needed to be called
    slower, `detectable_alone` the case without them; infinite where no time would have been enough.
    """

    pair: CasePair
    group: GroupKey
    base_seconds: Interval
    new_seconds: Interval
    ratio: Interval
    rank_p: float
    p: float
    verdict: Verdict
    own: bool
    detectable_alone: float
    detectable: float

    @property
    def least_change(self) -> float:
        """Logarithm of the least that the interval admits as a change in the direction of the ratio; below 0 for none.

        Orders differences by the end of their interval that is nearer to no change.
        """
        return math.log(self.ratio.low if self.ratio.median >= 1 else 1 / self.ratio.high)


@dataclass(frozen=True)
class GroupResult:
    """Cases of one experiment, method, direction, memory kind and class of sizes: their median ratio.

    `detectable` is the share more that its cases, or all sizes of its kind, would have needed to be called slower.
    """

    key: GroupKey
    cases: int
    ratio: Interval
    verdict: Verdict
    detectable: float


@dataclass(frozen=True)
class WholeResult:
    """All groups of one experiment and one class of sizes: the median of the groups' ratios.

    `detectable` is the share more that they would have needed to be called slower.
    """

    experiment: str
    size: SizeClass
    groups: int
    ratio: Interval
    verdict: Verdict
    detectable: float


@dataclass(frozen=True)
class Judgement:
    """The three levels, each in the order in which its cases came."""

    cases: tuple[CaseResult, ...]
    groups: tuple[GroupResult, ...]
    wholes: tuple[WholeResult, ...]


def judged(pairs: Sequence[CasePair], margin: float) -> Judgement:
    """Verdicts for cases, their groups and their experiments; up to `margin`, a share, more or less are the same.

    Every pair must have samples on both sides.
    """
    if not pairs:
        return Judgement((), (), ())
    base = resampled_medians([pair.base_samples for pair in pairs], seed=1)
    new = resampled_medians([pair.new_samples for pair in pairs], seed=2)
    ratios = np.log(new / base)
    keys = [group_key(pair.base) for pair in pairs]
    between = spreads(keys, ratios[:, 0])
    members = members_of(keys)
    parts = members_of([(key.experiment, key.size) for key in members])
    kinds = members_of([key[:4] for key in members])
    ranks = np.array([rank_test(pair.base_samples, pair.new_samples) for pair in pairs])
    decided = levels(
        pairs,
        ratios,
        between,
        ranks,
        list(members.values()),
        list(kinds.values()),
        list(parts.values()),
        math.log1p(margin),
    )

    wholes = {part: verdict(decided.wholes, index) for index, part in enumerate(parts)}
    above_groups = _above_groups(members, kinds, parts, decided, wholes)
    groups = {key: verdict(decided.groups, index, above_groups[key]) for index, key in enumerate(members)}
    above = {key: _above(decided.groups, index, groups[key]) for index, key in enumerate(members)}
    by_kind = dict(zip(kinds, decided.kinds.detectable, strict=True))
    shown = {key: min(decided.groups.detectable[index], by_kind[key[:4]]) for index, key in enumerate(members)}
    intervals = _widened(ratios, between)
    return Judgement(
        tuple(
            CaseResult(
                pair=pair,
                group=key,
                base_seconds=interval_of(base[index]),
                new_seconds=interval_of(new[index]),
                ratio=intervals[index],
                rank_p=float(ranks[index]),
                p=float(decided.cases.p[index]),
                verdict=verdict(decided.cases, index, above[key]),
                own=decided.cases.differs(index),
                detectable_alone=math.expm1(decided.cases.detectable[index]),
                detectable=math.expm1(min(decided.cases.detectable[index], shown[key])),
            )
            for index, (pair, key) in enumerate(zip(pairs, keys, strict=True))
        ),
        tuple(
            GroupResult(key, len(cases), decided.groups.interval(index), groups[key], math.expm1(shown[key]))
            for index, (key, cases) in enumerate(members.items())
        ),
        tuple(
            WholeResult(
                *part,
                len(groups_of),
                decided.wholes.interval(index),
                wholes[part],
                math.expm1(decided.wholes.detectable[index]),
            )
            for index, (part, groups_of) in enumerate(parts.items())
        ),
    )


def _above_groups(
    members: Iterable[GroupKey],
    kinds: Iterable[tuple[str, ...]],
    parts: Iterable[tuple[str, SizeClass]],
    decided: Levels,
    wholes: Mapping[tuple[str, SizeClass], Verdict],
) -> dict[GroupKey, _Above]:
    """What each group goes with where it does not stand out: its kind where that differs, else all of its sizes."""
    shifts = dict(zip(parts, decided.wholes.shift, strict=True))
    above: dict[tuple[str, ...], _Above] = {
        kind: ("slower" if shift > 0 else "faster", shift, False)
        for index, (kind, shift) in enumerate(zip(kinds, decided.kinds.shift, strict=True))
        if decided.kinds.differs(index)
    }
    chosen: dict[GroupKey, _Above] = {}
    for key in members:
        part = key.experiment, key.size
        # Single groups may have a verdict where they are too unlike one another for all of them to have one.
        whole: Verdict = "same" if wholes[part] == "cannot_tell" else wholes[part]
        chosen[key] = above.get(key[:4], (whole, shifts[part], False))
    return chosen


def _above(group_level: Level, index: int, verdict: Verdict) -> _Above:
    """What a group says of its cases; one that is not steady says nothing, unless it differs all the same."""
    steady = group_level.steady(index)
    says: Verdict = verdict if steady or verdict in ("slower", "faster") else "same"
    return says, group_level.shift[index], steady


def _widened(ratios: Draws, between: Array) -> list[Interval]:
    """The bootstrap's intervals of the ratios, widened by what such cases differ by between two runs."""
    noise = np.random.default_rng(3).standard_t(DEGREES, (len(ratios), DRAWS)) * np.sqrt(between)[:, np.newaxis]
    drawn = np.hstack([ratios[:, :1], ratios[:, 1:] + noise])
    return [interval_of(row) for row in np.exp(drawn)]
