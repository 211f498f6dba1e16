"""How far times between measured sizes are off: every size between two others, held out of the fit and predicted."""

from typing import NamedTuple

import numpy as np

from isthmus.analysis.bandwidth.prediction import Predictor, curve_predictor
from isthmus.analysis.statistics.curve import Curve, host_curves
from isthmus.document.finding import Finding
from isthmus.language import say
from isthmus.record import KIB, Run

# Shorter transfers are all latency, which needs no model.
_FROM_BYTES = 4 * KIB
# With fewer, a 95th percentile is the largest.
_LEAST_ERRORS = 8


class Checked(NamedTuple):
    """A curve on the host's clock with its predictor, and the places among its points of the sizes to hold out."""

    curve: Curve
    predictor: Predictor
    places: list[int]


def checked_curves(run: Run) -> list[Checked]:
    """The bandwidth curves of a run with their sizes from 4 KiB on, but for the first and the last of each."""
    return [
        Checked(curve, curve_predictor(curve), places)
        for curve in host_curves(run)
        for places in [[at for at in range(1, len(curve.points) - 1) if curve.points[at].bytes >= _FROM_BYTES]]
    ]


def interpolation_finding(run: Run) -> Finding | None:
    """Median and 95th percentile of the errors relative to what was measured; None with too few sizes to tell."""
    errors = [abs(np.expm1(predictor.errors[at - 1])) for _, predictor, places in checked_curves(run) for at in places]
    if len(errors) < _LEAST_ERRORS:
        return None
    median, high = 100 * np.quantile(errors, [0.5, 0.95])
    return Finding("note", "prediction", say("bandwidth.interpolation_error", median=median, high=high))
