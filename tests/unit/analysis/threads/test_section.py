"""The section on threads: charts and tables hold what was measured, say what was not, and fit a terminal."""

import io
from collections.abc import Callable
from types import ModuleType

import msgspec
import pytest

from isthmus.analysis.threads.section import section
from isthmus.document.chart import Spec
from isthmus.document.grid import Cell, Grid
from isthmus.document.section import Chart, Part, Section
from isthmus.record import GIB, MIB, Run
from isthmus.report import runs_document
from isthmus.report.renderers import terminal


@pytest.fixture(scope="module")
def full(synthetic: ModuleType, synthetic_threads: ModuleType) -> Run:
    return synthetic.run(synthetic_threads.h200_cases())  # type: ignore[no-any-return]


def spec_of(chart: Chart) -> Spec:
    """What a chart of curves draws."""
    assert isinstance(chart.spec, Spec)
    return chart.spec


def made(*runs: Run) -> Section:
    found = section(runs)
    assert found
    return found


def part(found: Section, title: str) -> Part:
    return next(each for each in found.parts if each.title.startswith(title))


def cell(grid: Grid, group: str, row: str, column: str) -> Cell:
    (index,) = [index for index, each in enumerate(grid.columns) if f"{each.name} {each.run}".strip() == column]
    (rows,) = [each.rows for each in grid.groups if each.title == group]
    (found,) = [each for each in rows if each.heading == row]
    return found.cells[index]


def test_a_run_without_threads_has_no_section(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    bandwidth = synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}, [MIB])
    assert section([synthetic.run(bandwidth)]) is None
    assert section([synthetic.run(synthetic_threads.skips("no memory left"))]) is None


def test_parts_of_one_device(full: Run) -> None:
    assert [each.title for each in made(full).parts] == [
        "Rate against threads, 64 MiB",
        "Rate against threads, 1 GiB",
        "Beside figures published elsewhere",
    ]


def test_a_chart_for_each_direction_and_kind_with_the_link_on_one_scale(full: Run) -> None:
    charts = part(made(full), "Rate against threads, 64 MiB").charts
    assert [chart.title for chart in charts] == [
        f"{way}, {kind}"
        for way in ("Host to device (H2D)", "Device to host (D2H)", "Both ways at once (rates are sums)")
        for kind in ("pageable", "pinned")
    ]
    rules = [text for chart in charts for _, text in spec_of(chart).rules]
    assert rules == ["link 63.0 GB/s"] * 4 + ["link 126 GB/s"] * 2
    scales = [spec_of(chart).y.domain for chart in charts]
    assert scales[0] == scales[1]
    assert scales[2] == scales[3]
    assert {spec_of(chart).x.domain for chart in part(made(full), "Rate against threads, 1 GiB").charts} == {(1, 32)}
    curves = spec_of(charts[1]).curves
    assert {row["x"] for curve in curves for row in curve.rows} == {1, 2, 4, 8, 16, 32}
    assert {curve.name for curve in curves} == {
        "slices, shared stream",
        "slices, own streams",
        "chunks, shared stream",
        "chunks, own streams",
        "slices, own streams, threads created",
    }


def test_created_threads_are_dashed_in_the_colour_of_their_way(full: Run) -> None:
    legend = {entry.name: entry.look for entry in part(made(full), "Rate against threads, 64 MiB").legend}
    kept, created = legend["slices, own streams"], legend["slices, own streams, threads created"]
    assert (kept.variable, kept.dash) == (created.variable, ())
    assert created.dash


