"""What probably made the difference: the facts that differ, the one that explains the changed cases best first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isthmus.compare.differences import Difference
from isthmus.compare.spread import GroupKey
from isthmus.compare.verdicts import GroupResult
from isthmus.record import MEMORY_KINDS, Case, Run, memory_kind

# Share of what was compared: fewer slower cases are no sign of a load that goes on all the time.
_FEW = 0.05


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
