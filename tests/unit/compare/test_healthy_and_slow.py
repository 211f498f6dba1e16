"""Verdicts on healthy cards and on the same cards 15 % below what is normal, whole runs and quick ones."""

from functools import cache
from pathlib import Path

import msgspec
import pytest

from isthmus.analysis.bandwidth.section import glance as bandwidth_glance
from isthmus.compare import judge, reference_for
from isthmus.record import MIB, Case, Run, read_run, three_figures

RESULTS = Path(__file__).parents[3] / "results"
NAMES = ("h200-cuda", "h200-all", "h100", "h100-default")
# Whole, and of the first or the last half of each case's samples; quick ones of four or five of them.
WHOLE, FIRST, LAST, *QUICK = "whole", "first half", "last half", "0", "4", "8"
PARTS = [*((name, part) for name in NAMES for part in (WHOLE, FIRST, LAST, *QUICK)), ("h200-seed000", WHOLE)]
QUICK_SIZES = (1, 4096, 65536, MIB, 4 * MIB, 16 * MIB, 64 * MIB)
QUICK_SAMPLES = 5
CASES = pytest.mark.parametrize(("name", "part"), PARTS)
replace = msgspec.structs.replace


@cache
def bandwidth(name: str) -> Run:
    run = read_run(RESULTS / f"{name}.json.gz")
    return replace(run, cases=[case for case in run.cases if case.experiment == "bandwidth"])


def part_of(name: str, part: str) -> Run:
    """A kept run, or one with some of its samples; a quick one has the sizes of such runs, too."""
    run = bandwidth(name)
    if part == WHOLE:
        return run

    def shorter(case: Case) -> Case:
        half = (len(case.series[0].samples) + 1) // 2 if case.series else 0
        first, last = {FIRST: (0, half), LAST: (half, 2 * half)}.get(part) or (int(part), int(part) + QUICK_SAMPLES)
        return replace(case, series=[replace(each, samples=each.samples[first:last]) for each in case.series])

    cases = [shorter(case) for case in run.cases if part not in QUICK or case.bytes in QUICK_SIZES]
    return replace(run, cases=[case for case in cases if all(each.samples for each in case.series)])


def scaled(run: Run, factors: dict[str, float], sizes: range = range(1 << 40)) -> Run:
    """The run with pinned copies of these sizes so many times as slow in each direction."""
    cases = [
        replace(
            case,
            series=[replace(each, samples=[factors[case.direction] * x for x in each.samples]) for each in case.series],
        )
        if case.host_memory == "pinned" and case.direction in factors and case.bytes in sizes
        else case
        for case in run.cases
    ]
    return replace(run, cases=cases)


def slow(run: Run) -> Run:
    """The run whose pinned rates are 0.85 of the least that is normal."""
    rates = judge(run, reference_for(run.fingerprint.device)).rates
    pinned = [rate for rate in rates if rate.memory == "pinned" and rate.normal and rate.direction != "both"]
    assert [rate.direction for rate in pinned] == ["h2d", "d2h"]
    return scaled(run, {rate.direction: rate.rate / (0.85 * rate.normal.low) for rate in pinned if rate.normal})


@CASES
def test_a_healthy_card_is_all_right_however_short_the_run(name: str, part: str) -> None:
    run = part_of(name, part)
    health = judge(run, reference_for(run.fingerprint.device))
    assert (health.level, health.troubles) == ("OK", ())


@CASES
def test_the_same_card_well_below_normal_is_not(name: str, part: str) -> None:
    run = slow(part_of(name, part))
    health = judge(run, reference_for(run.fingerprint.device))
    assert health.level in ("FAULT", "ATTENTION")
    assert "or more is normal" in health.points[0].text


def test_low_rates_on_a_busy_machine_are_no_fault_of_the_link_and_not_fine() -> None:
    run = slow(part_of("h200-cuda", "0"))
    cases = [
        replace(
            case,
            series=[
                replace(each, samples=[x * (0.8 + 0.1 * at) for at, x in enumerate(each.samples)])
                for each in case.series
            ],
        )
        if case.host_memory == "pinned"
        else case
        for case in run.cases
    ]
    topics = {point.topic for point in judge(replace(run, cases=cases), reference_for(run.fingerprint.device)).points}
    assert topics == {"busy"}


def test_noise_at_rates_that_are_normal_is_fine() -> None:
    run = part_of("h200-cuda", "0")
    cases = [
        replace(
            case,
            series=[
                replace(each, samples=[x * (1 + 0.1 * (at % 2)) for at, x in enumerate(each.samples)])
                for each in case.series
            ],
        )
        if case.host_memory == "pinned"
        else case
        for case in scaled(run, {"h2d": 0.94, "d2h": 0.94}, range(1 << 40)).cases
    ]
    health = judge(replace(run, cases=cases), reference_for(run.fingerprint.device))
    assert health.level == "OK"


def test_noise_at_sizes_that_the_table_does_not_show_is_no_verdict() -> None:
    run = scaled(part_of("h200-cuda", "0"), {"h2d": 1.08, "d2h": 1.08}, range(64 * MIB))
    health = judge(run, reference_for(run.fingerprint.device))
    assert health.level == "OK"
    assert {rate.bytes for rate in health.rates} == {64 * MIB}
    glance = bandwidth_glance(run)
    assert glance
    grid = glance.grids[0]
    pinned = next(row for row in grid.groups[0].rows if row.heading == "pinned")
    assert grid.corner == "GB/s at 64 MiB"
    assert [cell.text for cell in pinned.cells[:2]] == [three_figures(rate.rate / 1e9) for rate in health.rates[:2]]


def test_rows_of_the_table_are_of_one_size_or_name_their_own() -> None:
    run = bandwidth("h200-cuda")
    short = [
        case
        for case in run.cases
        if case.bytes <= {"pinned": 64 * MIB, "registered": 16 * MIB}.get(case.host_memory, 1 << 40)
    ]
    glance = bandwidth_glance(replace(run, cases=short))
    assert glance
    grid = glance.grids[0]
    assert grid.corner == "GB/s at 64 MiB"
    named = {row.heading for row in grid.groups[0].rows if " at " in row.cells[0].text}
    assert named == {"registered"}
    own = next(row for row in grid.groups[0].rows if row.heading == "registered")
    assert own.cells[0].text.endswith(" at 16 MiB")
