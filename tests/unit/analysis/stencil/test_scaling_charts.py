"""How a stencil's curves over ranks are shown: every figure in its cell, what is missing said, a line for each way."""

import io
import itertools
from types import ModuleType

import msgspec
import pytest

from isthmus.analysis.stencil.model import STENCIL_METHODS
from isthmus.analysis.stencil.scaling import stencil_curves
from isthmus.analysis.stencil.section import section
from isthmus.document.chart import Spec
from isthmus.document.grid import Cell, Grid
from isthmus.document.section import Part
from isthmus.language import LANGUAGES, speaking
from isthmus.record import Run
from isthmus.report import runs_document
from isthmus.report.drawing import draw
from isthmus.report.renderers import csv, html, markdown, terminal

TITLE = "Scaling with the number of ranks"


def asked(run: Run, scaling: str) -> Run:
    return msgspec.structs.replace(run, settings=msgspec.structs.replace(run.settings, options={"scaling": scaling}))


@pytest.fixture(scope="module")
def run(synthetic: ModuleType, synthetic_stencil: ModuleType) -> Run:
    return asked(synthetic.run(synthetic_stencil.scaled()), "strong,weak")


def part(run: Run, title: str = TITLE) -> Part:
    found = section([run])
    assert found
    return next(each for each in found.parts if each.title == title)


def cells(grid: Grid, group: str, row: str) -> tuple[Cell, ...]:
    (rows,) = [each.rows for each in grid.groups if each.title == group]
    (found,) = [each for each in rows if each.heading == row]
    return found.cells


def test_a_curve_shows_ranks_cut_time_efficiency_and_exchange(run: Run) -> None:
    strips, grid, weak = part(run).grids
    assert strips.title == "Strong scaling, strips, 64 x 64 points, halos 1 wide"
    assert weak.title == "Weak scaling, grid, 64 x 64 points, halos 1 wide a rank"
    assert [column.name for column in strips.columns] == ["1 (1 x 1)", "2 (1 x 2)", "4 (1 x 4)"]
    assert [column.name for column in grid.columns] == ["1 (1 x 1)", "2 (2 x 1)", "4 (2 x 2)"]
    times = cells(grid, "Time of an iteration", "GPU packs, pinned")
    assert [float(each.text) for each in times] == pytest.approx([55, 30, 17.5], rel=0.01)
    assert {each.unit for each in times} == {"ms"}
    shown = [float(each.text) for each in cells(grid, "Parallel efficiency (%)", "GPU packs, pinned")]
    assert shown == pytest.approx([100, 110 / 0.6 / 2, 110 / 0.35 / 4], rel=0.01)
    assert [each.text for each in cells(grid, "Exchange (% of the time)", "GPU packs, pinned")] == ["9", "17", "29"]
    assert [row.heading for row in grid.groups[0].rows] == ["GPU packs, pinned", "CPU packs, whole array, pinned"]


def test_tables_of_phases_are_those_of_the_most_ranks(run: Run) -> None:
    found = section([run])
    assert found
    titles = [grid.title for grid in part(run, "Time of all iterations").grids]
    assert titles == [
        "64 x 64 points, halos 1 wide, 4 ranks (1 x 4) on 4 devices",
        "64 x 64 points, halos 1 wide, 4 ranks (2 x 2) on 4 devices",
        "128 x 128 points, halos 1 wide, 4 ranks (2 x 2) on 4 devices",
    ]


@pytest.mark.parametrize(("above", "state"), [(1.001, "ok"), (0.999, "wide")])
def test_figures_known_less_well_than_the_run_meant_are_marked(run: Run, above: float, state: str) -> None:
    """An efficiency is made of two times, and known within twice what each of them is."""
    curve, way = stencil_curves(run)[0], ("gpu_pack", "pinned")
    last = curve.stencils[-1]
    iteration, efficiency = last.points[way].iteration, curve.efficiency(last, way)
    assert iteration
    assert efficiency
    for group, target in (
        ("Time of an iteration", iteration.relative_half_width),
        ("Parallel efficiency (%)", efficiency.relative_half_width / 2),
    ):
        settings = msgspec.structs.replace(run.settings, target_relative_half_width=target * above)
        [grid, *_] = part(msgspec.structs.replace(run, settings=settings)).grids
        assert cells(grid, group, "GPU packs, pinned")[-1].state == state


