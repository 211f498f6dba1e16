"""Whole comparisons: what differs between machines, likely causes, gates, and runs that cannot be compared."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from isthmus.compare import Comparison, compare, parse_gate
from isthmus.compare.causes import busy_host, differences
from isthmus.errors import UsageError
from isthmus.record import Case, End, Link, Placement, Run
from tests.synthetic import runs as synthetic

Remade = Callable[..., Run]


def changed(run: Run, *, device: dict[str, Any] | None = None, **host: Any) -> Run:
    """The run on a device and a host with these fields changed; a dict changes a structure within the host."""
    before = run.fingerprint
    fields = {
        name: msgspec.structs.replace(getattr(before.host, name), **value) if isinstance(value, dict) else value
        for name, value in host.items()
    }
    fingerprint = msgspec.structs.replace(
        before,
        device=msgspec.structs.replace(before.device, **(device or {})),
        host=msgspec.structs.replace(before.host, **fields),
    )
    return msgspec.structs.replace(run, fingerprint=fingerprint)


def topics(found: Comparison) -> list[str]:
    return [cause.difference.topic for cause in found.causes]


HALF_LINK = Link(generation=5, width=8, max_generation=5, max_width=16, generation_under_load=5, width_under_load=8)


@pytest.mark.parametrize(
    ("topic", "change", "effect"),
    [
        ("backend", {"device": {"backend": "opencl"}}, "either"),
        ("device", {"device": {"name": "Other"}}, "either"),
        ("link", {"device": {"link": HALF_LINK}}, "slower"),
        ("driver", {"device": {"driver_version": "590.1"}}, "either"),
        ("confidential", {"device": {"conditions": {"confidential_computing": "on"}}}, "slower"),
        ("confidential", {"confidential": "TDX"}, "slower"),
        ("device_node", {"device": {"numa_node": 1}}, "either"),
        ("huge_pages", {"memory": {"transparent_huge_pages": "never"}}, "either"),
        ("locked_memory", {"limits": {"locked_memory_bytes": 64 << 10}}, "either"),
        ("cpu", {"cpu": {"model": "Other"}}, "either"),
        ("cpus", {"cpu": {"allowed": 2}}, "either"),
        ("container_cpus", {"limits": {"container_cpus": 1.5}}, "slower"),
        ("container_memory", {"limits": {"container_memory_bytes": 1 << 30}}, "either"),
        ("iommu", {"iommu": "translating"}, "either"),
        ("kernel", {"kernel": "7.0"}, "either"),
    ],
)
def test_what_differs_is_named(run: Run, topic: str, change: dict[str, Any], effect: str) -> None:
    (found,) = differences(run, changed(run, **change))
    assert (found.topic, found.effect) == (topic, effect)
    assert found.base != found.new


def test_more_is_better_where_both_are_known(run: Run) -> None:
    few, many = changed(run, cpu={"allowed": 2}), changed(run, cpu={"allowed": 16})
    assert [each.effect for each in differences(many, few)] == ["slower"]
    assert [each.effect for each in differences(few, many)] == ["faster"]
    never = changed(run, memory={"transparent_huge_pages": "never"})
    madvise = changed(run, memory={"transparent_huge_pages": "madvise"})
    assert [each.effect for each in differences(madvise, never)] == ["slower"]


def test_clocks_and_unnamed_cards_are_no_difference(run: Run) -> None:
    hot = changed(run, device={"conditions": {"sm_clock": "345 MHz", "temperature": "80 C"}})
    cool = changed(run, device={"conditions": {"sm_clock": "1980 MHz", "temperature": "30 C"}, "uuid": "GPU-1"})
    assert differences(hot, cool) == []


def test_placement_and_throttling_are_read(run: Run) -> None:
    base = changed(run, device={"conditions": {"throttling": "none"}})
    end = End(status="complete", placement=Placement(bound_node=1))
    new = msgspec.structs.replace(changed(run, device={"conditions": {"throttling": "thermal"}}), end=end)
    assert [(each.topic, each.effect) for each in differences(base, new)] == [
        ("throttling", "slower"),
        ("placement", "either"),
    ]


def test_a_narrower_link_comes_first_for_slow_pinned_transfers(run: Run, remade: Remade) -> None:
    slow = remade(run, lambda case: 2.0 if case.host_memory != "pageable" and case.bytes >= 1 << 16 else 1.0)
    new = changed(slow, device={"link": HALF_LINK, "driver_version": "590.1"}, cpu={"model": "Other"})
    found = compare(run, new)
    assert topics(found) == ["link", "driver", "cpu"]
    link, _, cpu = found.causes
    assert link.explains > 0.9 * link.of
    assert cpu.explains < 0.1 * cpu.of


def test_a_wider_link_explains_nothing_that_got_slower(run: Run, remade: Remade) -> None:
    new = remade(run, lambda case: 2.0 if case.bytes >= 1 << 22 else 1.0)
    (cause,) = compare(changed(run, device={"link": HALF_LINK}), new).causes
    assert (cause.difference.effect, cause.explains) == ("faster", 0)


def test_a_processor_comes_first_for_slow_pageable_memory(run: Run, remade: Remade) -> None:
    slow = remade(run, lambda case: 1.5 if case.host_memory == "pageable" else 1.0)
    new = changed(slow, device={"link": HALF_LINK}, cpu={"model": "Other"})
    assert topics(compare(run, new)) == ["cpu", "link"]


def test_a_limit_on_locked_memory_explains_skips(run: Run) -> None:
    cases = [
        msgspec.structs.replace(case, series=[], skipped=True, note="memory lock") if case.bytes > 1 << 16 else case
        for case in run.cases
    ]
    new = msgspec.structs.replace(changed(run, limits={"locked_memory_bytes": 64 << 10}), cases=cases)
    found = compare(run, new)
    (cause,) = found.causes
    assert cause.of == len(found.pairing.now_skipped) > 0
    assert 0 < cause.explains < cause.of  # Pageable memory needs no lock.


def test_a_busy_host_is_seen_where_link_bound_transfers_held(run: Run, remade: Remade) -> None:
    def by_cpu(case: Case) -> float:
        return 1.4 if case.host_memory == "pageable" or case.bytes < 1 << 16 else 1.0

    assert compare(run, remade(run, by_cpu)).busy_host
    assert not compare(run, remade(run, lambda _: 1.4)).busy_host
    assert not compare(run, run).busy_host
    other = changed(remade(run, by_cpu), device={"backend": "opencl"})
    assert not compare(run, other).busy_host


def test_a_few_slower_cases_are_no_busy_host(run: Run) -> None:
    groups = compare(run, run).judgement.groups
    small = next(group for group in groups if group.key.size == "small")
    others = [replace(group, cases=19) for group in groups if group is not small]
    assert busy_host(run, run, [replace(small, cases=len(others) + 1, verdict="slower"), *others])
    assert not busy_host(run, run, [replace(small, cases=len(others), verdict="slower"), *others])


def test_other_devices_are_allowed_and_said(run: Run) -> None:
    assert compare(run, changed(run, device={"name": "Other"})).other_device
    assert not compare(run, changed(run, device={"uuid": "GPU-2"})).other_device


@pytest.mark.parametrize("text", ["slower:5%", " different : 2.5 % ", "faster:10%"])
def test_gates_are_read(text: str) -> None:
    assert str(parse_gate(text)) == text.replace(" ", "")


@pytest.mark.parametrize("text", ["", "slower", "slower:5", "slower:-5%", "later:5%", "faster:100%", "slower:5%%"])
def test_what_is_no_gate_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a gate"):
        parse_gate(text)


def test_gates_name_the_cases_that_reach_them(run: Run, remade: Remade) -> None:
    new = remade(run, lambda case: 1.2 if case.host_memory == "pageable" else 1.0, spread=0.005)
    gates = [parse_gate(text) for text in ("slower:10%", "slower:50%", "faster:10%", "different:10%")]
    found = compare(run, new, gates=gates)
    reached, beyond, faster, different = found.gates
    assert {case.group.host_memory for case in reached.named} == {"pageable"}
    assert reached.named == different.named
    assert (beyond.holds, faster.holds, found.failed) == (True, True, True)
    backwards = compare(new, run, gates=gates)
    assert [gate.holds for gate in backwards.gates] == [True, True, False, False]


def test_data_that_became_wrong_fails_without_any_gate(run: Run) -> None:
    cases = [msgspec.structs.replace(run.cases[0], verified="no"), *run.cases[1:]]
    found = compare(run, msgspec.structs.replace(run, cases=cases))
    assert (len(found.pairing.broken), found.failed) == (1, True)
    assert not compare(msgspec.structs.replace(run, cases=cases), run).failed


def test_runs_of_skips_alone_are_refused() -> None:
    skips = synthetic.run(synthetic.skips(("copy", "h2d", "pinned"), [1, 2], "no room"))
    with pytest.raises(UsageError, match="none of the 2 common cases has times in both runs"):
        compare(skips, skips)


def test_gates_without_anything_timed_are_refused(run: Run) -> None:
    sizes = [case.bytes for case in run.cases]
    skips = synthetic.run(synthetic.skips(("copy", "h2d", "pinned"), sorted(set(sizes)), "no room"))
    assert len(compare(run, skips).pairing.now_skipped) == 31
    with pytest.raises(UsageError, match="gates cannot be checked"):
        compare(run, skips, gates=[parse_gate("slower:5%")])
