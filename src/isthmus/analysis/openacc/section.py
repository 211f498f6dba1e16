"""The section on OpenACC programs: the paper's table of ways, parts of arrays, stencils, each beside the paper's."""

from collections.abc import Callable, Sequence

from isthmus.analysis.frame import section_of
from isthmus.analysis.labels import run_label
from isthmus.analysis.openacc.model import OPENACC_WAYS, OpenaccTime, OpenaccWork, openacc_works, whole_arrays
from isthmus.analysis.openacc.words import openacc_part_label
from isthmus.analysis.published.table import published_part
from isthmus.document.grid import Cell, Column, Grid, Group, Row, interval_cell, missing, time_cell
from isthmus.document.section import Part, Section
from isthmus.language import enumerated, say, sentences
from isthmus.record import Interval, Metric, Run, format_bytes

_STENCIL_PHASES: Sequence[Metric] = ("compute_seconds", "pack_seconds", "copy_seconds", "unpack_seconds")

_Works = Sequence[tuple[int, OpenaccWork]]


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of OpenACC programs; None where that is nothing but skips."""
    works = [(index, openacc_works(run)) for index, run in enumerate(runs)]
    parts = [
        _ways_part(runs, [(index, work) for index, found in works for work in whole_arrays(found)]),
        _parts_part(runs, [(index, work) for index, found in works for work in found if work.program != "stencil"]),
        _stencil_part(runs, [(index, work) for index, found in works for work in found if work.program == "stencil"]),
        published_part(runs, "openacc"),
    ]
    compilers = dict.fromkeys(work.compiler for _, found in works for work in found if work.compiler)
    built = say("openacc_report.built", compilers=enumerated(list(compilers))) if compilers else ""
    return section_of("openacc", parts, ("exchange", "pages"), sentences([say("openacc_report.intro"), built]))


def _ways_part(runs: Sequence[Run], works: _Works) -> Part | None:
    """All of an array, by every way."""
    groups = [
        Group(
            _title(runs, index, format_bytes(work.bytes)),
            tuple(_way_row(work, way) for way in OPENACC_WAYS if way in work.ways or way == "both"),
        )
        for index, work in works
        if len(work.ways) > 1
    ]
    if not groups:
        return None
    columns = (*_columns("in", "out", "total"), _over())
    grid = Grid(say("openacc_report.ways_grid"), columns, tuple(groups), corner=say("openacc_report.way"))
    return Part(say("openacc_report.ways_title"), say("openacc_report.ways_note"), grids=(grid,))


def _over() -> Column:
    heading = say("openacc_report.over_heading")
    return Column(heading, heading.replace("\n", " "))


def _way_row(work: OpenaccWork, way: str) -> Row:
    time = work.ways.get(way)
    if time is None:
        needs = way == "both" and not work.has_managed_mode
        cell = missing(say("openacc_report.needs_nvcpp") if needs else "")
        return Row(_way_label(way), (cell,) * 4)
    return _row(work, way, time, ("in_seconds", "out_seconds"))


def _row(work: OpenaccWork, way: str, time: OpenaccTime, phases: Sequence[Metric]) -> Row:
    shown = (time_cell(time.phases[name]) if name in time.phases else missing() for name in phases)
    return Row(_way_label(way), (*shown, _time(time), _ratio(work.ratio(way))))


def _way_label(way: str) -> str:
    return say(f"openacc_report.way_{way}")


def _parts_part(runs: Sequence[Run], works: _Works) -> Part | None:
    def cells(work: OpenaccWork) -> tuple[Cell, ...]:
        return (*(_time(work.ways.get(way)) for way in OPENACC_WAYS), _ratio(work.ratio("automatic")))

    groups = _groups(
        runs, works, lambda work: format_bytes(work.bytes), lambda work: [Row(openacc_part_label(work), cells(work))]
    )
    if not groups:
        return None
    columns = (
        *(Column(_way_label(way), _way_label(way)) for way in OPENACC_WAYS),
        Column(ratio := say("openacc_report.ratio_heading"), ratio.replace("\n", " ")),
    )
    grid = Grid(say("openacc_report.parts_grid"), columns, groups, corner=say("openacc_report.touched"))
    return Part(say("openacc_report.parts_title"), say("openacc_report.parts_note"), grids=(grid,))


def _stencil_part(runs: Sequence[Run], works: _Works) -> Part | None:
    def rows(work: OpenaccWork) -> list[Row]:
        return [_row(work, way, time, _STENCIL_PHASES) for way, time in work.ways.items()]

    groups = _groups(runs, works, openacc_part_label, rows)
    if not groups:
        return None
    columns = (*_columns(*_STENCIL_PHASES, "total"), _over())
    grid = Grid(say("openacc_report.stencil_grid"), columns, groups, corner=say("openacc_report.way"))
    return Part(say("openacc_report.stencil_title"), say("openacc_report.stencil_note"), grids=(grid,))


def _groups(
    runs: Sequence[Run], works: _Works, title: Callable[[OpenaccWork], str], rows: Callable[[OpenaccWork], list[Row]]
) -> tuple[Group, ...]:
    """Rows under common titles, in the order of the works."""
    found: dict[str, list[Row]] = {}
    for index, work in works:
        found.setdefault(_title(runs, index, title(work)), []).extend(rows(work))
    return tuple(Group(heading, tuple(of_group)) for heading, of_group in found.items())


def _title(runs: Sequence[Run], index: int, what: str) -> str:
    label = run_label(runs, index)
    return say("openacc_report.of_run", what=what, run=label) if label else what


def _columns(*keys: str) -> tuple[Column, ...]:
    names = [say(f"openacc_report.column_{key}") for key in keys]
    return tuple(Column(name, name) for name in names)


def _time(time: OpenaccTime | None) -> Cell:
    if time is None:
        return missing()
    compiler = time.compiler or _way_label("native")
    detail = say("openacc_report.samples", count=time.samples, compiler=compiler)
    return time_cell(time.seconds, wide=not time.converged, detail=detail)


def _ratio(value: Interval | None) -> Cell:
    return missing() if value is None else interval_cell(value)
