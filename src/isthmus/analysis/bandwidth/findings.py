"""What the bandwidth experiment says: all its findings, and what to take away in two sentences."""

from collections.abc import Sequence

from isthmus.analysis.bandwidth.both_ways import both_ways_findings
from isthmus.analysis.bandwidth.interpolation import interpolation_finding
from isthmus.analysis.bandwidth.memory_kinds import memory_findings
from isthmus.analysis.bandwidth.pageable import pageable_findings
from isthmus.analysis.phrases import link_rate, moved_memory_name, times
from isthmus.analysis.statistics.contrast import contrast
from isthmus.analysis.statistics.curve import ONE_WAY, Curve, bandwidth_curves, find
from isthmus.analysis.statistics.shape import LARGE_BYTES, plateau, steadiness
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
    advice = _pageable_advice(curves)
    if advice is None:
        return Takeaway(sentences([capitalised(text), say("bandwidth.pinned_gains_nothing")]))
    return Takeaway(capitalised(text), advice)


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
    gaps, erratic = [], False
    for way in ONE_WAY:
        pinned, pageable = find(curves, way, "pinned"), find(curves, way, "pageable")
        if pinned and pageable and (gap := contrast(pinned, pageable, minimum_bytes=LARGE_BYTES)):
            gaps.append(gap)
            steady = steadiness(pageable)
            erratic = erratic or bool(steady and steady.erratic)
    if not gaps:
        return ""
    low, high = min(min(gap.ratios) for gap in gaps), max(max(gap.ratios) for gap in gaps)
    if not any(gap.matters and gap.ratio > 1 for gap in gaps):
        return None
    return say("bandwidth.pin_erratic" if erratic else "bandwidth.pin", times=times(low, high))
