"""What the bandwidth experiment says: all its findings, and what to take away in two sentences."""

from collections.abc import Sequence

from isthmus.analysis.bandwidth.both_ways import both_ways_findings
from isthmus.analysis.bandwidth.interpolation import interpolation_finding
from isthmus.analysis.bandwidth.memory_kinds import memory_findings
from isthmus.analysis.bandwidth.pageable import pageable_findings
from isthmus.analysis.phrases import about_bytes, link_rate, moved_memory_name, times
from isthmus.analysis.statistics.contrast import Contrast, contrasts
from isthmus.analysis.statistics.curve import ONE_WAY, Curve, bandwidth_curves, find
from isthmus.analysis.statistics.shape import LARGE_BYTES, half_size, plateau
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import capitalised, enumerated, say, sentences
from isthmus.record import Run, format_rate


def findings(run: Run) -> list[Finding]:
    """About each kind of memory, both directions at once, and how far times between the measured sizes are off."""
    curves = bandwidth_curves(run)
    found = [*pageable_findings(run, curves), *memory_findings(run, curves), *both_ways_findings(run, curves)]
    error = interpolation_finding(run)
    return [*found, error] if error else found


def takeaway(run: Run) -> Takeaway | None:
    """What to take away about rates; None where none was measured."""
    curves = bandwidth_curves(run)
    kind = _main_kind(curves)
    if kind is None:
        return None
    rates = {way: rate for way in ONE_WAY if (rate := _large_rate(find(curves, way, kind)))}
    if not rates:
        return Takeaway(capitalised(say("bandwidth.nothing_large")))
    name = moved_memory_name(kind)
    ways = enumerated([f"{format_rate(rate)} {way.upper()}" for way, rate in rates.items()])
    text = say("bandwidth.moves", name=name, ways=ways)
    if limit := link_rate(run):
        shares = enumerated(list(dict.fromkeys(f"{100 * rate / limit:.0f} %" for rate in rates.values())))
        text = say("bandwidth.moves_of_link", name=name, ways=ways, shares=shares)
    also = _small_advice(curves)
    advice = _pageable_advice(curves)
    if advice is None:
        return Takeaway(sentences([capitalised(text), say("bandwidth.pinned_gains_nothing")]), also=also)
    return Takeaway(capitalised(text), advice, also)


def _small_advice(curves: Sequence[Curve]) -> str:
    """What to do about copies that latency dominates; empty where pinned memory tells no size."""
    pinned = [half for way in ONE_WAY if (curve := find(curves, way, "pinned")) and (half := half_size(curve))]
    sizes = [half.bytes for half in pinned if not half.at_most]
    return say("bandwidth.pinned_fix", size=about_bytes(max(sizes))) if sizes else ""


def _main_kind(curves: Sequence[Curve]) -> str | None:
    """Pinned memory wherever it was measured, else what moves the most."""
    measured = [
        curve for curve in curves if curve.direction in ONE_WAY and curve.points and curve.metric == "host_seconds"
    ]
    if any(curve.host_memory == "pinned" for curve in measured):
        return "pinned"
    return max(measured, key=lambda curve: curve.points[-1].rate.median).host_memory if measured else None


def _large_rate(curve: Curve | None) -> float | None:
    """The plateau, or where there is none the rate of the largest size."""
    if curve is None or curve.points[-1].bytes < LARGE_BYTES:
        return None
    settled = plateau(curve)
    return settled.rate.median if settled else curve.points[-1].rate.median


def _pageable_advice(curves: Sequence[Curve]) -> str | None:
    """What to do about pageable memory; None where pinned memory gains nothing certain, empty where none tells."""
    gaps = list(contrasts(curves, "pinned", "pageable", LARGE_BYTES).values())
    if not gaps:
        return ""
    pinned = _span(gaps)
    if not any(gap.matters and gap.ratio > 1 for gap in gaps):
        return None
    ours = [gap for gap in contrasts(curves, "pageable_isthmus", "pageable", LARGE_BYTES).values() if gap.matters]
    if ours and all(gap.ratio > 1 for gap in ours):
        return say("bandwidth.isthmus_do", times=_span(ours), pinned=pinned)
    return say("bandwidth.pin", times=pinned)


def _span(gaps: Sequence[Contrast]) -> str:
    return times(min(min(gap.ratios) for gap in gaps), max(max(gap.ratios) for gap in gaps))
