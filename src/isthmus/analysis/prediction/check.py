"""How well predictions hold: every size between two others, held out of the fit and then predicted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from isthmus.analysis.bandwidth.prediction import Predictor, curve_predictor
from isthmus.analysis.statistics.curve import Curve, bandwidth_curves
from isthmus.analysis.statistics.once import once
from isthmus.record import KIB, Interval, Run

__all__ = ["PREDICTED_FROM", "CurveCheck", "HeldOutSize", "PredictionErrors", "errors_of"]
__all__ += ["prediction_checks", "prediction_errors"]

# Shorter transfers are all latency, for which nobody needs a model.
PREDICTED_FROM = 4 * KIB
# What a run should come to: of the errors, the median and the 95th percentile.
_TARGET_MEDIAN = 0.05
_TARGET_HIGH = 0.15
# With fewer, a 95th percentile is the largest.
_LEAST_ERRORS = 8


@dataclass(frozen=True)
class HeldOutSize:
    """A size with its measured time and what the others of its curve predict, in seconds."""

    bytes: int
    seconds: Interval
    predicted: Interval


@dataclass(frozen=True, eq=False)
class CurveCheck:
    """A curve with points, its predictor, and those of its sizes that were held out one after the other."""

    curve: Curve
    predictor: Predictor
    held_out: tuple[HeldOutSize, ...]


@dataclass(frozen=True)
class PredictionErrors:
    """Median and 95th percentile of so many relative errors, and the share of times inside their intervals.

    `unresolved` is the share of predictions inside the interval of what was measured: the run cannot say that these are
    wrong at all.
    """

    count: int
    median: float
    high: float
    enclosed: float
    unresolved: float

    @property
    def sufficient(self) -> bool:
        """Whether there are enough of them to speak of percentiles."""
        return self.count >= _LEAST_ERRORS

    @property
    def good(self) -> bool:
        """Whether both errors are as small as they should be."""
        return self.median <= _TARGET_MEDIAN and self.high <= _TARGET_HIGH


@once()
def prediction_checks(run: Run) -> Sequence[CurveCheck]:
    """The check of every bandwidth curve on the host's clock, which is what a program waits for.

    Held out is every size from 4 KiB on that has a measured one on either side, each alone: the other sizes make the
    fit and the interval as if it had not been measured. The gap is then twice as wide as those in use.
    """
    return [_check(curve) for curve in bandwidth_curves(run) if curve.points and curve.metric == "host_seconds"]


def prediction_errors(checks: Iterable[CurveCheck]) -> PredictionErrors | None:
    """The errors of several curves together; None where no size was held out."""
    return errors_of([(size.seconds, size.predicted) for check in checks for size in check.held_out])


def errors_of(pairs: Sequence[tuple[Interval, Interval]]) -> PredictionErrors | None:
    """The errors of what was measured with what was predicted for it; None for none.

    Relative to what was measured, whose own noise is part of the error.
    """
    if not pairs:
        return None
    errors = [abs(predicted.median / measured.median - 1) for measured, predicted in pairs]
    median, high = np.quantile(errors, [0.5, 0.95])
    enclosed = sum(predicted.low <= measured.median <= predicted.high for measured, predicted in pairs)
    unresolved = sum(measured.low <= predicted.median <= measured.high for measured, predicted in pairs)
    return PredictionErrors(len(pairs), float(median), float(high), enclosed / len(pairs), unresolved / len(pairs))


def _check(curve: Curve) -> CurveCheck:
    predictor = curve_predictor(curve)
    held_out = tuple(
        HeldOutSize(point.bytes, point.seconds, predictor.without(index).at(point.bytes).seconds)
        for index, point in enumerate(curve.points[1:-1], 1)
        if point.bytes >= PREDICTED_FROM
    )
    return CurveCheck(curve, predictor, held_out)
