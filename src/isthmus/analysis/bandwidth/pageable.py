"""What pageable memory costs: how far it falls behind pinned memory, how erratic it is, and what helps."""

from collections.abc import Sequence

from isthmus.analysis.bandwidth.erratic import erratic_finding
from isthmus.analysis.bandwidth.words import moves, over
from isthmus.analysis.phrases import direction_name, times
from isthmus.analysis.statistics.contrast import Contrast, contrast, contrasts
from isthmus.analysis.statistics.curve import ONE_WAY, Curve, find
from isthmus.analysis.statistics.shape import LARGE_BYTES
from isthmus.document.finding import Finding, known
from isthmus.language import enumerated, in_brackets, say, sentences
from isthmus.record import MIB, Run, format_bytes


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
