"""What the batching experiment says: how much better than a loop of copies, by what, from how many pieces on."""

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median

from isthmus.model.batching import (
    LOOP,
    LOOPS,
    TYPICAL_PIECES,
    BatchingCell,
    BatchingSurface,
    CellKey,
    batching_surfaces,
)
from isthmus.model.batching_thresholds import BatchingThreshold, Cliff, batch_cliff, batching_thresholds
from isthmus.model.batching_words import (
    cell_words,
    count_words,
    factor_words,
    layout_words,
    method_words,
    setting_words,
    way_words,
)
from isthmus.model.contrast import MATTERS, above
from isthmus.model.finding import Finding
from isthmus.model.method_table import held_out
from isthmus.model.phrases import enumerated, link_rate, memory_name, times
from isthmus.record import Run, format_bytes, format_rate, format_seconds

__all__ = ["WITHIN", "batching_findings", "batching_verdict", "typical_cell"]

# A method so close to the fastest is as good as any.
WITHIN = 1.1
# As often as the table should choose one.
_ENOUGH = 0.95
# A copy's time does not depend on its size where it varies by less.
_SAME_TIME = 1.5
_ADVICE = {
    "waited_copies": "Keep the loop; nothing that was measured is faster.",
    "copies": "Keep the loop; nothing that was measured is faster.",
    "graph": "Record the copies into a graph once and replay it, as long as the pieces stay where they are.",
    "batch": "Hand all pieces to the driver's batch call (cuMemcpyBatchAsync) in place of a loop.",
    "device_pack": "Move them with one copy, and pack or unpack them with a kernel on the device.",
    "pack": "Pack the pieces side by side in a page-locked buffer that is kept, and move that with one copy; a kernel "
    "puts them in their places on the device.",
    "pack_threads": "Let some threads pack the pieces, chunk by chunk, into page-locked buffers that are kept, each "
    "sending a chunk off while it packs the next; a kernel puts them in their places on the device.",
    "kernel": "Let a kernel read or write the pieces where they are in host memory, instead of copying them.",
    "mapped_kernel": "Keep the pieces in mapped memory, and let a kernel read or write them there.",
}


def batching_findings(run: Run) -> list[Finding]:
    """The findings about each kind of memory, about the batch call, and about the table of methods."""
    surfaces = batching_surfaces(run)
    found: list[Finding | None] = []
    for memory in dict.fromkeys(surface.host_memory for surface in surfaces):
        chosen = _plainest(surfaces, memory)
        found += [_gain(run, chosen), _fastest(chosen), _breakeven(run, chosen)]
    return [finding for finding in (*found, _cliff(surfaces), _table(surfaces)) if finding]


def batching_verdict(run: Run) -> str:
    """What to take away; empty where pieces were not measured."""
    surfaces = batching_surfaces(run)
    chosen = [
        (surface, key)
        for memory in dict.fromkeys(surface.host_memory for surface in surfaces)
        for surface in _plainest(surfaces, memory)
        if (key := typical_cell(surface))
    ]
    told = []
    for key in dict.fromkeys(key for _, key in chosen):
        of_key = [surface for surface, each in chosen if each == key]
        ways = [_verdict_words(surface, surface.cells[key]) for surface in of_key]
        layouts = layout_words(of_key[0].host_layout, of_key[0].device_layout)
        told.append(f"{cell_words(key)}, {layouts}, move {enumerated(ways)}")
    if told:
        return f"{'; '.join(told)}."
    if not surfaces:
        return ""
    return "the loop of copies and what is to replace it were not both measured, so there is no gain to tell."


def typical_cell(surface: BatchingSurface) -> CellKey | None:
    """The measured cell nearest to 4096 pieces of 4 KiB in which the loop of copies can be compared; None without."""
    known = [key for key, cell in surface.cells.items() if LOOP in cell.points and len(cell.points) > 1]
    return min(known, key=_away, default=None)


def _away(key: CellKey) -> float:
    return math.hypot(*(math.log(ours / typical) for ours, typical in zip(key, TYPICAL_PIECES, strict=True)))


