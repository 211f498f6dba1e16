"""The section on explicit and automatic data movement: tables hold what was measured, beside the paper's figures."""

import io
from types import ModuleType

import pytest

from isthmus.analysis.managed.section import section
from isthmus.document.chart import Spec
from isthmus.document.grid import Cell, Grid
from isthmus.document.section import Part, Section
from isthmus.record import KIB, MIB, Run
from isthmus.report import runs_document
from isthmus.report.drawing import draw
from isthmus.report.renderers import html, markdown, terminal

THRESHOLDS = "Faster than copying all"


@pytest.fixture(scope="module")
def full(synthetic: ModuleType, synthetic_managed: ModuleType) -> Run:
    return synthetic.run(synthetic_managed.cases())  # type: ignore[no-any-return]


def made(*runs: Run) -> Section:
    found = section(runs)
    assert found
    return found


def part(found: Section, title: str) -> Part:
    return next(each for each in found.parts if each.title == title)


def cell(grid: Grid, row: str, column: str, group: str = "") -> Cell:
    [index] = [index for index, each in enumerate(grid.columns) if each.name == column]
    [rows] = [each.rows for each in grid.groups if each.title == group]
    [found] = [each for each in rows if each.heading == row]
    return found.cells[index]


def test_a_run_without_it_has_no_section(synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    assert section([synthetic.h200()]) is None
    assert section([synthetic.run(synthetic_managed.skips(("managed", "managed"), "no"))]) is None


def test_thresholds_are_by_share_and_by_stride(full: Run) -> None:
    [grid] = part(made(full), THRESHOLDS).grids
    assert cell(grid, "on demand", "share touched against pageable").text == "≤ 38 %"
    assert cell(grid, "on demand", "share touched against pinned").text == "≤ 7 %"
    assert cell(grid, "on demand", "stride against pageable").text.startswith("≥ ")
    assert cell(grid, "mapped", "share touched against pageable").text == "always"


def test_what_the_run_cannot_tell_is_marked(synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    truths = dict(synthetic_managed.H200)
    truths["managed", "managed"] = truths["explicit_whole", "pageable"]
    [grid] = part(made(synthetic.run(synthetic_managed.cases(truths, noise=0.3))), THRESHOLDS).grids
    found = cell(grid, "on demand", "share touched against pageable")
    assert found.state in {"missing", "wide"}
    assert "?" in found.detail


def test_all_of_the_array_has_both_phases_and_the_ratio(full: Run) -> None:
    [grid] = part(made(full), "All of it touched").grids
    assert (cell(grid, "on demand", "in").text, cell(grid, "on demand", "in").unit) == ("134", "ms")
    assert (cell(grid, "on demand", "out").text, cell(grid, "on demand", "out").unit) == ("500", "ms")
    assert cell(grid, "on demand", "times copy all (pageable)").text == "2.08"
    assert cell(grid, "copy all (pageable)", "times copy all (pageable)").text == "1.00"


def test_without_a_pageable_copy_there_is_no_ratio(synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    truths = {("managed", "managed"): synthetic_managed.H200["managed", "managed"]}
    [grid] = part(made(synthetic.run(synthetic_managed.cases(truths))), "All of it touched").grids
    assert cell(grid, "on demand", "times copy all (pageable)").state == "missing"


def test_times_stand_by_share_and_by_stride(full: Run) -> None:
    shares, strides = part(made(full), "Times").grids
    assert [column.name for column in shares.columns] == ["1 %", "10 %", "25 %", "50 %", "100 %"]
    assert [column.name for column in strides.columns] == ["4 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB"]
    assert cell(shares, "prefetch all", "50 %").text == "190"
    assert "in 67." in cell(shares, "on demand", "50 %").detail
    assert cell(shares, "copy all (pageable)", "50 %").state == "missing"


def test_skipped_and_wrong_points_are_marked(synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    key = ("managed", "managed")
    cases = [
        *synthetic_managed.cases(percents=[10, 100], strides=[4 * KIB]),
        synthetic_managed.case(key, 0.1, 0.2, fraction=0.5, verified="no"),
        *synthetic_managed.skips(("system", "pageable"), "kernels do not reach it", percents=[10]),
    ]
    shares = part(made(synthetic.run(cases)), "Times").grids[0]
    assert cell(shares, "on demand", "50 %").state == "failed"
    skipped = cell(shares, "system", "10 %")
    assert (skipped.state, skipped.detail) == ("skipped", "kernels do not reach it")


def test_curves_are_drawn_with_the_copy_of_all_as_a_line(full: Run) -> None:
    found = part(made(full), "Times")
    assert len(found.charts) == 2
    names = [entry.name for entry in found.legend]
    assert "on demand" in names
    assert "copy all (pageable)" not in names
    shares, strides = (chart.spec for chart in found.charts)
    assert isinstance(shares, Spec)
    assert isinstance(strides, Spec)
    assert [text for _, text in shares.rules] == ["copy all (pageable)", "copy all (pinned)"]
    assert shares.rules[0][0] == pytest.approx(0.305, rel=0.01)


def test_copies_of_all_that_were_measured_often_are_curves(
    synthetic: ModuleType, synthetic_managed: ModuleType
) -> None:
    more = synthetic_managed.case(("explicit_whole", "pageable"), 0.135, 0.17, fraction=0.01)
    found = part(made(synthetic.run([*synthetic_managed.cases(), more])), "Times")
    shares = found.charts[0].spec
    assert isinstance(shares, Spec)
    assert [text for _, text in shares.rules] == ["copy all (pinned)"]
    assert "copy all (pageable)" in [curve.name for curve in shares.curves]


def test_several_runs_have_tables_of_their_own(synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    one = synthetic.run(synthetic_managed.cases(), name="one")
    two = synthetic.run(synthetic_managed.cases(size=64 * MIB), name="two")
    titles = [grid.title for grid in part(made(one, two), THRESHOLDS).grids]
    assert titles == ["Faster than copying all, 1 GiB: A", "Faster than copying all, 64 MiB: B"]


def test_every_format_shows_it(full: Run) -> None:
    out = io.StringIO()
    terminal.write(runs_document([full]), out)
    markdown.write(runs_document([full]), out)
    assert out.getvalue().count("Faster than copying all, 1 GiB") == 2
    page = io.StringIO()
    html.write(runs_document([full]), page)
    assert "Explicit and automatic data movement" in page.getvalue()


def test_charts_can_be_drawn(full: Run) -> None:
    for chart in part(made(full), "Times").charts:
        assert draw(chart.spec)
