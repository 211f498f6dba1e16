"""Published figures beside a run's: fields of cases that there are, by size, on either clock."""

import msgspec

from isthmus.analysis.bandwidth.section import section as bandwidth_section
from isthmus.analysis.published.source import sources
from isthmus.document.grid import Grid
from isthmus.document.section import Part, Section
from isthmus.language import can_say
from isthmus.record import MIB, Case, Run, Series
from tests.synthetic import runs as synthetic


def published(section: Section | None) -> tuple[Part, ...]:
    return (
        tuple(part for part in section.parts if part.title == "Beside figures published elsewhere") if section else ()
    )


def bandwidth_parts(run: Run) -> tuple[Part, ...]:
    return published(bandwidth_section([run]))


RATES = {"pinned": 55e9, "pageable": 11e9}


def timed_by_events(run: Run, factor: float) -> Run:
    """The run with device times that are so many times those of the host."""

    def timed(case: Case) -> Case:
        events = Series(metric="device_seconds", samples=[factor * each for each in case.samples("host_seconds")])
        return msgspec.structs.replace(case, series=[*case.series, events])

    return msgspec.structs.replace(run, cases=list(map(timed, run.cases)))


def texts(grid: Grid, heading: str, group: str = "") -> list[str]:
    (cells,) = (row.cells for each in grid.groups if each.title == group for row in each.rows if row.heading == heading)
    return [cell.text for cell in cells]


def test_sources_name_fields_of_cases_and_every_series_has_a_name() -> None:
    assert len(sources()) == 5
    for source in sources():
        assert source.citation
        assert can_say(f"published.machine_{source.machine}")
        for table in source.experiments.values():
            for series in table.series:
                assert {*series.case, *series.over, *filter(None, [series.along])} <= set(Case.__struct_fields__)
                said = can_say(f"published.series_{series.text or series.name}")
                assert said or series.name.startswith(("cuda", "rate_")), series.name
            assert set(table.by_place) <= {series.name for series in table.series}


def test_rates_stand_by_size_on_either_clock() -> None:
    """A row for each size of the article that was measured, its figure and ours for each kind and direction."""
    truths = {("copy", "h2d", kind): synthetic.Truth(0.0, rate, 0.0) for kind, rate in RATES.items()}
    run = synthetic.run(synthetic.cases(truths, [160 * MIB, 256 * MIB, 640 * MIB]))
    parts = bandwidth_parts(timed_by_events(run, 2))
    (part,) = (part for part in parts if "jielahou" in part.note)
    _, host, events = part.grids
    assert [column.name for column in host.columns][:2] == ["pageable H2D, published", "pageable H2D, here"]
    assert texts(host, "160 MiB", "GB/s") == ["9.4", "11.0?", "6.21", "-", "25.4", "55.0?", "26.4", "-"]
    assert texts(events, "640 MiB", "GB/s") == ["3.52", "5.50?", "7.96", "-", "25.4", "27.5?", "26.4", "-"]
    assert [row.heading for row in host.groups[0].rows] == ["160 MiB", "640 MiB"], "256 MiB is none of the article's"
    only_host = bandwidth_parts(run)
    assert [len(part.grids) for part in only_host if "jielahou" in part.note] == [2], "no events, no table of them"
