"""Why a device is slow: what differs from most of its like, by how well it explains what is slow, and what next."""

import math
import shlex
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from isthmus.compare import Cause, Difference, GroupResult, differences, likely_causes
from isthmus.fleet.outliers import Outlier, Pattern
from isthmus.fleet.reading import OF_ONE, DeviceRow, run_of
from isthmus.fleet.significance import Group
from isthmus.record import Interval, memory_kind

# Values that so many of those that are right have as well explain nothing.
_COMMON = 0.5
# Facts of which an empty value says that there is none.
_NONE_SAYS = {"confidential", "container_cpus", "container_memory"}


def with_causes(
    outliers: Sequence[Outlier], group: Group, devices: Sequence[DeviceRow], shared: set[int]
) -> list[Outlier]:
    """The outliers of a group with their likely causes and the next command to run; ranks `shared` some devices."""
    if not outliers:
        return []
    slow = {outlier.device for outlier in outliers}
    right = [devices[place] for place in group.members if place not in slow] or [
        devices[place] for place in group.members
    ]
    typical = _typical(right)
    having = _shares(right)
    far = sum(_is_far(device) for device in right) / len(right)
    all_outliers = []
    for outlier in outliers:
        device = devices[outlier.device]
        odd = _odd(device, typical, having)
        is_shared = outlier.device in shared and outlier.phases == ("together",)
        causes = [] if is_shared else _causes(outlier, device, odd, having, far)
        others = tuple(each for each in odd if each not in [cause.difference for cause in causes])
        explained = replace(
            outlier, causes=tuple(causes), others=others, pattern="sharing" if is_shared else _pattern(outlier)
        )
        all_outliers.append(replace(explained, command=_command(explained, device)))
    return all_outliers


def odd_facts(place: int, group: Group, devices: Sequence[DeviceRow]) -> list[Difference]:
    """What one device of a group has that most of the others have not."""
    others = [devices[other] for other in group.members if other != place] or [devices[place]]
    return _odd(devices[place], _typical(others), _shares(others))


def _odd(device: DeviceRow, typical: DeviceRow, having: dict[tuple[str, str], float]) -> list[Difference]:
    # Whether both values were read; what could not be read differs from nothing.
    return [
        each
        for each in differences(run_of(typical.fingerprint), run_of(device.fingerprint))
        if each.topic not in OF_ONE
        and (each.topic in _NONE_SAYS or bool(each.base and each.new))
        and having.get((each.topic, each.new), 0) < _COMMON
    ]


def _typical(devices: Sequence[DeviceRow]) -> DeviceRow:
    """A device that has what most have."""
    counted = Counter(device.facts for device in devices)
    usual = counted.most_common(1)[0][0]
    return next(device for device in devices if device.facts == usual)


def _shares(devices: Sequence[DeviceRow]) -> dict[tuple[str, str], float]:
    """Each value of a fact with the share of these devices that have it."""
    shares: dict[tuple[str, str], float] = defaultdict(float)
    for known, count in Counter(device.facts for device in devices).items():
        for fact in known:
            shares[fact] += count / len(devices)
    return shares


def _causes(
    outlier: Outlier, device: DeviceRow, odd: Sequence[Difference], having: dict[tuple[str, str], float], far: float
) -> list[Cause]:
    causes = list(odd)
    if _is_far(device) and far < _COMMON:
        causes.append(Difference("placement", str(device.device_node), str(device.bound_node), "slower"))
    groups = [
        GroupResult(
            cell.kind,
            1,
            Interval(math.exp(ratio), math.exp(ratio), math.exp(ratio)),
            "slower" if is_slow else "same",
            math.inf,
        )
        for cell, ratio, is_slow in outlier.everything
        if cell.phase in outlier.phases
    ]
    explaining = [cause for cause in likely_causes(causes, groups) if cause.explains]
    # The rarer among those that are right, the likelier; facts that explain the same stay in their order.
    explaining.sort(key=lambda cause: -_weight(cause, having))
    return explaining


def _weight(cause: Cause, having: dict[tuple[str, str], float]) -> float:
    fact = cause.difference
    common = having.get((fact.topic, fact.new), 0.0)
    # A fact that acts in one direction, such as a narrower link, tells more than one that only differs.
    return cause.explains / cause.of * (1 - common) * (1.0 if fact.effect == "slower" else 0.5)


def _is_far(device: DeviceRow) -> bool:
    return None not in (device.bound_node, device.device_node) and device.bound_node != device.device_node


def _pattern(outlier: Outlier) -> Pattern:
    """What the slow kinds have in common, among those that were judged in the same phases."""
    if outlier.phases == ("together",):
        return "neighbours"
    inside = [(cell.kind, is_slow) for cell, _, is_slow in outlier.everything if cell.phase in outlier.phases]
    by_cpu = [is_slow for kind, is_slow in inside if memory_kind(kind.host_memory).by_cpu or kind.size == "small"]
    by_link = [is_slow for kind, is_slow in inside if not memory_kind(kind.host_memory).by_cpu and kind.size == "large"]
    cpu_slow, link_slow = _share(by_cpu), _share(by_link)
    if link_slow > 0.5 and cpu_slow > 0.5:
        return "everything"
    if link_slow > 0.3 and cpu_slow < 0.3:
        return "link"
    return "host" if cpu_slow > 0 and not any(by_link) else "some"


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else 0.0


def _command(outlier: Outlier, device: DeviceRow) -> str:
    """What to run on that host next; everything that comes from a file is quoted."""
    spec = shlex.quote(device.spec)
    match outlier.cause:
        case "neighbours":
            return "nvidia-smi topo -m" if device.spec.startswith("cuda") else "lspci -tv"
        case "link" if device.pci_address:
            return f"sudo lspci -vv -s {shlex.quote(device.pci_address)} | grep -E 'LnkCap|LnkSta|DevSta'"
        case "placement":
            node = device.device_node
            return f"numactl --cpunodebind={node} --membind={node} isthmus measure bandwidth --device {spec}"
        case "host" | "cpu" | "cpus" | "container_cpus":
            return "ps -eo pcpu,psr,comm --sort=-pcpu | head"
        case "sharing" | "link" | "iommu" | "huge_pages" | "locked_memory" | "confidential" | "driver":
            return "isthmus devices"
    return f"isthmus measure bandwidth --device {spec} --full"
