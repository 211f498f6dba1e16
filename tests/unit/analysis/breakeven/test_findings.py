"""Conclusions about ways: answers with their figures, the price behind them, and nothing that was not measured."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import msgspec
import pytest

from isthmus.analysis.breakeven.comparison import Blame
from isthmus.analysis.breakeven.derived import _left_out
from isthmus.analysis.breakeven.findings import findings as breakeven_findings
from isthmus.analysis.breakeven.findings import takeaway as breakeven_takeaway
from isthmus.analysis.breakeven.words import plain_size_words, size_words
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import speaking
from isthmus.record import KIB, MIB, Case, Run


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
    assert list(found) == [
        "breakeven_pinning",
        "breakeven_choice",
        "breakeven_in_place",
        "breakeven_derived",
    ]
    assert {finding.severity for finding in found.values()} == {"info"}


def test_pinning_names_uses_sizes_and_the_price(found: dict[str, Finding], builder: ModuleType) -> None:
    sentence, cause = found["breakeven_pinning"].sentence, found["breakeven_pinning"].cause
    machine = builder.H200
    match = re.search(
        r"Against fresh pages, pinning a buffer of 64 MiB pays there and back from (\d+) uses on", sentence
    )
    assert match
    assert "recycled memory from glibc" in sentence
    uses = int(match[1])
    totals = [
        machine.total("round_trip", way, count, 64 * MIB)
        for count in (uses - 1, uses)
        for way in ("pageable", "pinned")
    ]
    assert totals[0] < totals[1]
    assert totals[2] > totals[3]
    assert "Used once, pinned memory wins at no size from 4 KiB to 128 MiB in both cases." in sentence
    assert re.search(r"Do not bother there and back below \d+ KiB, and where only a result comes back below", sentence)
    setup = machine.once("pinned", 64 * MIB) - machine.once("pageable", 64 * MIB)
    price = re.search(r"takes (\d+) us per MiB more than pageable memory", cause)
    assert price
    assert int(price[1]) == pytest.approx(setup / 64 * 1e6, rel=0.05)


def test_the_choice_names_the_fastest_way_and_those_that_are_no_faster(found: dict[str, Finding]) -> None:
    finding = found["breakeven_choice"]
    assert "a kept staging buffer" in finding.sentence
    assert "memory touched by many threads and registered from" in finding.sentence
    assert re.search(r"64 MiB used once there and back are \d\.\d times as fast with a kept staging", finding.sentence)
    assert re.search(r"No faster are .*pinned memory \(0\.\d\d times\)", finding.sentence)
    assert finding.fix.startswith("Keep one pinned buffer")


def test_without_a_staging_buffer_nobody_is_told_to_keep_one(synthetic: ModuleType, builder: ModuleType) -> None:
    ways = ["pageable", "pinned", "registered"]
    finding = by_topic(synthetic.run(builder.breakeven(ways=ways)))["breakeven_choice"]
    assert "staging" not in finding.sentence + finding.fix


def test_production_in_place_is_said_to_change_nothing_or_what(
    found: dict[str, Finding], synthetic: ModuleType, builder: ModuleType
) -> None:
    assert "does not change when pinning pays" in found["breakeven_in_place"].sentence
    cases: list[Case] = builder.breakeven()
    # A machine on which what is produced in place arrives in pinned memory at no cost at all.
    free = [
        msgspec.structs.replace(case, series=[builder._series([1e-6] * 12)])
        if case.host_memory == "pinned" and case.method.endswith("in_place")
        else case
        for case in cases
    ]
    sentence = by_topic(synthetic.run(free))["breakeven_in_place"].sentence
    assert "changes when pinning pays: with 1 use there and back pinned memory wins at every size" in sentence
    assert "instead of at no size from 4 KiB to 128 MiB" in sentence


def test_derived_thresholds_say_their_share_and_what_is_not_derived(found: dict[str, Finding]) -> None:
    sentence = found["breakeven_derived"].sentence
    match = re.search(r"in (\d+) % of the (\d+) pairs that can be compared", sentence)
    assert match
    assert int(match[1]) >= 95
    assert int(match[2]) > 400
    assert "Not derived: managed memory: neither experiment measures" in sentence
    assert found["breakeven_derived"].cause == ""


def test_derived_thresholds_that_are_off_are_explained(synthetic: ModuleType, builder: ModuleType) -> None:
    machine = replace(builder.H200, program={("pageable", "h2d"): 1.5})
    parts = [*builder.bandwidth(), *builder.allocation()]
    finding = by_topic(synthetic.run([*parts, *builder.breakeven(machine)]))["breakeven_derived"]
    assert re.search(
        r"In \d+ of the \d+ that differ a use of pageable memory takes longer in the program", finding.cause
    )
    assert "caches" in finding.cause


@pytest.mark.parametrize(
    ("way", "part", "seconds", "cause"),
    [
        ("pageable", "use", -1e-6, "overlap with what follows"),
        ("managed_prefetch", "use", 1e-6, "fault again"),
        ("mapped", "use", 1e-6, "reads over the link what the CPU has just written"),
        ("pinned", "setup", 1e-6, "varies from visit to visit"),
        ("touched_registered", "setup", -1e-6, "varies from visit to visit"),
    ],
)
def test_a_known_cost_that_the_parts_leave_out_is_named(way: str, part: str, seconds: float, cause: str) -> None:
    assert cause in _left_out(Blame(way, part, seconds, MIB))  # type: ignore[arg-type]


def test_a_cost_in_the_other_direction_is_not_explained_away() -> None:
    assert _left_out(Blame("pageable", "use", 1e-6, MIB)) == ""
    assert _left_out(Blame("mapped", "use", -1e-6, MIB)) == ""


def test_an_analysis_that_is_kept_speaks_every_language(run: Run, found: dict[str, Finding]) -> None:
    assert "Not derived: managed memory: neither experiment measures" in found["breakeven_derived"].sentence
    with speaking("ja"):
        spoken = by_topic(run)["breakeven_derived"].sentence
    assert "導出していないものは、マネージドメモリ" in spoken
    assert "neither" not in spoken
    assert by_topic(run)["breakeven_derived"] == found["breakeven_derived"]


def test_without_single_costs_the_way_to_get_them_is_named(synthetic: ModuleType, builder: ModuleType) -> None:
    finding = by_topic(synthetic.run(builder.breakeven()))["breakeven_derived"]
    assert "does not hold the allocation and bandwidth figures" in finding.sentence
    assert finding.fix == "Measure allocation, bandwidth and breakeven in one run."


def test_the_verdict_says_when_pinning_pays_and_what_is_fastest(run: Run) -> None:
    found = takeaway(run)
    assert re.match(
        r"Against fresh pages, pinning a buffer of 64 MiB pays there and back from \d uses on( \(.*?\))?, and where",
        found.does,
    )
    assert re.search(r"64 MiB cross fastest with a kept staging buffer: \d\.\d times as fast", found.does)
    assert found.advice.startswith("Keep one pinned buffer")


def test_a_run_of_small_buffers_speaks_of_its_largest(synthetic: ModuleType, builder: ModuleType) -> None:
    small = synthetic.run(builder.breakeven(sizes=[64 * KIB, MIB]))
    assert takeaway(small).does.startswith("Against fresh pages, pinning a buffer of 1 MiB pays")


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
    assert size_words(size_of(3 * MIB, 4 * MIB, 5 * MIB)) == "from 4 MiB on (3 MiB to 5 MiB)"
    assert size_words(size_of(MIB, 2 * MIB, 74 * MIB)) == "from somewhere between 1 MiB and 74 MiB on"
    assert size_words(size_of(0.0, MIB, 2 * MIB)) == "from at most 2 MiB on"
    assert (
        size_words(size_of(MIB, 2 * MIB, math.inf, 3)) == "from at least 1 MiB on (it also wins at some smaller sizes)"
    )


def test_what_the_medians_say_alone_is_said(size_of: Callable[..., Threshold]) -> None:
    always = replace(size_of(0.0, 0.0, 5 * KIB), state="always")
    assert size_words(always) == "at every size from 4 KiB to 128 MiB, up to 5 KiB by the medians alone"
    assert plain_size_words(always) == "at every size from 4 KiB to 128 MiB"
    rather = replace(size_of(100 * MIB, math.inf, math.inf), state="always")
    assert size_words(rather) == "at every size from 4 KiB to 128 MiB, from 100 MiB on by the medians alone"
    # Of a way that wins at the lower end only, "everywhere" is an end beyond the range.
    certain = replace(size_of(math.inf, math.inf, math.inf), state="always")
    assert size_words(certain) == "at every size from 4 KiB to 128 MiB"


def test_an_interval_that_reads_as_its_size_is_not_said_twice(size_of: Callable[..., Threshold]) -> None:
    assert size_words(size_of(4.001 * MIB, 4.002 * MIB, 4.003 * MIB)) == "from 4 MiB on"
