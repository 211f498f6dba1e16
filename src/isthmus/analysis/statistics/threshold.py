"""From where on one of two methods wins: the last crossing of two curves, with an interval, or why there is none."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from isthmus.analysis.statistics.resample import Draws

State = Literal["always", "never", "from", "up_to", "cannot_tell"]

# No program uses one buffer more often: from there on "never" is an answer.
MOST_USES = 1_000_000

# A statement needs as many of the draws behind it.
_CONFIDENCE = 0.95
_ONE_SIDED = (1 + _CONFIDENCE) / 2


@dataclass(frozen=True)
class Threshold:
    """Where a challenger beats an incumbent, in bytes or in uses.

    - ``always``, ``never``: over the whole range.
    - ``from``: at `value` and everything above, for good; `crossings` above 1 says that it had won before and lost.
    - ``up_to``: at the lower end only, up to `value`, and no more above.
    - ``cannot_tell``: the draws disagree about the kind of answer, or enclose it no better than half the range does.

    The range is that of `first` to `last`. `low` and `high` enclose `value` with 95 % confidence: 0 means "below
    the range" and infinity for "beyond it", so ``never`` with a finite `low`, for example, is what the medians say and
    not what every draw says. `faster` and `slower` are the points of the range at which the challenger is significantly
    one or the other.
    """

    state: State
    first: float
    last: float
    value: float
    low: float
    high: float
    crossings: int = 0
    faster: tuple[float, ...] = ()
    slower: tuple[float, ...] = ()

    @property
    def known(self) -> bool:
        """Whether it says anything: a crossing needs one end at least that is within the range."""
        bounded = 0.0 < self.low < math.inf or math.isfinite(self.high)
        return self.state in {"always", "never"} or (self.state != "cannot_tell" and bounded)

    @property
    def certain(self) -> bool:
        """Whether every draw but a few gives the same kind of answer."""
        match self.state:
            case "from" | "up_to":
                return self.low > 0 and math.isfinite(self.high)
            case "always" | "never":
                return self.low == self.high
            case _:
                return False


def size_threshold(
    sizes: Sequence[int], incumbent: Draws, challenger: Draws, *, farthest_apart: float = math.inf
) -> Threshold:
    """Where the challenger's seconds fall below the incumbent's, interpolated in logarithms of size and time.

    Both hold one row for each of the ascending sizes, of which there must be one at least. Between sizes that are more
    than `farthest_apart` times apart, nothing is known of curves with steps but that they cross.
    """
    points, gain = np.asarray(sizes, dtype=np.float64), np.log(incumbent) - np.log(challenger)
    return _threshold(points, gain, logarithmic=True, farthest_apart=farthest_apart)


def size_threshold_of_logs(sizes: Sequence[int], incumbent: Draws, challenger: Draws) -> Threshold:
    """The same given the logarithms of both methods' seconds, for comparing each with many others."""
    return _threshold(np.asarray(sizes, dtype=np.float64), incumbent - challenger, logarithmic=True)


def uses_threshold(uses: Sequence[int], gain: Draws) -> Threshold:
    """The least number of uses from which the challenger wins, or the most up to which it does.

    `gain` is the incumbent's seconds less the challenger's, one row for each of the ascending numbers of uses, between
    which it is affine; the last of them is the end of the range.
    """
    threshold = _threshold(np.asarray(uses, dtype=np.float64), gain, logarithmic=False)
    if threshold.state not in {"from", "up_to"}:
        return threshold
    whole = _next_whole if threshold.state == "from" else _whole_before
    return replace(threshold, value=whole(threshold.value), low=whole(threshold.low), high=whole(threshold.high))