def _plainest(surfaces: Sequence[BatchingSurface], memory: str) -> list[BatchingSurface]:
    """Those of one kind of memory with the pair of layouts that comes first."""
    of_memory = [surface for surface in surfaces if surface.host_memory == memory]
    first = of_memory[0]
    return [
        surface
        for surface in of_memory
        if (surface.host_layout, surface.device_layout) == (first.host_layout, first.device_layout)
    ]


def _verdict_words(surface: BatchingSurface, cell: BatchingCell) -> str:
    where = f"{way_words(surface)} with {memory_name(surface.host_memory)}"
    if not _gains(cell) or cell.gain is None:
        return f"at {format_rate(cell.points[LOOP].rate.median)} {where} by {method_words(LOOP, surface)}"
    factor = times(cell.gain.median, cell.gain.median)
    return (
        f"at {format_rate(cell.best.rate.median)} {where} by {method_words(cell.fastest, surface)} "
        f"({factor} the loop of copies)"
    )


def _gains(cell: BatchingCell) -> bool:
    loop = cell.points[LOOP]
    return above(cell.best, loop) and cell.best.rate.median >= MATTERS * loop.rate.median


def _gain(run: Run, surfaces: Sequence[BatchingSurface]) -> Finding | None:
    chosen = [(surface, surface.cells[key]) for surface in surfaces if (key := typical_cell(surface))]
    if not chosen:
        return None
    parts = []
    for surface, cell in chosen:
        loop = format_rate(cell.points[LOOP].rate.median)
        if _gains(cell) and cell.gain:
            near = f" ({enumerated([method_words(each, surface) for each in cell.as_fast], 'or')} as fast)"
            parts.append(
                f"{way_words(surface)} at {format_rate(cell.best.rate.median)} by {method_words(cell.fastest, surface)}"
                f"{near if cell.as_fast else ''}, {factor_words(cell.gain)} the {loop} of a loop of copies"
            )
        else:
            parts.append(f"{way_words(surface)} at {loop} by a loop of copies, which nothing beats for certain")
    surface, cell = chosen[0]
    subject = f"{cell_words((cell.piece_bytes, cell.pieces))} in {setting_words(surface)}, move"
    gaining = [(each, other) for each, other in chosen if _gains(other)]
    fixes = dict.fromkeys(_ADVICE.get(other.fastest, "") for _, other in gaining)
    return Finding(
        "info",
        f"batching_gain_{surface.host_memory}",
        f"{subject} {'; '.join(parts)}.",
        cause=_cost_of_a_copy(run, *gaining[0]) if gaining else "",
        fix=" ".join(filter(None, fixes)),
    )


def _cost_of_a_copy(run: Run, surface: BatchingSurface, cell: BatchingCell) -> str:
    """What a copy of the loop costs however small it is; nothing where that depends on the size."""
    along = {size: point for size, point in surface.along_sizes(cell.pieces, LOOP).items() if size <= cell.piece_bytes}
    each = [point.seconds.median / cell.pieces for point in along.values()]
    if len(each) < 2 or max(each) > _SAME_TIME * min(each):
        return ""
    link = link_rate(run)
    share = f", of which the link needs {format_seconds(cell.piece_bytes / link)} for the largest" if link else ""
    sizes = f"{format_bytes(min(along))} to {format_bytes(max(along))}"
    return f"Each copy of the loop takes about {format_seconds(median(each))} whatever it moves, {sizes}{share}."


def _fastest(surfaces: Sequence[BatchingSurface]) -> Finding | None:
    parts = []
    for surface in surfaces:
        cells = {key: cell for key, cell in surface.measured.items() if key[1] > 1 and len(cell.points) > 1}
        if not cells:
            continue
        told = []
        for method, count in Counter(cell.fastest for cell in cells.values()).most_common():
            sizes = [size for (size, _), cell in cells.items() if cell.fastest == method]
            told.append(f"{method_words(method, surface)} at {count} ({_span(sizes)})")
        near = sum(bool(cell.as_fast) for cell in cells.values())
        tied = f"; at {near} of them another one is as fast" if near else ""
        parts.append(f"{way_words(surface)}, of {len(cells)} points, {enumerated(told)}{tied}")
    if not parts:
        return None
    return Finding(
        "info",
        f"batching_fastest_{surfaces[0].host_memory}",
        f"The fastest for several pieces in {setting_words(surfaces[0])}: {'. '.join(parts)}.",
    )


