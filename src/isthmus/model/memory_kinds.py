"""What each kind of locked or managed host memory does to the rate, measured against pinned memory."""

from collections.abc import Sequence

from isthmus.model.contrast import contrast, contrasts
from isthmus.model.curve import ONE_WAY, Curve, find
from isthmus.model.finding import Finding
from isthmus.model.phrases import about_bytes, capitalised, moved_memory_name, settles, times
from isthmus.model.shape import LARGE_BYTES, half_size, latency
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["memory_findings"]


def memory_findings(run: Run, curves: Sequence[Curve]) -> list[Finding]:
    """One finding for every kind that the bandwidth experiment measured one way; pageable memory has its own file."""
    found = [
        _pinned(run, curves),
        _write_combined(run, curves),
        _registered(run, curves),
        _mapped(run, curves),
        _managed(run, curves),
    ]
    return [finding for finding in found if finding]


def _pinned(run: Run, curves: Sequence[Curve]) -> Finding | None:
    sentences: list[str] = []
    halves: list[float] = []
    for direction in ONE_WAY:
        curve = find(curves, direction, "pinned")
        if curve is None:
            continue
        text = f"{'It' if sentences else 'Pinned memory'} {settles(run, curve)}"
        half = half_size(curve)
        if half and half.at_most:
            text += "; its smallest size already reaches half of that"
        elif half:
            halves.append(half.bytes)
            text += f"; half of that is reached at {about_bytes(half.bytes)}"
        small = latency(curve)
        if small:
            text += f", and a transfer of up to 4 KiB takes {format_seconds(small.median)}"
        sentences.append(f"{text}.")
    if not sentences:
        return None
    cause = fix = ""
    if halves:
        cause = "Every transfer has a fixed cost; below the half-rate size that cost, not the link, sets the rate."
        fix = f"Gather transfers that are smaller than {about_bytes(max(halves))} into larger ones."
    return Finding("info", "pinned", " ".join(sentences), cause, fix)


def _write_combined(run: Run, curves: Sequence[Curve]) -> Finding | None:
    text = _against_pinned(run, curves, "write_combined")
    gaps = contrasts(curves, "write_combined", "pinned", LARGE_BYTES).values()
    fix = ""
    if gaps:
        gains = any(gap.matters and gap.ratio > 1 for gap in gaps)
        fix = "Use it for buffers that the host only writes" if gains else "Keep ordinary pinned memory"
        fix += ": the host reads write-combined memory past its caches, many times slower."
    return Finding("info", "write_combined", text, fix=fix) if text else None


def _registered(run: Run, curves: Sequence[Curve]) -> Finding | None:
    text = _against_pinned(run, curves, "registered")
    gaps = contrasts(curves, "registered", "pinned", LARGE_BYTES).values()
    fix = ""
    if gaps and not any(gap.matters and gap.ratio < 1 for gap in gaps):
        fix = "Register a buffer that exists already where it is, rather than copy it into a pinned one."
    return Finding("info", "registered", text, fix=fix) if text else None


def _mapped(run: Run, curves: Sequence[Curve]) -> Finding | None:
    text = _against_pinned(run, curves, "mapped")
    fix = ""
    for direction in ONE_WAY:
        kernel, engine = find(curves, direction, "mapped"), find(curves, direction, "pinned")
        gap = contrast(engine, kernel) if kernel and engine else None
        if gap and gap.slower_to is not None:
            text += f" Up to {format_bytes(gap.slower_to)} {direction.upper()} the kernel is faster than a pinned copy."
            fix = "Let kernels read small inputs and write small results in mapped memory themselves, without a copy."
    return Finding("info", "mapped", text, fix=fix) if text else None


def _managed(run: Run, curves: Sequence[Curve]) -> Finding | None:
    text = _against_pinned(run, curves, "managed")
    gaps = contrasts(curves, "managed", "pinned", LARGE_BYTES).values()
    if not text:
        return None
    if not any(gap.matters and gap.ratio < 0.8 for gap in gaps):
        return Finding("info", "managed", text)
    return Finding(
        "warning",
        "managed",
        text,
        cause="A prefetch moves the pages themselves and rewrites both sides' page tables, which a copy does not.",
        fix="Copy data that crosses as a whole from pinned memory; managed memory pays where only a part is touched.",
    )


def _against_pinned(run: Run, curves: Sequence[Curve], kind: str) -> str:
    """A sentence for each way: how the kind settles and how that compares with pinned memory; empty if not measured."""
    gaps = contrasts(curves, kind, "pinned", LARGE_BYTES)
    sentences: list[str] = []
    for direction in ONE_WAY:
        curve = find(curves, direction, kind)
        if curve is None:
            continue
        gap = gaps.get(direction)
        versus = ""
        if gap and gap.matters:
            versus = f", {times(gap.ratio, gap.ratio)} the rate of pinned memory (median from 1 MiB on)"
        elif gap and gap.alike:
            versus = ", like pinned memory"
        elif gap:
            versus = ", not certainly different from pinned memory"
        sentences.append(
            f"{'It' if sentences else capitalised(moved_memory_name(kind))} {settles(run, curve)}{versus}."
        )
    return " ".join(sentences)
