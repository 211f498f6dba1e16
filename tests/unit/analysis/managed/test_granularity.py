"""How much managed memory moves at a time: units that are known beforehand are found by counters and by timing."""

from dataclasses import replace

import msgspec
import pytest

from isthmus.analysis.managed.findings import granularity_findings
from isthmus.analysis.managed.granularity import Mechanism, mechanisms, unit_words
from isthmus.analysis.managed.timing import Unit
from isthmus.experiment.engine.sampling import skipped_case
from isthmus.record import KIB, MIB, Case, Run, Series
from tests.synthetic import migrations as synthetic_migrations
from tests.synthetic import runs as synthetic

UNMEASURED = "too few distances or references were measured"


@pytest.fixture(scope="module")
def run() -> Run:
    return synthetic.run(synthetic_migrations.gpu_cases())


def by_key(run: Run) -> dict[str, Mechanism]:
    return {each.key: each for each in mechanisms(run)}


def changed(run: Run, method: str, **changes: object) -> Run:
    """The run with these changes to the cases of one method."""
    cases = [msgspec.structs.replace(case, **changes) if case.method == method else case for case in run.cases]
    return msgspec.structs.replace(run, cases=cases)


def without(run: Run, method: str, *spans: int) -> Run:
    """The run without these probes of one method."""
    kept = [case for case in run.cases if case.method != method or case.stride_bytes not in spans]
    return msgspec.structs.replace(run, cases=kept)


def slowed(case: Case, spans: set[int | None], factor: float) -> Case:
    if case.method != "neighbour_device" or case.stride_bytes not in spans:
        return case
    samples = [factor * each for each in case.samples("host_seconds")]
    return msgspec.structs.replace(case, series=[Series(metric="host_seconds", samples=samples)])


def topics(run: Run) -> dict[str, str]:
    return {finding.topic: finding.text for finding in granularity_findings(run)}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("truth", "units"),
    [
        ({}, {"device": 64 * KIB, "device_grown": 2 * MIB, "host": 4 * KIB, "host_grown": 4 * KIB}),
        ({"device_unit": 2 * MIB, "device_tree": 0}, {"device": 2 * MIB, "device_grown": 2 * MIB}),
        ({"device_unit": 4 * KIB, "device_tree": 0}, {"device": 4 * KIB, "device_grown": 4 * KIB}),
        ({"host_tree": 64 * KIB, "noise": 0.2}, {"host": 4 * KIB, "host_grown": 64 * KIB}),
        ({"host_tree": 2 * MIB}, {"host": 4 * KIB, "host_grown": 2 * MIB}),
        ({"host_unit": 64 * KIB, "host_tree": 256 * KIB}, {"host": 64 * KIB, "host_grown": 256 * KIB}),
        ({"prefetch_unit": 64 * KIB}, {"prefetch_h2d": 64 * KIB, "prefetch_d2h": 64 * KIB}),
    ],
)
def test_units_are_found_both_ways(truth: dict[str, float], units: dict[str, int]) -> None:
    found = by_key(synthetic.run(synthetic_migrations.gpu_cases(**truth)))
    assert set(found) == {"device", "device_grown", "host", "host_grown", "prefetch_h2d", "prefetch_d2h"}
    for key, unit in units.items():
        assert (found[key].counted, found[key].timed) == (Unit(unit), Unit(unit)), key
        assert found[key].agreement == "yes"


@pytest.mark.thorough
def test_touches_that_cost_nothing_tell_nothing() -> None:
    array = synthetic_migrations.Pretended(fault=0.0, rate=1e15)
    found = by_key(synthetic.run(synthetic_migrations.probed(array)))
    for each in found.values():
        assert each.timed
        assert "hardly longer" in each.timed.why
        assert each.unit is None
    assert not granularity_findings(synthetic.run(synthetic_migrations.probed(array)))


@pytest.mark.thorough
def test_more_than_was_looked_at_is_said_so() -> None:
    array = synthetic_migrations.Pretended(device_unit=4 * MIB, device_tree=0)
    unit = by_key(synthetic.run(synthetic_migrations.probed(array)))["device"].timed
    assert unit == Unit(2 * MIB, beyond=True)
    assert unit_words(unit) == "> 2 MiB"
    [finding] = granularity_findings(synthetic.run(synthetic_migrations.probed(array)))[:1]
    assert "> 2 MiB of managed memory" in finding.text
    assert not finding.cure
    cases = [*synthetic_migrations.probed(array), *synthetic_migrations.counted(array)]
    assert by_key(synthetic.run(cases))["device"].agreement == "yes"


def test_a_step_that_is_not_single_is_no_unit(run: Run) -> None:
    cases = [slowed(case, {8 * KIB}, 30.0) for case in run.cases]
    unit = by_key(msgspec.structs.replace(run, cases=cases))["device"].timed
    assert unit == Unit(why="no single size fits all touches")


