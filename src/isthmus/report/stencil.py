"""The section on stencils: every way with its phases, as bars and in figures, and the paper beside ours."""

from collections.abc import Sequence

from isthmus.model import Stencil, setting_words, stencil_words, stencils
from isthmus.record import Run
from isthmus.report.labels import run_label
from isthmus.report.section import Section
from isthmus.report.stencil_bars import bars_part
from isthmus.report.stencil_known import published_part
from isthmus.report.stencil_times import times_part

__all__ = ["section"]

_INTRO = (
    "A four-point Laplacian on a square of doubles, periodic both ways, cut into tall tiles, one for each MPI rank; 20 "
    "iterations, after each of which ranks exchange the outermost columns of their tiles. A sample is the time of all "
    "iterations without MPI, of the rank that it takes longest, as in the paper that this follows (IPSJ HPC-177-13, "
    "section 5.3). Every way computed the same points, bit for bit by the checksum, as one rank alone."
)


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of stencils; None where that is nothing but skips."""
    found = [(_title(runs, index, each), run, each) for index, run in enumerate(runs) for each in stencils(run)]
    if not found:
        return None
    parts = (times_part(found), bars_part(found), published_part(found))
    return Section("stencil", "Halos of a stencil", _INTRO, tuple(part for part in parts if part))


def _title(runs: Sequence[Run], index: int, stencil: Stencil) -> str:
    label = run_label(runs, index)
    text = f"{stencil_words(stencil).removeprefix('a ')}, {setting_words(stencil)}"
    return f"{label}: {text}" if label else text
