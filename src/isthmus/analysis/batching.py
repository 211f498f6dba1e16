"""Many small pieces: what all show, the cliff of the batch call, and from how many on it pays."""

from collections.abc import Sequence

from isthmus.analysis.labels import sources
from isthmus.analysis.phrases import factor_words
from isthmus.analysis.pieces.cell import BATCHING
from isthmus.analysis.pieces.findings import gain_finding, nothing_compared, takeaway_of
from isthmus.analysis.pieces.map import fastest_grid, main_sources
from isthmus.analysis.pieces.model import Surface, main_surfaces, piece_surfaces
from isthmus.analysis.pieces.tables import Cliff, batch_cliff, pieces_parts
from isthmus.analysis.pieces.words import method_name, way_words
from isthmus.document.finding import Finding, known
from isthmus.document.grid import excerpt, spread
from isthmus.document.section import Glance, Section, section_of
from isthmus.language import say, sentences
from isthmus.record import Run, format_bytes, format_rate

_MOST = 5
_MOST_COUNTS = 4


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of small pieces; None where that is nothing but skips."""
    return section_of("batching", pieces_parts(runs, BATCHING), ("prepared", "threads"))


def glance(run: Run) -> Glance | None:
    """The fastest method by size and number of the first surface that a report shows; None where there is none."""
    surfaces = main_sources(
        [each for each in sources([run], lambda run: piece_surfaces(run, BATCHING)) if each.value.measured]
    )
    if not surfaces:
        return None
    grid = fastest_grid(surfaces[0])
    title = say("pieces_report.glance_batching", surface=grid.title, incumbent=method_name(BATCHING.incumbent))
    return Glance((excerpt(grid, _MOST, columns=spread(len(grid.columns), _MOST_COUNTS), title=title),))


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
