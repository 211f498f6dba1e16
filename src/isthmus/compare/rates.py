"""The rates of a run that say how its device is, each with what says how much is normal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from isthmus.analysis.figures import figures
from isthmus.analysis.statistics.curve import Curve, Point, bandwidth_curves, host_curves
from isthmus.analysis.statistics.shape import compared_bytes, compared_point
from isthmus.compare.reference import Expected, Reference
from isthmus.compare.spread import GroupKey
from isthmus.language import say
from isthmus.record import Direction, Run, format_bytes

DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h")
# Pinned memory, while all devices of the machine copy.
AT_ONCE = "pinned_at_once"


class Normal(NamedTuple):
    """The least that is normal, in bytes per second, and what says so; `of` are runs, outputs or devices."""

    basis: Literal["measured", "public", "theory", "alike", "card"]
    low: float
    of: int = 0
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rate:
    """Bytes per second of copies of `bytes`, and the range of a reference at that size, where it has one.

    Of direction "both" it is the sum. `noise` is half the distance from the slowest to the fastest tenth of repeats,
    as a share, `size` the size where its output stated it, and `normals` is what says how much is normal, the class
    that is relied on first.
    """

    memory: str
    direction: Direction
    bytes: int
    rate: float
    noise: float
    normal: Expected | None
    normals: tuple[Normal, ...]
    method: str
    size: str


class Pinned(NamedTuple):
    """A rate of large pinned copies in bytes per second, with its noise and its method."""

    bytes: int
    rate: float
    noise: float
    method: str


def pinned_rates(run: Run) -> Mapping[Direction, Pinned]:
    """Large pinned copies by direction, by copy engines where those were measured.

    Both directions at once are the sum, also where each was timed by itself while the other ran.
    """
    curves = bandwidth_curves(run)
    size = compared_bytes(host_curves(run)) if host_curves(run) else 0
    rates: dict[Direction, Pinned] = {}
    for method in ("copy", "kernel"):
        for direction in (*DIRECTIONS, "both"):
            if direction not in rates and (curve := _curve(curves, method, direction, "pinned")):
                point = compared_point(curve, size)
                rates[direction] = Pinned(point.bytes, point.rate.median, _noise(point), method)
    parts = [_curve(curves, "duplex", direction, "pinned") for direction in DIRECTIONS]
    if "both" not in rates and all(parts):
        points = [compared_point(curve, size) for curve in parts if curve]
        noise = max(_noise(point) for point in points)
        rates["both"] = Pinned(points[0].bytes, sum(point.rate.median for point in points), noise, "copy")
    return rates


def _curve(curves: Sequence[Curve], method: str, direction: Direction, memory: str) -> Curve | None:
    kind = method, direction, memory
    return next(
        (each for each in curves if each.points and kind == (each.method, each.direction, each.host_memory)), None
    )


def rates_of(run: Run, reference: Reference | None) -> Iterator[Rate]:
    """The rates of a run that say how its device is, with what was measured of healthy ones."""

    def made(memory: str, direction: Direction, method: str, size: int, rate: float, noise: float) -> Rate:
        key = GroupKey("bandwidth", method, direction, memory, "large")
        normal = reference.rate_at(key, size) if reference and memory != AT_ONCE else None
        normals = (Normal("measured", normal.low, normal.runs, (reference.name,)),) if reference and normal else ()
        return Rate(memory, direction, size, rate, noise, normal, normals, method, _size_of(run, size))

    for direction, pinned in pinned_rates(run).items():
        yield made("pinned", direction, pinned.method, pinned.bytes, pinned.rate, pinned.noise)
    curves = host_curves(run)
    size = compared_bytes(curves) if curves else 0
    # By the driver, and at last by the library, as curves name it.
    for memory, method in (("pageable", "copy"), ("pageable_isthmus", "isthmus")):
        for direction in DIRECTIONS:
            if curve := _curve(curves, method, direction, memory):
                point = compared_point(curve, size)
                yield made(memory, direction, method, point.bytes, point.rate.median, _noise(point))
    for figure in figures(run, "peers"):
        case, at_once = figure.case, figure.rate
        is_own = case.target == run.fingerprint.device.spec and (case.devices or 0) > 1 and not case.neighbour
        if case.method == "link" and is_own and at_once and case.direction in DIRECTIONS:
            yield made(AT_ONCE, case.direction, "link", case.bytes, at_once.median, at_once.relative_half_width)


def _noise(point: Point) -> float:
    """Half the distance from the slowest to the fastest tenth of repeats, as a share of the median."""
    fast, median, slow = np.quantile(point.samples, (0.1, 0.5, 0.9))
    return float(median / fast - median / slow) / 2


def _size_of(run: Run, size: int) -> str:
    is_unstated = run.settings.options.get("sizes") == "unstated"
    return say("health.size_unstated") if is_unstated else format_bytes(size)
