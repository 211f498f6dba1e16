"""The rates of a run that say how its device is, each with what says how much is normal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from isthmus.analysis.figures import figures
from isthmus.analysis.machine import links_of
from isthmus.analysis.statistics.curve import Curve, bandwidth_curves, host_curves
from isthmus.analysis.statistics.shape import compared_bytes, compared_point
from isthmus.compare.normal import Normal, normal_rates
from isthmus.compare.reference import Expected, Reference
from isthmus.compare.spread import GroupKey
from isthmus.language import say
from isthmus.record import Direction, Run, format_bytes

DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h")
# Pinned memory, while all devices of the machine copy.
AT_ONCE = "pinned_at_once"


@dataclass(frozen=True)
class Rate:
    """Bytes per second of copies of `bytes`, and the range of a reference at that size, where it has one.

    Of direction "both" it is the sum. `noise` is the relative half width of the rate's interval. `normals` is what says
    how much is normal, the class that is relied on first.
    """

    memory: str
    direction: Direction
    bytes: int
    rate: float
    noise: float
    normal: Expected | None
    normals: tuple[Normal, ...] = ()


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
                rates[direction] = Pinned(point.bytes, point.rate.median, point.rate.relative_half_width, method)
    parts = [_curve(curves, "duplex", direction, "pinned") for direction in DIRECTIONS]
    if "both" not in rates and all(parts):
        points = [compared_point(curve, size) for curve in parts if curve]
        noise = max(point.rate.relative_half_width for point in points)
        rates["both"] = Pinned(points[0].bytes, sum(point.rate.median for point in points), noise, "copy")
    return rates


def _curve(curves: Sequence[Curve], method: str, direction: Direction, memory: str) -> Curve | None:
    kind = method, direction, memory
    return next(
        (each for each in curves if each.points and kind == (each.method, each.direction, each.host_memory)), None
    )


def rates_of(run: Run, reference: Reference | None, alike: Sequence[Mapping[Direction, Pinned]]) -> Iterator[Rate]:
    """The rates of a run that say how its device is, with what is normal; `alike` are those of devices like it."""
    for direction, (size, rate, noise, method) in pinned_rates(run).items():
        normal = _expected(reference, method, direction, "pinned", size)
        others = [each[direction].rate for each in alike if direction in each]
        normals = normal_rates(run.fingerprint.device, direction, method, links_of(run), others)
        yield Rate("pinned", direction, size, rate, noise, normal, (*_measured(reference, normal), *normals))
    curves = host_curves(run)
    size = compared_bytes(curves) if curves else 0
    # By the driver, and at last by the library, as curves name it.
    for memory, method in (("pageable", "copy"), ("pageable_isthmus", "isthmus")):
        for direction in DIRECTIONS:
            if curve := _curve(curves, method, direction, memory):
                point = compared_point(curve, size)
                normal = _expected(reference, method, direction, memory, point.bytes)
                noise = point.rate.relative_half_width
                normals = _measured(reference, normal)
                yield Rate(memory, direction, point.bytes, point.rate.median, noise, normal, tuple(normals))
    for figure in figures(run, "peers"):
        case, at_once = figure.case, figure.rate
        is_own = case.target == run.fingerprint.device.spec and (case.devices or 0) > 1 and not case.neighbour
        if case.method == "link" and is_own and at_once and case.direction in DIRECTIONS:
            yield Rate(AT_ONCE, case.direction, case.bytes, at_once.median, at_once.relative_half_width, None)


def _expected(
    reference: Reference | None, method: str, direction: Direction, memory: str, size: int
) -> Expected | None:
    return reference.rate_at(GroupKey("bandwidth", method, direction, memory, "large"), size) if reference else None


def _measured(reference: Reference | None, normal: Expected | None) -> list[Normal]:
    return [Normal("measured", normal.low, normal.runs, (reference.name,))] if reference and normal else []


def size_of(run: Run, rate: Rate) -> str:
    """The size of its copies, where the output of another tool stated it."""
    is_unstated = run.settings.options.get("sizes") == "unstated"
    return say("health.size_unstated") if is_unstated else format_bytes(rate.bytes)
