"""The section on overlap: the best pipelines, how near all come to their bound, both ways at once, timelines."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from isthmus.analysis.frame import section_of
from isthmus.analysis.labels import kind_label, run_label
from isthmus.analysis.overlap.charts import speedup_part, timeline_part
from isthmus.analysis.overlap.exchange import Exchange, exchanges
from isthmus.analysis.overlap.findings import multiple_digits, way_words
from isthmus.analysis.overlap.model import STAGES, Overlap, PipelinePoint, larger_overlaps, main_overlaps, overlaps
from isthmus.document.grid import Cell, Column, Grid, Group, Row, failed, interval_cell, missing, skipped, time_cell
from isthmus.document.section import Part, Section
from isthmus.language import capitalised, say
from isthmus.record import Interval, Run, format_bytes, format_seconds, kind_rank

_BEST = ("ways", "time", "serial", "speedup", "bound", "share", *STAGES)
_EXCHANGE = ("serial", "time", "bound", "hidden")


@dataclass(frozen=True)
class _Source:
    """Pipelines of one kind of memory, size and work, and the run that they are from.

    `is_main` says whether conclusions rest on them first.
    """

    index: int
    run: Run
    overlap: Overlap
    is_main: bool


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of overlap; None where that is nothing but skips."""
    everything = _sources(runs)
    mains = [each for each in everything if each.is_main]
    parts = [
        Part(say("overlap_report.best"), say("overlap_report.best_note"), grids=_best_grids(runs, everything)),
        Part(say("overlap_report.shares"), say("overlap_report.shares_note"), grids=_shares_grids(runs, mains)),
        speedup_part(runs, [(each.index, each.overlap) for each in mains]),
        Part(say("overlap_report.exchange"), say("overlap_report.exchange_note"), grids=_exchange_grids(runs)),
        timeline_part(runs),
    ]
    return section_of("overlap", parts, ("work", "bound"))


def main_best_grids(run: Run) -> tuple[Grid, ...]:
    """The best pipelines of a run with the work that conclusions rest on, a table for each size."""
    return _best_grids([run], [source for source in _sources([run]) if source.is_main])


def _sources(runs: Sequence[Run]) -> list[_Source]:
    """Everything that the runs hold, by kind of memory, work and run."""
    found = []
    for index, run in enumerate(runs):
        everything = overlaps(run)
        mains = main_overlaps(everything)
        main = {id(each) for each in (*mains, *larger_overlaps(everything, mains))}
        found += [_Source(index, run, each, id(each) in main) for each in everything]
    return sorted(found, key=lambda source: (kind_rank(source.overlap.host_memory), source.overlap.ratio, source.index))


def _best_grids(runs: Sequence[Run], everything: Sequence[_Source]) -> tuple[Grid, ...]:
    """One table a size, a row for each memory, work and run; none where no pipeline of several chunks was measured."""
    found = [(source, best) for source in everything if (best := source.overlap.best)]
    grids = []
    for size in sorted({source.overlap.bytes for source, _ in found}):
        groups: dict[str, list[Row]] = {}
        for source, best in found:
            if source.overlap.bytes == size:
                kind = kind_label(source.overlap.host_memory)
                groups.setdefault(kind, []).append(_best_row(runs, source, best))
        made = tuple(Group(kind, tuple(rows)) for kind, rows in groups.items())
        corner = capitalised(say("overlap_report.heading_work"))
        grids.append(Grid(_sized(say("overlap_report.best"), size), _columns(_BEST), made, corner=corner))
    return tuple(grids)


def _best_row(runs: Sequence[Run], source: _Source, best: PipelinePoint) -> Row:
    overlap, serial = source.overlap, source.overlap.serial
    way = way_words(overlap.host_memory, best.chunks, best.streams)
    alone = (overlap.alone.get(stage) for stage in STAGES)
    cells = (
        Cell(f"{best.chunks} x {best.streams}", detail=way),
        time_cell(best.seconds, wide=not best.converged),
        time_cell(serial.seconds, wide=not serial.converged) if serial else missing(),
        _ratio_cell(source, best.speedup),
        _plain_cell(best.bound),
        _ratio_cell(source, best.share, 100.0),
        *map(_plain_cell, alone),
    )
    return Row(f"{multiple_digits(overlap.work)}x {run_label(runs, source.index)}".rstrip(), cells)


