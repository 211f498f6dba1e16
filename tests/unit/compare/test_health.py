"""The verdict on a link: what is a fault, what costs, and what cannot be judged."""

import io
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from isthmus.compare.health import Health, judge, judge_all
from isthmus.compare.reference import Reference, read_reference, reference_for
from isthmus.language import LANGUAGES, speaking
from isthmus.record import Link, Run, read_run
from isthmus.report.check import check_data, check_document, check_line
from isthmus.report.renderers import terminal

RESULTS = Path(__file__).parents[3] / "results"
replace = msgspec.structs.replace
X8: dict[str, Any] = {"width": 8, "width_under_load": 8}


@cache
def healthy() -> Run:
    return read_run(RESULTS / "h200-cuda.json.gz")


@cache
def h200() -> Reference:
    return read_reference("h200-pcie5")


def changed(run: Run, *, slower: float = 1.0, memory: str = "", conditions: Any = None, **link: Any) -> Run:
    """The run with copies of this kind of memory so many times as slow, and such a link."""
    cases = [
        replace(case, series=[replace(each, samples=[slower * x for x in each.samples]) for each in case.series])
        if case.host_memory.startswith(memory)
        else case
        for case in run.cases
    ]
    device = run.fingerprint.device
    device = replace(device, link=replace(device.link or Link(), **link), conditions=conditions or device.conditions)
    return replace(run, cases=cases, fingerprint=replace(run.fingerprint, device=device))


def ended(run: Run, **link: Any) -> Run:
    """The run whose link was like this at its end."""
    assert run.end
    assert run.fingerprint.device.link
    return replace(run, end=replace(run.end, link=replace(run.fingerprint.device.link, **link)))


def check_lines(run: Run, health: Health, columns: int) -> list[str]:
    """The screen of one device."""
    out = io.StringIO()
    terminal.write(check_document([(run, health, "")], columns=columns), out, width=columns)
    return out.getvalue().splitlines()


def first(health: Health) -> str:
    return health.points[0].text


def test_a_healthy_device_is_all_right_and_nothing_is_warned_of() -> None:
    health = judge(healthy(), h200())
    assert health.level == "OK"
    assert [point.level for point in health.points] == ["OK"]
    assert "55.5 GB/s, 88 %" in first(health)


def test_a_link_at_half_its_width_is_the_fault_and_its_cause_comes_first() -> None:
    health = judge(changed(healthy(), slower=2.0, **X8), h200())
    assert health.level == "FAULT"
    assert first(health).startswith(
        "The link runs at PCIe 5.0 x8 under load; the card and the slot can do PCIe 5.0 x16."
    )
    assert "50 %" in first(health)
    assert "baseboard" in health.points[0].do[0]
    # The rates follow from it, and are not counted as faults of their own.
    assert sum(point.level == "FAULT" for point in health.points) == 1


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("NVIDIA H200", "baseboard"),
        ("NVIDIA H100 80GB HBM3", "baseboard"),
        ("NVIDIA A100-SXM4-80GB", "baseboard"),
        ("NVIDIA B200", "baseboard"),
        ("NVIDIA H200 NVL", "riser"),
        ("NVIDIA H100 PCIe", "riser"),
        ("NVIDIA L40S", "riser"),
        ("NVIDIA GeForce RTX 3090", "riser"),
    ],
)
def test_a_module_is_not_looked_for_in_a_slot(name: str, part: str) -> None:
    run = changed(healthy(), slower=2.0, **X8)
    device = replace(run.fingerprint.device, name=name)
    (mend, asked) = judge(replace(run, fingerprint=replace(run.fingerprint, device=device))).points[0].do
    assert part in mend
    assert device.uuid in asked
    assert f"lspci -vv -s {device.pci_address}" in asked
    assert "nvidia-bug-report.sh" in asked


def test_many_packets_sent_again_before_the_check_are_not_passed_over() -> None:
    run = ended(changed(healthy(), replays=40_000), replays=40_000)
    health = judge(run, h200())
    assert health.level == "OK"
    assert health.points[-1].level == "note"
    assert "40,000 packets were sent again" in "\n".join(check_lines(run, health, 200))


def test_a_screen_says_where_and_when_it_was_measured() -> None:
    run = healthy()
    for slower in (1.0, 2.0):
        lines = check_lines(run, judge(changed(run, slower=slower), h200()), 80)
        assert any(run.fingerprint.host.name in line and run.created in line for line in lines)


@pytest.mark.parametrize(
    ("run", "level", "words"),
    [
        (lambda: changed(healthy(), slower=2.0, generation=4, generation_under_load=4), "FAULT", "PCIe 4.0 x16"),
        (lambda: changed(healthy(), **X8), "ATTENTION", "reading is wrong"),
        (lambda: changed(healthy(), slower=1.5, memory="pinned"), "FAULT", "Pinned H2D copies of 1 GiB reach"),
        (
            lambda: changed(healthy(), slower=1.05, memory="pinned"),
            "ATTENTION",
            "Pinned H2D copies of 1 GiB reach 52.8 GB/s; 54.5 GB/s or more is normal",
        ),
        (lambda: changed(healthy(), slower=3, memory="pageable"), "ATTENTION", "Pageable H2D"),
        (lambda: ended(healthy(), generation_under_load=1), "FAULT", "changed during the check"),
        (lambda: ended(changed(healthy(), replays=7), replays=24), "ATTENTION", "sent again during the check: 17."),
        (lambda: ended(changed(healthy(), replays=7), replays=7), "OK", "normal for NVIDIA H200"),
        (lambda: changed(healthy(), conditions={"confidential_computing": "on"}), "ATTENTION", "Confidential"),
    ],
    ids=["generation", "contradiction", "slow", "a little slow", "pageable", "changes", "replays", "old replays", "cc"],
)
def test_each_fault_has_its_level_and_its_sentence(run: Callable[[], Run], level: str, words: str) -> None:
    health = judge(run(), h200())
    assert health.level == level
    assert words in " ".join(point.text for point in health.points)
    assert level == "OK" or not any("normal for" in point.text for point in health.points if "inned" in words)


