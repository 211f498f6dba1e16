"""When pinning pays and what to use instead, in sentences: findings and verdict of the breakeven experiment."""

from isthmus.model.breakeven_comparison import AGREEMENT, BreakevenAnalysis, analyse_breakeven
from isthmus.model.breakeven_derived import derived_finding
from isthmus.model.breakeven_measured import BREAKEVEN_WAYS
from isthmus.model.breakeven_price import price_words, reference_size
from isthmus.model.breakeven_seed import seed_finding
from isthmus.model.breakeven_thresholds import Contest
from isthmus.model.breakeven_words import (
    PLAIN_CASES,
    both_cases,
    case_words,
    size_words,
    spans_words,
    uses_words,
    vague,
)
from isthmus.model.finding import Finding
from isthmus.model.phrases import about_bytes, capitalised, enumerated, memory_name, times
from isthmus.model.threshold import Threshold
from isthmus.record import Run, format_bytes

__all__ = ["ALLOCATED_WAYS", "breakeven_findings", "breakeven_verdict"]

# Of a buffer that must be got for the purpose; a staging buffer is there already.
ALLOCATED_WAYS = tuple(way for way in BREAKEVEN_WAYS if way != "staging")

# The program that hardly ever gets a new buffer.
_MANY_USES = 1000


def breakeven_findings(run: Run) -> list[Finding]:
    """What the breakeven experiment of a run says; nothing for a run without it."""
    analysis = analyse_breakeven(run)
    if analysis is None:
        return []
    found = [
        _pinning(analysis),
        _choice(analysis),
        _in_place(analysis),
        seed_finding(run, analysis),
        derived_finding(analysis),
    ]
    return [finding for finding in found if finding]


def breakeven_verdict(run: Run) -> str:
    """When pinning pays, in a sentence or two that go on after a colon; empty for a run without the experiment."""
    analysis = analyse_breakeven(run)
    if analysis is None:
        return ""
    size = reference_size(analysis)
    least = _least_uses(analysis, "pinned")
    text = f"against fresh pages, pinning a buffer of {format_bytes(size)} pays {both_cases(least)}." if least else ""
    ranked = _ranked(analysis)
    if ranked and ranked[0][1] > 1:
        way, speed = ranked[0]
        best = (
            f"used once there and back, {format_bytes(size)} cross fastest with {memory_name(way)}: "
            f"{times(speed, speed)} as fast as with pageable memory."
        )
        text = f"{text} {capitalised(best)}" if text else best
    return text or "the ways that were measured leave nothing to compare with pageable memory."


_OTHER_WAYS = (
    ("registered", "Registering one"),
    ("touched_registered", "Touching one with many threads first and registering it"),
)


def _pinning(analysis: BreakevenAnalysis) -> Finding | None:
    least = _least_uses(analysis, "pinned")
    if not least:
        return None
    size = format_bytes(reference_size(analysis))
    sentences = [f"Against fresh pages, pinning a buffer of {size} pays {both_cases(least)}."]
    for way, doing in _OTHER_WAYS:
        others = _least_uses(analysis, way)
        if others:
            sentences.append(f"{doing} pays {both_cases(others)}.")
    once = _thresholds(analysis, 1)
    sentences.append(f"Used once, pinned memory wins {both_cases(_size_words(once))}.")
    often = _thresholds(analysis, _MANY_USES)
    small = {
        case: f"below {about_bytes(found.low if vague(found) else found.value)}"
        for case, found in often.items()
        if found.state == "from" and found.low > 0
    }
    if small:
        sentences.append(f"Do not bother {both_cases(small)}: even {_MANY_USES} uses do not pay for it.")
    others = _size_words({case: found for case, found in often.items() if case not in small})
    if others:
        sentences.append(f"With {_MANY_USES} uses it wins {both_cases(others)}.")
    sentences.append(_RECYCLED)
    return Finding("info", "breakeven_pinning", " ".join(sentences), cause=price_words(analysis))


# Source: glibc's M_MMAP_THRESHOLD, which grows with what a program frees, up to 32 MiB on 64-bit systems.
_RECYCLED = (
    "A program that frees and allocates up to 32 MiB in a loop gets recycled memory from glibc, whose pages are there; "
    "against that, pinning takes more uses to pay."
)


