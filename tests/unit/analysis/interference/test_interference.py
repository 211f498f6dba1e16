"""What is said about copies beside other work: rates and slowdowns in sentences, one table and one chart."""

from types import ModuleType

import pytest

from isthmus.analysis.interference.findings import findings, takeaway
from isthmus.analysis.interference.glance import glance
from isthmus.analysis.interference.model import costs
from isthmus.analysis.interference.section import section
from isthmus.language import LANGUAGES, Language, speaking
from isthmus.record import MIB, Case, Metric, Run, Series

SIZE = 64 * MIB


def case(
    method: str,
    slowdown: float,
    rate: float,
    *,
    neighbour: str = "compute",
    memory: str = "pinned",
    direction: str = "h2d",
    blocks: int | None = None,
    threads: int | None = None,
    size: int = SIZE,
    verified: str = "yes",
) -> Case:
    """Turns on a device whose clock rises: each takes less than the one before, alone and beside."""
    alone = [0.01 * (1 - turn / 100) for turn in range(12)]
    times: dict[Metric, list[float]] = {
        "alone_seconds": alone,
        "beside_seconds": [seconds * (1 + slowdown) for seconds in alone],
        "host_seconds": [size / rate] * 12,
    }
    fields: dict[str, object] = {"method": method, "direction": direction, "host_memory": memory, "bytes": size}
    fields |= {"blocks": blocks, "threads": threads, "neighbour": neighbour, "verified": verified}
    series = [Series(metric=metric, samples=samples) for metric, samples in times.items()]
    return Case(experiment="interference", series=series, **fields)  # type: ignore[arg-type]


CASES = [
    case("copy", 0.012, 54.8e9),
    case("kernel", 0.10, 29.8e9, blocks=1),
    case("kernel", 0.104, 49.6e9, blocks=2),
    case("kernel", 0.10, 50.6e9, blocks=4),
    case("kernel", 1.62, 50.8e9, blocks=0),
    case("copy", 0.001, 9e9, memory="pageable"),
    case("isthmus", 0.002, 12e9, memory="pageable", threads=1),
    case("isthmus", 0.02, 48e9, memory="pageable", threads=12),
    case("copy", -0.015, 55e9, direction="d2h"),
    case("copy", 0.03, 54e9, neighbour="thread"),
    case("copy", 0.5, 30e9, size=16 * MIB),
]


@pytest.fixture
def run(synthetic: ModuleType) -> Run:
    return synthetic.run(CASES)  # type: ignore[no-any-return]


def test_a_slowdown_is_of_each_turn_by_itself(run: Run) -> None:
    found = {(cost.bytes, cost.neighbour, cost.direction, cost.key): cost for cost in costs(run)}
    assert len(found) == len(CASES)
    two = found[SIZE, "compute", "h2d", ("kernel", "pinned", 2, 0)]
    assert two.slowdown.median == pytest.approx(0.104)
    assert two.slowdown.high - two.slowdown.low < 1e-9, "a clock that rises is no uncertainty"
    assert two.rate.median == pytest.approx(49.6e9)


def test_the_findings_have_the_figures(run: Run) -> None:
    assert {each.topic: each.text for each in findings(run)} == {
        "interference_compute": (
            "Beside a compute-bound kernel, H2D: the driver's copy of pinned memory costs it 1.2 % at 54.8 GB/s, "
            "a kernel of 2 blocks costs it 10 % at 49.6 GB/s, "
            "a kernel on the whole device costs it 162 % at 50.8 GB/s, "
            "the driver's copy of pageable memory costs it 0.1 % at 9.00 GB/s, "
            "isthmus.copy with 12 threads costs it 2.0 % at 48.0 GB/s. "
            "Beside a compute-bound kernel, D2H: the driver's copy of pinned memory costs it -1.5 % at 55.0 GB/s."
        ),
        "interference_thread": (
            "Beside a thread of the host that computes, H2D: the driver's copy of pinned memory costs it 3.0 % at "
            "54.0 GB/s."
        ),
    }
    taken = takeaway(run)
    assert taken
    assert taken.text.startswith("Beside a compute-bound kernel, H2D")


def test_the_table_has_a_row_a_way_and_a_pair_of_columns_a_neighbour(run: Run) -> None:
    found = section([run])
    assert found
    [grid] = [grid for part in found.parts for grid in part.grids]
    groups = {
        group.title: {row.heading: [cell.text for cell in row.cells] for row in group.rows} for group in grid.groups
    }
    assert list(groups) == ["H2D, 16 MiB", "H2D, 64 MiB", "D2H, 64 MiB"]
    rows = groups["H2D, 64 MiB"]
    assert rows["a kernel of 2 blocks"][:2] == ["10", "49.6"]
    assert rows["a kernel on the whole device"][:2] == ["162", "50.8"]
    assert list(rows).index("a kernel on the whole device") == 4, "after those of fewer blocks"
    assert rows["the driver's copy of pinned memory"] == ["1.2", "54.8", "-", "-", "3.0", "54.0"]


def test_the_chart_has_rate_against_slowdown(run: Run) -> None:
    found = section([run])
    assert found
    charts = [chart for part in found.parts for chart in part.charts]
    assert len(charts) == 2, "one for each direction"
    curves = {curve.name: [(row["x"], row["y"]) for row in curve.rows] for curve in charts[0].spec.curves}  # type: ignore[union-attr]
    assert curves["Kernel, by blocks"] == [(29.8, 10), (49.6, 10.4), (50.6, 10), (50.8, 162)]
    assert curves["isthmus.copy, by threads"] == [(12, 0.2), (48, 2)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_it(run: Run, language: Language) -> None:
    with speaking(language):
        assert len(findings(run)) == 2
        assert section([run])
        assert glance(run)


def test_what_was_skipped_or_wrong_is_no_figure(synthetic: ModuleType) -> None:
    gone = Case(
        experiment="interference", method="kernel", host_memory="pinned", bytes=SIZE, skipped=True, note="no reach"
    )
    run = synthetic.run([gone, case("copy", 0.1, 1e9, verified="no")])
    assert (findings(run), takeaway(run), section([run]), glance(run)) == ([], None, None, None)
