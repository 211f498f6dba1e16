"""The section about break-even: figures 7 to 9, thresholds with their marks, and what only a page has room for."""

import io
from collections.abc import Callable
from types import ModuleType

import pytest

from isthmus.analysis.breakeven import section as breakeven
from isthmus.analysis.breakeven.analysis import analyse_breakeven
from isthmus.analysis.breakeven.tables import size_cell, uses_cell, written
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.document.chart import Spec
from isthmus.document.grid import Cell, Grid, Row
from isthmus.document.section import Chart, Part, Section
from isthmus.record import KIB, MIB, Run
from isthmus.report import runs_document
from isthmus.report.renderers import terminal


@pytest.fixture(scope="module")
def run(synthetic: ModuleType, synthetic_breakeven: ModuleType) -> Run:
    return synthetic.run(synthetic_breakeven.everything())  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def section(run: Run) -> Section:
    found = breakeven.section([run])
    assert found
    return found


def spec_of(chart: Chart) -> Spec:
    """What a chart of curves draws."""
    assert isinstance(chart.spec, Spec)
    return chart.spec


def part(section: Section, title: str) -> Part:
    return next(each for each in section.parts if each.title == title)


def row(grid: Grid, group: str, heading: str) -> Row:
    return next(each for one in grid.groups if one.title == group for each in one.rows if each.heading == heading)


def threshold(state: str, value: float, low: float, high: float, crossings: int = 1) -> Threshold:
    return Threshold(state, 4.0 * KIB, 128.0 * MIB, value, low, high, crossings)  # type: ignore[arg-type]


INFINITE, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("found", "text", "state"),
    [
        (None, "-", "missing"),
        (threshold("always", 0.0, 0.0, 0.0), "always", "ok"),
        (threshold("never", INFINITE, INFINITE, INFINITE), "never", "ok"),
        (threshold("never", INFINITE, 100 * MIB, INFINITE), "never?", "wide"),
        (threshold("cannot_tell", NAN, 0.0, INFINITE), "?", "missing"),
        (threshold("from", 700 * KIB, 680 * KIB, 740 * KIB), "700 ±30 KiB", "ok"),
        (threshold("up_to", 2 * MIB, 1.9 * MIB, 2.1 * MIB), "to 2.00 ±0.10 MiB", "ok"),
        (threshold("from", 2 * MIB, 1.9 * MIB, 2.1 * MIB, crossings=2), "2.00* ±0.10 MiB", "ok"),
        (threshold("from", 9 * MIB, 2 * MIB, 40 * MIB), "2-40 MiB", "wide"),
        (threshold("up_to", 900 * KIB, 700 * KIB, 3 * MIB), "to 700 KiB-3 MiB", "wide"),
        (threshold("from", 5 * KIB, 0.0, 6 * KIB), "<= 6 KiB", "wide"),
        (threshold("from", 110 * MIB, 90 * MIB, INFINITE), ">= 90 MiB", "wide"),
    ],
)
def test_every_answer_has_its_cell(found: Threshold | None, text: str, state: str) -> None:
    cell = size_cell(found)
    assert (written(cell), cell.state) == (text, state)


@pytest.mark.parametrize(
    ("found", "text", "half"),
    [
        (threshold("always", 0.0, 0.0, 0.0), "1", ""),
        (threshold("from", 6.0, 6.0, 6.0), "6", ""),
        (threshold("from", 6.0, 5.0, 6.0), "6", "1"),
        (threshold("up_to", 144.0, 130.0, 160.0), "to 144", "15"),
        (threshold("never", INFINITE, INFINITE, INFINITE), "never", ""),
    ],
)
def test_numbers_of_uses_are_whole(found: Threshold, text: str, half: str) -> None:
    cell = uses_cell(found)
    assert (cell.text, cell.half_width) == (text, half)


def test_times_and_speed_ups_are_drawn_for_every_way(section: Section) -> None:
    times, speeds = part(section, "From allocation to release"), part(section, "Times as fast as pageable memory")
    assert [chart.title for chart in times.charts] == ["There and back, 1 use", "Where only a result comes back, 1 use"]
    assert len(times.legend) == 8
    assert {curve.name for curve in spec_of(times.charts[0]).curves} == {entry.name for entry in times.legend}
    assert [len(spec_of(chart).curves) for chart in speeds.charts] == [7] * 2


def test_thresholds_in_the_table_are_those_of_the_model(section: Section, run: Run) -> None:
    analysis = analyse_breakeven(run)
    assert analysis
    grid = part(section, "From which size on").grids[0]
    assert [column.name for column in grid.columns] == ["1 use", "2 uses", "5 uses", "10 uses", "100 uses", "1000 uses"]
    cells = row(grid, "against pageable memory", "registered").cells
    assert cells == tuple(
        size_cell(analysis.measured.thresholds["round_trip", uses, "pageable", "registered"])  # type: ignore[index]
        for uses in (1, 2, 5, 10, 100, 1000)
    )


def test_runs_stand_beside_each_other(run: Run, synthetic: ModuleType, synthetic_breakeven: ModuleType) -> None:
    other = synthetic.run(synthetic_breakeven.breakeven(ways=["pageable", "pinned"]), name="other")
    found = breakeven.section([run, synthetic.run([]), other])
    assert found
    assert [chart.title.split(": ")[1][:1] for chart in part(found, "From allocation to release").charts] == list(
        "ACAC"
    )
    grid = part(found, "From which size on").grids[0]
    assert [(column.name, column.run) for column in grid.columns[:4]] == [
        ("1 use", "A"),
        ("1 use", "C"),
        ("2 uses", "A"),
        ("2 uses", "C"),
    ]
    mapped = row(grid, "against pageable memory", "mapped").cells
    assert mapped[1] == Cell("-", state="missing", detail="not measured")


@pytest.mark.parametrize("ways", [["pinned"], ["pageable"], ["staging", "a_way_of_tomorrow"]])
def test_few_and_unknown_ways_make_a_report(
    synthetic: ModuleType, synthetic_breakeven: ModuleType, rendered: Callable[..., str], ways: list[str]
) -> None:
    machine = synthetic_breakeven.H200
    cases = synthetic_breakeven.breakeven(
        machine, ways=[way for way in ways if way != "a_way_of_tomorrow"], sizes=[MIB]
    )
    if "a_way_of_tomorrow" in ways:
        import msgspec

        cases += [msgspec.structs.replace(case, host_memory="a_way_of_tomorrow") for case in cases]
    run = synthetic.run(cases)
    for form in ("terminal", "markdown", "html"):
        assert "When which memory pays" in rendered(form, run)


def test_a_run_without_the_experiment_has_no_section(synthetic: ModuleType) -> None:
    assert breakeven.section([synthetic.h200()]) is None


@pytest.mark.parametrize("width", [80, 100])
def test_tables_fit_the_terminal(run: Run, width: int) -> None:
    out = io.StringIO()
    terminal.write(runs_document([run]), out, width=width)
    assert max(map(len, out.getvalue().splitlines())) <= width
