"""What pageable memory costs: how far it falls behind pinned memory, how erratic it is, and what helps."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from isthmus.analysis.bandwidth.words import moves, over
from isthmus.analysis.figures import Figure, figures
from isthmus.analysis.phrases import direction_name, percent_words, spanned, times
from isthmus.analysis.statistics.contrast import Contrast, contrast, contrasts
from isthmus.analysis.statistics.curve import ONE_WAY, Curve, Point, find
from isthmus.analysis.statistics.shape import LARGE_BYTES, spread
from isthmus.document.finding import Finding, known
from isthmus.language import clauses, enumerated, in_brackets, say, sentences
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


def pageable_findings(run: Run, curves: Sequence[Curve]) -> list[Finding]:
    """The findings about pageable memory, with and without huge pages."""
    return known(_pageable(run, curves), erratic_finding(run, curves), _isthmus(run, curves), _huge_pages(run, curves))


def pageable_advice(curves: Sequence[Curve]) -> str:
    """What to do about pageable memory; empty where pinned memory gains nothing significant."""
    gaps = contrasts(curves, "pinned", "pageable", LARGE_BYTES)
    gains = {direction: gap for direction, gap in gaps.items() if gap.matters and gap.ratio > 1}
    if not gains:
        return ""
    ours = [gap for gap in contrasts(curves, "pageable_isthmus", "pageable", LARGE_BYTES).values() if gap.matters]
    if ours and all(gap.ratio > 1 for gap in ours):
        return say("bandwidth.isthmus_do", times=_span([*ours]), pinned=_span([*gains.values()]))
    only = enumerated([direction_name(direction) for direction in gains]) if len(gains) < len(gaps) else ""
    size = format_bytes(min(min(gap.faster) for gap in gains.values()))
    return say("bandwidth.pin", times=_span([*gains.values()]), only=in_brackets(only), size=size)


def _span(gaps: Sequence[Contrast]) -> str:
    """How many times as fast, over the sizes that gain."""
    ratios = [ratio for gap in gaps for ratio in gap.gained.values()]
    return times(min(ratios), max(ratios))


def _pageable(run: Run, curves: Sequence[Curve]) -> Finding | None:
    parts = [moves(run, curves, "pageable"), *_behind(curves)]
    if not any(find(curves, direction, "pageable") for direction in ONE_WAY):
        return None
    fix = pageable_advice(curves)
    staged = fix and not run.fingerprint.device.shares_host_memory
    return Finding("note", "pageable", sentences(parts), say("bandwidth.pageable_cause") if staged else "", (fix,))


def _behind(curves: Sequence[Curve]) -> list[str]:
    """From which size on pinned memory is faster, in each direction; else how pageable memory compares with it."""
    parts = []
    for direction in ONE_WAY:
        curve, pinned = find(curves, direction, "pageable"), find(curves, direction, "pinned")
        gap = contrast(pinned, curve) if pinned and curve else None
        if gap and (size := gap.faster_from) is not None:
            factor = times(*gap.span(size))
            parts.append(
                say("bandwidth.pageable_behind", direction=direction.upper(), size=format_bytes(size), times=factor)
            )
    return parts or [over(curves, "pageable", "pinned")]


def _isthmus(run: Run, curves: Sequence[Curve]) -> Finding | None:
    """What the library's own copy gains over the driver's, in place of which it can be called."""
    kinds = ("pageable", "untouched")
    parts = [text for kind in kinds for text in _compared(run, curves, f"{kind}_isthmus", kind)]
    return Finding("note", "pageable_isthmus", sentences(parts)) if parts else None


def _huge_pages(run: Run, curves: Sequence[Curve]) -> Finding | None:
    # Below two huge pages there is nothing for them to gain.
    parts = _compared(run, curves, "pageable_huge", "pageable", 4 * MIB)
    gaps = contrasts(curves, "pageable_huge", "pageable", 4 * MIB).values()
    helps = any(gap.matters and gap.ratio > 1 for gap in gaps)
    fix = say("bandwidth.huge_pages_fix") if helps else ""
    return Finding("note", "pageable_huge", sentences(parts), do=(fix,)) if parts else None


def _compared(run: Run, curves: Sequence[Curve], kind: str, other: str, least: int = LARGE_BYTES) -> list[str]:
    factors = over(curves, kind, other, least)
    return [moves(run, curves, kind), factors] if factors else []


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
    return say("bandwidth.by_node", size=size, nodes=clauses(texts))
