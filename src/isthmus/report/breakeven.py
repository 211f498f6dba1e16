"""The section about the breakeven experiment: which way pays, from which size and from how many uses on."""

from collections.abc import Sequence

from isthmus.model import BREAKEVEN_CASES, PLAIN_CASES, analyse_breakeven
from isthmus.record import Run
from isthmus.report.breakeven_cells import LEGEND
from isthmus.report.breakeven_charts import (
    by_uses_charts,
    least_uses_charts,
    sources,
    speed_charts,
    time_charts,
    uses_legend,
    ways_legend,
)
from isthmus.report.breakeven_derived import agreement_grid, differing_grid, pairs_grids, seed_grid
from isthmus.report.breakeven_grids import Labelled, fastest_grid, threshold_grids, time_grids, uses_grids
from isthmus.report.grid import Grid
from isthmus.report.labels import run_label
from isthmus.report.section import Part, Section

__all__ = ["section"]

_INTRO = (
    "A buffer is got, filled, copied to the device and worked on there; then either all of it comes back (there and "
    "back) or a sum of four bytes (where only a result comes back). After one or more such uses the buffer is given "
    "back. All of that is timed; uses beyond those measured count with the time of one use more. Thresholds come from "
    "medians, their intervals from bootstrap draws of the samples. Pageable memory is what malloc gives a program that "
    "has freed nothing large yet: recycled below 128 KiB, fresh pages from the system from there on. One that "
    "allocates and frees in a loop gets up to 32 MiB recycled from glibc, whose touch costs nothing; against such "
    "memory the other ways take more uses to pay."
)
_SPEED_NOTE = (
    "The broken line is pageable memory itself; dotted lines are sizes from which pinned memory paid in 2008, "
    "with one use."
)
_DERIVED_NOTE = (
    "Derived from what the same run measured of single steps: getting, touching first and giving back once, as in "
    "allocation; copies with every use, of data that caches may hold where that was measured, else as in bandwidth. "
    "What all ways share cancels and is left out: the memcpy into memory that is there, the kernel on the device's "
    "memory, the result of four bytes. Two thresholds are the same when both say always or both say never, or when "
    "their sizes are within a factor of 1.5 by the medians."
)
_PAIRS_NOTE = (
    "Derived answers that are not the measured ones are red. Point at a figure for its interval, or for the reason why "
    "it could not be derived."
)


def section(runs: Sequence[Run]) -> Section | None:
    """The section of these runs; None where none holds a case of the experiment that counts."""
    analyses = [analyse_breakeven(run) for run in runs]
    found: list[Labelled] = [(run_label(runs, index), analysis) for index, analysis in enumerate(analyses) if analysis]
    if not found:
        return None
    drawn = sources(runs, analyses)
    ways = ways_legend(drawn)
    parts = (
        Part(
            "From allocation to release", charts=time_charts(drawn), legend=ways, grids=time_grids(found, PLAIN_CASES)
        ),
        Part("Times as fast as pageable memory", _SPEED_NOTE, charts=speed_charts(drawn), legend=ways),
        Part("Pinned memory: times as fast as pageable memory", charts=by_uses_charts(drawn), legend=uses_legend()),
        Part("From which size on", LEGEND, grids=threshold_grids(found)),
        Part("From how many uses on", charts=least_uses_charts(drawn), legend=ways, grids=uses_grids(found)),
        Part("The fastest way", grids=_present(fastest_grid(found))),
        Part("2008 and here", grids=_present(seed_grid(found))),
        Part("Derived and measured", _DERIVED_NOTE, grids=_present(agreement_grid(found))),
        Part(
            "Every pair",
            _PAIRS_NOTE,
            grids=(*_present(differing_grid(found)), *pairs_grids(found), *time_grids(found, _in_place())),
            page_only=True,
        ),
    )
    return Section(
        "breakeven", "When which memory pays", _INTRO, tuple(part for part in parts if part.charts or part.grids)
    )


def _present(grid: Grid | None) -> tuple[Grid, ...]:
    return (grid,) if grid else ()


def _in_place() -> tuple[str, ...]:
    return tuple(case for case in BREAKEVEN_CASES if case not in PLAIN_CASES)
