"""The section on OpenACC programs: the paper's table of modes, parts of arrays, stencils, each next to the paper's."""

from collections.abc import Callable, Sequence

from isthmus.analysis.frame import section_of
from isthmus.analysis.labels import run_label
from isthmus.analysis.openacc.model import OpenaccTime, OpenaccWork, openacc_works, whole_arrays
from isthmus.analysis.openacc.words import part_words
from isthmus.analysis.published.table import published_parts
from isthmus.document.grid import Cell, Column, Grid, Group, Row, interval_cell, missing, time_cell
from isthmus.document.section import Part, Section
from isthmus.language import enumerated, say
from isthmus.record import Interval, Metric, Run

_ARRAY_PHASES: Sequence[Metric] = ("in_seconds", "out_seconds")
_STENCIL_PHASES: Sequence[Metric] = ("compute_seconds", "pack_seconds", "copy_seconds", "unpack_seconds")
# Native calls do the work of whole arrays alone, which have a table of their own.
_PART_WAYS = ("explicit", "automatic", "both")

_Works = Sequence[tuple[int, OpenaccWork]]


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of OpenACC programs; None where that is nothing but skips."""
    works = [(index, openacc_works(run)) for index, run in enumerate(runs)]
    stencils = [(index, work) for index, of_run in works for work in of_run if work.program == "stencil"]
    parts = [
        _phases_part(runs, "ways", [(index, work) for index, of_run in works for work in whole_arrays(of_run)]),
        _parts_part(runs, [(index, work) for index, of_run in works for work in of_run if work.program != "stencil"]),
        _phases_part(runs, "stencil", stencils),
        *published_parts(runs, "openacc"),
    ]
    compilers = dict.fromkeys(work.compiler for _, of_run in works for work in of_run if work.compiler)
    intro = say("openacc_report.intro", compilers=enumerated(list(compilers)) or "-")
    return section_of("openacc", parts, ("pages",), intro)


def _phases_part(runs: Sequence[Run], key: str, works: _Works) -> Part | None:
    """Every mode that was measured, phase by phase."""
    if not works:
        return None
    phases = _STENCIL_PHASES if key == "stencil" else _ARRAY_PHASES
    groups = _groups(runs, works, lambda work: [_row(work, way, phases) for way in work.modes], part_words)
    columns = tuple(map(_column, (*phases, "total", "over")))
    title = say(f"openacc_report.title_{key}")
    return Part(
        title, say(f"openacc_report.note_{key}"), grids=(Grid(title, columns, groups, say("openacc_report.way")),)
    )


def _row(work: OpenaccWork, mode: str, phases: Sequence[Metric]) -> Row:
    time = work.modes[mode]
    shown = (time_cell(time.phases[name]) if name in time.phases else missing() for name in phases)
    return Row(_way_label(mode), (*shown, _time(time), _ratio(work.ratio(mode))))


def _way_label(mode: str) -> str:
    return say(f"openacc_report.way_{mode}")


def _parts_part(runs: Sequence[Run], works: _Works) -> Part | None:
    """How much of an array has to be touched for directives to pay."""

    def rows(work: OpenaccWork) -> list[Row]:
        explicit, automatic, both = (_time(work.modes.get(mode)) for mode in _PART_WAYS)
        return [Row(part_words(work), (explicit, automatic, _ratio(work.ratio("automatic")), both))]

    shown = [(index, work) for index, work in works if any(mode in work.modes for mode in _PART_WAYS)]
    groups = _groups(runs, shown, rows)
    if not groups:
        return None
    explicit, automatic, both = (Column(_way_label(mode), _way_label(mode)) for mode in _PART_WAYS)
    title = say("openacc_report.title_parts")
    columns = (explicit, automatic, _column("over"), both)
    return Part(title, grids=(Grid(title, columns, groups, say("openacc_report.touched")),))


def _groups(
    runs: Sequence[Run],
    works: _Works,
    rows: Callable[[OpenaccWork], list[Row]],
    title: Callable[[OpenaccWork], str] | None = None,
) -> tuple[Group, ...]:
    """Rows under common titles, in the order of the works."""
    by_group: dict[str, list[Row]] = {}
    for index, work in works:
        heading = say("common.comma").join(filter(None, (title(work) if title else "", run_label(runs, index))))
        by_group.setdefault(heading, []).extend(rows(work))
    return tuple(Group(heading, tuple(of_group)) for heading, of_group in by_group.items())


def _column(key: str) -> Column:
    heading = say(f"openacc_report.column_{key}")
    return Column(heading, heading.replace("\n", " "))


def _time(time: OpenaccTime | None) -> Cell:
    if time is None:
        return missing()
    compiler = time.compiler or _way_label("native")
    detail = say("openacc_report.samples", count=time.samples, compiler=compiler)
    return time_cell(time.seconds, wide=not time.converged, detail=detail)


def _ratio(value: Interval | None) -> Cell:
    return missing() if value is None else interval_cell(value)
