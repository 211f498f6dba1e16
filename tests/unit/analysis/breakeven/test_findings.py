"""Conclusions about ways: answers with their figures, the price behind them, and nothing that was not measured."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import pytest

from isthmus.analysis.breakeven.findings import findings as breakeven_findings
from isthmus.analysis.breakeven.findings import takeaway as breakeven_takeaway
from isthmus.analysis.breakeven.tables import size_cell, uses_cell
from isthmus.analysis.breakeven.words import size_words, uses_words
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.document.finding import Finding, Takeaway
from isthmus.record import KIB, MIB, Run


def takeaway(run: Run) -> Takeaway:
    found = breakeven_takeaway(run)
    assert isinstance(found, Takeaway)
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
    assert {finding.severity for finding in found.values()} == {"note"}


def test_pinning_names_uses_and_sizes(found: dict[str, Finding], builder: ModuleType) -> None:
    sentence = found["breakeven_pinning"].sentence
    machine = builder.H200
    match = re.match(r"Pinning a 64 MiB buffer pays from (\d+) uses on \(there and back\)\. Pinning a", sentence)
    assert match
    uses = int(match[1])
    totals = [
        machine.total("round_trip", way, count, 64 * MIB)
        for count in (uses - 1, uses)
        for way in ("pageable", "pinned")
    ]
    assert totals[0] < totals[1]
    assert totals[2] > totals[3]
    assert "Used once, pinned beats pageable at no size from 4 KiB to 128 MiB (there and back)." in sentence


def test_the_fastest_way_is_named_with_what_to_do(found: dict[str, Finding]) -> None:
    finding = found["breakeven_choice"]
    assert re.search(r"64 MiB crosses fastest with a kept staging buffer: \d\.\d times", finding.sentence)
    assert finding.fix.startswith("Keep one pinned buffer")


def test_without_a_staging_buffer_nobody_is_told_to_keep_one(synthetic: ModuleType, builder: ModuleType) -> None:
    ways = ["pageable", "pinned", "registered"]
    found = by_topic(synthetic.run(builder.breakeven(ways=ways))).values()
    assert not any("staging" in finding.sentence + finding.fix for finding in found)


def test_production_in_place_says_what_it_gains(found: dict[str, Finding]) -> None:
    assert re.search(r"pageable memory 1\.\d+ (to 1\.\d+ )?times as fast", found["breakeven_in_place"].sentence)


def test_the_verdict_says_when_pinning_pays_and_what_is_fastest(run: Run) -> None:
    found = takeaway(run)
    assert re.match(r"Pinning a 64 MiB buffer pays from \d uses on \(there and back\)", found.does)
    assert re.search(r"64 MiB crosses fastest with a kept staging buffer: \d\.\d times as fast", found.does)
    assert found.advice.startswith("Keep one pinned buffer")


def test_a_run_of_small_buffers_speaks_of_its_largest(synthetic: ModuleType, builder: ModuleType) -> None:
    small = synthetic.run(builder.breakeven(sizes=[64 * KIB, MIB]))
    assert takeaway(small).does.startswith("Pinning a 1 MiB buffer pays")


@pytest.mark.parametrize("ways", [["pageable"], ["pinned"], ["staging", "mapped"]])
def test_few_ways_are_no_reason_to_fail(synthetic: ModuleType, builder: ModuleType, ways: list[str]) -> None:
    run = synthetic.run(builder.breakeven(ways=ways, sizes=[MIB]))
    assert takeaway(run).does
    assert "breakeven_pinning" not in by_topic(run)


def test_a_run_without_the_experiment_says_nothing(synthetic: ModuleType, builder: ModuleType) -> None:
    run = synthetic.run(builder.bandwidth())
    assert breakeven_findings(run) == []
    assert breakeven_takeaway(run) is None


@pytest.fixture
def size_of() -> Callable[..., Threshold]:
    def threshold(low: float, value: float, high: float, crossings: int = 1) -> Threshold:
        return Threshold("from", 4 * KIB, 128 * MIB, value, low, high, crossings)

    return threshold


def test_an_interval_that_spans_the_range_is_the_answer_and_its_estimate_none(
    size_of: Callable[..., Threshold],
) -> None:
    assert size_words(size_of(3 * MIB, 4 * MIB, 5 * MIB)) == "from 4 MiB (3 MiB to 5 MiB) on"
    assert size_words(size_of(MIB, 2 * MIB, 74 * MIB)) == "from 1 MiB to 74 MiB on"
    assert size_words(size_of(0.0, MIB, 2 * MIB)) == "from at most 2 MiB on"
    assert size_words(size_of(MIB, 2 * MIB, math.inf)) == "from at least 1 MiB on"


def test_answers_that_some_draws_contradict_are_marked(size_of: Callable[..., Threshold]) -> None:
    always = replace(size_of(0.0, 0.0, 5 * KIB), state="always")
    assert size_words(always) == "at every size from 4 KiB to 128 MiB, at some sizes within noise"
    # For a way that wins at the lower end only, "everywhere" is an end beyond the range.
    every = replace(size_of(math.inf, math.inf, math.inf), state="always")
    assert size_words(every) == "at every size from 4 KiB to 128 MiB"


def test_an_interval_that_reads_as_its_size_is_not_said_twice(size_of: Callable[..., Threshold]) -> None:
    assert size_words(size_of(4.001 * MIB, 4.002 * MIB, 4.003 * MIB)) == "from 4 MiB on"


@pytest.mark.parametrize("state", ["always", "never", "from", "up_to", "cannot_tell"])
@pytest.mark.parametrize("ends", [(0.0, 6.0), (6.0, math.inf), (math.inf, math.inf), (0.0, math.inf)])
def test_no_answer_shows_an_end_that_is_infinite(state: str, ends: tuple[float, float]) -> None:
    value = next((end for end in ends if 0 < end < math.inf), 6.0)
    found = Threshold(state, 1.0, 1e6, value, *ends)  # type: ignore[arg-type]
    shown = [size_words(found), uses_words(found), uses_cell(found).text, size_cell(found).text]
    assert not any("inf" in text or "1000000" in text for text in shown)