def test_what_was_wrong_skipped_or_not_measured_is_said(synthetic: ModuleType, synthetic_stencil: ModuleType) -> None:
    phases = (1.0, 0.1, 0.1, 0.1, 0.1)
    way = ("gpu_pack", "pinned")
    cases = [
        synthetic_stencil.case(64, way, phases, ranks=1),
        synthetic_stencil.case(64, way, phases, ranks=2, verified="no"),
        synthetic_stencil.case(64, ("gpu_pack", "pageable"), phases, ranks=2),
        synthetic_stencil.skip(64, way, "no memory", ranks=4),
        synthetic_stencil.case(64, ("gpu_pack", "pageable"), phases, ranks=4),
    ]
    [grid] = part(asked(synthetic.run(cases), "strong")).grids
    for group in grid.groups:
        assert [each.state for each in cells(grid, group.title, "GPU packs, pinned")] == ["ok", "failed", "skipped"]
    assert [each.state for each in cells(grid, "Time of an iteration", "GPU packs, pageable")] == [
        "missing",
        "ok",
        "ok",
    ]
    assert {each.state for each in cells(grid, "Parallel efficiency (%)", "GPU packs, pageable")} == {"missing"}


def test_a_chart_has_a_line_for_each_way_from_one_rank_to_all(run: Run) -> None:
    found = part(run)
    assert len(found.charts) == 3
    assert [entry.name for entry in found.legend] == ["GPU packs, pinned", "CPU packs, whole array, pinned"]
    spec = found.charts[1].spec
    assert isinstance(spec, Spec)
    assert spec.x.domain == (1, 4)
    assert [row["x"] for row in spec.curves[0].rows] == [1, 2, 4]
    assert [row["y"] for row in spec.curves[0].rows] == pytest.approx([100, 91.7, 78.6], rel=0.01)
    assert draw(spec)["layer"]


def test_no_two_ways_look_the_same(synthetic: ModuleType, synthetic_stencil: ModuleType) -> None:
    ways = list(itertools.product(STENCIL_METHODS, ("pageable", "pinned", "managed")))
    phases = (1.0, 0.1, 0.1, 0.1, 0.1)
    cases = [synthetic_stencil.case(64, way, phases, ranks=count) for way in ways for count in (1, 2)]
    legend = part(asked(synthetic.run(cases), "strong")).legend
    assert len(legend) == len(ways)
    assert len({(entry.look.variable, entry.look.dash) for entry in legend}) == len(ways)
    assert len({(entry.look.variable, entry.look.shape) for entry in legend}) == len(ways)


def test_a_run_that_was_asked_for_no_curve_has_none(synthetic: ModuleType, synthetic_stencil: ModuleType) -> None:
    found = section([synthetic.run(synthetic_stencil.scaled())])
    assert found
    assert TITLE not in [each.title for each in found.parts]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_format_shows_the_curves(run: Run, language: str) -> None:
    expected = {"en": "Weak scaling, grid, 64 x 64 points", "ja": "弱スケーリング", "zh": "弱扩展"}[language]
    for write in (html.write, markdown.write, terminal.write):
        out = io.StringIO()
        with speaking(language):  # type: ignore[arg-type]
            write(runs_document([run, run]), out)
        assert expected in "".join(out.getvalue().split("\n")) or expected in " ".join(out.getvalue().split())
    out = io.StringIO()
    csv.write(runs_document([run]), out)
    header, *lines = out.getvalue().splitlines()
    assert header.endswith(",compiler,cut,blocks,neighbour,path")
    assert any(line.endswith(",2x2,,,") and ",elapsed_seconds," in line for line in lines)
