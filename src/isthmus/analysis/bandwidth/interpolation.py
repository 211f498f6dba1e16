"""How far times between measured sizes are off: every size between two others, held out of the fit and predicted."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from isthmus.analysis.bandwidth.prediction import curve_predictor
from isthmus.analysis.statistics.curve import bandwidth_curves
from isthmus.analysis.statistics.once import once
from isthmus.document.finding import Finding
from isthmus.language import say
from isthmus.record import KIB, Interval, Run

# Shorter transfers are all latency, which needs no model.
_FROM_BYTES = 4 * KIB
# With fewer, a 95th percentile is the largest.
_LEAST_ERRORS = 8


class HeldOut(NamedTuple):
    """A size of one kind of memory with its measured time and what the others of its curve predict, in seconds."""

    host_memory: str
    bytes: int
    seconds: Interval
    predicted: Interval

    @property
    def error(self) -> float:
        """Relative to what was measured, whose own noise is part of it."""
        return abs(self.predicted.median / self.seconds.median - 1)


@once()
def held_out(run: Run) -> Sequence[HeldOut]:
    """Sizes from 4 KiB on of every bandwidth curve on the host's clock, each predicted as if it was not measured.

    The gap is then twice as wide as those in use.
    """
    return [
        HeldOut(curve.host_memory, point.bytes, point.seconds, predictor.without(index).at(point.bytes).seconds)
        for curve in bandwidth_curves(run)
        if curve.points and curve.metric == "host_seconds"
        for predictor in [curve_predictor(curve)]
        for index, point in enumerate(curve.points[1:-1], 1)
        if point.bytes >= _FROM_BYTES
    ]


def interpolation_finding(run: Run) -> Finding | None:
    """Median and 95th percentile of the errors; None with too few sizes to tell."""
    errors = [each.error for each in held_out(run)]
    if len(errors) < _LEAST_ERRORS:
        return None
    median, high = 100 * np.quantile(errors, [0.5, 0.95])
    return Finding("note", "prediction", say("bandwidth.interpolation_error", median=median, high=high))