def test_a_step_between_far_distances_is_a_range(run: Run) -> None:
    mechanism = by_key(without(run, "neighbour_device", 16 * KIB, 32 * KIB))["device"]
    assert mechanism.timed == Unit(64 * KIB, more_than=8 * KIB)
    assert mechanism.agreement == "yes"
    assert unit_words(mechanism.timed) == "8 KiB to 64 KiB"


@pytest.mark.thorough
def test_a_step_between_far_parts_is_a_range() -> None:
    run = synthetic.run(synthetic_migrations.gpu_cases(device_tree=512 * KIB))
    assert by_key(run)["device_grown"].timed == Unit(512 * KIB)
    # Without the part in question the next smaller one is the least, and half of the next larger one the most.
    mechanism = by_key(without(run, "grown_device", 512 * KIB))["device_grown"]
    assert mechanism.timed == Unit(512 * KIB, more_than=128 * KIB)
    assert mechanism.agreement == "yes"
    assert unit_words(mechanism.timed) == "128 KiB to 512 KiB"


def test_too_few_parts_do_not_tell_what_is_added(run: Run) -> None:
    """Parts up to two units come over with them; what was completed beyond those was not looked at."""
    none = without(run, "grown_device", 256 * KIB, 512 * KIB, MIB, 2 * MIB)
    unit = by_key(none)["device_grown"].timed
    assert unit == Unit(why=UNMEASURED)
    none = without(run, "grown_host", 16 * KIB, 32 * KIB)
    unit = by_key(none)["host_grown"].timed
    assert unit == Unit(why=UNMEASURED)


def test_parts_that_are_all_completed_are_the_least() -> None:
    run = synthetic.run(synthetic_migrations.gpu_cases(device_tree=4 * MIB))
    mechanism = by_key(run)["device_grown"]
    assert mechanism.timed
    assert (mechanism.timed.bytes, unit_words(mechanism.timed)) == (4 * MIB, "≥ 4 MiB")
    exactly = replace(mechanism, counted=Unit(4 * MIB))
    assert exactly.agreement == "yes"
    assert replace(mechanism, counted=Unit(2 * MIB)).agreement == "no"
    neighbours = Unit(4 * MIB, beyond=True)
    assert replace(exactly, timed=neighbours).agreement == "no"


def test_a_first_distance_that_is_far_is_the_unit_of_a_page_alone(run: Run) -> None:
    assert by_key(run)["host"].timed == Unit(4 * KIB)
    unit = by_key(without(run, "neighbour_host", 4 * KIB))["host"].timed
    assert unit == Unit(why=UNMEASURED)


def test_without_its_references_timing_tells_nothing(run: Run) -> None:
    cases = [each for each in run.cases if each.method != "stride_device"]
    unit = by_key(msgspec.structs.replace(run, cases=cases))["device"].timed
    assert unit == Unit(why=UNMEASURED)


@pytest.mark.thorough
def test_counters_that_differ_are_said() -> None:
    probed = synthetic_migrations.probed(synthetic_migrations.Pretended())
    counted = synthetic_migrations.counted(synthetic_migrations.Pretended(device_unit=2 * MIB))
    findings = granularity_findings(synthetic.run([*probed, *counted]))
    [differs] = [each for each in findings if each.topic == "granularity_differs"]
    assert differs.text == "Counters and timing differ for device faults: 2 MiB and 64 KiB."


def test_touches_of_uneven_cost_have_no_unit(run: Run) -> None:
    moved = next(case for case in run.cases if case.method == "counted_device_touches").migrations[0]
    uneven = [msgspec.structs.replace(moved, bytes=65536, count=15), msgspec.structs.replace(moved, count=3)]
    unit = by_key(changed(run, "counted_device_touches", migrations=uneven))["device"].counted
    assert unit == Unit(why="no single size fits all touches")


def test_lost_reports_are_told(run: Run) -> None:
    lossy = synthetic_migrations.counted(synthetic_migrations.Pretended(), lost=2)
    assert topics(msgspec.structs.replace(run, cases=lossy))["migrations_lost"] == (
        "Counted passes that are incomplete: 9 of 9 (2 reports were lost, so these counts are too low)."
    )


def test_skipped_probes_are_told_by_their_reason(run: Run) -> None:
    skipped = [skipped_case(each, "no prefetch") for each in run.cases if each.method == "neighbour_prefetch"]
    found = by_key(msgspec.structs.replace(run, cases=[msgspec.structs.replace(each, series=[]) for each in skipped]))
    assert {each.timed for each in found.values()} == {Unit(why="no prefetch")}


def test_reasons_not_to_count_are_none_not_to_time(run: Run) -> None:
    """Where prefetches were neither timed nor counted, nothing says why they were not timed."""
    cases = [
        skipped_case(each, "no CUPTI") if each.method.startswith("counted_") else each
        for each in run.cases
        if each.method != "neighbour_prefetch"
    ]
    assert set(by_key(msgspec.structs.replace(run, cases=cases))) == {"device", "device_grown", "host", "host_grown"}
