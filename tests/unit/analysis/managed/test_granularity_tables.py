"""How much managed memory moves at a time: units side by side, sizes by cause, and times of touches as charts."""

import io
from types import ModuleType

import msgspec
import pytest

from isthmus.analysis.managed.granularity_tables import granularity_parts
from isthmus.analysis.managed.section import section
from isthmus.document.chart import Spec
from isthmus.document.section import Part
from isthmus.record import Faults, Run
from isthmus.report import runs_document
from isthmus.report.renderers import html, markdown, terminal


@pytest.fixture(scope="module")
def run(synthetic: ModuleType, synthetic_migrations: ModuleType) -> Run:
    return synthetic.run(synthetic_migrations.gpu_cases())  # type: ignore[no-any-return]


def part(runs: list[Run], title: str) -> Part:
    return next(each for each in granularity_parts(runs) if each.title == title)


def test_units_stand_side_by_side(run: Run) -> None:
    [grid] = part([run], "How much moves at a time").grids
    cells = {row.heading: [cell.text for cell in row.cells] for row in grid.groups[0].rows}
    assert cells["device faults"][:3] == ["64 KiB", "64 KiB", "yes"]
    assert cells["device faults, completed by the driver"] == ["2 MiB", "2 MiB", "yes", "-", "-"]
    assert cells["CPU faults"][:3] == ["4 KiB", "4 KiB", "yes"]
    assert 20 <= float(cells["device faults"][4]) <= 25
    assert len(cells) == 6


def test_what_cannot_be_told_has_its_reason(synthetic: ModuleType, synthetic_migrations: ModuleType) -> None:
    array = synthetic_migrations.Pretended(fault=0.0, rate=1e15)
    [grid] = part([synthetic.run(synthetic_migrations.probed(array))], "How much moves at a time").grids
    counted, timed, agree, *_ = grid.groups[0].rows[0].cells
    assert (counted.state, timed.text, agree.text) == ("missing", "?", "-")
    assert "hardly longer" in timed.detail


def test_migrations_are_listed_by_size_and_cause(run: Run) -> None:
    sizes = part([run], "Migrations by size and cause")
    assert sizes.page_only
    groups = {group.title: group.rows for group in sizes.grids[0].groups}
    [alone, rest, faults] = groups["device faults, a page every 4 MiB"]
    assert (alone.heading, alone.cells[0].text, alone.cells[2].text) == ("4 KiB, coherence", "16", "4 MiB")
    assert (rest.heading, rest.cells[0].text, rest.cells[2].text) == ("60 KiB, prefetch", "16", "4 KiB")
    assert (faults.heading, faults.cells[0].text) == ("device faults", "16")
    headings = [row.heading for row in groups["device faults, a page every 4 KiB"]]
    assert "1020 KiB, prefetch" in headings
    assert "prefetch to the host, everything at once" in groups


@pytest.mark.parametrize(
    ("count", "groups", "text"), [(16, 16, "16"), (40, 16, "40 in 16 groups"), (21, 15, "≥ 21 in 15 groups")]
)
def test_faults_that_were_reported_too_few_are_the_least(run: Run, count: int, groups: int, text: str) -> None:
    faults = [Faults(side="device", count=count, groups=groups)]
    cases = [
        msgspec.structs.replace(case, faults=faults) if case.method == "counted_device_touches" else case
        for case in run.cases
    ]
    [grid] = part([msgspec.structs.replace(run, cases=cases)], "Migrations by size and cause").grids
    [rows] = [group.rows for group in grid.groups if group.title == "device faults, a page every 4 MiB"]
    assert (rows[-1].heading, rows[-1].cells[0].text) == ("device faults", text)


def test_touches_are_drawn_with_their_step(run: Run) -> None:
    charts = {each.title: each.spec for each in part([run], "Time of a touch").charts}
    assert set(charts) == {"device faults", "CPU faults", "prefetch to the device", "prefetch to the host"}
    spec = charts["device faults"]
    assert isinstance(spec, Spec)
    curves = {curve.name: {row["x"]: row["y"] for row in curve.rows} for curve in spec.curves}
    assert set(curves) == {"neighbours", "grown", "stride"}
    assert 0 not in curves["neighbours"]
    assert curves["neighbours"][65536] > 10 * curves["neighbours"][32768]


def test_two_runs_are_told_apart(run: Run) -> None:
    titles = [grid.title for grid in part([run, run], "How much moves at a time").grids]
    assert [title.split(": ")[1] for title in titles] == ["A", "B"]


def test_every_format_shows_the_units(run: Run) -> None:
    found = section([run])
    assert found
    page, text, words = io.StringIO(), io.StringIO(), io.StringIO()
    html.write(runs_document([run]), page)
    terminal.write(runs_document([run]), text, width=100)
    markdown.write(runs_document([run]), words)
    for written in (page, text, words):
        assert "device faults" in written.getvalue()
    assert "1020 KiB, prefetch" in page.getvalue()


def test_a_run_without_probes_has_no_such_part(synthetic: ModuleType) -> None:
    assert not any(part.grids or part.charts for part in granularity_parts([synthetic.h200()]))