def _threshold(
    points: npt.NDArray[np.float64], gain: Draws, *, logarithmic: bool, farthest_apart: float = math.inf
) -> Threshold:
    """The answer from gains (points by draws) that are positive where the challenger wins."""
    wins = gain > 0
    place = _last_crossing(np.log(points) if logarithmic else points, gain, wins)
    place = np.exp(place) if logarithmic else np.maximum(place, 0.0)
    share = np.count_nonzero(wins[:, 1:], axis=1) / (gain.shape[1] - 1)
    faster = tuple(map(float, points[share >= _ONE_SIDED]))
    slower = tuple(map(float, points[share <= 1 - _ONE_SIDED]))
    # Draws that belong to neither kind of answer: the challenger loses what it had, or gains what it had not.
    rises = _places(place, inside=wins[-1])
    falls = _places(place, inside=~wins[-1])
    kind, places = ("from", rises) if _known(rises) >= _known(falls) else ("up_to", falls)
    valid = places[1:][~np.isnan(places[1:])]
    ends = float(points[0]), float(points[-1])
    nothing = Threshold("cannot_tell", *ends, math.nan, 0.0, math.inf, 0, faster, slower)
    if len(valid) < _CONFIDENCE * (len(places) - 1):
        return nothing
    # The draws themselves and nothing between them, where one of two may be infinite.
    ordered = np.sort(valid)
    low, median, high = (ordered[round((len(valid) - 1) * share)] for share in (1 - _ONE_SIDED, 0.5, _ONE_SIDED))
    value = median if np.isnan(places[0]) else places[0]
    low, high = min(low, value), max(high, value)
    before, after = _gap(points, value, farthest_apart)
    value = after if kind == "from" else before
    low, high = _gap(points, low, farthest_apart)[0], _gap(points, high, farthest_apart)[1]
    # Who wins from a point on, or up to it, is an answer, however far away the next one is.
    is_measured = before < after and (high == after if kind == "from" else low == before)
    if not is_measured and not _narrow(low, high, *ends):
        return nothing
    everywhere: dict[float, State] = {0.0: "always", math.inf: "never"}
    if kind == "up_to":
        everywhere = {0.0: "never", math.inf: "always"}
    state: State = everywhere.get(float(value), "from" if kind == "from" else "up_to")
    return Threshold(state, *ends, float(value), float(low), float(high), _turns(share), faster, slower)


def _gap(points: npt.NDArray[np.float64], place: float, farthest_apart: float) -> tuple[float, float]:
    """The neighbours of a place between points that are farther apart; else the place itself, twice."""
    if not points[0] < place < points[-1]:
        return place, place
    after = int(np.searchsorted(points, place))
    before, next_one = float(points[after - 1]), float(points[after])
    return (before, next_one) if place < next_one and next_one > farthest_apart * before else (place, place)


def _narrow(low: float, high: float, first: float, last: float) -> bool:
    """Whether an interval is an answer: the whole of one end, or at most half of the range's logarithm."""
    if low == high:
        return True
    if low <= 0.0 and math.isinf(high):
        return False
    return 2 * math.log(min(high, last) / max(low, first)) <= math.log(last / first)


def _last_crossing(points: npt.NDArray[np.float64], gain: Draws, wins: npt.NDArray[np.bool_]) -> Draws:
    """For each draw where the lead of the one that wins at the end begins: minus infinity if everywhere."""
    place: Draws = np.full(gain.shape[1], -np.inf)
    other = wins != wins[-1]
    (column,) = other.any(axis=0).nonzero()
    if column.size:
        # Index of the last point at which the one that wins at the end does not win.
        last = len(points) - 1 - np.argmax(other[::-1, column], axis=0)
        before, after = gain[last, column], gain[last + 1, column]
        place[column] = points[last] + before / (before - after) * (points[last + 1] - points[last])
    return place


def _places(place: Draws, *, inside: npt.NDArray[np.bool_]) -> Draws:
    """Crossings of the draws `inside` one kind of answer, 0 where they have none.

    Those of the other kind lie beyond the range where they have none, and have no place (nan) where they have one.
    """
    nowhere = place == 0.0
    return np.where(inside, place, np.where(nowhere, np.inf, np.nan))


def _known(places: Draws) -> int:
    return int((~np.isnan(places[1:])).sum())


def _turns(share: npt.NDArray[np.float64]) -> int:
    """How often the lead significantly changes hands along the range."""
    leads = [value >= _ONE_SIDED for value in share if value >= _ONE_SIDED or value <= 1 - _ONE_SIDED]
    return sum(1 for _ in pairwise(groupby(leads)))


def _next_whole(crossing: float) -> float:
    return crossing if crossing in {0.0, math.inf} else math.floor(crossing) + 1.0


def _whole_before(crossing: float) -> float:
    return crossing if crossing in {0.0, math.inf} else max(math.ceil(crossing) - 1.0, 1.0)
