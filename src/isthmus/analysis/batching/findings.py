"""What the batching experiment says: what moves pieces faster than a loop of copies, and the batch call's cliff."""

from collections.abc import Sequence

from isthmus.analysis.phrases import factor_words
from isthmus.analysis.pieces.cell import BATCHING
from isthmus.analysis.pieces.findings import gain_finding, nothing_compared, takeaway_of
from isthmus.analysis.pieces.model import Surface, main_surfaces, piece_surfaces
from isthmus.analysis.pieces.tables import Cliff, batch_cliff
from isthmus.analysis.pieces.words import way_words
from isthmus.document.finding import Finding, known
from isthmus.language import say, sentences
from isthmus.record import Run, format_bytes, format_rate


def findings(run: Run) -> list[Finding]:
    """The findings about each kind of memory, and the batch call."""
    main = main_surfaces(piece_surfaces(run, BATCHING))
    typical = [surface.typical for surface in main if surface.typical]
    candidates = [
        gain_finding(run, f"batching_gain_{memory}", [cell for cell in typical if cell.host_memory == memory])
        for memory in dict.fromkeys(cell.host_memory for cell in typical)
    ]
    return known(*candidates, _cliff(main))


def takeaway(run: Run) -> Finding | None:
    """What to take away; None where pieces were not measured."""
    surfaces = piece_surfaces(run, BATCHING)
    cells = [surface.typical for surface in main_surfaces(surfaces) if surface.typical]
    # Memory of which other pieces were measured is left to the findings.
    alike = [cell for cell in cells if (cell.shape, cell.layouts) == (cells[0].shape, cells[0].layouts)]
    if alike:
        return takeaway_of(alike)
    return nothing_compared(BATCHING) if surfaces else None


def _cliff(surfaces: Sequence[Surface]) -> Finding | None:
    """The largest jump of each surface that has one."""
    jumps = [(surface, cliff) for surface in surfaces if (cliff := batch_cliff(surface))]
    if not jumps:
        return None
    size = format_bytes(max(cliff.above for _, cliff in jumps))
    sentence = sentences(_cliff_words(*jump) for jump in jumps)
    return Finding("note", "batching_cliff", sentence, do=(say("pieces.cliff_fix", size=size),))


def _cliff_words(surface: Surface, cliff: Cliff) -> str:
    return say(
        "pieces.cliff",
        method=way_words(surface),
        count=cliff.pieces,
        below=format_bytes(cliff.below),
        above=format_bytes(cliff.above),
        times=factor_words(cliff.gain),
        slow=format_rate(cliff.slow.rate.median),
        fast=format_rate(cliff.fast.rate.median),
    )