def test_without_a_reference_the_links_theory_is_the_measure() -> None:
    assert judge(healthy()).level == "OK"
    assert "No reference" in first(judge(healthy()))
    assert judge(changed(healthy(), slower=1.3, memory="pinned")).level == "ATTENTION"
    assert judge(changed(healthy(), slower=2.5, memory="pinned")).level == "FAULT"


def test_what_was_not_seen_is_not_called_fine() -> None:
    unread = replace(healthy().fingerprint.device, link=None)
    run = replace(healthy(), fingerprint=replace(healthy().fingerprint, device=unread))
    assert judge(run).level == "none"
    none_pinned = replace(healthy(), cases=[case for case in healthy().cases if case.host_memory != "pinned"])
    assert judge(none_pinned, h200()).level == "none"
    assert judge(replace(healthy(), cases=[])).level == "none"


def test_an_idle_link_that_was_never_under_load_is_no_fault() -> None:
    run = changed(healthy(), generation=1, generation_under_load=None, width_under_load=None)
    assert judge(run, h200()).level == "OK"


def test_wrong_data_is_a_fault_before_anything_else() -> None:
    cases = [replace(case, verified="no") if case.bytes == 1 << 20 else case for case in healthy().cases]
    health = judge(changed(replace(healthy(), cases=cases), slower=2.0, **X8), h200())
    assert health.level == "FAULT"
    assert "Wrong data" in first(health)


def test_a_busy_machine_is_said_before_it_is_judged() -> None:
    noisy = [
        replace(
            case,
            series=[
                replace(each, samples=[x * (1 + at % 5) for at, x in enumerate(each.samples)]) for each in case.series
            ],
        )
        if case.host_memory == "pinned"
        else case
        for case in healthy().cases
    ]
    health = judge(replace(healthy(), cases=noisy), h200())
    assert health.level == "ATTENTION"
    assert first(health).startswith("The machine was busy")


def test_devices_that_use_host_memory_have_no_link_to_judge() -> None:
    assert judge(read_run(RESULTS / "pocl-all.json.gz")).level == "none"


def test_a_link_that_flaps_is_found_among_many_looks() -> None:
    runs = [healthy()] * 5 + [changed(healthy(), slower=2.0, **X8)] + [healthy()] * 4
    run, health = judge_all(runs, h200())
    assert run is runs[5]
    assert health.level == "FAULT"
    assert first(health).startswith("In 1 of 10 looks")


def test_a_reference_of_another_device_is_named() -> None:
    device = replace(healthy().fingerprint.device, name="NVIDIA L40S")
    health = judge(replace(healthy(), fingerprint=replace(healthy().fingerprint, device=device)), h200())
    assert health.level == "ATTENTION"
    assert "h200-pcie5 was measured on NVIDIA H200, not on NVIDIA L40S" in first(health)


def test_causes_stand_in_the_order_of_likelihood() -> None:
    conditions = {"throttling": "power cap"}
    host = replace(healthy().fingerprint.host, iommu="on, translated")
    slow = changed(healthy(), slower=1.5, memory="pinned", conditions=conditions)
    run = replace(slow, fingerprint=replace(slow.fingerprint, host=host))
    lines = "\n".join(check_lines(run, judge(run, h200()), 120))
    assert lines.index("power cap") < lines.index("iommu=pt") < lines.index("same PCIe switch")


def test_the_reference_of_a_device_is_found_by_its_name_and_link() -> None:
    found = reference_for(healthy().fingerprint.device)
    assert found
    assert found.name == "h200-pcie5"
    assert reference_for(changed(healthy(), max_width=8).fingerprint.device) is None
    assert reference_for(changed(healthy(), conditions={"confidential_computing": "on"}).fingerprint.device) is None
    assert reference_for(read_run(RESULTS / "pocl-all.json.gz").fingerprint.device) is None


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("slower", [1.0, 2.0])
def test_a_screen_is_short_and_begins_with_the_verdict(language: Any, width: int, slower: float) -> None:
    run = changed(healthy(), slower=slower, **(X8 if slower > 1 else {}))
    with speaking(language):
        health = judge(run, h200())
        lines = check_lines(run, health, width)
    assert lines[0].startswith("FAULT  " if slower > 1 else "OK  ")
    assert len(lines) <= (15 if width >= 80 else 30)
    assert all(len(line) <= width for line in lines if "pinned" in line or "ピン留め  " in line)
    if width >= 80:
        assert all(len(line) <= width for line in lines)
        assert any("x8" in line for line in lines[:3]) == (slower > 1)
    assert "\n" not in check_line(run, health)


def test_numbers_are_the_same_in_all_languages() -> None:
    run = ended(changed(healthy(), slower=2.0, **X8), replays=9)
    told = []
    for language in LANGUAGES:
        with speaking(language):
            told.append(sorted(re.findall(r"\d+(?:\.\d+)?", " ".join(check_lines(run, judge(run, h200()), 200)))))
    assert told[0] == told[1] == told[2]


def test_data_for_scripts_hold_what_the_screen_holds() -> None:
    data = check_data(healthy(), judge(healthy(), h200()), "h200-pcie5")
    assert (data.level, data.reference, data.device) == ("OK", "h200-pcie5", "cuda:0")
    assert len(data.rates) == 4
    assert all(low <= each["bytes_per_second"] <= high for each in data.rates for low, high in [each["normal"]])