def _shares_grids(runs: Sequence[Run], chosen: Sequence[_Source]) -> tuple[Grid, ...]:
    """A table for each size: chunks down, streams and runs across, groups by memory and work."""
    grids = []
    for size in sorted({source.overlap.bytes for source in chosen}):
        of_size = [source for source in chosen if source.overlap.bytes == size]
        ways = sorted({(streams, source.index) for source in of_size for _, streams in _all_ways(source.overlap)})
        columns = tuple(
            Column(name.replace(" ", "\n"), name, run_label(runs, index))
            for streams, index in ways
            for name in [say("overlap.streams", count=streams)]
        )
        groups = []
        for kind, ratio in dict.fromkeys((each.overlap.host_memory, each.overlap.ratio) for each in of_size):
            of_run = {
                each.index: each for each in of_size if (each.overlap.host_memory, each.overlap.ratio) == (kind, ratio)
            }
            rows = tuple(
                Row(str(count), tuple(_share_cell(of_run.get(index), count, streams) for streams, index in ways))
                for count in sorted({chunks for each in of_run.values() for chunks, _ in _all_ways(each.overlap)})
            )
            title = say("common.comma").join([kind_label(kind), say("overlap.work", x=f"≈{ratio:g}")])
            groups.append(Group(title, rows))
        corner = capitalised(say("overlap_report.chunks"))
        grids.append(Grid(_sized(say("overlap_report.shares"), size), columns, tuple(groups), corner=corner))
    return tuple(grids)


def _all_ways(overlap: Overlap) -> Iterable[tuple[int, int]]:
    return (*overlap.points, *overlap.failed, *overlap.skipped)


def _share_cell(source: _Source | None, chunks: int, streams: int) -> Cell:
    if source is None:
        return missing()
    way = chunks, streams
    if way in source.overlap.failed:
        return failed(say("labels.wrong_data"))
    if way in source.overlap.skipped:
        return skipped(source.overlap.skipped[way])
    point = source.overlap.points.get(way)
    return _ratio_cell(source, point.share, 100.0, format_seconds(point.seconds.median)) if point else missing()


def _exchange_grids(runs: Sequence[Run]) -> tuple[Grid, ...]:
    """Copies both ways at once, a group for each size, a row for each memory; none where the runs have none."""
    found = [(index, each) for index, run in enumerate(runs) for each in exchanges(run)]
    found.sort(key=lambda pair: kind_rank(pair[1].host_memory))
    groups = tuple(
        Group(
            format_bytes(size), tuple(_exchange_row(runs, index, each) for index, each in found if each.bytes == size)
        )
        for size in sorted({each.bytes for _, each in found})
    )
    grid = Grid(say("overlap_report.exchange"), _columns(_EXCHANGE), groups, corner=say("overlap_report.memory"))
    return (grid,) if groups else ()


def _exchange_row(runs: Sequence[Run], index: int, each: Exchange) -> Row:
    # Around nothing hidden, a width relative to it would say nothing.
    wide = each.hidden.high - each.hidden.low > 0.2
    hidden = f"{100 * each.hidden.median:.0f}", f"{50 * (each.hidden.high - each.hidden.low):.0f}"
    cells = (
        _plain_cell(each.serial),
        time_cell(each.seconds, wide=not each.converged, detail=way_words(each.host_memory, each.chunks, each.streams)),
        _plain_cell(each.bound),
        Cell(*hidden, state="wide" if wide else "ok"),
    )
    return Row(f"{kind_label(each.host_memory)} {run_label(runs, index)}".rstrip(), cells)


def _sized(title: str, size: int) -> str:
    return say("common.comma").join([title, format_bytes(size)])


def _columns(names: Sequence[str]) -> tuple[Column, ...]:
    headings = (say(f"overlap_report.heading_{name}") for name in names)
    return tuple(Column(heading, heading.replace("\n", " ")) for heading in headings)


def _plain_cell(seconds: Interval | None) -> Cell:
    return Cell(format_seconds(seconds.median)) if seconds else missing()


def _ratio_cell(source: _Source, value: Interval | None, scale: float = 1.0, detail: str = "") -> Cell:
    """A quotient of two times, times `scale`."""
    if value is None:
        return missing()
    # Two figures went into it, each known as well as the run aimed at.
    wide = value.relative_half_width > 2 * source.run.settings.target_relative_half_width
    return interval_cell(value, scale=scale, wide=wide, detail=detail)
