"""What the strided experiment says: what moves sections that programs know."""

from collections.abc import Iterable

from isthmus.analysis.pieces.cell import STRIDED, Cell
from isthmus.analysis.pieces.findings import gain_finding, nothing_compared, takeaway_of, times_of
from isthmus.analysis.pieces.model import piece_cells, piece_surfaces
from isthmus.analysis.pieces.words import section_kind
from isthmus.document.finding import Finding, known
from isthmus.record import Run

_KINDS = ("column", "halo", "box", "face")


def findings(run: Run) -> list[Finding]:
    """The findings about sections that programs know."""
    cells = piece_cells(run, STRIDED)
    return known(*(gain_finding(run, f"strided_{kind}", _typical(cells, kind)) for kind in _KINDS))


def takeaway(run: Run) -> Finding | None:
    """What to take away; None where no sections were measured."""
    cells = piece_cells(run, STRIDED)
    for kind in _KINDS:
        # One direction and memory are enough for a verdict: those that the driver's copy is slowest at.
        chosen = [cell for cell in _typical(cells, kind) if STRIDED.incumbent in cell.points]
        if chosen:
            return takeaway_of([max(chosen, key=lambda each: (each.host_memory == "pinned", times_of(each)))])
    grids = [surface.typical for surface in piece_surfaces(run, STRIDED) if surface.typical]
    if grids:
        return takeaway_of(grids[:1])
    return nothing_compared(STRIDED) if cells else None


def _typical(cells: Iterable[Cell], kind: str) -> list[Cell]:
    """The narrowest known sections of a kind whose rows lie apart on the device alone; on both sides where none do."""
    of_kind = [cell for cell in cells if section_kind(cell.shape) == kind and len(cell.ranking) > 1]
    narrowest = min((cell.shape.width_bytes for cell in of_kind), default=0)
    of_kind = [cell for cell in of_kind if cell.shape.width_bytes == narrowest]
    return [cell for cell in of_kind if cell.layouts == ("contiguous", "strided")] or [
        cell for cell in of_kind if cell.layouts[0] == "strided"
    ]
