"""What `isthmus check` says of links: what is a fault, what costs, what cannot be judged, and what to do."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from isthmus.compare.health import Health, judge, judge_all
from isthmus.compare.reference import Reference, read_reference
from isthmus.record import Link, Run, read_run
from isthmus.report.check import check_document
from tests.snapshots.documents import WIDTH, on_terminal

RESULTS = Path(__file__).parents[2] / "results"
X8: dict[str, Any] = {"width": 8, "width_under_load": 8}
replace = msgspec.structs.replace

Judged = tuple[Run, Health]


@cache
def healthy() -> Run:
    return read_run(RESULTS / "h200-cuda.json.gz")


@cache
def h200() -> Reference:
    return read_reference("h200-pcie5")


def changed(
    run: Run | None = None,
    *,
    slower: float = 1.0,
    memory: str = "",
    direction: str = "",
    name: str = "",
    conditions: Any = None,
    **link: Any,
) -> Run:
    """The run with copies of this kind of memory so many times as slow, and such a link."""
    run = run or healthy()
    cases = [
        replace(case, series=[replace(each, samples=[slower * x for x in each.samples]) for each in case.series])
        if case.host_memory.startswith(memory) and (case.direction or "").startswith(direction)
        else case
        for case in run.cases
    ]
    device = run.fingerprint.device
    device = replace(device, link=replace(device.link or Link(), **link), conditions=conditions or device.conditions)
    device = replace(device, name=name or device.name)
    return replace(run, cases=cases, fingerprint=replace(run.fingerprint, device=device))


def ended(run: Run, **link: Any) -> Run:
    """The run whose link was like this at its end."""
    assert run.end
    assert run.fingerprint.device.link
    return replace(run, end=replace(run.end, link=replace(run.fingerprint.device.link, **link)))


def noisy() -> Run:
    cases = [
        replace(
            case, series=[replace(s, samples=[x * (1 + at % 5) for at, x in enumerate(s.samples)]) for s in case.series]
        )
        if case.host_memory == "pinned"
        else case
        for case in healthy().cases
    ]
    return replace(healthy(), cases=cases)


def wrong() -> Run:
    cases = [replace(case, verified="no") if case.bytes == 1 << 20 else case for case in healthy().cases]
    return changed(replace(healthy(), cases=cases), slower=2.0, **X8)


def unread() -> Run:
    device = replace(healthy().fingerprint.device, link=None)
    return replace(healthy(), fingerprint=replace(healthy().fingerprint, device=device))


def translated() -> Run:
    """Slow for three reasons."""
    slow = changed(slower=1.5, memory="pinned", conditions={"throttling": "power cap"})
    host = replace(slow.fingerprint.host, iommu="on, translated")
    return replace(slow, fingerprint=replace(slow.fingerprint, host=host))


def by_reference(run: Run) -> Judged:
    return run, judge(run, h200())


def alone(run: Run) -> Judged:
    """By the theory of the link, where no reference is known."""
    return run, judge(run)


def narrow(name: str) -> Judged:
    return alone(changed(slower=2.0, name=name, **X8))


CHECKS: Mapping[str, Callable[[], Judged]] = {
    "healthy": lambda: by_reference(healthy()),
    "narrow": lambda: by_reference(changed(slower=2.0, **X8)),
    "old-generation": lambda: by_reference(changed(slower=2.0, generation=4, generation_under_load=4)),
    "contradiction": lambda: by_reference(changed(**X8)),
    "slow": lambda: by_reference(changed(slower=1.5, memory="pinned")),
    "a-little-slow": lambda: by_reference(changed(slower=1.05, memory="pinned")),
    "both-slow": lambda: by_reference(changed(slower=14, memory="pinned", direction="both")),
    "both-a-little-slow": lambda: by_reference(changed(slower=1.4, memory="pinned", direction="both")),
    "both-without-reference": lambda: alone(changed(slower=14, memory="pinned", direction="both")),
    "slow-pageable": lambda: by_reference(changed(slower=3, memory="pageable")),
    "changes": lambda: by_reference(ended(healthy(), generation_under_load=1)),
    "replays": lambda: by_reference(ended(changed(replays=7), replays=24)),
    "replays-before": lambda: by_reference(ended(changed(replays=7), replays=7)),
    "many-replays-before": lambda: by_reference(ended(changed(replays=40_000), replays=40_000)),
    "confidential": lambda: by_reference(changed(conditions={"confidential_computing": "on"})),
    "wrong-data": lambda: by_reference(wrong()),
    "busy": lambda: by_reference(noisy()),
    "three-causes": lambda: by_reference(translated()),
    "idle-link": lambda: by_reference(changed(generation=1, generation_under_load=None, width_under_load=None)),
    "no-pinned": lambda: by_reference(
        replace(healthy(), cases=[case for case in healthy().cases if case.host_memory != "pinned"])
    ),
    "nothing-measured": lambda: by_reference(replace(healthy(), cases=[])),
    "other-device": lambda: by_reference(changed(name="NVIDIA L40S")),
    "flaps": lambda: judge_all([healthy()] * 5 + [changed(slower=2.0, **X8)] + [healthy()] * 4, h200()),
    "theory-healthy": lambda: alone(healthy()),
    "theory-slow": lambda: alone(changed(slower=1.3, memory="pinned")),
    "theory-half": lambda: alone(changed(slower=2.5, memory="pinned")),
    "no-link": lambda: alone(unread()),
    "host-memory": lambda: alone(read_run(RESULTS / "pocl-all.json.gz")),
    # Modules sit on a baseboard, cards in slots.
    "module-h100": lambda: narrow("NVIDIA H100 80GB HBM3"),
    "module-a100": lambda: narrow("NVIDIA A100-SXM4-80GB"),
    "module-b200": lambda: narrow("NVIDIA B200"),
    "card-nvl": lambda: narrow("NVIDIA H200 NVL"),
    "card-h100": lambda: narrow("NVIDIA H100 PCIe"),
    "card-l40s": lambda: narrow("NVIDIA L40S"),
    "card-rtx": lambda: narrow("NVIDIA GeForce RTX 3090"),
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_check(name: str, text_file: SnapshotAssertion) -> None:
    run, health = CHECKS[name]()
    assert on_terminal(check_document([(run, health, "")], columns=WIDTH)) == text_file
