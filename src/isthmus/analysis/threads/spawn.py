"""What persistent threads are worth: the time that creating and joining threads for each transfer adds to it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isthmus.analysis.statistics.resample import DRAWS, Draws, interval_of, resampled_medians
from isthmus.analysis.threads.model import ThreadCurve, created_threads
from isthmus.record import MIB, Interval

__all__ = ["SpawnCost", "SpawnFit", "spawn_costs", "spawn_fit"]

# A shorter copy takes less than the creation of a thread: its share says how short the copy is.
_LEAST_SHARED_BYTES = MIB
# Two unknowns, and enough beyond them to see how well they fit.
_LEAST_COSTS = 4


@dataclass(frozen=True)
class SpawnCost:
    """What creating `created` threads, of both directions, costs one transfer.

    `seconds` is the difference of the medians of created and persistent threads, `share` that over the time with
    persistent threads; both with 95 % intervals from resampling. `curve` is that of the persistent threads.
    """

    curve: ThreadCurve
    threads: int
    created: int
    seconds: Interval
    share: Interval
    draws: Draws

    @property
    def certain(self) -> bool:
        """Whether created threads take longer for certain."""
        return self.seconds.low > 0

    @property
    def share_tells(self) -> bool:
        """Whether the transfer is long enough for the share to tell of the threads: from 1 MiB on."""
        return self.curve.bytes >= _LEAST_SHARED_BYTES


@dataclass(frozen=True)
class SpawnFit:
    """Seconds that created threads add: `fixed` for the transfer and `per_thread` for each, with 95 % intervals."""

    fixed: Interval
    per_thread: Interval


def spawn_costs(curves: Sequence[ThreadCurve]) -> list[SpawnCost]:
    """A cost for each transfer that was measured with persistent and with created threads, by number of threads."""
    workers = {_key(curve): curve for curve in curves if curve.method == "workers"}
    pairs = [
        (workers[_key(curve)], threads, workers[_key(curve)].points[threads].samples, point.samples)
        for curve in curves
        if curve.method == "spawn" and _key(curve) in workers
        for threads, point in curve.points.items()
        if threads in workers[_key(curve)].points
    ]
    # Two streams of chance: one for both would pair the ranks that are drawn and make the differences look steady.
    kept = resampled_medians([samples for _, _, samples, _ in pairs], seed=1)
    spawned = resampled_medians([samples for _, _, _, samples in pairs], seed=2)
    return [
        SpawnCost(
            curve=curve,
            threads=threads,
            created=created_threads(curve.direction, threads),
            seconds=interval_of(spawned[row] - kept[row]),
            share=interval_of((spawned[row] - kept[row]) / kept[row]),
            draws=spawned[row] - kept[row],
        )
        for row, (curve, threads, _, _) in enumerate(pairs)
    ]


def spawn_fit(costs: Sequence[SpawnCost]) -> SpawnFit | None:
    """A straight line through the costs against the number of threads created; None with too few to lay one through.

    Weighted least squares, weights from the width of each interval, so that the long transfers, whose own variation
    hides the cost, have little say. The intervals come from repeating the fit with resampled medians of resampled
    transfers, and so hold the noise of both and what the line cannot follow.
    """
    if len(costs) < _LEAST_COSTS or len({cost.created for cost in costs}) < 2:
        return None
    created = np.array([cost.created for cost in costs], dtype=np.float64)
    widths = np.array([cost.seconds.high - cost.seconds.low for cost in costs])
    # A transfer without any spread would outweigh all others: it counts like the steadiest that has some.
    least = widths[widths > 0].min(initial=np.inf)
    weights = 1 / np.square(np.maximum(widths, least if np.isfinite(least) else 1.0))
    fixed, slope = _lines(created, np.array([cost.draws for cost in costs]), weights)
    return SpawnFit(interval_of(fixed), interval_of(slope))


def _lines(created: npt.NDArray[np.float64], seconds: Draws, weights: npt.NDArray[np.float64]) -> tuple[Draws, Draws]:
    """Intercepts and slopes: of all rows in the first column, of as many rows drawn with replacement in the others."""
    count = len(created)
    times = np.random.default_rng(3).multinomial(count, np.full(count, 1 / count), DRAWS).T
    weight = weights[:, np.newaxis] * np.hstack([np.ones((count, 1)), times])
    total = weight.sum(axis=0)
    x, y = (weight * created[:, np.newaxis]).sum(axis=0) / total, (weight * seconds).sum(axis=0) / total
    offset = created[:, np.newaxis] - x
    spread = (weight * np.square(offset)).sum(axis=0)
    covariance = (weight * offset * (seconds - y)).sum(axis=0)
    # A draw of one number of threads alone has no slope of its own: it says nothing against that of all.
    slope = np.divide(covariance, spread, out=np.full_like(spread, covariance[0] / spread[0]), where=spread > 0)
    return y - slope * x, slope


def _key(curve: ThreadCurve) -> tuple[object, ...]:
    return *curve.subject, curve.streams, curve.slicing
