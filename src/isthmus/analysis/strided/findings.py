"""What the strided experiment says: what to move known sections with, and where the driver's 2-D copy falls behind."""

from collections.abc import Iterable, Sequence

from isthmus.analysis.phrases import about_bytes, factor_words
from isthmus.analysis.pieces.cell import STRIDED, WHOLE, Cell
from isthmus.analysis.pieces.findings import gain_finding, pays_finding, takeaway_of, times_of
from isthmus.analysis.pieces.model import main_surfaces, piece_cells, piece_surfaces
from isthmus.analysis.pieces.words import section_kind, where_words
from isthmus.analysis.strided.padding import paddings
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import say
from isthmus.record import Run, format_bytes, format_seconds

_KINDS = ("column", "halo", "box", "face")


def findings(run: Run) -> list[Finding]:
    """The findings about sections that programs know, about padding, and from how many rows on something else pays."""
    cells = piece_cells(run, STRIDED)
    typical = {kind: _typical(cells, kind) for kind in _KINDS}
    found = [gain_finding(run, f"strided_{kind}", each, _whole(cells, each)) for kind, each in typical.items()]
    pays = pays_finding(run, main_surfaces(piece_surfaces(run, STRIDED)))
    return [finding for finding in (*found, _padding(cells), pays) if finding]


def takeaway(run: Run) -> Takeaway | None:
    """What to take away; None where no sections were measured."""
    cells = piece_cells(run, STRIDED)
    for kind in _KINDS:
        # One way and memory are enough for a verdict: those that the driver's copy is slowest at.
        chosen = [cell for cell in _typical(cells, kind) if STRIDED.incumbent in cell.points]
        if chosen:
            return takeaway_of([max(chosen, key=lambda each: (each.host_memory == "pinned", times_of(each)))])
    grids = [surface.typical for surface in piece_surfaces(run, STRIDED) if surface.typical]
    if grids:
        return takeaway_of(grids[:1])
    return Takeaway(say("pieces.no_gain_strided")) if cells else None


def _typical(cells: Iterable[Cell], kind: str) -> list[Cell]:
    """The narrowest known sections of a kind whose rows lie apart on the device alone; on both sides where none do."""
    of_kind = [cell for cell in cells if section_kind(cell.shape) == kind and len(cell.ranking) > 1]
    narrowest = min((cell.shape.width_bytes for cell in of_kind), default=0)
    of_kind = [cell for cell in of_kind if cell.shape.width_bytes == narrowest]
    return [cell for cell in of_kind if cell.layouts == ("contiguous", "strided")] or [
        cell for cell in of_kind if cell.layouts[0] == "strided"
    ]


def _whole(cells: Sequence[Cell], known: Sequence[Cell]) -> list[str]:
    """What it takes to copy everything between the rows too, where both sides have the array."""
    found = [
        cell
        for cell in cells
        if known and cell.shape[:3] == known[0].shape[:3] and cell.shape.is_known and WHOLE in cell.points
    ]
    if not found:
        return []
    best = min(found, key=lambda cell: cell.points[WHOLE].seconds.median)
    time = format_seconds(best.points[WHOLE].seconds.median)
    return [say("pieces.whole", size=about_bytes(best.moved[WHOLE]), time=time, where=where_words(best))]


def _padding(cells: Sequence[Cell]) -> Finding | None:
    """What padding costs the driver's copy, where the difference is significant; the table has the other methods."""
    found = [each for each in paddings(cells) if STRIDED.incumbent in each.slowdowns]
    if not found:
        return None
    different = [
        say("pieces.padding_way", where=where_words(each.padded), times=factor_words(slowdown))
        for each in found
        if (slowdown := each.slowdowns[STRIDED.incumbent]).low > 1 or slowdown.high < 1
    ]
    shape = found[0].padded.shape
    sizes = {"size": format_bytes(shape.width_bytes), "pitch": format_bytes(shape.device_pitch_bytes)}
    key = "pieces.padding" if different else "pieces.padding_none"
    sentence = say(key, **sizes, ways=say("common.between_statements").join(different))
    return Finding("note", "strided_padding", sentence)
