"""The section on several links: one table a device, one of what it costs, in every language and width."""

from __future__ import annotations

import io
from types import ModuleType

import pytest

from isthmus.analysis.paths.glance import glance
from isthmus.analysis.paths.section import section
from isthmus.document.grid import Grid
from isthmus.document.section import Section
from isthmus.language import LANGUAGES, speaking
from isthmus.record import GIB, MIB, Run
from isthmus.report import runs_document
from isthmus.report.renderers import html, terminal


def made(run: Run) -> Section:
    found = section([run])
    assert found
    return found


def texts(grid: Grid) -> dict[str, dict[str, list[str]]]:
    return {
        group.title: {row.heading: [cell.text for cell in row.cells] for row in group.rows} for group in grid.groups
    }


def test_one_table_for_each_device_and_one_of_the_cost(synthetic: ModuleType, synthetic_paths: ModuleType) -> None:
    found = made(synthetic.run(synthetic_paths.whole(2, targets=["cuda:0", "cuda:1"])))
    rates, cost = found.parts
    first, second = rates.grids
    assert (first.title, second.title) == ("cuda:0, GB/s", "cuda:1, GB/s")
    assert [column.name for column in first.columns] == ["own link", "with cuda:1", "times", "split %"]
    assert texts(first)["pinned, H2D"] == {
        "16 MiB": ["54.8", "76.7", "1.40", "51/49"],
        "64 MiB": ["54.8", "95.9", "1.75", "51/49"],
        "256 MiB": ["54.8", "103", "1.88", "51/49"],
        "1 GiB": ["54.8", "105", "1.92", "51/49"],
    }
    (grid,) = cost.grids
    rows = texts(grid)["cuda:1 beside copies of cuda:0, 256 MiB"]
    assert rows["copies H2D, ours D2H"] == ["55.0", "0.9", "3.9", "54.5", "60.0"]
    assert rows["a kernel, ours H2D"][0] == "-"
    assert len(rows) == 6


def test_with_several_neighbours_each_has_a_column_and_all_of_them(
    synthetic: ModuleType, synthetic_paths: ModuleType
) -> None:
    (grid,) = made(synthetic.run(synthetic_paths.whole(3))).parts[0].grids
    names = [column.name for column in grid.columns]
    assert names == ["own link", "with cuda:1", "with cuda:2", "with all 2", "times", "split %"]
    assert texts(grid)["pageable, D2H"]["1 GiB"][2:] == ["99.8", "148", "2.84", "33/33/33"]


def test_what_was_skipped_or_wrong_is_said_in_its_place(synthetic: ModuleType, synthetic_paths: ModuleType) -> None:
    cases = [
        synthetic_paths.copies("own", 54.8),
        synthetic_paths.skipped("one", "no peer access", "cuda:1"),
        synthetic_paths.copies("one", 99.0, peer="cuda:2", verified="no", note="wrong data"),
    ]
    (grid,) = made(synthetic.run(cases)).parts[0].grids
    ((row,),) = (group.rows for group in grid.groups)
    assert [cell.state for cell in row.cells] == ["ok", "skipped", "failed", "missing", "missing"]
    assert row.cells[1].detail == "no peer access"
    lone = synthetic.run([synthetic_paths.skipped("own", "there is one device")])
    assert section([lone]) is None
    assert glance(lone) is None
    assert section([synthetic.h200()]) is None


def test_a_glance_has_a_line_for_each_device_and_memory(synthetic: ModuleType, synthetic_paths: ModuleType) -> None:
    found = glance(synthetic.run(synthetic_paths.whole(2)))
    assert found
    (grid,) = found.grids
    assert grid.title == "Over neighbours' links, 1 GiB, GB/s"
    assert texts(grid)[""] == {
        "cuda:0 pinned": ["54.8", "105", "1.92"] * 2,
        "cuda:0 pageable": ["52.0", "99.8", "1.92"] * 2,
    }


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("count", [2, 8])
def test_tables_fit_eighty_columns(
    synthetic: ModuleType, synthetic_paths: ModuleType, language: str, count: int
) -> None:
    from rich.cells import cell_len

    run = synthetic.run(synthetic_paths.whole(count))
    with speaking(language):  # type: ignore[arg-type]
        out = io.StringIO()
        terminal.write(runs_document([run]), out, width=80)
    assert max(map(cell_len, out.getvalue().splitlines())) <= 80


def test_two_runs_are_told_apart_and_a_page_is_made(synthetic: ModuleType, synthetic_paths: ModuleType) -> None:
    runs = [synthetic.run(synthetic_paths.whole(2)), synthetic.run(synthetic_paths.whole(2, sizes=[64 * MIB, GIB]))]
    found = section(runs)
    assert found
    titles = [grid.title for part in found.parts for grid in part.grids]
    assert len(set(titles)) == len(titles) == 4
    out = io.StringIO()
    html.write(runs_document(runs), out)
    assert "What it costs the neighbour" in out.getvalue()
