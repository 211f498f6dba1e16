"""Why rates of pageable memory differ: between sizes, repeats and NUMA nodes, in two levels, with the host's memcpy."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from isthmus.analysis.figures import Figure, figures
from isthmus.analysis.phrases import direction_name, percent_words, spanned, times
from isthmus.analysis.statistics.curve import ONE_WAY, Curve, Point, find
from isthmus.analysis.statistics.shape import spread
from isthmus.document.finding import Finding
from isthmus.language import enumerated, say, sentences
from isthmus.record import MIB, Run, format_bytes, format_rate

# Repeats and sizes that differ by more say little of the next.
ERRATIC = 1.25
# From here on the size alone changes little.
_LARGE_BYTES = 16 * MIB
_FEW_SIZES, _FEW_SAMPLES = 3, 20
# Levels have so many of the samples each, and nothing between them for a factor of ERRATIC.
_LEAST_SHARE = 0.1
# A copy this near to memcpy, or faster, has no other limit.
_SET_BY_MEMCPY = 0.6


class Levels(NamedTuple):
    """Two rates in bytes per second between which there is none, and the share of transfers at the lower."""

    low: float
    high: float
    share: float


def erratic_finding(run: Run, curves: Sequence[Curve]) -> Finding | None:
    """How far rates of pageable memory swing, and what the run measured of the causes; None where it did neither."""
    explained = [each for each in figures(run, "bandwidth") if each.point]
    memcpy = next((each for each in explained if each.case.method == "memcpy"), None)
    nodes = [each for each in explained if each.case.node is not None]
    parts = [text for direction in ONE_WAY for text in _swings(direction, find(curves, direction, "pageable"))]
    parts += [_memcpy(memcpy, shares)] if memcpy and (shares := _shares(memcpy, curves)) else []
    parts += [_by_node(run, nodes)] if nodes else []
    if not parts:
        return None
    return Finding("note", "pageable_erratic", sentences(parts), cause=_cause(memcpy, curves))


def two_levels(points: Sequence[Point]) -> Levels | None:
    """The two rates at which the transfers of these sizes go, by the widest gap between them; None for no such gap."""
    rates = np.sort([point.bytes_moved / seconds for point in points for seconds in point.samples])
    least = max(2, round(_LEAST_SHARE * len(rates)))
    if len(rates) < max(_FEW_SAMPLES, 2 * least):
        return None
    # Each rate over the next lower one, where both sides have the least number of samples.
    gaps = rates[least : len(rates) - least + 1] / rates[least - 1 : len(rates) - least]
    below = least + int(gaps.argmax())
    if gaps.max() < ERRATIC:
        return None
    return Levels(float(np.median(rates[:below])), float(np.median(rates[below:])), below / len(rates))


def _swings(direction: str, curve: Curve | None) -> Iterator[str]:
    large = [point for point in curve.points if point.bytes >= _LARGE_BYTES] if curve else []
    rates = [point.rate.median for point in large]
    repeats = spread(curve) or 1.0 if curve else 1.0
    if len(large) >= _FEW_SIZES and max(max(rates) / min(rates), repeats) >= ERRATIC:
        yield say(
            "bandwidth.erratic",
            direction=direction_name(direction),
            sizes=times(max(rates) / min(rates), max(rates) / min(rates)),
            rates=spanned(format_rate(min(rates)), format_rate(max(rates))),
            range=spanned(format_bytes(large[0].bytes), format_bytes(large[-1].bytes)),
            repeats=times(repeats, repeats),
        )
    elif repeats >= ERRATIC:
        yield say("bandwidth.spread", direction=direction_name(direction), times=times(repeats, repeats))
    if levels := two_levels(large):
        yield say(
            "bandwidth.two_levels",
            direction=direction_name(direction),
            percent=percent_words(levels.share),
            low=format_rate(levels.low),
            high=format_rate(levels.high),
        )


def _shares(memcpy: Figure, curves: Sequence[Curve]) -> Mapping[str, float]:
    """Rates of the driver's copies of the same size over memcpy's, by direction."""
    shares = {}
    for direction in ONE_WAY:
        curve = find(curves, direction, "pageable")
        point = curve.at(memcpy.case.bytes) if curve else None
        if point and memcpy.rate:
            shares[direction_name(direction)] = point.rate.median / memcpy.rate.median
    return shares


def _memcpy(memcpy: Figure, shares: Mapping[str, float]) -> str:
    assert memcpy.rate, "it has a point"
    each = [f"{percent_words(share)} % {direction}" for direction, share in shares.items()]
    size = format_bytes(memcpy.case.bytes)
    return say("bandwidth.memcpy", size=size, rate=format_rate(memcpy.rate.median), shares=enumerated(each))


def _cause(memcpy: Figure | None, curves: Sequence[Curve]) -> str:
    """Whether a faster CPU would help, the usual explanation of pageable rates since 2012."""
    shares = _shares(memcpy, curves) if memcpy else {}
    set_by = [direction for direction, share in shares.items() if share >= _SET_BY_MEMCPY]
    if not shares:
        return ""
    return say("bandwidth.memcpy_sets", directions=enumerated(set_by)) if set_by else say("bandwidth.memcpy_is_faster")


def _by_node(run: Run, nodes: Sequence[Figure]) -> str:
    """``node 0 (near) 9.40 GB/s H2D and 17.0 GB/s D2H; node 1 ...``."""
    near = run.fingerprint.device.numa_node
    texts = []
    for node in sorted({each.case.node for each in nodes if each.case.node is not None}):
        rates = [
            f"{format_rate(each.rate.median)} {direction_name(each.case.direction or '')}"
            for each in nodes
            if each.case.node == node and each.rate
        ]
        name = say("bandwidth.near_node" if node == near else "bandwidth.node", node=node)
        texts.append(f"{name} {enumerated(rates)}")
    size = format_bytes(nodes[0].case.bytes)
    return say("bandwidth.by_node", size=size, nodes=say("common.between_clauses").join(texts))
