"""What two runs were measured on that differs: one entry for each fact of the fingerprints, with both values."""

import math
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from typing import Literal

from isthmus.analysis.machine import link_name
from isthmus.record import Link, Run, format_bytes

# Whether the new value can only slow things down, only speed them up, or either.
Effect = Literal["slower", "faster", "either"]


@dataclass(frozen=True)
class Difference:
    """One fact that differs; `topic` names it in the catalogue ``compare_causes``, values are as they were read.

    An empty value is "not known": a run of an older version, or of a machine that does not say.
    """

    topic: str
    base: str
    new: str
    effect: Effect = "either"


def differences(base: Run, new: Run) -> list[Difference]:
    """Facts that differ, in the order of a fingerprint; which card it was only where both runs name theirs."""
    shared = base.fingerprint.device.conditions.keys() & new.fingerprint.device.conditions.keys()
    before, after = facts(base, shared), facts(new, shared)
    return [
        Difference(topic, before[topic], after[topic], _effect(topic, base, new))
        for topic in before
        if before[topic] != after[topic] and (topic != "card" or (before[topic] and after[topic]))
    ]


def facts(run: Run, shared: Set[str]) -> dict[str, str]:
    """Topics and values of everything that can explain a figure; `shared` conditions were read of both devices."""
    return dict(_facts(run, shared))


def _facts(run: Run, shared: Set[str]) -> Iterator[tuple[str, str]]:
    device, host = run.fingerprint.device, run.fingerprint.host
    placement = run.end.placement if run.end else None
    limits, memory = host.limits, host.memory
    yield "backend", device.backend
    yield "device", device.name
    yield "card", device.uuid
    yield "link", _link_name(device.link)
    yield "driver", device.driver_version
    yield "confidential", _confidential(run)
    yield "throttling", device.conditions["throttling"] if "throttling" in shared else ""
    yield "conditions", ", ".join(f"{name} {device.conditions[name]}" for name in sorted(shared) if _is_mode(name))
    yield "device_node", _number(device.numa_node)
    yield "placement", _number(placement.bound_node if placement else None)
    yield "nodes", _number(len(host.numa_nodes) or None)
    yield "huge_pages", memory.transparent_huge_pages
    yield "locked_memory", _bytes(limits.locked_memory_bytes)
    yield "cpu", host.cpu.model
    yield "cpus", _number(host.cpu.allowed or None)
    yield "container_cpus", f"{limits.container_cpus:g}" if limits.container_cpus else ""
    yield "container_memory", _bytes(limits.container_memory_bytes) if limits.container_memory_bytes else ""
    yield "iommu", host.iommu
    yield "kernel", host.kernel
    yield "version", run.fingerprint.isthmus_version
    yield "schema", _number(run.schema_version)
    yield "mode", run.settings.mode


def _is_mode(condition: str) -> bool:
    """Whether a condition is a setting that no other topic has; clocks and the like differ from second to second."""
    elsewhere = ("clock", "temperature", "power", "utilization", "throttl", "confidential")
    return not any(word in condition.lower() for word in elsewhere)


def _confidential(run: Run) -> str:
    """What of host and device works in confidential mode; empty for neither."""
    device = run.fingerprint.device.conditions.get("confidential_computing", "off")
    return ", ".join(filter(None, (run.fingerprint.host.confidential, "" if device == "off" else f"device {device}")))


def _effect(topic: str, base: Run, new: Run) -> Effect:
    goodness = _GOODNESS.get(topic)
    before, after = (goodness(base), goodness(new)) if goodness else (None, None)
    if before is None or after is None or before == after:
        return "either"
    return "slower" if after < before else "faster"


def _pages_rank(run: Run) -> float | None:
    return {"never": 0.0, "madvise": 1.0, "always": 1.0}.get(run.fingerprint.host.memory.transparent_huge_pages)


def _link_rate(run: Run) -> float | None:
    link = run.fingerprint.device.link
    return link.theoretical_bytes_per_second if link else None


def _link_name(link: Link | None) -> str:
    """Under load where that was read: idle links train down."""
    if link is None:
        return ""
    return link_name(*link.in_use) if any(link.in_use) else ""


def _bytes(count: int | None) -> str:
    # "unlimited" as ulimit says it: a value, not a sentence.
    return "unlimited" if count is None else format_bytes(count)


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


# Facts of which more is better: what became worse can only slow things down.
_GOODNESS: dict[str, Callable[[Run], float | None]] = {
    "link": _link_rate,
    "huge_pages": _pages_rank,
    "cpus": lambda run: run.fingerprint.host.cpu.allowed or None,
    "container_cpus": lambda run: run.fingerprint.host.limits.container_cpus or math.inf,
    "confidential": lambda run: float(not _confidential(run)),
    "throttling": lambda run: float(run.fingerprint.device.conditions["throttling"] == "none"),
}
