"""How many rounds of the kernel's work take as long as is wanted, on a device whose copies are known."""

from collections.abc import Callable, Sequence
from math import log
from typing import NamedTuple

# What even a device that works ten times as long as it copies, and copies slowly, does not need.
MOST_ROUNDS = 1 << 24
_GROWTH = 4
_REFINEMENTS = 3
# A number of rounds is taken without another look where it is as near as this to what was wanted.
_CLOSE = log(1.03)
# Farther off, it is another ratio and must not be named like the one that was wanted. Rounds are whole: where one takes
# about as long as a copy, as on a CPU, what lies between two of them is out of reach.
_TOLERANCE = log(1.25)


class Work(NamedTuple):
    """Rounds for a `ratio` of the work's time to the slower copy's; `reached` is the ratio that they were seen to give.

    `why_not` says why no number of rounds gives the ratio; empty where these do.
    """

    ratio: float
    rounds: int
    reached: float
    why_not: str = ""


def calibrate(seconds_of: Callable[[int], float], copy_seconds: float, ratios: Sequence[float]) -> list[Work]:
    """The work for each ratio; `seconds_of` measures how long the device takes for so many rounds.

    It may grow in any way that never falls: on a GPU a few rounds take no longer than reading and writing the words.
    """
    known = {1: seconds_of(1)}
    while max(known.values()) < max(ratios) * copy_seconds and max(known) < MOST_ROUNDS:
        rounds = max(known) * _GROWTH
        known[rounds] = seconds_of(rounds)
    return [_work(seconds_of, copy_seconds, ratio, known) for ratio in ratios]


def nearest_to_one(works: Sequence[Work]) -> Work | None:
    """The work within reach that takes most nearly as long as a copy; None where none is."""
    return min((work for work in works if not work.why_not), key=lambda work: abs(log(work.ratio)), default=None)


def _work(seconds_of: Callable[[int], float], copy_seconds: float, ratio: float, known: dict[int, float]) -> Work:
    wanted = ratio * copy_seconds
    for _ in range(_REFINEMENTS):
        rounds = _between(known, wanted)
        if rounds in known:
            break
        known[rounds] = seconds_of(rounds)
        if _distance(known[rounds], wanted) < _CLOSE:
            break
    best = min(known, key=lambda rounds: _distance(known[rounds], wanted))
    reached = known[best] / copy_seconds
    if _distance(known[best], wanted) <= _TOLERANCE:
        return Work(ratio, best, reached)
    if known[min(known)] > wanted:
        return Work(ratio, best, reached, f"even one round of the work takes {reached:.2f} times as long as a copy")
    if known[max(known)] < wanted:
        most = (
            f"{max(known)} rounds of the work take only {known[max(known)] / copy_seconds:.2g} times as long as a copy"
        )
        return Work(ratio, best, reached, most)
    nearest = f"the nearest, {best}, takes {reached:.2f} times as long as a copy"
    return Work(ratio, best, reached, f"no number of rounds of the work takes that long; {nearest}")


def _between(known: dict[int, float], wanted: float) -> int:
    """Rounds by linear interpolation between the two known ones around what is wanted, or the nearest end."""
    below = max((rounds for rounds, seconds in known.items() if seconds <= wanted), default=None)
    if below is None:
        return min(known)
    above = min((rounds for rounds, seconds in known.items() if rounds > below and seconds > wanted), default=None)
    if above is None:
        return below
    share = (wanted - known[below]) / (known[above] - known[below])
    return round(below + share * (above - below))


def _distance(seconds: float, wanted: float) -> float:
    return abs(log(max(seconds, 1e-12) / wanted))
