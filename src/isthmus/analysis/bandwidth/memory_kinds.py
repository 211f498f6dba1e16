"""What each kind of locked or managed host memory does to the rate, measured against pinned memory."""

from collections.abc import Sequence

from isthmus.analysis.bandwidth.words import moves, over
from isthmus.analysis.phrases import about_bytes
from isthmus.analysis.statistics.contrast import contrast, contrasts
from isthmus.analysis.statistics.curve import ONE_WAY, Curve, find
from isthmus.analysis.statistics.shape import LARGE_BYTES, half_size
from isthmus.document.finding import Finding, known
from isthmus.language import say, sentences
from isthmus.record import Run, format_bytes

_FIXES = {
    "write_combined": "bandwidth.write_combined_fix",
    "registered": "bandwidth.registered_fix",
    "managed": "bandwidth.managed_fix",
}


def memory_findings(run: Run, curves: Sequence[Curve]) -> list[Finding]:
    """One finding for every kind measured in one direction; pageable memory has its own file."""
    return known(
        _pinned(run, curves),
        _beside_pinned(run, curves, "write_combined"),
        _beside_pinned(run, curves, "registered"),
        _mapped(run, curves),
        _beside_pinned(run, curves, "managed"),
    )


def _pinned(run: Run, curves: Sequence[Curve]) -> Finding | None:
    text = moves(run, curves, "pinned")
    return Finding("note", "pinned", text, do=(small_advice(curves),)) if text else None


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
