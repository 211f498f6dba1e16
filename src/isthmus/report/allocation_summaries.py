"""The tables of allocation by kind: fixed parts and parts for each MiB, first calls, and published figures."""

from isthmus.model import (
    PHASES,
    TOLERANCE,
    CostCurve,
    CostPiece,
    Phase,
    PublishedCost,
    fit_cost,
    how_many_times,
    published_costs,
)
from isthmus.record import MIB, Interval, format_bytes, format_seconds
from isthmus.report.allocation_grids import NOT_MEASURED, Measured, time_detail
from isthmus.report.grid import Cell, Column, Grid, Group, Row, time_cell
from isthmus.report.labels import kind_label

__all__ = ["first_call_grid", "fit_grid", "published_grid"]

_PHASE_TITLES: dict[Phase, str] = {"allocate": "allocate", "touch": "touch first", "free": "free"}


def fit_grid(measured: Measured) -> Grid | None:
    """The lines through the times of each kind, by phase; None where no phase has three sizes."""
    groups = []
    for phase in PHASES:
        curves = [curve for curve in measured.costs.curves if curve.phase == phase and len(curve.points) >= 3]
        if curves:
            groups.append(Group(_PHASE_TITLES[phase], tuple(row for curve in curves for row in _fit_rows(curve))))
    columns = (
        Column("fixed\npart", "fixed part"),
        Column("per MiB", "per MiB"),
        Column("off by\nat most", "off by at most"),
        Column("sizes", "sizes", prose=True),
    )
    title = measured.titled("Time of a call = fixed part + MiB x time per MiB")
    return Grid(title, columns, tuple(groups), corner="Memory") if groups else None


def first_call_grid(measured: Measured) -> Grid | None:
    """First calls of the process beside later ones of the same size; None where none was timed."""
    first = measured.costs.first
    if not first:
        return None
    phases = [phase for phase in PHASES if any(phase == each for _, each in first)]
    columns = [
        Column(f"{_PHASE_TITLES[phase]}\n{when}", f"{_PHASE_TITLES[phase]}, {when}")
        for phase in phases
        for when in ("first", "later")
    ]
    kinds = [kind for kind in measured.costs.kinds if any(kind == each for each, _ in first)]
    kinds += [kind for kind, _ in first if kind not in kinds]
    rows = tuple(
        Row(kind_label(kind), tuple(cell for phase in phases for cell in _first_cells(measured, kind, phase)))
        for kind in dict.fromkeys(kinds)
    )
    sizes = ", ".join(format_bytes(size) for size in sorted({size for size, _ in first.values()}))
    return Grid(measured.titled(f"First calls, {sizes}"), tuple(columns), (Group("", rows),), corner="Memory")


def published_grid(measured: Measured) -> Grid | None:
    """Figures of 2008 beside those of the run; None where the run has none of their sizes and kinds."""
    found = published_costs(measured.costs)
    if not found:
        return None
    columns = (
        Column("2008", "published, 2008"),
        Column("here", "here"),
        Column("here /\n2008", "here / 2008"),
        Column("what the figures say", "what the figures say", prose=True),
    )
    groups = [
        Group(title, tuple(Row(each.name, _published_cells(each)) for each in found if each.unit == unit))
        for unit, title in (("seconds", "time of a call"), ("times", "times malloc or free"))
    ]
    title = measured.titled("GTX 280, Core 2 Extreme at 3.2 GHz, and this machine")
    return Grid(title, columns, tuple(group for group in groups if group.rows), corner="Call")


def _fit_rows(curve: CostCurve) -> list[Row]:
    pieces = fit_cost(curve).pieces
    if not pieces:
        words = f"no line within {100 * TOLERANCE:.0f} %"
        return [Row(kind_label(curve.kind), (_NO_LINE, _NO_LINE, _NO_LINE, Cell(words)))]
    return [Row(kind_label(curve.kind), _piece_cells(piece)) for piece in pieces]


_NO_LINE = Cell("-", state="missing", detail="no straight line describes the times")


def _piece_cells(piece: CostPiece) -> tuple[Cell, ...]:
    per_mib = Interval(*(end * MIB for end in piece.per_byte))
    hardly = Cell("-", state="missing", detail="too little to be told from nothing at these sizes")
    return (
        hardly if piece.proportional else time_cell(piece.fixed),
        hardly if piece.flat else time_cell(per_mib),
        Cell(f"{100 * piece.deviation:.1f} %"),
        Cell(f"{format_bytes(piece.from_bytes)} to {format_bytes(piece.to_bytes)}{_except(piece)}"),
    )


def _except(piece: CostPiece) -> str:
    return "".join(f", not {format_bytes(size)}" for size in piece.outliers)


def _first_cells(measured: Measured, kind: str, phase: Phase) -> tuple[Cell, Cell]:
    if (kind, phase) not in measured.costs.first:
        return NOT_MEASURED, NOT_MEASURED
    size, seconds = measured.costs.first[kind, phase]
    curve = measured.costs.find(kind, phase)
    point = curve.at(size) if curve else None
    first = Cell(format_seconds(seconds), detail="one sample")
    later = time_cell(point.seconds, wide=not point.converged, detail=time_detail(point)) if point else NOT_MEASURED
    return first, later


def _published_cells(each: PublishedCost) -> tuple[Cell, ...]:
    here = time_cell(each.interval) if each.interval else Cell(_range(each.here))
    published = format_seconds(each.published[0]) if each.unit == "seconds" else _range(each.published)
    return Cell(published), here, Cell(_range(each.factor)) if each.factor else _RANGES, Cell(each.why)


_RANGES = Cell("-", state="missing", detail="a range was published")


def _range(ends: tuple[float, float]) -> str:
    low, high = (how_many_times(end).removesuffix(" times") for end in ends)
    return low if low == high else f"{low} to {high}"
