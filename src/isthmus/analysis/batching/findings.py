"""What the batching experiment says: how much better than a loop of copies, by what, and the batch call's cliff."""

from collections.abc import Sequence

from isthmus.analysis.phrases import factor_words
from isthmus.analysis.pieces.cell import BATCHING
from isthmus.analysis.pieces.findings import gain_finding, pays_finding, takeaway_of
from isthmus.analysis.pieces.model import Surface, main_surfaces, piece_surfaces
from isthmus.analysis.pieces.thresholds import batch_cliff
from isthmus.analysis.pieces.words import where_words
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import enumerated, say
from isthmus.record import Run, format_bytes, format_rate


def findings(run: Run) -> list[Finding]:
    """The findings about each kind of memory, from how many pieces on another method pays, and the batch call."""
    main = main_surfaces(piece_surfaces(run, BATCHING))
    typical = [surface.typical for surface in main if surface.typical]
    found = [
        gain_finding(run, f"batching_gain_{memory}", [cell for cell in typical if cell.host_memory == memory])
        for memory in dict.fromkeys(cell.host_memory for cell in typical)
    ]
    return [finding for finding in (*found, pays_finding(run, main), _cliff(main)) if finding]


def takeaway(run: Run) -> Takeaway | None:
    """What to take away; None where pieces were not measured."""
    surfaces = piece_surfaces(run, BATCHING)
    cells = [surface.typical for surface in main_surfaces(surfaces) if surface.typical]
    # Memory of which other pieces were measured is left to the findings.
    alike = [cell for cell in cells if (cell.shape, cell.layouts) == (cells[0].shape, cells[0].layouts)]
    if alike:
        return takeaway_of(alike)
    return Takeaway(say("pieces.no_gain_batching")) if surfaces else None


def _cliff(surfaces: Sequence[Surface]) -> Finding | None:
    """The largest jump, where there is one; the table says where none was found, and where none could be."""
    looked = [(surface, look.cliff) for surface in surfaces if (look := batch_cliff(surface))]
    jumps = [(surface, cliff) for surface, cliff in looked if cliff]
    if not jumps:
        return None
    _, cliff = max(jumps, key=lambda each: each[1].gain.median)
    alike = [surface for surface, each in jumps if (each.below, each.above) == (cliff.below, cliff.above)]
    return Finding(
        "note",
        "batching_cliff",
        say(
            "pieces.cliff",
            where=enumerated([where_words(surface) for surface in alike]),
            count=cliff.pieces,
            below=format_bytes(cliff.below),
            above=format_bytes(cliff.above),
            times=factor_words(cliff.gain),
            slow=format_rate(cliff.slow.rate.median),
            fast=format_rate(cliff.fast.rate.median),
        ),
        cause=say("pieces.cliff_cause"),
        fix=say("pieces.cliff_fix", size=format_bytes(cliff.above)),
    )
