"""How two machines differ, and what of that probably made the difference, what explains most cases best first."""

import math
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from isthmus.analysis.machine import link_name
from isthmus.compare.spread import GroupKey
from isthmus.compare.verdicts import GroupResult
from isthmus.record import MEMORY_KINDS, Case, Link, Run, format_bytes, memory_kind

# Share of what was compared: fewer slower cases are no sign of a load that goes on all the time.
_FEW = 0.05
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


@dataclass(frozen=True)
class Cause:
    """A fact that differs and the cases that it can explain.

    `of` counts cases in groups that changed; `explains` counts those that this fact acts on and that changed in the
    direction in which it acts. `of` is 0 where nothing changed, or where the fact acts on no measured time.
    """

    difference: Difference
    explains: int
    of: int


def likely_causes(
    differences: Sequence[Difference], groups: Sequence[GroupResult], now_skipped: Sequence[Case] = ()
) -> list[Cause]:
    """The differences with what they explain, the best explanation first; what explains nothing comes last.

    One explains well when it acts on many of the changed cases and on few of those that did not change: the product of
    both shares orders them.
    """
    weighed = [_weighed(difference, groups, now_skipped) for difference in differences]
    # Stable, so that facts that explain the same stay in the order of a fingerprint: hardware before software.
    weighed.sort(key=lambda pair: -pair[0])
    return [cause for _, cause in weighed]


def busy_host(base: Run, new: Run, groups: Sequence[GroupResult]) -> bool:
    """Whether what got slower is what a busy host slows: what CPUs copy or call, but not large pinned transfers.

    Neighbours on the same host do not show in a fingerprint, so this is read from the pattern, and only where more than
    a few cases got slower and the device is of the same kind and backend in both runs.
    """
    slower = sum(group.cases for group in groups if group.verdict == "slower")
    many = slower > _FEW * sum(group.cases for group in groups)
    by_cpu = sum(group.cases for group in groups if group.verdict == "slower" and _on_cpu(group.key))
    link_bound = [group for group in groups if group.key.host_memory == "pinned" and group.key.size == "large"]
    link_holds = bool(link_bound) and not any(group.verdict == "slower" for group in link_bound)
    before, after = base.fingerprint.device, new.fingerprint.device
    same_device = (before.backend, before.name) == (after.backend, after.name)
    return same_device and link_holds and many and by_cpu > 0.8 * slower


def _weighed(difference: Difference, groups: Sequence[GroupResult], now_skipped: Sequence[Case]) -> tuple[float, Cause]:
    if difference.topic == "locked_memory" and now_skipped:
        locked = sum(memory_kind(case.host_memory).locked for case in now_skipped)
        return locked / len(now_skipped), Cause(difference, locked, len(now_skipped))
    changed = [group for group in groups if group.verdict in ("slower", "faster")]
    of = sum(group.cases for group in changed)
    acts = _ACTS_ON.get(difference.topic)
    if not acts or not of:
        return 0.0, Cause(difference, 0, 0)
    reached = sum(group.cases for group in groups if acts(group.key))
    explains = sum(
        group.cases for group in changed if acts(group.key) and difference.effect in ("either", group.verdict)
    )
    return (explains / of) * (explains / reached) if reached else 0.0, Cause(difference, explains, of)


def _everything(_: GroupKey) -> bool:
    return True


def _on_cpu(key: GroupKey) -> bool:
    """Whether a thread of the host spends the time: copies by the CPU, and calls where little is moved."""
    return (
        key.size == "small"
        or memory_kind(key.host_memory).by_cpu
        or "pack" in key.method
        or key.experiment == "allocation"
    )


def _on_link(key: GroupKey) -> bool:
    return key.size != "small" and (_locked(key) or _managed(key))


def _crossing(key: GroupKey) -> bool:
    """Whether host memory is moved."""
    return key.host_memory in MEMORY_KINDS and not memory_kind(key.host_memory).on_device


def _locked(key: GroupKey) -> bool:
    return memory_kind(key.host_memory).locked


def _managed(key: GroupKey) -> bool:
    return key.host_memory in {"managed", "managed_prefetch"}


def _paging(key: GroupKey) -> bool:
    """Whether the kernel gets, maps or moves pages."""
    return key.experiment == "allocation" or (
        memory_kind(key.host_memory).huge or key.host_memory in {"malloc", "managed", "registered"}
    )


# What each fact acts on; one that is not here explains nothing by itself, but is worth showing.
_ACTS_ON: dict[str, Callable[[GroupKey], bool]] = {
    "backend": _everything,
    "device": _everything,
    "link": _on_link,
    "driver": _everything,
    "conditions": _everything,
    "confidential": _crossing,
    "throttling": lambda key: key.experiment in {"overlap", "stencil", "openacc"} or "kernel" in key.method,
    "device_node": _crossing,
    "placement": _crossing,
    "nodes": _crossing,
    "huge_pages": lambda key: memory_kind(key.host_memory).huge,
    "locked_memory": _locked,
    "cpu": _on_cpu,
    "cpus": lambda key: "threads" in (key.experiment, key.method) or _on_cpu(key),
    "container_cpus": _on_cpu,
    "container_memory": _managed,
    "iommu": lambda key: _locked(key) and (key.experiment == "allocation" or key.size == "small"),
    "kernel": _paging,
    "version": _everything,
    "card": _everything,
}
