"""What each kind of locked or managed host memory does to the rate, measured against pinned memory."""

from collections.abc import Sequence

from isthmus.analysis.phrases import about_bytes, moved_memory_name, settles, times
from isthmus.analysis.statistics.contrast import contrast, contrasts
from isthmus.analysis.statistics.curve import ONE_WAY, Curve, find
from isthmus.analysis.statistics.shape import LARGE_BYTES, half_size, latency
from isthmus.document.finding import Finding
from isthmus.language import capitalised, say, sentences
from isthmus.record import Run, format_bytes, format_seconds


def memory_findings(run: Run, curves: Sequence[Curve]) -> list[Finding]:
    """One finding for every kind that the bandwidth experiment measured one way; pageable memory has its own file."""
    found = [
        _pinned(run, curves),
        _beside_pinned(run, curves, "write_combined"),
        _beside_pinned(run, curves, "registered"),
        _mapped(run, curves),
        _beside_pinned(run, curves, "managed"),
    ]
    return [finding for finding in found if finding]


def _pinned(run: Run, curves: Sequence[Curve]) -> Finding | None:
    said: list[str] = []
    halves: list[float] = []
    for direction in ONE_WAY:
        curve = find(curves, direction, "pinned")
        if curve is None:
            continue
        text = settles(run, say("curve.it" if said else "bandwidth.pinned_name"), curve)
        half = half_size(curve)
        if half and half.at_most:
            text = say("bandwidth.half_at_once", settles=text)
        elif half:
            halves.append(half.bytes)
            text = say("bandwidth.half_at", settles=text, size=about_bytes(half.bytes))
        small = latency(curve)
        if small:
            text = say("bandwidth.small_takes", text=text, time=format_seconds(small.median))
        said.append(say("bandwidth.sentence", text=text))
    if not said:
        return None
    cause = fix = ""
    if halves:
        cause = say("bandwidth.pinned_cause")
        fix = say("bandwidth.pinned_fix", size=about_bytes(max(halves)))
    return Finding("note", "pinned", sentences(said), cause, fix)


def _mapped(run: Run, curves: Sequence[Curve]) -> Finding | None:
    text = _against_pinned(run, curves, "mapped")
    fix = ""
    for direction in ONE_WAY:
        kernel, engine = find(curves, direction, "mapped"), find(curves, direction, "pinned")
        gap = contrast(engine, kernel) if kernel and engine else None
        if gap and gap.slower_to is not None:
            size = format_bytes(gap.slower_to)
            text = sentences([text, say("bandwidth.kernel_faster", size=size, way=direction.upper())])
            fix = say("bandwidth.mapped_fix")
    return Finding("note", "mapped", text, fix=fix) if text else None


def _beside_pinned(run: Run, curves: Sequence[Curve], kind: str) -> Finding | None:
    """Memory that moves as pinned memory does, or not: where it gains or loses, what to do."""
    text = _against_pinned(run, curves, kind)
    gaps = [gap for gap in contrasts(curves, kind, "pinned", LARGE_BYTES).values() if gap]
    if not text or not gaps:
        return Finding("note", kind, text) if text else None
    ratios = [gap.ratio for gap in gaps if gap.matters]
    fix = ""
    match kind:
        case "write_combined":
            gains = any(ratio > 1 for ratio in ratios)
            fix = say("bandwidth.write_combined_use" if gains else "bandwidth.write_combined_keep")
        case "registered" if not any(ratio < 1 for ratio in ratios):
            fix = say("bandwidth.registered_fix")
        case "managed" if any(ratio < 0.8 for ratio in ratios):
            cause = say("bandwidth.managed_cause")
            return Finding("note", kind, text, cause=cause, fix=say("bandwidth.managed_fix"))
    return Finding("note", kind, text, fix=fix)


def _against_pinned(run: Run, curves: Sequence[Curve], kind: str) -> str:
    """A sentence for each way: how the kind settles and how that compares with pinned memory; empty if not measured."""
    gaps = contrasts(curves, kind, "pinned", LARGE_BYTES)
    said: list[str] = []
    for direction in ONE_WAY:
        curve = find(curves, direction, kind)
        if curve is None:
            continue
        gap = gaps.get(direction)
        text = settles(run, say("curve.it") if said else capitalised(moved_memory_name(kind)), curve)
        if gap and gap.matters:
            text = say("bandwidth.times_pinned", settles=text, times=times(gap.ratio, gap.ratio))
        elif gap and gap.alike:
            text = say("bandwidth.like_pinned", settles=text)
        elif gap:
            text = say("bandwidth.perhaps_pinned", settles=text)
        else:
            text = say("bandwidth.sentence", text=text)
        said.append(text)
    return sentences(said)
