"""The section on OpenACC programs: the paper's table of ways, parts of arrays, stencils, each beside the paper's."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from isthmus.model import (
    OPENACC_WAYS,
    PUBLISHED_STENCIL_RATIOS,
    PUBLISHED_WAY_RATIOS,
    OpenaccTime,
    OpenaccWork,
    openacc_part_label,
    openacc_works,
    whole_arrays,
)
from isthmus.record import Interval, Metric, Run, format_bytes
from isthmus.report.grid import Cell, Column, Grid, Group, Row, interval_cell, time_cell
from isthmus.report.labels import run_label
from isthmus.report.section import Part, Section

__all__ = ["section"]

_INTRO = (
    "Programs in C++ with OpenACC (examples/openacc), written anew from IPSJ HPC-177-13. Explicit: data directives "
    "copy whole arrays. Automatic: no data directives, managed memory, whose pages the driver moves. Both: directives "
    "in a program built in the compiler's managed mode, which nvc++ alone has. Native: the explicit program's work "
    "by this package's own calls. The paper's figures are of a V100 behind PCI Express 3.0 with PGI 19.10, 8 GiB. "
)
_WAYS_NOTE = (
    "The device adds to all of an array that the CPU has filled, and the CPU sums it. In: copy in and compute; out: "
    "copy back and sum. Of managed memory the copies are faults within either."
)
_PARTS_NOTE = (
    "The device adds to the leading part of the array, or to one double in each stride. Times are of both phases "
    "together; the ratio is automatic over explicit, below 1 where managed memory is faster."
)
_STENCIL_NOTE = (
    "Four-point Laplacian, 20 iterations, one process with the tall half of a square, its own neighbour on either "
    "side. CPU pack: explicit copies the whole array out and in. Pages of managed memory move within the "
    "phase that touches them, computing included. The paper's ratios are of two processes; the exchange between "
    "them counts in none."
)
_MISSING = Cell("-", state="missing", detail="not measured")
_STENCIL_PHASES: Sequence[tuple[Metric, str]] = (
    ("compute_seconds", "compute"),
    ("pack_seconds", "pack"),
    ("copy_seconds", "copies"),
    ("unpack_seconds", "unpack"),
)

_Works = Sequence[tuple[int, OpenaccWork]]


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of OpenACC programs; None where that is nothing but skips."""
    works = [(index, openacc_works(run)) for index, run in enumerate(runs)]
    parts = [
        _ways_part(runs, [(index, work) for index, found in works for work in whole_arrays(found)]),
        _parts_part(runs, [(index, work) for index, found in works for work in found if work.program != "stencil"]),
        _stencil_part(runs, [(index, work) for index, found in works for work in found if work.program == "stencil"]),
    ]
    compilers = dict.fromkeys(work.compiler for _, found in works for work in found if work.compiler)
    built = f"Built by {', '.join(compilers)}." if compilers else ""
    shown = tuple(part for part in parts if part)
    return Section("openacc", "OpenACC programs", (_INTRO + built).strip(), shown) if shown else None


def _ways_part(runs: Sequence[Run], works: _Works) -> Part | None:
    """The table of the paper's section 5.1, with the native way."""
    groups = [
        Group(
            _title(runs, index, format_bytes(work.bytes)),
            tuple(_way_row(work, way) for way in OPENACC_WAYS if way in work.ways or way == "both"),
        )
        for index, work in works
        if len(work.ways) > 1
    ]
    columns = _columns(("in", "in"), ("out", "out"), ("total", "total"), ("over\nexplicit", "over explicit"))
    columns += (Column("paper", "over explicit in the paper"),)
    grid = Grid("The whole array, each way", columns, tuple(groups), corner="Way")
    return Part("Directives, managed memory, or both", _WAYS_NOTE, grids=(grid,)) if groups else None


def _way_row(work: OpenaccWork, way: str) -> Row:
    time = work.ways.get(way)
    if time is None:
        detail = "needs nvc++ -gpu=managed" if way == "both" and not work.has_managed_mode else "not measured"
        return Row(way, (replace(_MISSING, detail=detail),) * 4 + (_published_way(way),))
    phases = [
        time_cell(time.phases[name]) if name in time.phases else _MISSING for name in ("in_seconds", "out_seconds")
    ]
    return Row(way, (*phases, _time(time), _ratio(work.ratio(way)), _published_way(way)))


def _published_way(way: str) -> Cell:
    return (
        Cell(f"{PUBLISHED_WAY_RATIOS[way]:.2f}")
        if way in PUBLISHED_WAY_RATIOS
        else Cell("1.00" if way == "explicit" else "")
    )


def _parts_part(runs: Sequence[Run], works: _Works) -> Part | None:
    def cells(work: OpenaccWork) -> tuple[Cell, ...]:
        return (*(_time(work.ways.get(way)) for way in OPENACC_WAYS), _ratio(work.ratio("automatic")))

    columns = _columns(*((way, way) for way in OPENACC_WAYS), ("auto /\nexplicit", "automatic over explicit"))
    groups = _groups(
        runs, works, lambda work: format_bytes(work.bytes), lambda work: [Row(openacc_part_label(work), cells(work))]
    )
    grid = Grid("Parts of an array", columns, groups, corner="Touched")
    return Part("Arrays touched in part", _PARTS_NOTE, grids=(grid,)) if groups else None


def _stencil_part(runs: Sequence[Run], works: _Works) -> Part | None:
    def rows(work: OpenaccWork) -> list[Row]:
        published = PUBLISHED_STENCIL_RATIOS.get(work.pack, {})
        theirs = " / ".join(f"{factor:.3g}" for factor in published.values())
        return [
            Row(
                way,
                (
                    *(time_cell(time.phases[name]) if name in time.phases else _MISSING for name, _ in _STENCIL_PHASES),
                    _time(time),
                    _ratio(work.ratio(way)),
                    Cell(theirs if way == "automatic" else "", detail="sides " + ", ".join(map(str, published))),
                ),
            )
            for way, time in work.ways.items()
        ]

    columns = _columns(
        *((name, name) for _, name in _STENCIL_PHASES), ("total", "total"), ("over\nexplicit", "over explicit")
    )
    columns += (Column("paper\n30720 /\n61440", "over explicit in the paper, sides 30720 / 61440"),)
    groups = _groups(runs, works, openacc_part_label, rows)
    grid = Grid("Stencils", columns, groups, corner="Way")
    return Part("Stencils with a halo through host memory", _STENCIL_NOTE, grids=(grid,)) if groups else None


def _groups(
    runs: Sequence[Run],
    works: _Works,
    title: Callable[[OpenaccWork], str],
    rows: Callable[[OpenaccWork], list[Row]],
) -> tuple[Group, ...]:
    """Rows under common titles, in the order of the works."""
    found: dict[str, list[Row]] = {}
    for index, work in works:
        found.setdefault(_title(runs, index, title(work)), []).extend(rows(work))
    return tuple(Group(heading, tuple(of_group)) for heading, of_group in found.items())


def _title(runs: Sequence[Run], index: int, what: str) -> str:
    label = run_label(runs, index)
    return f"{what}, {label}" if label else what


def _columns(*names: tuple[str, str]) -> tuple[Column, ...]:
    return tuple(Column(heading, name) for heading, name in names)


def _time(time: OpenaccTime | None) -> Cell:
    if time is None:
        return _MISSING
    return time_cell(
        time.seconds, wide=not time.converged, detail=f"{time.samples} samples, {time.compiler or 'native'}"
    )


def _ratio(value: Interval | None) -> Cell:
    return _MISSING if value is None else interval_cell(value)
