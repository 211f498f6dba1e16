"""The section on predictions: one for each run that can be checked, with its tables and charts."""

from __future__ import annotations

from types import ModuleType

import pytest
from msgspec.structs import replace

from isthmus.analysis.prediction.section import section
from isthmus.document.section import Section
from isthmus.language import LANGUAGES, Language, speaking
from isthmus.record import Run, Series


def made(synthetic: ModuleType, name: str = "one") -> Run:
    """Pinned memory in all directions and alone, and beside the other direction on the device's clock."""
    truths = {("copy", way, "pinned"): synthetic.Truth(7e-6, 55e9) for way in ("h2d", "d2h")}
    truths["copy", "both", "pinned"] = synthetic.Truth(9e-6, 100e9)
    duplex = {("duplex", way, "pinned"): synthetic.Truth(7e-6, 50e9) for way in ("h2d", "d2h")}
    alone = [
        replace(case, series=[*case.series, Series(metric="device_seconds", samples=case.series[0].samples)])
        for case in synthetic.cases(truths)
    ]
    run: Run = synthetic.run([*alone, *synthetic.cases(duplex)], name=name)
    return run


def shown(runs: list[Run]) -> Section:
    found = section(runs)
    assert found is not None
    return found


def test_a_run_shows_errors_and_both_directions(synthetic: ModuleType) -> None:
    errors, chart, slowed = shown([made(synthetic)]).parts
    (rows,) = (group.rows for group in errors.grids[0].groups)
    assert [row.heading for row in rows] == ["pinned", "all"]
    assert rows[0].cells[0].text == "54"
    assert 0 <= int(rows[0].cells[4].text) <= 100
    assert len(chart.charts) == 2
    assert [row.heading for row in slowed.grids[0].groups[0].rows] == ["pinned, H2D", "pinned, D2H"]


def test_pipelines_have_a_group_of_their_own(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    run = made(synthetic)
    run = replace(run, cases=[*run.cases, *synthetic_overlap.cases("pinned", synthetic_overlap.PINNED)])
    titles = [group.title for group in shown([run]).parts[0].grids[0].groups]
    assert titles == ["Transfers", "Pipelines of several chunks"]


def test_runs_stand_side_by_side(synthetic: ModuleType) -> None:
    errors, chart, *_ = shown([made(synthetic), made(synthetic, "two")]).parts
    assert [grid.title[:2] for grid in errors.grids] == ["A:", "B:"]
    assert len(chart.charts) == 4


def test_a_run_without_sizes_enough_has_no_section(synthetic: ModuleType) -> None:
    few = synthetic.run(synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(7e-6, 55e9)}, [1 << 20]))
    assert section([synthetic.run([]), few]) is None
    assert section([few, made(synthetic)]) is not None


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_is_shown_in_every_language(synthetic: ModuleType, language: Language) -> None:
    with speaking(language):
        found = shown([made(synthetic)])
    assert found.question
    assert all(found.caveats)
