"""Tables of overlap: the best pipeline of each memory and work, shares of the bound, copies both ways at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from isthmus.model import Exchange, Overlap, PipelinePoint, exchanges, main_overlaps, overlaps, way_words
from isthmus.record import Interval, Run, format_bytes, format_seconds
from isthmus.report.grid import Cell, Column, Grid, Group, Row, interval_cell, time_cell
from isthmus.report.labels import kind_label, kind_rank, run_label
from isthmus.report.section import Part

__all__ = ["Source", "best_part", "exchange_part", "share_parts", "sources", "work_label"]

_MISSING = Cell("-", state="missing", detail="not measured")
_SKIPPED = "skipped"
_BEST_NOTE = (
    "Best: chunks on streams of the fastest pipeline. Serial: one chunk, one stage after the other. Share: the "
    "bound over the time, 100 % where nothing is left to gain. Alone: the fastest way measured, whole or in chunks."
)
_SHARE_NOTE = (
    "The bound over the time, in %: 100 is as fast as stages that run at once can be. Streams of staged memory "
    "are threads."
)
_EXCHANGE_NOTE = (
    "Data goes in and comes out in chunks without any work. Ideal: neither direction slows the other. Hidden: how much "
    "is saved of what the ideal saves; 100 % where both run at once, 0 % where they take turns, less where they hinder "
    "each other."
)


@dataclass(frozen=True)
class Source:
    """Pipelines of one kind of memory, size and work with the run that they are of."""

    index: int
    run: Run
    overlap: Overlap


def sources(runs: Sequence[Run]) -> list[Source]:
    """Everything that the runs hold, by kind of memory, work and run."""
    found = [Source(index, run, each) for index, run in enumerate(runs) for each in overlaps(run)]
    return sorted(found, key=lambda source: (kind_rank(source.overlap.host_memory), source.overlap.ratio, source.index))


def work_label(ratio: float) -> str:
    """``work 0.3 x``: the work's time as a multiple of a copy's."""
    return f"work {ratio:g} x"


def best_part(runs: Sequence[Run]) -> Part | None:
    """One table a size, a row for each memory, work and run; None where no pipeline of several chunks was measured."""
    found = [source for source in sources(runs) if source.overlap.best]
    grids = []
    for size in sorted({source.overlap.bytes for source in found}):
        of_size = [source for source in found if source.overlap.bytes == size]
        groups = [
            Group(
                kind_label(kind),
                tuple(_best_row(runs, source) for source in of_size if source.overlap.host_memory == kind),
            )
            for kind in dict.fromkeys(source.overlap.host_memory for source in of_size)
        ]
        columns = [Column(heading, name) for heading, name in _BEST_COLUMNS]
        grids.append(Grid(f"Best pipelines, {format_bytes(size)}", tuple(columns), tuple(groups), corner="Work"))
    return Part("Best chunks and streams", _BEST_NOTE, grids=tuple(grids)) if grids else None


_BEST_COLUMNS = (
    ("best", "best"),
    ("time", "time"),
    ("serial", "serial"),
    ("speed-\nup", "speed-up"),
    ("bound", "bound"),
    ("share\n%", "share, %"),
    ("in\nalone", "in alone"),
    ("work\nalone", "work alone"),
    ("out\nalone", "out alone"),
)


def _best_row(runs: Sequence[Run], source: Source) -> Row:
    overlap, best = source.overlap, source.overlap.best
    assert best is not None
    label = run_label(runs, source.index)
    way = way_words(overlap.host_memory, best.chunks, best.streams)
    serial = overlap.serial
    cells = (
        Cell(f"{best.chunks} on {best.streams}", detail=way),
        time_cell(best.seconds, wide=not best.converged, detail=f"{best.samples} samples"),
        time_cell(serial.seconds, wide=not serial.converged) if serial else _MISSING,
        _ratio_cell(source, best.speedup),
        Cell(format_seconds(best.bound.median)) if best.bound else _MISSING,
        _ratio_cell(source, best.share, 100.0),
        *(
            Cell(format_seconds(alone.median)) if (alone := overlap.alone.get(stage)) else _MISSING
            for stage in ("in", "work", "out")
        ),
    )
    return Row(f"{overlap.ratio:g} x{' ' + label if label else ''}", cells)


def _ratio_cell(source: Source, value: Interval | None, scale: float = 1.0, detail: str = "") -> Cell:
    if value is None:
        return _MISSING
    # Two figures went into it, each known as well as the run aimed at.
    wide = value.relative_half_width > 2 * source.run.settings.target_relative_half_width
    return interval_cell(value, scale=scale, wide=wide, detail=detail)


def share_parts(runs: Sequence[Run]) -> list[Part]:
    """Shares by chunks and streams: of the work to conclude from first, then on the page alone of the other work."""
    everything = sources(runs)
    first = {id(each.overlap): each for each in everything if _is_main(each)}
    others = [each for each in everything if id(each.overlap) not in first]
    title = "Share of the bound, by chunks and streams"
    main = _share_grids(runs, list(first.values()))
    rest = _share_grids(runs, others)
    parts = [Part(title, _SHARE_NOTE, grids=main)] if main else []
    return parts + ([Part(f"{title}: other work", grids=rest, page_only=True)] if rest else [])


def _is_main(source: Source) -> bool:
    chosen = {(each.host_memory, each.bytes, each.ratio) for each in main_overlaps(overlaps(source.run))}
    return (source.overlap.host_memory, source.overlap.bytes, source.overlap.ratio) in chosen


def _share_grids(runs: Sequence[Run], chosen: Sequence[Source]) -> tuple[Grid, ...]:
    """One for each size: chunks down, streams and runs across, a group for each memory and work."""
    grids = []
    for size in sorted({source.overlap.bytes for source in chosen}):
        of_size = [source for source in chosen if source.overlap.bytes == size]
        ways = sorted({(streams, source.index) for source in of_size for _, streams in _all_ways(source.overlap)})
        columns = tuple(
            Column(f"{streams}\nstream{'' if streams == 1 else 's'}", _on(streams), run_label(runs, index))
            for streams, index in ways
        )
        groups = []
        for kind, ratio in dict.fromkeys((each.overlap.host_memory, each.overlap.ratio) for each in of_size):
            of_run = {
                each.index: each for each in of_size if (each.overlap.host_memory, each.overlap.ratio) == (kind, ratio)
            }
            chunks = sorted({chunks for each in of_run.values() for chunks, _ in _all_ways(each.overlap)})
            rows = tuple(
                Row(str(count), tuple(_share_cell(of_run.get(index), count, streams) for streams, index in ways))
                for count in chunks
            )
            groups.append(Group(f"{kind_label(kind)}, {work_label(ratio)}, %", rows))
        grids.append(Grid(f"Share of the bound, {format_bytes(size)}", columns, tuple(groups), corner="Chunks"))
    return tuple(grids)


def _on(streams: int) -> str:
    return f"{streams} stream{'' if streams == 1 else 's'}"


def _all_ways(overlap: Overlap) -> Iterable[tuple[int, int]]:
    return (*overlap.points, *overlap.failed, *overlap.skipped)


def _share_cell(source: Source | None, chunks: int, streams: int) -> Cell:
    if source is None:
        return _MISSING
    way = chunks, streams
    if way in source.overlap.failed:
        return Cell("failed", state="failed", detail="the results that came back were wrong")
    if way in source.overlap.skipped:
        return Cell(_SKIPPED, state="skipped", detail=source.overlap.skipped[way])
    point = source.overlap.points.get(way)
    if point is None:
        return _MISSING
    return _ratio_cell(source, point.share, 100.0, detail=_told(point))


def _told(point: PipelinePoint) -> str:
    bound = f" where the bound is {format_seconds(point.bound.median)}" if point.bound else ""
    return f"{format_seconds(point.seconds.median)}{bound}, {point.samples} samples"


def exchange_part(runs: Sequence[Run]) -> Part | None:
    """Copies both ways at once of each memory; None where the runs have none."""
    found = [(index, run, each) for index, run in enumerate(runs) for each in exchanges(run)]
    if not found:
        return None
    columns = tuple(Column(heading, name) for heading, name in _EXCHANGE_COLUMNS)
    groups = []
    for size in sorted({each.bytes for _, _, each in found}):
        of_size = sorted((row for row in found if row[2].bytes == size), key=lambda row: kind_rank(row[2].host_memory))
        rows = tuple(_exchange_row(runs, index, run, each) for index, run, each in of_size)
        groups.append(Group(f"{format_bytes(size)} each way", rows))
    grid = Grid("Copies in and out at once", columns, tuple(groups), corner="Memory")
    return Part("Both ways at once", _EXCHANGE_NOTE, grids=(grid,))


_EXCHANGE_COLUMNS = (
    ("in\nalone", "in alone"),
    ("out\nalone", "out alone"),
    ("one by\none", "one by one"),
    ("both at\nonce", "both at once"),
    ("ideal", "ideal"),
    ("hidden\n%", "hidden, %"),
    ("copy\nengines", "copy engines, as the driver says"),
)


def _exchange_row(runs: Sequence[Run], index: int, run: Run, each: Exchange) -> Row:
    engines = run.fingerprint.device.copy_engines
    label = run_label(runs, index)
    # Around nothing hidden, a width relative to it would say nothing.
    wide = each.hidden.high - each.hidden.low > 0.2
    hidden = f"{100 * each.hidden.median:.0f}", f"{50 * (each.hidden.high - each.hidden.low):.0f}"
    cells = (
        Cell(format_seconds(each.into.median)),
        Cell(format_seconds(each.out.median)),
        Cell(format_seconds(each.into.median + each.out.median)),
        time_cell(each.seconds, wide=not each.converged, detail=way_words(each.host_memory, each.chunks, each.streams)),
        Cell(format_seconds(each.bound.median)),
        Cell(*hidden, state="wide" if wide else "ok"),
        Cell(str(engines)) if engines else _MISSING,
    )
    return Row(f"{kind_label(each.host_memory)}{' ' + label if label else ''}", cells)
