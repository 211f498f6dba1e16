"""The section on overlap: tables hold what was measured and say what was not, timelines show who worked when."""

from types import ModuleType

import msgspec
import pytest

from isthmus.analysis.overlap.section import section
from isthmus.document.chart import Spec
from isthmus.document.grid import Cell, Grid
from isthmus.document.section import Part, Section
from isthmus.record import Run
from isthmus.report.drawing import draw


@pytest.fixture(scope="module")
def full(synthetic: ModuleType, synthetic_overlap: ModuleType) -> Run:
    return synthetic.run(synthetic_overlap.h200_cases())  # type: ignore[no-any-return]


def made(*runs: Run) -> Section:
    found = section(runs)
    assert found
    return found


def part(found: Section, title: str) -> Part:
    return next(each for each in found.parts if each.title == title)


def cell(grid: Grid, group: str, row: str, column: str) -> Cell:
    (index,) = [index for index, each in enumerate(grid.columns) if f"{each.name} {each.run}".strip() == column]
    (rows,) = [each.rows for each in grid.groups if each.title == group]
    (found,) = [each for each in rows if each.heading == row]
    return found.cells[index]


def test_a_run_without_overlap_has_no_section(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    assert section([synthetic.h200()]) is None
    assert section([synthetic.run(synthetic_overlap.skips("pinned", "no"))]) is None


def test_the_best_of_each_memory_and_work_is_named(full: Run) -> None:
    [grid] = part(made(full), "Best pipelines").grids
    assert [group.title for group in grid.groups] == ["pageable", "pinned", "staged pageable"]
    best = cell(grid, "pinned", "1x", "chunks x streams")
    assert (best.text, best.detail) == ("32 x 2", "32 chunks on 2 streams")
    assert cell(grid, "staged pageable", "1x", "chunks x streams").detail.endswith("threads")
    assert cell(grid, "pinned", "1x", "speed-up").text == "2.51"
    assert cell(grid, "pinned", "1x", "work").text == "1.20 ms"


def test_shares_stand_by_chunks_and_streams(full: Run, synthetic_overlap: ModuleType) -> None:
    [grid] = part(made(full), "Share of the bound").grids
    truth = synthetic_overlap.PINNED
    for chunks, streams, name in ((1, 1, "1 stream"), (8, 1, "1 stream"), (64, 4, "4 streams")):
        found = cell(grid, "pinned, work ≈1x a copy", str(chunks), name)
        assert float(found.text) == pytest.approx(100 * truth.bound(chunks) / truth.seconds(chunks, streams), rel=0.03)
    assert cell(grid, "pinned, work ≈1x a copy", "1", "8 streams").state == "missing"


def test_skipped_and_wrong_pipelines_are_marked(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    cases = synthetic_overlap.cases("pinned", synthetic_overlap.Truth(), chunks=(1, 2, 4))
    wrong = [
        msgspec.structs.replace(case, verified="no") if (case.pieces, case.streams) == (4, 4) else case
        for case in cases
    ]
    run = synthetic.run([*wrong, *synthetic_overlap.skips("pinned", "no room", chunks=(8,))])
    [grid] = part(made(run), "Share of the bound").grids
    assert cell(grid, "pinned, work ≈1x a copy", "4", "4 streams").state == "failed"
    skipped = cell(grid, "pinned, work ≈1x a copy", "8", "1 stream")
    assert (skipped.state, skipped.detail) == ("skipped", "no room")


def test_exchanges_stand_by_size_and_memory(full: Run) -> None:
    [grid] = part(made(full), "Both ways at once").grids
    assert cell(grid, "64 MiB", "pinned", "serial").text == "2.40 ms"
    assert float(cell(grid, "64 MiB", "pinned", "hidden %").text) > 80
    assert float(cell(grid, "64 MiB", "pageable", "hidden %").text) < 10


def test_curves_carry_the_bound(full: Run) -> None:
    speedup = part(made(full), "Speed-up")
    assert [entry.name for entry in speedup.legend] == ["1 stream", "2 streams", "4 streams", "8 streams", "bound"]
    spec = next(chart.spec for chart in speedup.charts if chart.title.startswith("pinned"))
    assert isinstance(spec, Spec)
    curves = {curve.name: curve.rows for curve in spec.curves}
    # All at once, many chunks of three equal stages are three times as fast.
    assert curves["bound"][-1]["y"] == pytest.approx(3 * 64 / 66, rel=0.02)
    assert all(row["y"] == pytest.approx(1.0, rel=0.05) for row in curves["1 stream"])


def test_two_runs_stand_side_by_side(full: Run, synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    other = synthetic.run(synthetic_overlap.cases("pinned", synthetic_overlap.Truth()), name="other")
    found = made(full, other)
    [grid] = part(found, "Share of the bound").grids
    assert cell(grid, "pinned, work ≈1x a copy", "8", "2 streams A").text != ""
    assert float(cell(grid, "pinned, work ≈1x a copy", "8", "2 streams B").text) == pytest.approx(100, rel=0.02)
    assert cell(grid, "pageable, work ≈1x a copy", "8", "2 streams B").state == "missing"
    [best] = part(found, "Best pipelines").grids
    assert {row.heading for group in best.groups for row in group.rows} >= {"1x A", "1x B"}


def test_the_work_is_labelled_by_what_it_took_and_grouped_by_what_was_meant(
    synthetic: ModuleType, synthetic_overlap: ModuleType
) -> None:
    def run(factor: float, name: str) -> Run:
        cases = synthetic_overlap.cases("pinned", synthetic_overlap.Truth(work=factor * 1.2e-3), ratio=10.0)
        return synthetic.run(cases, name=name)  # type: ignore[no-any-return]

    both = made(run(7.2, "run"), run(13, "other"))
    [shares] = part(both, "Share of the bound").grids
    assert [group.title for group in shares.groups] == ["pinned, work ≈10x a copy"]
    best = part(both, "Best pipelines")
    assert {row.heading for group in best.grids[0].groups for row in group.rows} == {"7.2x A", "13x B"}


def test_a_timeline_is_drawn_as_bars(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    [chart] = made(synthetic.run([synthetic_overlap.traced(chunks=2, seconds=1e-3)])).parts[0].charts
    drawn = draw(chart.spec)
    assert drawn["mark"]["type"] == "bar"
    assert drawn["encoding"]["y"]["sort"] == ["copy in", "work", "copy out"]
    assert drawn["encoding"]["x"]["scale"]["domain"] == [0, 4e-3]
    bars = drawn["datasets"]["bars"]
    assert (bars[1]["kind"], bars[1]["x"], bars[1]["x2"], bars[1]["chunk"]) == ("copy in", 1e-3, 2e-3, "1")
