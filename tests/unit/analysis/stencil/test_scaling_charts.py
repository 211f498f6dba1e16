"""Curves of a stencil over ranks: figures known less well than meant are marked, and no two lines look alike."""

import itertools

import msgspec
import pytest

from isthmus.analysis.stencil.model import STENCIL_METHODS, iteration
from isthmus.analysis.stencil.scaling import stencil_curves
from isthmus.analysis.stencil.section import section
from isthmus.document.grid import Cell, Grid
from isthmus.document.section import Part
from isthmus.record import Run
from tests.synthetic import runs as synthetic
from tests.synthetic import stencil as synthetic_stencil

TITLE = "Scaling with the number of ranks"


def asked(run: Run, scaling: str) -> Run:
    return msgspec.structs.replace(run, settings=msgspec.structs.replace(run.settings, options={"scaling": scaling}))


@pytest.fixture(scope="module")
def run() -> Run:
    return asked(synthetic.run(synthetic_stencil.scaled()), "strong,weak")


def part(run: Run, title: str = TITLE) -> Part:
    found = section([run])
    assert found
    return next(each for each in found.parts if each.title == title)


def cells(grid: Grid, group: str, row: str) -> tuple[Cell, ...]:
    (rows,) = [each.rows for each in grid.groups if each.title == group]
    (found,) = [each for each in rows if each.heading == row]
    return found.cells


@pytest.mark.parametrize(("above", "state"), [(1.001, "ok"), (0.999, "wide")])
def test_figures_known_less_well_than_the_run_meant_are_marked(run: Run, above: float, state: str) -> None:
    """An efficiency is made of two times, and known within twice what each of them is."""
    curve, way = stencil_curves(run)[0], ("gpu_pack", "pinned")
    last = curve.stencils[-1]
    time, efficiency = iteration(last.points[way]), curve.efficiency(last, way)
    assert time
    assert efficiency
    for group, target in (
        ("Time of an iteration", time.relative_half_width),
        ("Parallel efficiency (%)", efficiency.relative_half_width / 2),
    ):
        settings = msgspec.structs.replace(run.settings, target_relative_half_width=target * above)
        [grid, *_] = part(msgspec.structs.replace(run, settings=settings)).grids
        assert cells(grid, group, "GPU packs, pinned")[-1].state == state


def test_no_two_ways_look_the_same() -> None:
    ways = list(itertools.product(STENCIL_METHODS, ("pageable", "pinned", "managed")))
    phases = (1.0, 0.1, 0.1, 0.1, 0.1)
    cases = [synthetic_stencil.case(64, way, phases, ranks=count) for way in ways for count in (1, 2)]
    legend = part(asked(synthetic.run(cases), "strong")).legend
    assert len(legend) == len(ways)
    assert len({(entry.look.variable, entry.look.dash) for entry in legend}) == len(ways)
    assert len({(entry.look.variable, entry.look.shape) for entry in legend}) == len(ways)
