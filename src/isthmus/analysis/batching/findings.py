"""What the batching experiment says: how much better than a loop of copies, by what, and what to take away."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from isthmus.analysis.batching.method_findings import breakeven_finding, cliff_finding, fastest_finding, table_finding
from isthmus.analysis.batching.model import (
    LOOP,
    BatchingCell,
    BatchingSurface,
    CellKey,
    batching_surfaces,
    plainest_surfaces,
)
from isthmus.analysis.phrases import factor_words, link_rate, memory_name, times, way_name
from isthmus.analysis.pieces.words import cell_words, layout_words, method_words, setting_words, tied_words
from isthmus.analysis.statistics.contrast import MATTERS, above
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import can_say, capitalised, enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_rate, format_seconds

__all__ = ["findings", "takeaway"]

# A copy's time does not depend on its size where it varies by less.
_SAME_TIME = 1.5

# A surface with the one of its cells that is spoken of.
_Chosen = tuple[BatchingSurface, BatchingCell]


def findings(run: Run) -> list[Finding]:
    """The findings about each kind of memory, about the batch call, and about the table of methods."""
    surfaces = batching_surfaces(run)
    found: list[Finding | None] = []
    main = plainest_surfaces(surfaces)
    for memory in dict.fromkeys(surface.host_memory for surface in main):
        chosen = [surface for surface in main if surface.host_memory == memory]
        found += [_gain(run, chosen), fastest_finding(chosen), breakeven_finding(run, chosen)]
    return [finding for finding in (*found, cliff_finding(main), table_finding(surfaces)) if finding]


def takeaway(run: Run) -> Takeaway | None:
    """What to take away; None where pieces were not measured."""
    surfaces = batching_surfaces(run)
    chosen = [(surface, surface.typical) for surface in plainest_surfaces(surfaces)]
    told = []
    for key in dict.fromkeys(key for _, key in chosen if key):
        of_key = [surface for surface, each in chosen if each == key]
        layouts = layout_words(of_key[0].host_layout, of_key[0].device_layout)
        ways = say("common.between_statements").join(_rates(of_key, key))
        told.append(say("batching.does", pieces=cell_words(key), layouts=layouts, ways=ways))
    if told:
        return Takeaway(sentences(told), _use([(surface, surface.cells[key]) for surface, key in chosen if key]))
    return Takeaway(say("batching.no_gain")) if surfaces else None


def _rates(surfaces: Sequence[BatchingSurface], key: CellKey) -> Iterator[str]:
    """``41.1 GB/s H2D and 40.9 GB/s D2H with pinned memory by a kernel (26 times the loop of copies)``."""
    for (memory, method), chosen in _by_method([(surface, surface.cells[key]) for surface in surfaces]).items():
        rates = enumerated(
            [
                say(
                    "batching.rate_way",
                    rate=format_rate(cell.points[method].rate.median),
                    way=way_name(surface.direction),
                )
                for surface, cell in chosen
            ]
        )
        name = memory_name(memory)
        if method == LOOP:
            yield say("batching.does_loop", rates=rates, memory=name)
        else:
            factors = [cell.gain.median for _, cell in chosen if cell.gain]
            gain = times(min(factors), max(factors))
            words = method_words(method, chosen[0][0])
            yield say("batching.does_way", rates=rates, memory=name, method=words, times=gain)


def _by_method(chosen: Sequence[_Chosen]) -> dict[tuple[str, str], list[_Chosen]]:
    """What was chosen, by kind of memory and by the method to use: the loop where nothing beats it."""
    groups: dict[tuple[str, str], list[_Chosen]] = {}
    for surface, cell in chosen:
        method = cell.fastest if _gains(cell) else LOOP
        groups.setdefault((surface.host_memory, method), []).append((surface, cell))
    return groups


def _use(chosen: Sequence[_Chosen]) -> str:
    """What to use in place of a loop, with the ways where they differ in it."""
    groups = _by_method(chosen)
    methods = []
    for (memory, method), each in groups.items():
        if method == LOOP:
            continue
        words, name = method_words(method, each[0][0]), memory_name(memory)
        if sum(memory == other for other, _ in groups) == 1:
            methods.append(say("batching.use_with", method=words, memory=name))
        else:
            methods.append(say("batching.use_way_with", method=words, ways=_ways(each), memory=name))
    return say("batching.use", methods=enumerated(methods)) if methods else capitalised(say("batching.advice_copies"))


def _ways(chosen: Iterable[_Chosen]) -> str:
    return enumerated([way_name(surface.direction) for surface, _ in chosen])


def _gains(cell: BatchingCell) -> bool:
    loop = cell.points[LOOP]
    return above(cell.best, loop) and cell.best.rate.median >= MATTERS * loop.rate.median


def _gain(run: Run, surfaces: Sequence[BatchingSurface]) -> Finding | None:
    chosen = [(surface, surface.cells[key]) for surface in surfaces if (key := surface.typical)]
    if not chosen:
        return None
    surface, cell = chosen[0]
    ways = say("common.between_statements").join(_gain_way(*each) for each in chosen)
    pieces = cell_words((cell.piece_bytes, cell.pieces))
    gaining = [(each, other) for each, other in chosen if _gains(other)]
    return Finding(
        "info",
        f"batching_gain_{surface.host_memory}",
        say("batching.gain", pieces=pieces, setting=setting_words(surface), ways=ways),
        cause=_cost_of_a_copy(run, *gaining[0]) if gaining else "",
        fix=_advice(chosen) if gaining else "",
    )


def _gain_way(surface: BatchingSurface, cell: BatchingCell) -> str:
    way, loop = way_name(surface.direction), format_rate(cell.points[LOOP].rate.median)
    if not _gains(cell) or not cell.gain:
        return say("batching.gain_none", way=way, rate=loop)
    return say(
        "batching.gain_way",
        way=way,
        rate=format_rate(cell.best.rate.median),
        method=method_words(cell.fastest, surface),
        tied=tied_words(cell.as_fast, surface),
        times=factor_words(cell.gain),
        loop=loop,
    )


def _advice(chosen: Sequence[_Chosen]) -> str:
    """What to do each way, as the ways differ in it."""
    return sentences(
        say("batching.advice_for", ways=_ways(each), memory=memory_name(memory), advice=say(key))
        for (memory, method), each in _by_method(chosen).items()
        if can_say(key := f"batching.advice_{method}")
    )


def _cost_of_a_copy(run: Run, surface: BatchingSurface, cell: BatchingCell) -> str:
    """What a copy of the loop costs however small it is; nothing where that depends on the size."""
    along = {size: point for size, point in surface.along_sizes(cell.pieces, LOOP).items() if size <= cell.piece_bytes}
    each = [point.seconds.median / cell.pieces for point in along.values()]
    if len(each) < 2 or max(each) > _SAME_TIME * min(each):
        return ""
    link = link_rate(run)
    time, first, last = format_seconds(median(each)), format_bytes(min(along)), format_bytes(max(along))
    if not link:
        return say("batching.copy_cost", time=time, first=first, last=last)
    needed = format_seconds(cell.piece_bytes / link)
    return say("batching.copy_cost_of_link", time=time, first=first, last=last, needed=needed)
