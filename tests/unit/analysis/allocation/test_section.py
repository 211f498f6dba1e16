"""The section on allocation: the published figures as charts, every time in its table, several runs side by side."""

from collections.abc import Callable
from types import ModuleType

import pytest

from isthmus.analysis.allocation.section import section
from isthmus.document.chart import Spec
from isthmus.document.grid import Cell, Grid
from isthmus.document.section import Chart, Part, Section
from isthmus.record import KIB, MIB, Run


@pytest.fixture(scope="module")
def run(synthetic: ModuleType, synthetic_allocation: ModuleType) -> Run:
    return synthetic.run(synthetic_allocation.h200(), name="costs")  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def shown(run: Run) -> Section:
    found = section([run])
    assert found
    return found


def spec_of(chart: Chart) -> Spec:
    """What a chart of curves draws."""
    assert isinstance(chart.spec, Spec)
    return chart.spec


def part(shown: Section, title: str) -> Part:
    (found,) = [each for each in shown.parts if each.title == title]
    return found


def cell(grid: Grid, row: str, column: str, group: int = 0) -> Cell:
    (index,) = [index for index, each in enumerate(grid.columns) if each.name == column]
    return next(each for each in grid.groups[group].rows if each.heading == row).cells[index]


def test_runs_without_allocation_have_no_section(synthetic: ModuleType) -> None:
    assert section([synthetic.h200()]) is None


def test_each_phase_is_drawn_with_malloc_beside_everything(shown: Section) -> None:
    for title in ("Allocating", "First touch", "Freeing"):
        charts = part(shown, title).charts
        assert [chart.title for chart in charts] == ["Host memory", "Managed and device memory"]
        assert all("malloc" in [curve.name for curve in spec_of(chart).curves] for chart in charts)
        # One scale for both sides.
        assert spec_of(charts[0]).y.domain == spec_of(charts[1]).y.domain


def test_the_legend_names_what_is_drawn_and_tells_it_apart_without_colour(shown: Section) -> None:
    allocating = part(shown, "Allocating")
    drawn = {curve.name for chart in allocating.charts for curve in spec_of(chart).curves}
    assert {entry.name for entry in allocating.legend} == drawn
    assert len({(entry.look.dash, entry.look.shape) for entry in allocating.legend}) == len(drawn)


def test_every_time_has_the_unit_that_suits_it(shown: Section) -> None:
    (grid,) = part(shown, "Allocating").grids
    malloc, pinned = cell(grid, "256 B", "malloc"), cell(grid, "1 GiB", "pinned")
    assert (malloc.text, malloc.unit) == ("40.0", "ns")
    assert pinned.unit == "ms"
    assert float(pinned.text) == pytest.approx(369, rel=0.02)
    assert pinned.half_width
    assert "samples: 12" in pinned.detail


def test_what_was_skipped_among_measured_sizes_says_why(
    synthetic: ModuleType, synthetic_allocation: ModuleType
) -> None:
    cost = synthetic_allocation.Cost(1e-6)
    cases = synthetic_allocation.cases({("pinned", "allocate"): cost, ("malloc", "allocate"): cost}, [KIB, MIB])
    cases = [case for case in cases if (case.host_memory, case.bytes) != ("pinned", MIB)]
    cases += synthetic_allocation.skips("pinned", ["allocate"], [MIB], "over the limit")
    found = section([synthetic.run(cases)])
    assert found
    (grid,) = part(found, "Allocating").grids
    assert cell(grid, "1 MiB", "pinned") == Cell("skipped", state="skipped", detail="over the limit")


def test_the_cheapest_way_is_named_for_each_size(shown: Section) -> None:
    (grid,) = part(shown, "Pinned memory from allocation to release").grids
    assert cell(grid, "1 KiB", "cheapest new").text == "pinned"
    assert cell(grid, "1 GiB", "cheapest new").text == "touched, registered, huge"


def test_first_calls_stand_beside_later_ones(shown: Section) -> None:
    (grid,) = part(shown, "First calls of the process, timed once each").grids
    assert grid.title == "First calls, 1 MiB"
    assert cell(grid, "pinned", "Allocating, first").text.startswith("9.")
    assert cell(grid, "pinned", "Allocating, later").unit == "us"
    assert cell(grid, "pinned", "First touch, first").state == "missing"


def test_small_blocks_stand_alone_and_beside_another(shown: Section) -> None:
    (grid,) = part(shown, "Small blocks, alone and beside another of their kind").grids
    assert cell(grid, "4 KiB", "pinned, alone").unit == "us"
    assert float(cell(grid, "4 KiB", "pinned, beside").text) == pytest.approx(1.1, rel=0.02)
    assert [row.heading for row in grid.groups[0].rows][-1] == "4 MiB"


def test_kinds_of_several_runs_stand_beside_each_other(run: Run) -> None:
    found = section([run, run])
    assert found
    (grid,) = part(found, "Allocating").grids
    assert [(column.name, column.run) for column in grid.columns[:4]] == [
        ("malloc", "A"),
        ("malloc", "B"),
        ("pageable", "A"),
        ("pageable", "B"),
    ]
    assert part(found, "Allocating").charts[0].title.startswith("Host memory: A: NVIDIA H200")


@pytest.mark.parametrize("kinds", [{"malloc"}, {"device"}, {"pinned", "touched_registered"}])
def test_parts_without_figures_do_not_appear(synthetic: ModuleType, run: Run, kinds: set[str]) -> None:
    cases = [
        case for case in run.cases if case.host_memory in kinds and not case.method.startswith(("first", "beside"))
    ]
    found = section([synthetic.run(cases)])
    assert found
    assert all(each.charts or each.grids for each in found.parts)
    assert all(grid.groups and grid.columns for each in found.parts for grid in each.grids)
    assert "First touch" not in [each.title for each in found.parts] or "malloc" in kinds


def test_a_page_of_allocation_alone_has_charts_a_way_to_them_and_no_bandwidth(
    run: Run, rendered: Callable[..., str]
) -> None:
    page = rendered("html", run)
    assert page.count('id="drawings"') == 1
    assert '<a href="#allocation">Allocation</a>' in page
    assert "At a glance" not in page
    assert "destinations are poisoned" not in page


def test_bandwidth_comes_first_where_it_is_not_alone(
    synthetic: ModuleType, run: Run, rendered: Callable[..., str]
) -> None:
    page = rendered("html", synthetic.run([*synthetic.h200().cases, *run.cases]))
    assert page.index('id="bandwidth"') < page.index('id="allocation"')


def test_text_reports_hold_the_tables(run: Run, rendered: Callable[..., str]) -> None:
    terminal, markdown = rendered("terminal", run), rendered("markdown", run)
    for words in ("Allocating", "First calls, 1 MiB"):
        assert words in terminal
        assert words in markdown
    assert "~ instead of ±" in terminal


def test_an_interval_as_large_as_the_figure_leaves_a_bound(
    synthetic: ModuleType, synthetic_allocation: ModuleType
) -> None:
    # The clock ticks in steps of what a call takes.
    times = [1e-9, 1e-9, 56e-9, 28e-9, 1e-9, 56e-9, 56e-9, 28e-9]
    case = synthetic_allocation.case("malloc", "allocate", KIB, times)
    found = section([synthetic.run([case])])
    assert found
    grids = [grid for each in found.parts for grid in each.grids]
    texts = [each.text for grid in grids for group in grid.groups for row in group.rows for each in row.cells]
    assert "<56.0 ns" in texts
