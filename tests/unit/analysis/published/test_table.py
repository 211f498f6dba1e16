"""Published figures beside a run's: found by the fields of cases, as they were published, with their ratio."""

import re
from dataclasses import replace
from types import ModuleType

import msgspec
import pytest

from isthmus.analysis.breakeven.section import section as breakeven_section
from isthmus.analysis.managed.section import section as managed_section
from isthmus.analysis.openacc.section import section as openacc_section
from isthmus.analysis.published.source import sources
from isthmus.analysis.published.table import published_part
from isthmus.analysis.stencil.section import section as stencil_section
from isthmus.analysis.threads.section import section as threads_section
from isthmus.document.grid import Grid
from isthmus.document.section import Part, Section
from isthmus.language import can_say
from isthmus.record import KIB, MIB, Case, Run


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
        assert source.machine
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


def test_costs_are_at_the_published_sizes(synthetic: ModuleType, synthetic_allocation: ModuleType) -> None:
    run: Run = synthetic.run(synthetic_allocation.h200())
    grid = grid_of(published_part([run, run], "allocation"))
    assert texts(grid, "1 MiB", "cudaMallocHost")[0] == "2.30 ms"
    assert [column.run for column in grid.columns] == ["", "A", "A", "B", "B"]
    assert texts(grid, "cudaFreeHost / free")[0] == "1,000 to 100,000"
    assert texts(grid, "cudaFreeHost / free")[2] == "-"
    assert texts(grid, "cudaMalloc / malloc < 4 MiB")[0] == "32"


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


def test_managed_memory_is_compared_with_the_paper(synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    grid = known(managed_section([synthetic.run(synthetic_managed.cases(strides=[4 * KIB, 128 * KIB, 4 * MIB]))]))
    assert texts(grid, "managed beats explicit up to, share touched")[0] == "60 %"
    assert texts(grid, "managed beats explicit from, stride")[0] == "128 KiB"
    assert texts(grid, "managed / explicit, all touched") == ["1.45", "2.08", "1.43"]
    assert texts(grid, "explicit, whole array")[:2] == ["4.23 GB/s", "3.52"]
    strides = "managed / explicit, one double in every"
    assert [texts(grid, size, strides)[0] for size in ("4 KiB", "128 KiB")] == ["1.28", "0.813"]
    sparse = known(managed_section([synthetic.run(synthetic_managed.cases(strides=[256 * KIB, 4 * MIB]))]))
    assert strides not in [group.title for group in sparse.groups]


def test_stencils_stand_at_their_sides(synthetic: ModuleType, synthetic_stencil: ModuleType) -> None:
    grid = known(stencil_section([synthetic.run(synthetic_stencil.cases())]))
    published, here, ratio = texts(grid, "61440 x 61440", "managed / explicit, the CPU packs")
    assert published == "0.782"
    assert float(here) == pytest.approx(0.782, rel=0.01)
    assert float(ratio) == pytest.approx(1, rel=0.01)
    ways = ("cpu_columns", "managed"), ("cpu_whole", "pageable")
    other = synthetic.run([synthetic_stencil.case(3072, way, (1.0, 0.1, 0.1, 0.1, 0.1)) for way in ways])
    grid = known(stencil_section([other]))
    assert texts(grid, "3072 x 3072", "managed / explicit, the CPU packs")[::2] == ["-", "-"]
    assert "managed / explicit, the GPU packs" not in [group.title for group in grid.groups]


def test_directives_stand_beside_those_of_the_paper(synthetic: ModuleType, synthetic_openacc: ModuleType) -> None:
    grid = known(openacc_section([synthetic.run(synthetic_openacc.everything())]))
    assert texts(grid, "managed / directives, whole array")[:2] == ["1.45", "1.46"]
    assert texts(grid, "both / directives, whole array") == ["1.44", "-", "-"]


def test_threads_have_shares_of_both_links(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    cases = synthetic_threads.cases({(way, "pinned"): lambda threads: 50.0 for way in ("h2d", "both")})
    grid = known(threads_section([synthetic.run(cases)]))
    assert texts(grid, "1", "H2D, by threads each way")[:2] == ["145 MiB/s", "61 %"]
    assert texts(grid, "32", "H2D, by threads each way")[:2] == ["-", "-"]
    assert texts(grid, "32 + 32", "both ways in sum, by threads each way")[:2] == ["194 MiB/s", "41 %"]
    assert float(texts(grid, "1", "H2D, by threads each way")[2]) == pytest.approx(50, rel=0.02)
    assert [column.name for column in grid.columns][2:] == ["here, pinned", "of link", "here / published"]


def test_wrong_data_is_no_figure(synthetic: ModuleType) -> None:
    truths = {("copy", "h2d", "pinned"): synthetic.Truth(0.0, 55e9, 0.0)}
    cases = [msgspec.structs.replace(case, verified="no") for case in synthetic.cases(truths, [160 * MIB])]
    assert published_part([synthetic.run(cases)], "bandwidth") is None
