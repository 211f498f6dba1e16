"""What the bandwidth experiment says: all its findings, and what to take away in two sentences."""

from collections.abc import Sequence

from isthmus.analysis.bandwidth.both_ways import both_ways_findings
from isthmus.analysis.bandwidth.interpolation import interpolation_finding
from isthmus.analysis.bandwidth.memory_kinds import memory_findings, small_advice
from isthmus.analysis.bandwidth.pageable import pageable_advice, pageable_findings
from isthmus.analysis.bandwidth.words import moves, over
from isthmus.analysis.statistics.curve import ONE_WAY, Curve, bandwidth_curves, find
from isthmus.analysis.statistics.shape import LARGE_BYTES
from isthmus.document.finding import Finding
from isthmus.language import say, sentences
from isthmus.record import Run


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
