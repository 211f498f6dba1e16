"""What pageable memory costs: how far it falls behind pinned memory, how erratic it is, and whether huge pages help."""

from collections.abc import Sequence

from isthmus.model.contrast import contrast, contrasts
from isthmus.model.curve import ONE_WAY, Curve, find
from isthmus.model.finding import Finding, Severity
from isthmus.model.phrases import settles, times
from isthmus.model.shape import LARGE_BYTES, steadiness
from isthmus.record import MIB, Direction, Run, format_bytes

__all__ = ["pageable_findings"]


def pageable_findings(run: Run, curves: Sequence[Curve]) -> list[Finding]:
    """The findings about pageable memory, with and without huge pages."""
    found = [_pageable(run, curves), _huge_pages(run, curves)]
    return [finding for finding in found if finding]


def _pageable(run: Run, curves: Sequence[Curve]) -> Finding | None:
    sentences: list[str] = []
    behind = erratic = False
    for direction in ONE_WAY:
        curve, pinned = find(curves, direction, "pageable"), find(curves, direction, "pinned")
        if curve is None:
            continue
        text = f"{'It' if sentences else 'Pageable memory'} {settles(run, curve)}"
        gap = contrast(pinned, curve) if pinned else None
        large = contrast(pinned, curve, minimum_bytes=LARGE_BYTES) if pinned else None
        behind = behind or bool(large and large.told_apart and large.ratio >= 1.25)
        if gap and gap.faster_from is not None:
            low, high = gap.span(gap.faster_from)
            text += f"; from {format_bytes(gap.faster_from)} on pinned memory is {times(low, high)} as fast"
        elif gap:
            text += "; pinned memory is not faster at the largest size"
        sentences.append(f"{text}.")
        restless = _restless(direction, curve, pinned)
        erratic = erratic or bool(restless)
        sentences.append(restless)
    if not sentences:
        return None
    cause = fix = ""
    if behind and not run.fingerprint.device.shares_host_memory:
        cause = (
            "The device cannot read pages that may move, so the driver copies them piece by piece through a pinned "
            "buffer of its own: that copy, by one core, sets the rate and its swings, not the link."
        )
    if behind:
        fix = (
            "Allocate buffers that are transferred more than once as pinned memory and reuse them, or register those "
            "that exist already; do not pin more than that, because pinned pages cannot be swapped out."
        )
    severity: Severity = "warning" if behind or erratic else "info"
    return Finding(severity, "pageable", " ".join(filter(None, sentences)), cause, fix)


def _restless(direction: Direction, curve: Curve, pinned: Curve | None) -> str:
    """How erratic the curve is, in a sentence; empty if it is not."""
    found, reference = steadiness(curve), steadiness(pinned) if pinned else None
    if found is None or not found.erratic:
        return ""
    parts = []
    if found.spread >= 1.25:
        against = f", pinned by {times(reference.spread, reference.spread)}" if reference else ""
        parts.append(
            f"repeats of one size from 1 MiB on differ by {times(found.spread, found.spread)} (95th over 5th "
            f"percentile{against})"
        )
    if found.drop >= 1.25 and found.turns >= 2:
        against = f", pinned at most {times(reference.drop, reference.drop)}" if reference else ""
        parts.append(f"a larger size can be {times(found.drop, found.drop)} slower than a smaller one{against}")
    return f"It is erratic {direction.upper()}: {', and '.join(parts)}."


def _huge_pages(run: Run, curves: Sequence[Curve]) -> Finding | None:
    # Below two huge pages there is nothing for them to gain.
    gaps = contrasts(curves, "pageable_huge", "pageable", 4 * MIB)
    if not gaps:
        return None
    sentences = []
    for direction, gap in gaps.items():
        way = direction.upper()
        if gap.matters:
            sentences.append(
                f"Huge pages make pageable memory {times(gap.ratio, gap.ratio)} as fast {way} (median from 4 MiB on)."
            )
        else:
            sentences.append(f"Huge pages make no certain difference to pageable memory {way}.")
    helps = any(gap.matters and gap.ratio > 1 for gap in gaps.values())
    always = run.fingerprint.host.memory.transparent_huge_pages == "always"
    return Finding(
        "info",
        "pageable_huge",
        " ".join(sentences),
        cause="This host gives large allocations huge pages anyway (transparent_hugepage is set to always)."
        if always and not helps
        else "",
        fix="Ask for huge pages with madvise(MADV_HUGEPAGE) where memory cannot be pinned." if helps else "",
    )
