"""What copies and the memory around them take on the machine of a run: for many sizes at a time, with their ranges."""

from collections.abc import Callable
from typing import ParamSpec

import numpy as np
import numpy.typing as npt

from isthmus.analysis.phrases import memory_name
from isthmus.analysis.statistics.resample import Draws, interval_of
from isthmus.language import say
from isthmus.plan import Plan, PriceList, Unpriced, answer
from isthmus.record import Direction, Interval, Need, Run

_P = ParamSpec("_P")
Seconds = npt.NDArray[np.float64]
# Seconds whose last axis is the median, the low and the high end of its 95 % interval.
Range = npt.NDArray[np.float64]
# More sizes than this are priced at the nearest of so many to a doubling.
_MOST_SIZES = 256
_SIZES_A_DOUBLING = 16
# A run that was not named prices from so many sizes of copies on, unless the middle half of most cases' samples is
# spread over such a share of their median.
_FEWEST_SIZES = 3
_FEWEST_SAMPLES = 4
_NOISY_SPREAD = 0.25


class Rates:
    """The prices of a run. Methods raise `isthmus.plan.Unpriced` for what the run does not say."""

    def __init__(self, run: Run, library: Run | None = None) -> None:
        """`library` is a run on such a link that has what the library reaches, where `run` has not."""
        self.run = run
        self._prices = PriceList(run)
        # Whose the rates of the library are.
        self.library_run = library if library is not None and not has_library(run) else run
        self._library = self._prices if self.library_run is run else PriceList(self.library_run)
        self._plans: dict[Need, Plan] = {}
        # Intervals by what is priced and its size: a trace asks of thousands of places about the same sizes.
        self._intervals: dict[tuple[str, ...], dict[int, Interval]] = {}
        self._has_library = has_library(self.library_run)

    def copy(self, kind: str, direction: Direction, sizes: npt.NDArray[np.int64]) -> Range:
        """One copy of each size until it is complete, through one kind of the host's memory."""
        return self._each((kind, direction), sizes, lambda size: self._prices.move(kind, direction, size).draws)

    def library(self, direction: Direction, sizes: npt.NDArray[np.int64], *, fresh: bool) -> Range:
        """One copy of each size of pageable memory through the library; to the host into pages that may be `fresh`."""
        kind = "untouched" if fresh and direction == "d2h" else "pageable"
        if not self._has_library:
            raise Unpriced(say("plan.unpriced", experiment="bandwidth", memory=memory_name("pageable_isthmus")))
        moved = ("isthmus", kind, direction)
        return self._each(moved, sizes, lambda size: self._library.move(kind, direction, size, "isthmus").draws)

    def memcpy(self, sizes: npt.NDArray[np.int64]) -> Range:
        """One thread's memcpy of each size between pageable and pinned memory."""
        return self._each(("memcpy",), sizes, lambda size: self._prices.memcpy(size).draws)

    def freed(self, sizes: npt.NDArray[np.int64]) -> Range:
        """Giving back pageable memory of each size whose pages were touched."""
        return self._each(("freed",), sizes, lambda size: self._prices.phase("free", "pageable", size).draws)

    def held(self, kind: str, size: int) -> Range:
        """Getting memory and giving it back, with the first touch where its pages come only then."""
        phases = ("allocate", "free", *(["touch"] if kind == "pageable" else []))

        def draws_of(size: int) -> Draws:
            total: Draws = np.sum([self._prices.phase(phase, kind, size).draws for phase in phases], axis=0)
            return total

        range_of_size: Range = self._each(("held", kind), np.array([size]), draws_of)[0]
        return range_of_size

    def plan(self, need: Need) -> Plan:
        """Every method to meet a need."""
        if need not in self._plans:
            self._plans[need] = answer(self.run, need)
        return self._plans[need]

    def _each(self, what: tuple[str, ...], sizes: npt.NDArray[np.int64], draws_of: Callable[[int], Draws]) -> Range:
        distinct, places = np.unique(np.maximum(sizes, 1), return_inverse=True)
        if distinct.size > _MOST_SIZES:
            nearest = np.round(np.log2(distinct) * _SIZES_A_DOUBLING).astype(np.int64)
            steps, of_size = np.unique(nearest, return_inverse=True)
            distinct, places = np.round(2 ** (steps / _SIZES_A_DOUBLING)).astype(np.int64), of_size[places]
        if not distinct.size:
            return np.zeros((0, 3))
        known = self._intervals.setdefault(what, {})
        for size in distinct.tolist():
            if size not in known:
                known[size] = interval_of(draws_of(size))
        return np.array([known[size] for size in distinct.tolist()], np.float64)[places]


def has_library(run: Run) -> bool:
    """Whether a run has what the library reaches with pageable memory."""
    return any(
        (case.experiment, case.method, case.host_memory) == ("bandwidth", "isthmus", "pageable") for case in run.cases
    )


def prices_by_itself(run: Run) -> bool:
    """Whether a run that was not named is good enough to price with: of several sizes, and not mostly noise."""
    copies = [case for case in run.cases if case.experiment == "bandwidth" and case.method == "copy" and case.bytes]
    spreads = [
        float(np.subtract(*np.percentile(series.samples, (75, 25))) / np.median(series.samples))
        for case in copies
        for series in case.series
        if series.metric == "host_seconds" and len(series.samples) >= _FEWEST_SAMPLES
    ]
    noisy = bool(spreads) and float(np.median(spreads)) > _NOISY_SPREAD
    return len({case.bytes for case in copies}) >= _FEWEST_SIZES and not noisy


def range_of(interval: Interval) -> Range:
    """An interval as an array."""
    return np.array(interval, np.float64)


def priced(price: Callable[_P, Range], *arguments: _P.args, **options: _P.kwargs) -> Range | None:
    """What a function of rates says; None where it cannot."""
    try:
        return price(*arguments, **options)
    except Unpriced:
        return None


def saved(cost: npt.NDArray[np.float64], new: Range, bound: npt.NDArray[np.float64]) -> Range:
    """What each copy saves that takes `new` instead of `cost` seconds, and at most the seconds of its bound."""
    difference = cost[..., np.newaxis] - new[..., [0, 2, 1]]
    return np.minimum(difference, bound[..., np.newaxis])
