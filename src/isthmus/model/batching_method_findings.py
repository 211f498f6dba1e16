"""Which method is the fastest where, from how many pieces on it pays, and how well it can be looked up: sentences."""

from collections import Counter
from collections.abc import Mapping, Sequence

from isthmus.model.batching import LOOPS, BatchingSurface
from isthmus.model.batching_thresholds import BatchingThreshold, Cliff, CliffLook, batch_cliff, batching_thresholds
from isthmus.model.batching_words import (
    cell_words,
    count_words,
    factor_words,
    method_words,
    setting_words,
    way_words,
)
from isthmus.model.finding import Finding
from isthmus.model.method_table import held_out, share_within
from isthmus.model.phrases import enumerated, memory_name
from isthmus.record import Run, format_bytes, format_rate

__all__ = ["breakeven_finding", "cliff_finding", "fastest_finding", "table_finding"]

# A method so close to the fastest is as good as any, and a table should name one so often.
_WITHIN, _ENOUGH = 1.1, 0.95
_FINER = "Measure with --full, whose points are closer, before a program chooses by this table."


def fastest_finding(surfaces: Sequence[BatchingSurface]) -> Finding | None:
    """Where each method is the fastest, for surfaces of one kind of memory and pair of layouts."""
    parts: dict[str, list[str]] = {}
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
        parts.setdefault(
            f", of {len(cells)} point{'' if len(cells) == 1 else 's'}, {enumerated(told)}{tied}", []
        ).append(way_words(surface))
    if not parts:
        return None
    return Finding(
        "info",
        f"batching_fastest_{surfaces[0].host_memory}",
        f"The fastest for several pieces in {setting_words(surfaces[0])}: {_by_way(parts)}.",
    )


def _span(sizes: Sequence[int]) -> str:
    """``64 B to 4 KiB``."""
    return enumerated([format_bytes(size) for size in sorted({min(sizes), max(sizes)})], "to")


def breakeven_finding(run: Run, surfaces: Sequence[BatchingSurface]) -> Finding | None:
    """From how many pieces on the loop is worth replacing by what is the fastest for many of them."""
    parts: dict[str, list[str]] = {}
    for surface in surfaces:
        ranking = surface.cells[surface.typical].ranking if surface.typical else ()
        method = next((each for each in ranking if each not in LOOPS), None)
        found = batching_thresholds(surface, run.settings.target_relative_half_width)
        told = _by_answer([each for each in found if each.method == method])
        if told and method:
            parts.setdefault(f" by {method_words(method, surface)}: {told}", []).append(way_words(surface))
    if not parts:
        return None
    return Finding(
        "info",
        f"batching_breakeven_{surfaces[0].host_memory}",
        f"From how many pieces on it pays to replace a loop of copies ({setting_words(surfaces[0])}): "
        f"{_by_way(parts)}.",
    )


def _by_way(parts: Mapping[str, Sequence[str]]) -> str:
    """What holds for each direction, said once where it is the same."""
    return ". ".join(f"{enumerated(ways)}{told}" for told, ways in parts.items())


def _by_answer(thresholds: Sequence[BatchingThreshold]) -> str:
    """``64 B from 7 on (6 to 9), 64 KiB at no number measured``; sizes with one answer are said together."""
    groups: dict[str, list[str]] = {}
    for each in thresholds:
        never = each.threshold.state == "never" and each.threshold.certain
        answer = "at no number measured" if never else count_words(each.threshold)
        groups.setdefault(answer, []).append(format_bytes(each.piece_bytes))
    return ", ".join(f"{enumerated(sizes)} {answer}" for answer, sizes in groups.items())


def cliff_finding(surfaces: Sequence[BatchingSurface]) -> Finding | None:
    """The largest jump of the surfaces on which the batch call was measured closely enough."""
    looked = [(surface, found) for surface in surfaces if (found := batch_cliff(surface))]
    if not looked:
        return None
    jumps = [(surface, look.cliff) for surface, look in looked if look.cliff]
    if not jumps:
        return _no_cliff(looked)
    _, cliff = max(jumps, key=lambda each: each[1].gain.median)
    alike = [surface for surface, each in jumps if (each.below, each.above) == (cliff.below, cliff.above)]
    places = [f"{way_words(surface)} with {memory_name(surface.host_memory)}" for surface in alike]
    where = "wherever it was measured" if len(places) == len(looked) else enumerated(places)
    return Finding(
        "info",
        "batching_cliff",
        f"The driver's batch call has a cliff, {where}: {cell_words((cliff.below, cliff.pieces))} take "
        f"{factor_words(cliff.gain)} as long as {cliff.pieces} of {format_bytes(cliff.above)} ({_cliff_rates(cliff)}).",
        cause="Time that falls as pieces grow means that the driver handles them in another way from that size on.",
        fix=f"Give it pieces of {format_bytes(cliff.above)} and more, and smaller ones to what is fastest there.",
    )


def _no_cliff(looked: Sequence[tuple[BatchingSurface, CliffLook]]) -> Finding:
    """Where sizes lie close enough to each other to say so; else that nobody can tell."""
    parts: dict[str, list[str]] = {}
    for surface, look in looked:
        if look.close:
            first, last = map(format_bytes, look.close)
            told = f"between {first} and {last} with {look.pieces} pieces"
            parts.setdefault(told, []).append(f"{way_words(surface)} with {memory_name(surface.host_memory)}")
    if parts:
        told = "; ".join(
            span if len(places) == len(looked) else f"{span} ({enumerated(places)})" for span, places in parts.items()
        )
        sentence = f"The driver's batch call has no cliff {told}: larger pieces never take clearly less time."
        return Finding("info", "batching_cliff", sentence)
    surface, look = looked[0]
    return Finding(
        "info",
        "batching_cliff",
        f"Whether the driver's batch call has a cliff cannot be told: the sizes of pieces measured, "
        f"{_span(list(surface.along_sizes(look.pieces, 'batch')))}, lie too far apart.",
        fix="Measure with --full, or with --sizes that are at most twice apart.",
    )


def _cliff_rates(cliff: Cliff) -> str:
    return f"{format_rate(cliff.slow.rate.median)} against {format_rate(cliff.fast.rate.median)}"


def table_finding(surfaces: Sequence[BatchingSurface]) -> Finding | None:
    """How well a method can be looked up between the measured points."""
    spots = [spot for surface in surfaces for spot in held_out(surface.table)]
    if not spots:
        return None
    worst = max(spots, key=lambda spot: spot.slowdown)
    share = share_within(spots, _WITHIN)
    where = cell_words((int(worst.spot[0]), int(worst.spot[1])))
    return Finding(
        "info",
        "batching_table",
        f"Looked up between points twice as far apart as the measured ones, the method is within "
        f"{100 * (_WITHIN - 1):.0f} % of the fastest at {share * len(spots):.0f} of {len(spots)} points; at worst it "
        f"takes {worst.slowdown:.2f} times as long ({where}).",
        fix="" if share >= _ENOUGH else _FINER,
    )
