"""Ways to move pieces or rows at a spot, each by the surface through what was measured of it."""

import math
from collections.abc import Iterable, Mapping

import numpy as np

from isthmus.analysis.pieces.cell import BATCHING, Cell
from isthmus.analysis.statistics.resample import interval_of
from isthmus.analysis.statistics.surface import Spot, cost_surface
from isthmus.language import say
from isthmus.plan.answer import Way
from isthmus.plan.misalignment import Misalignment
from isthmus.plan.ways import by_time
from isthmus.record import Run

# Fewer do not show how a method's times grow.
_LEAST_SPOTS = 4
_PLAINEST = ("section", *BATCHING.methods)
_PACKED_ON_THREADS = ("pack_threads", "pack_kernel")


def ways_at(run: Run, cells: Mapping[Spot, Cell], spot: Spot, misaligned: Misalignment) -> list[Way]:
    """Every method with a point in a cell, the fastest at the spot first.

    What the need's alignment costs comes on top of what aligned pieces take.

    Beyond what was measured of it, a method of few points is left out where others have more, and none is faster than
    everything that was measured: small pieces alone do not show what a byte costs, nor many what the first does.
    """
    samples: dict[str, dict[Spot, tuple[float, ...]]] = {}
    for measured, cell in cells.items():
        for method, point in cell.compared.items():
            samples.setdefault(method, {})[measured] = point.samples
    points = [point for cell in cells.values() for point in cell.compared.values()]
    rate = max((point.rate.median for point in points), default=math.inf)
    shortest = min((point.seconds.median for point in points), default=0.0)
    least = max(spot.each_bytes * spot.pieces / rate, shortest)
    threads = max((cell.threads for cell in cells.values()), default=0)
    target = run.settings.target_relative_half_width
    ways: list[Way] = []
    unsure: list[Way] = []
    for method in sorted(samples, key=_plainness):
        known = samples[method]
        surface = cost_surface(known, known_within=target)
        side = surface.side(spot)
        aligned = surface.draws_at(spot)
        if side and aligned[0] < least:
            aligned = np.maximum(aligned * (least / aligned[0]), least)
        seconds = interval_of(aligned + misaligned.extra(method, spot))
        seconds = seconds._replace(high=seconds.high * misaligned.most_times(method))
        options = {"threads": threads} if threads and method in _PACKED_ON_THREADS else {}
        is_sure = not side or len(known) >= _LEAST_SPOTS
        (ways if is_sure else unsure).append(Way(method, seconds, beyond=side, options=options))
    return list(by_time(ways or unsure))


def _plainness(method: str) -> int:
    return _PLAINEST.index(method) if method in _PLAINEST else len(_PLAINEST)


def reasons(cells: Iterable[Cell], known: Iterable[Way]) -> dict[str, str]:
    """Why methods that are not known could not be priced: their data was wrong, or what the run says of them."""
    found: dict[str, str] = {}
    for cell in cells:
        found |= {method: say("plan_pieces.too_far") for method in cell.compared if method not in found}
        found |= {method: reason for method, reason in cell.skipped.items() if method not in found}
        found |= {method: say("plan_pieces.wrong_data") for method in cell.failed}
    for way in known:
        found.pop(way.name, None)
    return found
