"""The section on OpenACC programs: the paper's table of modes, parts of arrays, stencils, each next to the paper's."""

from collections.abc import Sequence

from isthmus.analysis.frame import section_of
from isthmus.analysis.labels import Source, sources
from isthmus.analysis.openacc.model import OpenaccWork, openacc_works, part_words, whole_arrays
from isthmus.analysis.published.table import published_parts
from isthmus.analysis.statistics.curve import Point
from isthmus.document.grid import Cell, Column, Row, interval_cell, missing, time_cell
from isthmus.document.pivot import columns_of, grid_of, groups_of
from isthmus.document.section import Part, Section
from isthmus.language import enumerated, say
from isthmus.record import Metric, Run

_ARRAY_PHASES: Sequence[Metric] = ("in_seconds", "out_seconds")
_STENCIL_PHASES: Sequence[Metric] = ("compute_seconds", "pack_seconds", "copy_seconds", "unpack_seconds")
# Native calls do the work of whole arrays alone, which have a table of their own.
_PART_WAYS = ("explicit", "automatic", "both")

_Works = Sequence[Source[OpenaccWork]]


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of OpenACC programs; None where that is nothing but skips."""
    works = sources(runs, openacc_works)
    parts = [
        _phases_part("ways", sources(runs, lambda run: whole_arrays(openacc_works(run)))),
        _parts_part([each for each in works if each.value.program != "stencil"]),
        _phases_part("stencil", [each for each in works if each.value.program == "stencil"]),
        *published_parts(runs, "openacc"),
    ]
    compilers = dict.fromkeys(each.value.compiler for each in works if each.value.compiler)
    intro = say("openacc_report.intro", compilers=enumerated(list(compilers)) or "-")
    return section_of("openacc", parts, ("pages",), intro)


def _phases_part(key: str, works: _Works) -> Part:
    """Every mode that was measured, phase by phase."""
    phases = _STENCIL_PHASES if key == "stencil" else _ARRAY_PHASES
    rows = (
        (_title(each, part_words(each.value)), _row(each.value, mode, phases))
        for each in works
        for mode in each.value.modes
    )
    columns = map(_column, (*phases, "total", "over"))
    title = say(f"openacc_report.title_{key}")
    grid = grid_of(title, columns, groups_of(rows), say("labels.corner_method"))
    return Part(title, say(f"openacc_report.note_{key}"), grids=(grid,) if grid else ())


def _row(work: OpenaccWork, mode: str, phases: Sequence[Metric]) -> Row:
    point = work.modes[mode]
    shown = (time_cell(point.phases.get(name)) for name in phases)
    return Row(_way_label(mode), (*shown, _time(point), interval_cell(work.ratio(mode))))


def _way_label(mode: str) -> str:
    return say(f"openacc_report.way_{mode}")


def _parts_part(works: _Works) -> Part:
    """How much of an array has to be touched for directives to pay."""
    rows = []
    for each in works:
        if any(mode in each.value.modes for mode in _PART_WAYS):
            explicit, automatic, both = (_time(each.value.modes.get(mode)) for mode in _PART_WAYS)
            cells = (explicit, automatic, interval_cell(each.value.ratio("automatic")), both)
            rows.append((_title(each), Row(part_words(each.value), cells)))
    explicit_column, automatic_column, both_column = columns_of(map(_way_label, _PART_WAYS))
    title, columns = (
        say("openacc_report.title_parts"),
        (explicit_column, automatic_column, _column("over"), both_column),
    )
    grid = grid_of(title, columns, groups_of(rows), say("openacc_report.touched"))
    return Part(title, grids=(grid,) if grid else ())


def _title(source: Source[OpenaccWork], *words: str) -> str:
    return say("common.comma").join(filter(None, (*words, source.label)))


def _column(key: str) -> Column:
    return columns_of([say(f"openacc_report.column_{key}")])[0]


def _time(point: Point | None) -> Cell:
    if point is None:
        return missing()
    compiler = point.case.compiler or _way_label("native")
    detail = say("openacc_report.samples", count=len(point.samples), compiler=compiler)
    return time_cell(point.seconds, wide=not point.settled, detail=detail)