def _choice(analysis: BreakevenAnalysis) -> Finding | None:
    free = {case: analysis.measured.fastest(case, 1) for case in PLAIN_CASES}
    own = {case: analysis.measured.fastest(case, 1, among=ALLOCATED_WAYS) for case in PLAIN_CASES}
    best = {case: spans_words(spans) for case, spans in free.items() if spans}
    if not best:
        return None
    text = f"If you may choose freely, the fastest way to use a buffer once is {both_cases(best, '; ')}."
    if own != free:
        allocated = {case: spans_words(spans) for case, spans in own.items() if spans}
        text += f" Of the ways that get a buffer for it, it is {both_cases(allocated, '; ')}."
    ranked = _ranked(analysis)
    faster = [f"{times(speed, speed)} with {memory_name(way)}" for way, speed in ranked if speed > 1]
    slower = [f"{memory_name(way)} ({times(speed, speed)})" for way, speed in ranked if speed <= 1]
    if faster:
        faster[0] = faster[0].replace(" times", " times as fast", 1)
        size = format_bytes(reference_size(analysis))
        text += f" Against pageable memory, {size} used once there and back are {enumerated(faster)}."
    if slower:
        text += f" No faster {'are' if len(slower) > 1 else 'is'} {enumerated(slower)}."
    staged = any(span.way == "staging" for spans in free.values() for span in spans)
    return Finding(
        "info",
        "breakeven_choice",
        text,
        fix="Keep one pinned buffer and pass data through it, rather than pin a new one for each transfer."
        if staged
        else "",
    )


def _in_place(analysis: BreakevenAnalysis) -> Finding | None:
    changes, same = [], 0
    for uses in (1, 10):
        copied, produced = _thresholds(analysis, uses), _thresholds(analysis, uses, "_in_place")
        for case in (case for case in copied if case in produced):
            if _alike(copied[case], produced[case]):
                same += 1
                continue
            often = "one use" if uses == 1 else f"{uses} uses"
            changes.append(
                f"with {often} {case_words(case)} pinned memory wins {size_words(produced[case])} instead of "
                f"{size_words(copied[case])}"
            )
    if not same and not changes:
        return None
    what = f"changes when pinning pays: {enumerated(changes)}" if changes else "does not change when pinning pays"
    text = f"Producing data in the buffer, instead of copying it there with memcpy, {what} (one and ten uses)."
    size = reference_size(analysis)
    gains = []
    for case in PLAIN_CASES:
        slow, fast = (analysis.measured.seconds(each, "pageable", 1).get(size) for each in (case, f"{case}_in_place"))
        if slow is not None and fast is not None:
            gains.append(float(slow[0] / fast[0]))
    if gains:
        faster = times(min(gains), max(gains))
        text += f" It makes a program that uses {format_bytes(size)} of pageable memory once {faster} as fast."
    return Finding("info", "breakeven_in_place", text)


def _least_uses(analysis: BreakevenAnalysis, way: str) -> dict[str, str]:
    """From how many uses on the way beats pageable memory at the reference size, in words by case."""
    size = reference_size(analysis)
    found = {case: analysis.measured.least_uses(case, size, "pageable", way) for case in PLAIN_CASES}
    return {case: uses_words(least) for case, least in found.items() if least}


def _thresholds(analysis: BreakevenAnalysis, uses: int, suffix: str = "") -> dict[str, Threshold]:
    """From which size on pinned memory beats pageable memory, by case."""
    found = {
        case: analysis.measured.thresholds.get(Contest(f"{case}{suffix}", uses, "pageable", "pinned"))
        for case in PLAIN_CASES
    }
    return {case: threshold for case, threshold in found.items() if threshold}


def _size_words(thresholds: dict[str, Threshold]) -> dict[str, str]:
    return {case: size_words(threshold) for case, threshold in thresholds.items()}


def _ranked(analysis: BreakevenAnalysis) -> list[tuple[str, float]]:
    """How many times as fast as pageable memory the other ways are at the reference size, the fastest first."""
    size = reference_size(analysis)
    found = [
        (way, speed.median)
        for way in analysis.measured.ways("round_trip")
        if way != "pageable" and (speed := analysis.measured.speed_up("round_trip", way, 1).get(size))
    ]
    return sorted(found, key=lambda pair: -pair[1])


def _alike(one: Threshold, other: Threshold) -> bool:
    if one.state != other.state or one.state not in {"from", "up_to"}:
        return one.state == other.state
    return max(one.value, other.value) <= AGREEMENT * min(one.value, other.value)
