"""What the batching experiment says: how much better than a loop of copies, by what, and what to take away."""

from collections.abc import Iterator, Sequence
from statistics import median

from isthmus.model.batching import LOOP, BatchingCell, BatchingSurface, CellKey, batching_surfaces, plainest_surfaces
from isthmus.model.batching_method_findings import breakeven_finding, cliff_finding, fastest_finding, table_finding
from isthmus.model.batching_words import (
    cell_words,
    factor_words,
    layout_words,
    method_words,
    setting_words,
    way_words,
)
from isthmus.model.contrast import MATTERS, above
from isthmus.model.finding import Finding
from isthmus.model.phrases import enumerated, link_rate, memory_name, times
from isthmus.record import Run, format_bytes, format_rate, format_seconds

__all__ = ["batching_findings", "batching_verdict"]

# A copy's time does not depend on its size where it varies by less.
_SAME_TIME = 1.5
_ADVICE = {
    "waited_copies": "wait for each copy of the loop before the next one.",
    "copies": "keep the loop of copies.",
    "graph": "record the copies into a graph once and replay it, as long as the pieces stay where they are.",
    "batch": "hand all pieces to the driver's batch call (cuMemcpyBatchAsync) in place of a loop.",
    "device_pack": "move them with one copy, and pack or unpack them with a kernel on the device.",
    "pack": "pack the pieces side by side in a page-locked buffer that is kept, and move that with one copy; a kernel "
    "puts them in their places on the device.",
    "pack_threads": "let some threads pack the pieces, chunk by chunk, into page-locked buffers that are kept, while "
    "one thread sends what is packed; a kernel puts the pieces in their places on the device.",
    "pack_kernel": "let some threads pack the pieces, chunk by chunk, into page-locked buffers that are kept, while "
    "one thread starts a kernel for each chunk, which reads or writes it over the link.",
    "kernel": "let a kernel read or write the pieces where they are in host memory, instead of copying them.",
    "mapped_kernel": "keep the pieces in mapped memory, and let a kernel read or write them there.",
}


def batching_findings(run: Run) -> list[Finding]:
    """The findings about each kind of memory, about the batch call, and about the table of methods."""
    surfaces = batching_surfaces(run)
    found: list[Finding | None] = []
    main = plainest_surfaces(surfaces)
    for memory in dict.fromkeys(surface.host_memory for surface in main):
        chosen = [surface for surface in main if surface.host_memory == memory]
        found += [_gain(run, chosen), fastest_finding(chosen), breakeven_finding(run, chosen)]
    return [finding for finding in (*found, cliff_finding(main), table_finding(surfaces)) if finding]


def batching_verdict(run: Run) -> str:
    """What to take away; empty where pieces were not measured."""
    surfaces = batching_surfaces(run)
    chosen = [(surface, surface.typical) for surface in plainest_surfaces(surfaces)]
    told = []
    for key in dict.fromkeys(key for _, key in chosen if key):
        of_key = [surface for surface, each in chosen if each == key]
        layouts = layout_words(of_key[0].host_layout, of_key[0].device_layout)
        told.append(f"{cell_words(key)}, {layouts}, move {'; '.join(_rates(of_key, key))}")
    if told:
        return f"{'; '.join(told)}."
    if not surfaces:
        return ""
    return (
        "several pieces were not moved by a loop of copies and by what is to replace it, so there is no gain to tell."
    )


def _rates(surfaces: Sequence[BatchingSurface], key: CellKey) -> Iterator[str]:
    """``41.1 GB/s H2D and 40.9 GB/s D2H from and to pinned memory by a kernel (26 times the loop of copies)``."""
    groups: dict[tuple[str, str], list[BatchingSurface]] = {}
    for surface in surfaces:
        cell = surface.cells[key]
        groups.setdefault((surface.host_memory, cell.fastest if _gains(cell) else LOOP), []).append(surface)
    for (memory, method), chosen in groups.items():
        cells = [surface.cells[key] for surface in chosen]
        rates = [
            f"{format_rate(cell.points[method].rate.median)} {way_words(surface)}"
            for surface, cell in zip(chosen, cells, strict=True)
        ]
        factors = [cell.gain.median for cell in cells if cell.gain]
        gain = "" if method == LOOP else f" ({times(min(factors), max(factors))} the loop of copies)"
        yield f"{enumerated(rates)} with {memory_name(memory)} by {method_words(method, chosen[0])}{gain}"


def _gains(cell: BatchingCell) -> bool:
    loop = cell.points[LOOP]
    return above(cell.best, loop) and cell.best.rate.median >= MATTERS * loop.rate.median


def _gain(run: Run, surfaces: Sequence[BatchingSurface]) -> Finding | None:
    chosen = [(surface, surface.cells[key]) for surface in surfaces if (key := surface.typical)]
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
    return Finding(
        "info",
        f"batching_gain_{surface.host_memory}",
        f"{subject} {'; '.join(parts)}.",
        cause=_cost_of_a_copy(run, *gaining[0]) if gaining else "",
        fix=_advice(chosen) if gaining else "",
    )


def _advice(chosen: Sequence[tuple[BatchingSurface, BatchingCell]]) -> str:
    """What to do each way, as the ways differ in it."""
    ways: dict[str, list[str]] = {}
    for surface, cell in chosen:
        method = cell.fastest if _gains(cell) else LOOP
        if method in _ADVICE:
            ways.setdefault(method, []).append(way_words(surface))
    memory = memory_name(chosen[0][0].host_memory)
    return " ".join(f"{enumerated(where)} with {memory}: {_ADVICE[method]}" for method, where in ways.items())


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
