"""The tables of allocation by kind: fixed parts and parts for each MiB, and first calls."""

from isthmus.analysis.allocation.cost_fit import TOLERANCE, CostPiece, fit_cost
from isthmus.analysis.allocation.grids import Measured, time_detail
from isthmus.analysis.allocation.model import PHASES, CostCurve, Phase
from isthmus.analysis.labels import kind_label
from isthmus.document.grid import Cell, Column, Grid, Group, Row, time_cell
from isthmus.document.states import missing
from isthmus.language import say
from isthmus.record import MIB, Interval, format_bytes, format_seconds


def fit_grid(measured: Measured) -> Grid | None:
    """The lines through the times of each kind, by phase; None where no phase has three sizes."""
    groups = []
    for phase in PHASES:
        curves = [curve for curve in measured.costs.curves if curve.phase == phase and len(curve.points) >= 3]
        if curves:
            groups.append(Group(_phase(phase), tuple(row for curve in curves for row in _fit_rows(curve))))
    columns = (*map(_column, ("fixed", "per_mib", "off_by")), _column("sizes", prose=True))
    title = measured.titled(say("allocation_report.fit_grid"))
    return Grid(title, columns, tuple(groups), corner=say("allocation_report.memory")) if groups else None


def first_call_grid(measured: Measured) -> Grid | None:
    """First calls of the process beside later ones of the same size; None where none was timed."""
    first = measured.costs.first
    if not first:
        return None
    phases = [phase for phase in PHASES if any(phase == each for _, each in first)]
    columns = [
        Column(f"{_phase(phase)}\n{when}", say("common.comma").join([_phase(phase), when]))
        for phase in phases
        for when in (say("allocation_report.first"), say("allocation_report.later"))
    ]
    kinds = [kind for kind in measured.costs.kinds if any(kind == each for each, _ in first)]
    kinds += [kind for kind, _ in first if kind not in kinds]
    rows = tuple(
        Row(kind_label(kind), tuple(cell for phase in phases for cell in _first_cells(measured, kind, phase)))
        for kind in dict.fromkeys(kinds)
    )
    sizes = say("common.comma").join(format_bytes(size) for size in sorted({size for size, _ in first.values()}))
    title = measured.titled(say("allocation_report.first_call_grid", sizes=sizes))
    return Grid(title, tuple(columns), (Group("", rows),), corner=say("allocation_report.memory"))


def _phase(phase: Phase) -> str:
    return say(f"allocation_report.phase_{phase}")


def _column(name: str, *, prose: bool = False) -> Column:
    return Column(say(f"allocation_report.heading_{name}"), say(f"allocation_report.column_{name}"), prose=prose)


def _fit_rows(curve: CostCurve) -> list[Row]:
    pieces = fit_cost(curve).pieces
    if not pieces:
        none = Cell("-", state="missing", detail=say("allocation_report.no_line"))
        words = say("allocation_report.no_line_within", percent=100 * TOLERANCE)
        return [Row(kind_label(curve.kind), (none, none, none, Cell(words)))]
    return [Row(kind_label(curve.kind), _piece_cells(piece)) for piece in pieces]


def _piece_cells(piece: CostPiece) -> tuple[Cell, ...]:
    per_mib = Interval(*(end * MIB for end in piece.per_byte))
    hardly = Cell("-", state="missing", detail=say("allocation_report.too_little"))
    return (
        hardly if piece.proportional else time_cell(piece.fixed),
        hardly if piece.flat else time_cell(per_mib),
        Cell(f"{100 * piece.deviation:.1f} %"),
        Cell(_sizes(piece)),
    )


def _sizes(piece: CostPiece) -> str:
    span = say("common.range", low=format_bytes(piece.from_bytes), high=format_bytes(piece.to_bytes))
    if not piece.outliers:
        return span
    return say(
        "allocation_report.sizes_but", sizes=span, but=say("common.comma").join(map(format_bytes, piece.outliers))
    )


def _first_cells(measured: Measured, kind: str, phase: Phase) -> tuple[Cell, Cell]:
    if (kind, phase) not in measured.costs.first:
        return missing(), missing()
    size, seconds = measured.costs.first[kind, phase]
    curve = measured.costs.find(kind, phase)
    point = curve.at(size) if curve else None
    first = Cell(format_seconds(seconds), detail=say("allocation_report.one_sample"))
    later = time_cell(point.seconds, wide=not point.converged, detail=time_detail(point)) if point else missing()
    return first, later
