"""OpenACC programs of a run: for each piece of work the time of every mode to move its data, and how they compare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isthmus.analysis.figures import figures
from isthmus.analysis.labels import Source, sources
from isthmus.analysis.phrases import factor_words, times
from isthmus.analysis.published.table import published_parts
from isthmus.analysis.statistics.contrast import MATTERS, ratio
from isthmus.analysis.statistics.curve import Point
from isthmus.document.finding import Finding
from isthmus.document.grid import Cell, Column, Row, interval_cell, missing, time_cell
from isthmus.document.pivot import columns_of, grid_of, groups_of
from isthmus.document.section import Part, Section, section_of
from isthmus.grouping import grouped
from isthmus.language import enumerated, say
from isthmus.record import Case, Interval, Metric, Run, format_bytes

# In the order of tables; the last is the work of the contiguous program done by this package's own calls.
OPENACC_WAYS = ("explicit", "automatic", "both", "native")
# How far OpenACC's copies may be from the same copies made by native calls before that is a reason to look closer.
NATIVE_BAR = 1.15
_ARRAY_PHASES: Sequence[Metric] = ("in_seconds", "out_seconds")
_STENCIL_PHASES: Sequence[Metric] = ("compute_seconds", "pack_seconds", "copy_seconds", "unpack_seconds")
# Native calls do the work of whole arrays alone, which have a table of their own.
_PART_WAYS = ("explicit", "automatic", "both")


@dataclass(frozen=True)
class OpenaccWork:
    """One program with what it works on; `modes` are those that were measured and whose results were right.

    `pack` is ``cpu`` or ``gpu`` of a stencil; `fraction` is of the contiguous program, `stride_bytes` of the other.
    """

    program: str
    pack: str
    bytes: int
    fraction: float | None
    stride_bytes: int | None
    side: int | None
    halo: int | None
    modes: Mapping[str, Point]

    def ratio(self, mode: str, base: str = "explicit") -> Interval | None:
        """The time of one mode over that of another; None where one of them was not measured."""
        over, under = self.modes.get(mode), self.modes.get(base)
        return ratio(over.seconds, under.seconds) if over and under else None

    @property
    def compiler(self) -> str:
        """What built the program; empty where only the native mode was measured."""
        return next((each.case.compiler for each in self.modes.values() if each.case.compiler), "")


_Works = Sequence[Source[OpenaccWork]]


def openacc_works(run: Run) -> list[OpenaccWork]:
    """Everything measured, programs in the order contiguous, stride, stencil, smaller parts and arrays first."""
    measured = [each.point for each in figures(run, "openacc") if each.point]
    works = map(_work, grouped(measured, _key).values())
    return sorted(
        works,
        key=lambda work: (
            work.program,
            work.side or 0,
            work.halo or 0,
            work.pack,
            work.bytes,
            work.fraction or 0,
            work.stride_bytes or 0,
        ),
    )


def _key(point: Point) -> tuple[object, ...]:
    case = point.case
    return *_parts(case)[:2], case.bytes, case.fraction, case.stride_bytes, case.rows, case.halo


def whole_arrays(works: list[OpenaccWork]) -> list[OpenaccWork]:
    """Those in which the device works on the whole of a contiguous array, as in the paper's section 5.1."""
    return [work for work in works if work.program == "contiguous" and work.fraction == 1.0]


def _parts(case: Case) -> tuple[str, str, str]:
    """Program, pack and mode; the native mode does what the contiguous program does."""
    before, _, mode = case.method.rpartition("_")
    program, _, pack = before.partition("_")
    return ("contiguous", "", "native") if program == "native" else (program, pack, mode)


def _work(points: Sequence[Point]) -> OpenaccWork:
    first, by_mode = points[0].case, {_parts(each.case)[2]: each for each in points}
    program, pack, _ = _parts(first)
    return OpenaccWork(
        program=program,
        pack=pack,
        bytes=first.bytes,
        fraction=first.fraction,
        stride_bytes=first.stride_bytes,
        side=first.rows,
        halo=first.halo,
        modes={mode: by_mode[mode] for mode in OPENACC_WAYS if mode in by_mode},
    )


def part_words(work: OpenaccWork) -> str:
    """``10 % of 1 GiB``, ``a double every 4 KiB of 1 GiB``."""
    if work.program == "stencil":
        return say("openacc.part_stencil", side=work.side, halo=work.halo, packer=work.pack.upper())
    if work.stride_bytes is not None:
        return say("openacc.part_stride", stride=format_bytes(work.stride_bytes), size=format_bytes(work.bytes))
    return say("openacc.part_percent", percent=100 * (work.fraction or 0), size=format_bytes(work.bytes))


def findings(run: Run) -> list[Finding]:
    """Directives against native calls, and in managed mode, on whole arrays; tables have parts and stencils."""
    works = whole_arrays(openacc_works(run))
    natives = [_native(work, ratio) for work in works if (ratio := work.ratio("explicit", "native"))]
    both = [_both(ratio) for work in works if (ratio := work.ratio("both", "automatic"))]
    return [*natives, *both]


def takeaway(run: Run) -> Finding | None:
    """How managed memory compares, and where to use which; None where no program was measured in both modes."""
    ratios = {part_words(work): ratio for work in openacc_works(run) if (ratio := work.ratio("automatic"))}
    if not ratios:
        return None
    span = times(min(each.low for each in ratios.values()), max(each.high for each in ratios.values()))
    faster = [part for part, each in ratios.items() if each.high < 1 / MATTERS]
    slower = [part for part, each in ratios.items() if each.low > MATTERS]
    advice = say("openacc.use_managed", parts=enumerated(faster)) if faster else ""
    if slower and not faster:
        advice = say("openacc.use_directives", parts=enumerated(slower))
    return Finding("note", "openacc", say("openacc.verdict", times=span), do=(advice,))


def _native(work: OpenaccWork, ratio: Interval) -> Finding:
    size = format_bytes(work.bytes)
    text = say("openacc.native", size=size, compiler=work.compiler, times=factor_words(ratio))
    if ratio.low > NATIVE_BAR:
        return Finding("ATTENTION", "openacc_native", text, do=(say("openacc.native_fix"),))
    return Finding("note", "openacc_native", text)


def _both(ratio: Interval) -> Finding:
    return Finding("note", "openacc_managed", say("openacc.both", times=factor_words(ratio)))


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
