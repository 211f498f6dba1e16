"""Published figures beside a run's: found by the fields of cases, as they were published, with their ratio."""

import re
from dataclasses import replace
from types import ModuleType

import msgspec
import pytest

from isthmus.analysis.breakeven.section import section as breakeven_section
from isthmus.analysis.published.source import sources
from isthmus.analysis.published.table import published_part
from isthmus.document.grid import Grid
from isthmus.document.section import Part, Section
from isthmus.language import can_say
from isthmus.record import MIB, Case


def grid_of(part: Part | None) -> Grid:
    assert part
    (grid,) = part.grids
    return grid


def known(section: Section | None) -> Grid:
    assert section
    return grid_of(next(part for part in section.parts if part.title == "Beside figures published elsewhere"))


def texts(grid: Grid, heading: str, group: str = "") -> list[str]:
    (cells,) = (row.cells for each in grid.groups if each.title == group for row in each.rows if row.heading == heading)
    return [cell.text for cell in cells]


def test_sources_name_fields_of_cases_and_every_series_has_a_name() -> None:
    assert len(sources()) == 4
    for source in sources():
        assert source.citation
        assert can_say(f"published.machine_{source.machine}")
        for table in source.experiments.values():
            for series in table.series:
                assert {*series.case, *series.over, *filter(None, [series.along])} <= set(Case.__struct_fields__)
                said = can_say(f"published.series_{series.text or series.name}")
                assert said or series.name.startswith(("cuda", "rate_")), series.name


def test_rates_of_pageable_and_pinned_copies_are_ranges_over_the_sizes(synthetic: ModuleType) -> None:
    sizes = synthetic.SEED_SWEEP
    truths = {
        ("copy", "h2d", "pinned"): synthetic.Truth(0.0, 55e9, 0.0),
        ("copy", "h2d", "pageable"): synthetic.Truth(0.0, 11e9, 0.0),
    }
    grid = grid_of(published_part([synthetic.run(synthetic.cases(truths, sizes))], "bandwidth"))
    assert texts(grid, "pinned H2D")[:2] == ["25.1 GB/s to 25.4 GB/s", "55.0 GB/s"]
    assert texts(grid, "pageable H2D")[0] == "3.20 GB/s to 11.4 GB/s"
    assert texts(grid, "pageable over pinned time, H2D")[:2] == ["2.2 to 7.9", "5.0"]
    assert "pinned D2H" not in [row.heading for group in grid.groups for row in group.rows]
    small = synthetic.run(synthetic.cases(truths, [MIB]))
    assert published_part([small], "bandwidth") is None, "sizes below those that were published"


def test_thresholds_stand_beside_those_of_2008(synthetic: ModuleType, synthetic_breakeven: ModuleType) -> None:
    memory = dict(synthetic_breakeven.H200_MEMORY)
    memory["pinned", "allocate"] = synthetic_breakeven.Cost(480e-6, 150e-3 / 2**30)
    memory["pinned", "free"] = synthetic_breakeven.Cost(200e-6, 30e-3 / 2**30)
    cheap = replace(synthetic_breakeven.H200, memory=memory)
    grid = known(breakeven_section([synthetic.run(synthetic_breakeven.breakeven(cheap))]))
    published, here, ratio = texts(grid, "pinned pays for one use there and back from (Fig. 7)")
    assert published == "16 MiB"
    assert re.fullmatch(r"\d\.\d+ ±\d\.\d+ MiB", here)
    assert float(ratio) == pytest.approx(float(here.split()[0]) / 16, rel=0.1)
    assert texts(grid, "pinned pays for one use with a small result from (Fig. 8)")[0] == "never"
    plain = known(breakeven_section([synthetic.run(synthetic_breakeven.breakeven())]))
    assert texts(plain, "pinned pays for one use there and back from (Fig. 7)")[1:] == ["never", "-"]


def test_wrong_data_is_no_figure(synthetic: ModuleType) -> None:
    truths = {("copy", "h2d", "pinned"): synthetic.Truth(0.0, 55e9, 0.0)}
    cases = [msgspec.structs.replace(case, verified="no") for case in synthetic.cases(truths, [160 * MIB])]
    assert published_part([synthetic.run(cases)], "bandwidth") is None
