"""What the bandwidth experiment says: all its findings, and what to take away in two sentences."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from isthmus.analysis.bandwidth.pageable import pageable_advice, pageable_findings
from isthmus.analysis.bandwidth.prediction import Predictor, curve_predictor
from isthmus.analysis.bandwidth.words import moves, over
from isthmus.analysis.phrases import about_bytes
from isthmus.analysis.statistics.contrast import contrast, contrasts
from isthmus.analysis.statistics.curve import ONE_WAY, Curve, bandwidth_curves, find, host_curves
from isthmus.analysis.statistics.shape import LARGE_BYTES, half_size
from isthmus.document.finding import Finding, Level, known
from isthmus.language import say, sentences
from isthmus.record import KIB, Run, format_bytes, format_rate

# Shorter transfers are all latency, which needs no model.
_FROM_BYTES = 4 * KIB
# With fewer, a 95th percentile is the largest.
_LEAST_ERRORS = 8
_FIXES = {
    "write_combined": "bandwidth.write_combined_fix",
    "registered": "bandwidth.registered_fix",
    "managed": "bandwidth.managed_fix",
}


def findings(run: Run) -> list[Finding]:
    """About each kind of memory, in both directions at once, and how far times between the measured sizes are off."""
    curves = bandwidth_curves(run)
    candidates = [*pageable_findings(run, curves), *memory_findings(run, curves), *both_ways_findings(run, curves)]
    error = interpolation_finding(run)
    return [*candidates, error] if error else candidates


def takeaway(run: Run) -> Finding | None:
    """What to take away about rates; None where none was measured."""
    curves = bandwidth_curves(run)
    kind = _main_kind(curves)
    if kind is None:
        return None
    if not any(
        curve.points[-1].bytes >= LARGE_BYTES for direction in ONE_WAY if (curve := find(curves, direction, kind))
    ):
        return Finding("note", "bandwidth", say("bandwidth.nothing_large"))
    text, advice = moves(run, curves, kind), pageable_advice(curves)
    tied = "" if advice else over(curves, "pinned", "pageable")
    return Finding("note", "bandwidth", sentences([text, tied]), do=(advice, small_advice(curves)))


def _main_kind(curves: Sequence[Curve]) -> str | None:
    """Pinned memory wherever it was measured, else what moves the most."""
    measured = [
        curve for curve in curves if curve.direction in ONE_WAY and curve.points and curve.metric == "host_seconds"
    ]
    if any(curve.host_memory == "pinned" for curve in measured):
        return "pinned"
    return max(measured, key=lambda curve: curve.points[-1].rate.median).host_memory if measured else None


def both_ways_findings(run: Run, curves: Sequence[Curve]) -> list[Finding]:
    """The finding about pinned memory moved in both directions at once; none where that was not measured."""
    both = find(curves, "both", "pinned")
    if both is None:
        return []
    parts = [moves(run, curves, "pinned", ["both"])]
    last = both.points[-1]
    alone = [
        point
        for direction in ONE_WAY
        if (curve := find(curves, direction, "pinned")) and (point := curve.at(last.bytes))
    ]
    share = None
    if len(alone) == len(ONE_WAY):
        added = sum(point.rate.median for point in alone)
        share = last.rate.median / added
        rate, size = format_rate(added), format_bytes(last.bytes)
        parts.append(say("bandwidth.both_of_sum", size=size, percent=100 * share, rate=rate))
    text = sentences(parts)
    if share is None or share >= 0.75:
        return [Finding("note", "both_ways", text)]
    engines = run.fingerprint.device.copy_engines
    cause = say("bandwidth.single_engine") if engines == 1 else ""
    level: Level = "note" if engines == 1 or run.fingerprint.device.shares_host_memory else "ATTENTION"
    return [Finding(level, "both_ways", text, cause=cause, do=(say("bandwidth.both_fix"),))]


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


def memory_findings(run: Run, curves: Sequence[Curve]) -> list[Finding]:
    """One finding for every kind measured in one direction; pageable memory has its own file."""
    text = moves(run, curves, "pinned")
    return known(
        Finding("note", "pinned", text, do=(small_advice(curves),)) if text else None,
        _beside_pinned(run, curves, "write_combined"),
        _beside_pinned(run, curves, "registered"),
        _mapped(run, curves),
        _beside_pinned(run, curves, "managed"),
    )


def small_advice(curves: Sequence[Curve]) -> str:
    """What to do about copies that latency dominates; empty where pinned memory tells no size."""
    pinned = [
        half for direction in ONE_WAY if (curve := find(curves, direction, "pinned")) and (half := half_size(curve))
    ]
    sizes = [half.bytes for half in pinned if not half.at_most]
    return say("bandwidth.pinned_fix", size=about_bytes(max(sizes))) if sizes else ""


def _mapped(run: Run, curves: Sequence[Curve]) -> Finding | None:
    text = _beside(run, curves, "mapped")
    fix = ""
    for direction in ONE_WAY:
        kernel, engine = find(curves, direction, "mapped"), find(curves, direction, "pinned")
        gap = contrast(engine, kernel) if kernel and engine else None
        if gap and gap.slower_to is not None:
            size = format_bytes(gap.slower_to)
            text = sentences([text, say("bandwidth.kernel_faster", size=size, direction=direction.upper())])
            fix = say("bandwidth.mapped_fix")
    return Finding("note", "mapped", text, do=(fix,)) if text else None


def _beside_pinned(run: Run, curves: Sequence[Curve], kind: str) -> Finding | None:
    """Memory that moves as pinned memory does, or not: where it gains or loses, what to do."""
    text = _beside(run, curves, kind)
    if not text:
        return None
    gaps = contrasts(curves, kind, "pinned", LARGE_BYTES).values()
    ratios = [gap.ratio for gap in gaps if gap.matters]
    acts = {
        "write_combined": any(ratio > 1 for ratio in ratios),
        "registered": bool(gaps) and not any(ratio < 1 for ratio in ratios),
        "managed": any(ratio < 0.8 for ratio in ratios),
    }
    return Finding("note", kind, text, do=(say(_FIXES[kind]) if acts[kind] else "",))


def _beside(run: Run, curves: Sequence[Curve], kind: str) -> str:
    return sentences([moves(run, curves, kind), over(curves, kind, "pinned")])