def test_rates_shares_and_enough_threads_in_the_table(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    rates = {("h2d", "pinned"): lambda threads: min(20.0 * threads, 40.0)}
    (grid,) = part(made(synthetic.run(synthetic_threads.cases(rates))), "Rate against threads").grids
    rate = cell(grid, "pinned, GB/s", "8", "slices, shared stream")
    assert float(rate.text) == pytest.approx(40.0, rel=0.01)
    assert rate.half_width
    assert "samples 12" in rate.detail
    assert cell(grid, "pinned, GB/s", "8", "best of link").text in ("63 %", "64 %")
    assert cell(grid, "pinned, GB/s", "enough", "slices, shared stream").text == "2"


def test_both_ways_are_counted_as_so_many_each_way(full: Run) -> None:
    grid = part(made(full), "Rate against threads, 64 MiB").grids[2]
    assert [row.heading for row in grid.groups[0].rows][:2] == ["1 + 1", "2 + 2"]


def test_a_way_without_one_thread_does_not_say_how_many_are_enough(full: Run) -> None:
    grid = part(made(full), "Rate against threads, 64 MiB").grids[0]
    assert cell(grid, "pageable, GB/s", "enough", "chunks, own streams").text == ""
    assert cell(grid, "pageable, GB/s", "enough", "slices, own streams").text == "1"


def test_failed_skipped_and_missing_cells(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    ways = synthetic_threads
    cases = ways.cases({("h2d", "pinned"): lambda threads: 50.0}, counts=[1, 2, 4])
    cases[1] = msgspec.structs.replace(cases[1], verified="no")
    cases += ways.skips("a container allows 20 threads", ["h2d"])[-1:]
    cases += ways.cases({("h2d", "pinned"): lambda threads: 50.0}, [ways.OWN], counts=[4])
    found = made(synthetic.run(cases))
    (grid,) = part(found, "Rate against threads").grids
    states = {row.heading: [each.state for each in row.cells[:2]] for row in grid.groups[0].rows}
    assert states["2"] == ["failed", "missing"]
    assert states["4"] == ["ok", "ok"]
    assert states["32"] == ["skipped", "missing"]
    assert cell(grid, "pinned, GB/s", "32", "slices, shared stream").detail == "a container allows 20 threads"
    crosses = [
        cross["x"] for curve in spec_of(part(found, "Rate against threads").charts[0]).curves for cross in curve.failed
    ]
    assert crosses == [2]


def test_without_a_link_no_share_and_no_rule(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    cases = synthetic_threads.cases({("h2d", "pinned"): lambda threads: 9.0})
    found = part(made(synthetic.run(cases, device=synthetic.cpu_device())), "Rate against threads")
    assert spec_of(found.charts[0]).rules == ()
    assert "best of link" not in [column.name for column in found.grids[0].columns]


def test_other_sizes_alone_have_no_published_figures(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    cases = synthetic_threads.cases({("h2d", "pinned"): lambda threads: 50.0}, sizes=[GIB])
    titles = [each.title for each in made(synthetic.run(cases)).parts]
    assert titles == ["Rate against threads, 1 GiB"]


def test_devices_peers_and_nodes_have_tables(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    placed = synthetic_threads.placed
    names = ("cuda:0", "cuda:1")
    cases = [placed(50.0, devices=1, target=name, seed=seed) for seed, name in enumerate(names)]
    cases += [placed(40.0, devices=2, target=name, seed=seed) for seed, name in enumerate(names)]
    cases += [
        placed(80.0, devices=2),
        placed(300.0, method="peer_copy", direction="peer", target="cuda:0", peer="cuda:1"),
    ]
    cases += [placed(rate, node=node, target="cuda:1") for node, rate in enumerate((40.0, 50.0))]
    devices, peers, nodes = made(synthetic.run(cases)).parts
    (grid,) = devices.grids
    assert cell(grid, "pinned, 64 MiB, GB/s", "cuda:1", "H2D slower").text == "1.25"
    assert [each.text for each in grid.groups[0].rows[-1].cells][:2] == ["100", "80.0"]
    (matrix,) = peers.grids
    assert [row.heading for row in matrix.groups[0].rows] == ["cuda:0"]
    assert cell(matrix, "GB/s", "cuda:0", "to cuda:1").text == "300"
    (by_node,) = nodes.grids
    assert [row.heading for row in by_node.groups[0].rows] == ["0", "1", "slower"]
    assert cell(by_node, "pinned, 64 MiB, GB/s", "slower", "cuda:1 H2D").text == "1.25"


def test_several_runs_stand_beside_each_other_on_one_scale(
    synthetic: ModuleType, synthetic_threads: ModuleType, full: Run
) -> None:
    slow = synthetic.run(
        synthetic_threads.cases({("h2d", "pinned"): lambda threads: 5.0}), name="slow", device=synthetic.cpu_device()
    )
    found = part(made(full, slow), "Rate against threads, 64 MiB")
    grid = found.grids[0]
    assert float(cell(grid, "pinned, GB/s", "1", "slices, shared stream A").text) > 50
    assert float(cell(grid, "pinned, GB/s", "1", "slices, shared stream B").text) < 6
    assert [column.run for column in grid.columns if column.name == "best of link"] == ["A"]
    assert found.charts[2].title == "Host to device (H2D), pinned: B: cpu-haswell (opencl:0), run slow"
    first, second = (spec_of(chart).y.domain for chart in found.charts[1:3])
    assert first == second


@pytest.mark.parametrize("width", [80, 100])
def test_nothing_is_cut_in_a_terminal(full: Run, width: int) -> None:
    out = io.StringIO()
    terminal.write(runs_document([full]), out, width=width)
    assert max(map(len, out.getvalue().splitlines())) <= width
    assert "…" not in out.getvalue()


def test_a_hundred_columns_hold_every_table_whole(full: Run) -> None:
    out = io.StringIO()
    terminal.write(runs_document([full]), out, width=100)
    assert "(columns 1 to" not in out.getvalue()


def test_markdown_and_page_have_it_too(full: Run, rendered: Callable[..., str]) -> None:
    markdown, page = rendered("markdown", full), rendered("html", full)
    assert "### 64 MiB, Host to device (H2D): pageable, GB/s" in markdown
    assert '<section id="threads"' in page
    assert page.count('class="chart"') == 13  # The first of them twice.


@pytest.mark.parametrize("spoilt", ["direction", "threads"])
def test_rows_without_direction_or_threads_do_not_stop_the_report(full: Run, spoilt: str) -> None:
    cases = [msgspec.structs.replace(case, **{spoilt: None}) for case in full.cases[:8]]
    run = msgspec.structs.replace(full, cases=[*cases, *full.cases[8:]])
    assert made(run).parts


def test_what_a_run_file_names_is_text(
    synthetic: ModuleType, synthetic_threads: ModuleType, rendered: Callable[..., str]
) -> None:
    hostile = "<script>alert(1)</script>|*x*"
    cases = synthetic_threads.cases({("h2d", hostile): lambda threads: 9.0})
    cases += [synthetic_threads.placed(50.0, devices=count, target=hostile, memory=hostile) for count in (1, 2)]
    run = synthetic.run(cases)
    assert "<script>alert" not in rendered("html", run)
    assert "<script>" not in rendered("markdown", run)
    assert hostile in rendered("terminal", run)
