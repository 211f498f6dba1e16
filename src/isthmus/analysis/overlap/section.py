"""The section on overlap: the best pipelines, how near all come to their bound, copies both ways, timelines."""

from collections.abc import Iterable, Sequence

from isthmus.analysis.frame import section_of
from isthmus.analysis.labels import kind_label, run_label
from isthmus.analysis.overlap.charts import speedup_part, timeline_part
from isthmus.analysis.overlap.exchange import Exchange, exchanges
from isthmus.analysis.overlap.findings import multiple_digits, way_words
from isthmus.analysis.overlap.model import STAGES, Overlap, PipelinePoint, main_overlaps, overlaps
from isthmus.document.grid import (
    Cell,
    Column,
    Grid,
    Group,
    Row,
    excerpt,
    failed,
    interval_cell,
    missing,
    skipped,
    time_cell,
)
from isthmus.document.section import Glance, Part, Section
from isthmus.language import capitalised, say
from isthmus.record import Interval, Run, format_bytes, format_seconds, kind_rank

_BEST = ("ways", "time", "serial", "speedup", "bound", "share", *STAGES)
_EXCHANGE = ("serial", "time", "bound", "hidden")
# The index of a run, and pipelines of one kind of memory, size and work in it.
_Source = tuple[int, Overlap]
_MOST = 6
_COLUMNS = 5


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of overlap; None where that is nothing but skips."""
    everything = _sorted((index, each) for index, run in enumerate(runs) for each in overlaps(run))
    mains = _sorted((index, each) for index, run in enumerate(runs) for each in main_overlaps(overlaps(run)))
    parts = [
        Part(say("overlap_report.best"), say("overlap_report.best_note"), grids=_best_grids(runs, everything)),
        Part(say("overlap_report.shares"), say("overlap_report.shares_note"), grids=_shares_grids(runs, mains)),
        speedup_part(runs, mains),
        Part(say("overlap_report.exchange"), say("overlap_report.exchange_note"), grids=_exchange_grids(runs)),
        timeline_part(runs),
    ]
    return section_of("overlap", parts, ("work", "bound"))


def main_best_grids(run: Run) -> tuple[Grid, ...]:
    """The best pipelines of a run with the work that conclusions rest on, a table for each size."""
    return _best_grids([run], _sorted((0, each) for each in main_overlaps(overlaps(run))))


def _sorted(sources: Iterable[_Source]) -> list[_Source]:
    return sorted(sources, key=lambda source: (kind_rank(source[1].host_memory), source[1].ratio, source[0]))


def _best_grids(runs: Sequence[Run], everything: Sequence[_Source]) -> tuple[Grid, ...]:
    """One table a size, a row for each memory, work and run; none where no pipeline of several chunks was measured."""
    by_run: dict[int, dict[str, list[Row]]] = {}
    for index, overlap in everything:
        if best := overlap.best:
            groups = by_run.setdefault(overlap.bytes, {})
            groups.setdefault(kind_label(overlap.host_memory), []).append(_best_row(runs, index, overlap, best))
    corner = capitalised(say("overlap_report.heading_work"))
    return tuple(
        Grid(
            _sized(say("overlap_report.best"), size),
            _columns(_BEST),
            tuple(Group(kind, tuple(rows)) for kind, rows in groups.items()),
            corner,
        )
        for size, groups in sorted(by_run.items())
    )


def _best_row(runs: Sequence[Run], index: int, overlap: Overlap, best: PipelinePoint) -> Row:
    run, serial = runs[index], overlap.serial
    cells = (
        Cell(f"{best.chunks} x {best.streams}", detail=way_words(overlap.host_memory, best.chunks, best.streams)),
        time_cell(best.seconds, wide=not best.converged),
        time_cell(serial.seconds, wide=not serial.converged) if serial else missing(),
        _ratio_cell(run, best.speedup),
        _plain_cell(best.bound),
        _ratio_cell(run, best.share, 100.0),
        *(_plain_cell(overlap.alone.get(stage)) for stage in STAGES),
    )
    return Row(f"{multiple_digits(overlap)}x {run_label(runs, index)}".rstrip(), cells)


def _shares_grids(runs: Sequence[Run], chosen: Sequence[_Source]) -> tuple[Grid, ...]:
    """A table for each size: chunks down, streams and runs across, groups by memory and work."""
    grids = []
    for size in sorted({overlap.bytes for _, overlap in chosen}):
        # By memory and work what each run has.
        by_share: dict[tuple[str, float], dict[int, Overlap]] = {}
        for index, overlap in chosen:
            if overlap.bytes == size:
                by_share.setdefault((overlap.host_memory, overlap.ratio), {})[index] = overlap
        every = [(index, overlap) for of_run in by_share.values() for index, overlap in of_run.items()]
        directions = sorted({(streams, index) for index, overlap in every for _, streams in _all_ways(overlap)})
        columns = tuple(
            Column(name.replace(" ", "\n"), name, run_label(runs, index))
            for streams, index in directions
            for name in [say("overlap.streams", count=streams)]
        )
        groups = []
        for (kind, ratio), of_run in by_share.items():
            rows = tuple(
                Row(
                    str(count),
                    tuple(_share_cell(runs[at], of_run.get(at), (count, streams)) for streams, at in directions),
                )
                for count in sorted({chunks for each in of_run.values() for chunks, _ in _all_ways(each)})
            )
            title = say("common.comma").join([kind_label(kind), say("overlap.work", x=f"≈{ratio:g}")])
            groups.append(Group(title, rows))
        corner = capitalised(say("overlap_report.chunks"))
        grids.append(Grid(_sized(say("overlap_report.shares"), size), columns, tuple(groups), corner))
    return tuple(grids)


def _all_ways(overlap: Overlap) -> Iterable[tuple[int, int]]:
    return (*overlap.points, *overlap.failed, *overlap.skipped)


def _share_cell(run: Run, overlap: Overlap | None, way: tuple[int, int]) -> Cell:
    if overlap is None:
        return missing()
    if way in overlap.failed:
        return failed(say("labels.wrong_data"))
    if way in overlap.skipped:
        return skipped(overlap.skipped[way])
    point = overlap.points.get(way)
    return _ratio_cell(run, point.share, 100.0, format_seconds(point.seconds.median)) if point else missing()


def _exchange_grids(runs: Sequence[Run]) -> tuple[Grid, ...]:
    """Copies in both directions at once, a group for each size, a row for each memory; none without cases."""
    measured = [(index, each) for index, run in enumerate(runs) for each in exchanges(run)]
    measured.sort(key=lambda pair: kind_rank(pair[1].host_memory))
    groups = tuple(
        Group(
            format_bytes(size),
            tuple(_exchange_row(runs, index, each) for index, each in measured if each.bytes == size),
        )
        for size in sorted({each.bytes for _, each in measured})
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


def _ratio_cell(run: Run, value: Interval | None, scale: float = 1.0, detail: str = "") -> Cell:
    """A quotient of two times, times `scale`."""
    if value is None:
        return missing()
    # Two figures went into it, each known as well as the run aimed at.
    wide = value.relative_half_width > 2 * run.settings.target_relative_half_width
    return interval_cell(value, scale=scale, wide=wide, detail=detail)


def glance(run: Run) -> Glance | None:
    """Where copies take about as long as the work; None where no pipeline was measured."""
    grids = main_best_grids(run)
    return Glance((excerpt(grids[0], _MOST, columns=range(_COLUMNS)),)) if grids else None
