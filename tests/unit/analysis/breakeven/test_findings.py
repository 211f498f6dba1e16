"""Conclusions about ways: answers with their figures, the price behind them, and nothing that was not measured."""

import math
import re
from types import ModuleType

import pytest

from isthmus.analysis.breakeven.findings import findings as breakeven_findings
from isthmus.analysis.breakeven.findings import takeaway as breakeven_takeaway
from isthmus.analysis.breakeven.tables import size_cell, uses_cell
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.document.finding import Finding
from isthmus.record import KIB, MIB, Run


def takeaway(run: Run) -> Finding:
    found = breakeven_takeaway(run)
    assert isinstance(found, Finding)
    return found


def by_topic(run: Run) -> dict[str, Finding]:
    return {finding.topic: finding for finding in breakeven_findings(run)}


@pytest.fixture(scope="module")
def builder(synthetic_breakeven: ModuleType) -> ModuleType:
    return synthetic_breakeven


@pytest.fixture(scope="module")
def run(synthetic: ModuleType, builder: ModuleType) -> Run:
    return synthetic.run(builder.everything())  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def found(run: Run) -> dict[str, Finding]:
    return by_topic(run)


def test_every_topic_once_and_no_grave_one(found: dict[str, Finding]) -> None:
    assert list(found) == ["breakeven_pinning", "breakeven_choice", "breakeven_in_place"]
    assert {finding.level for finding in found.values()} == {"note"}


def test_pinning_names_the_uses_from_which_it_pays(found: dict[str, Finding], builder: ModuleType) -> None:
    sentence = found["breakeven_pinning"].text
    machine = builder.H200
    match = re.match(r"Uses from which pinning a 64 MiB buffer pays: (\d+) (?:±\d+ )?\(there and back\), ", sentence)
    assert match
    uses = int(match[1])
    totals = [
        machine.total("round_trip", way, count, 64 * MIB)
        for count in (uses - 1, uses)
        for way in ("pageable", "pinned")
    ]
    assert totals[0] < totals[1]
    assert totals[2] > totals[3]


def test_the_fastest_way_is_named_with_what_to_do(found: dict[str, Finding]) -> None:
    finding = found["breakeven_choice"]
    assert re.search(r"64 MiB crosses fastest with a kept staging buffer: \d\.\d times", finding.text)
    assert finding.cure.startswith("Keep one pinned buffer")


def test_without_a_staging_buffer_nobody_is_told_to_keep_one(synthetic: ModuleType, builder: ModuleType) -> None:
    ways = ["pageable", "pinned", "registered"]
    found = by_topic(synthetic.run(builder.breakeven(ways=ways))).values()
    assert not any("staging" in finding.text + finding.cure for finding in found)


def test_production_in_place_says_what_it_gains(found: dict[str, Finding]) -> None:
    assert re.search(r"pageable memory is 1\.\d+ (to 1\.\d+ )?times as fast", found["breakeven_in_place"].text)


def test_the_verdict_says_when_pinning_pays_and_what_is_fastest(run: Run) -> None:
    found = takeaway(run)
    assert re.match(r"Uses from which pinning a 64 MiB buffer pays: \d (±\d )?\(there and back\)", found.text)
    assert re.search(r"64 MiB crosses fastest with a kept staging buffer: \d\.\d times as fast", found.text)
    assert found.cure.startswith("Keep one pinned buffer")


def test_a_run_of_small_buffers_speaks_of_its_largest(synthetic: ModuleType, builder: ModuleType) -> None:
    small = synthetic.run(builder.breakeven(sizes=[64 * KIB, MIB]))
    assert takeaway(small).text.startswith("Uses from which pinning a 1 MiB buffer pays")


@pytest.mark.parametrize("ways", [["pageable"], ["pinned"], ["staging", "mapped"]])
def test_few_ways_have_nothing_to_compare(synthetic: ModuleType, builder: ModuleType, ways: list[str]) -> None:
    run = synthetic.run(builder.breakeven(ways=ways, sizes=[MIB]))
    assert breakeven_takeaway(run) is None
    assert "breakeven_pinning" not in by_topic(run)


def test_a_run_without_the_experiment_says_nothing(synthetic: ModuleType, builder: ModuleType) -> None:
    run = synthetic.run(builder.bandwidth())
    assert breakeven_findings(run) == []
    assert breakeven_takeaway(run) is None


@pytest.mark.parametrize("state", ["always", "never", "from", "up_to", "cannot_tell"])
@pytest.mark.parametrize("ends", [(0.0, 6.0), (6.0, math.inf), (math.inf, math.inf), (0.0, math.inf)])
def test_no_answer_shows_an_end_that_is_infinite(state: str, ends: tuple[float, float]) -> None:
    value = next((end for end in ends if 0 < end < math.inf), 6.0)
    found = Threshold(state, 1.0, 1e6, value, *ends)  # type: ignore[arg-type]
    shown = [uses_cell(found).text, size_cell(found).text]
    assert not any("inf" in text or "1000000" in text for text in shown)