def _span(sizes: Sequence[int]) -> str:
    """``64 B to 4 KiB``."""
    return enumerated([format_bytes(size) for size in sorted({min(sizes), max(sizes)})], "to")


def _breakeven(run: Run, surfaces: Sequence[BatchingSurface]) -> Finding | None:
    """From how many pieces on the loop is worth replacing by what is the fastest for many of them."""
    parts = []
    for surface in surfaces:
        key = typical_cell(surface)
        method = next((each for each in surface.cells[key].ranking if each not in LOOPS), None) if key else None
        found = batching_thresholds(surface, run.settings.target_relative_half_width)
        told = _by_answer([each for each in found if each.method == method])
        if told and method:
            parts.append(f"{way_words(surface)} by {method_words(method, surface)}: {told}")
    if not parts:
        return None
    return Finding(
        "info",
        f"batching_breakeven_{surfaces[0].host_memory}",
        f"From how many pieces on it pays to replace a loop of copies ({setting_words(surfaces[0])}): "
        f"{'. '.join(parts)}.",
    )


def _by_answer(thresholds: Sequence[BatchingThreshold]) -> str:
    """``64 B from 7 on (6 to 9), 64 KiB at no number measured``; sizes with one answer are said together."""
    groups: dict[str, list[str]] = {}
    for each in thresholds:
        never = each.threshold.state == "never" and each.threshold.certain
        answer = "at no number measured" if never else count_words(each.threshold)
        groups.setdefault(answer, []).append(format_bytes(each.piece_bytes))
    return ", ".join(f"{enumerated(sizes)} {answer}" for answer, sizes in groups.items())


def _cliff(surfaces: Sequence[BatchingSurface]) -> Finding | None:
    """The largest jump of the plainest surfaces on which the batch call was measured closely enough."""
    memories = dict.fromkeys(surface.host_memory for surface in surfaces)
    plainest = [surface for memory in memories for surface in _plainest(surfaces, memory)]
    looked = [(surface, found) for surface in plainest if (found := batch_cliff(surface))]
    if not looked:
        return None
    jumps = [(surface, cliff) for surface, (_, cliff) in looked if cliff]
    if not jumps:
        surface, (count, _) = looked[0]
        sizes = list(surface.along_sizes(count, "batch"))
        return Finding(
            "info",
            "batching_cliff",
            f"The driver's batch call has no cliff: with {count} pieces of {format_bytes(sizes[0])} to "
            f"{format_bytes(sizes[-1])}, larger ones never take certainly less time.",
        )
    surface, cliff = max(jumps, key=lambda each: each[1].gain.median)
    return Finding(
        "info",
        "batching_cliff",
        f"The driver's batch call has a cliff: {cell_words((cliff.below, cliff.pieces))} take "
        f"{factor_words(cliff.gain)} as long as as many of {format_bytes(cliff.above)} ({_cliff_rates(cliff)}; "
        f"{way_words(surface)}, {memory_name(surface.host_memory)}).",
        cause="Time that falls as pieces grow means that the driver handles them in another way from that size on.",
        fix=f"Give it pieces of {format_bytes(cliff.above)} and more, and smaller ones to what is fastest there.",
    )


def _cliff_rates(cliff: Cliff) -> str:
    return f"{format_rate(cliff.slow.rate.median)} against {format_rate(cliff.fast.rate.median)}"


def _table(surfaces: Sequence[BatchingSurface]) -> Finding | None:
    """How well a method can be looked up between the measured points."""
    spots = [spot for surface in surfaces for spot in held_out(surface.table)]
    if not spots:
        return None
    good = sum(spot.slowdown <= WITHIN for spot in spots)
    worst = max(spots, key=lambda spot: spot.slowdown)
    enough = good >= _ENOUGH * len(spots)
    return Finding(
        "info",
        "batching_table",
        f"Looked up between points twice as far apart as the measured ones, the method is within "
        f"{100 * (WITHIN - 1):.0f} % of the fastest at {good} of {len(spots)} points; at worst it takes "
        f"{worst.slowdown:.2f} times as long ({cell_words((int(worst.spot[0]), int(worst.spot[1])))}).",
        fix="" if enough else "Measure with --full, whose points are closer, before a program chooses by this table.",
    )
