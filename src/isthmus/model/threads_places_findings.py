"""What several devices at once, copies between devices, and the NUMA node of host memory change, in sentences."""

from collections.abc import Iterable, Mapping, Sequence

from isthmus.model.contrast import MATTERS, ratio
from isthmus.model.curve import ONE_WAY
from isthmus.model.finding import Finding
from isthmus.model.phrases import link_rate, memory_name, range_text, times
from isthmus.model.threads import REFERENCE_BYTES
from isthmus.model.threads_places import (
    NodeRates,
    PeerRate,
    Together,
    TransferSetting,
    device_groups,
    node_rates,
    peer_rates,
)
from isthmus.model.threads_words import joined
from isthmus.record import Direction, Run, format_bytes, format_rate

__all__ = ["place_findings"]

# Sums over devices need no word about sums over directions beside them.
_WAYS = {"h2d": "H2D", "d2h": "D2H", "both": "both ways"}


def place_findings(run: Run) -> list[Finding]:
    """Findings about devices at once, peer copies and nodes; none where there is one device or node."""
    others = [_peers(run, peer_rates(run)), _nodes(run, node_rates(run))]
    return [*_together(device_groups(run)), *(finding for finding in others if finding)]


def _together(groups: Sequence[Together]) -> list[Finding]:
    """All devices at once against each alone, at the size to tell first: one finding for each kind of memory."""
    most = max((group.devices for group in groups), default=0)
    size = _first_size(group.setting for group in groups)
    chosen: dict[str, dict[Direction, Together]] = {}
    for group in groups:
        if (group.devices, group.setting.bytes) == (most, size):
            chosen.setdefault(group.setting.host_memory, {}).setdefault(group.setting.direction, group)
    return [_at_once(of_kind, chosen.get("pinned", {})) for of_kind in chosen.values()]


def _at_once(groups: Mapping[Direction, Together], pinned: Mapping[Direction, Together]) -> Finding:
    """One kind of memory: the directions that are slowed first, then the others."""
    setting = next(iter(groups.values())).setting
    slowed = [group for group in groups.values() if _slowed(group)]
    others = [group for group in groups.values() if not _slowed(group)]
    moved = [_moved(group) for group in slowed or others if group.all]
    text = (
        f"{next(iter(groups.values())).devices} devices at once, with {memory_name(setting.host_memory)} of "
        f"{format_bytes(setting.bytes)} each,{f' move {joined(moved)}' if moved else ''}"
    ).rstrip(",")
    rest = [_moved(group) for group in others if group.all]
    if slowed:
        text += f": {_slower(slowed)}."
        text += f" Not slowed by an amount that is certain and matters: {joined(rest)}." if rest else ""
    elif any(group.alone and group.together for group in others):
        text += ": no device is slowed by an amount that is certain and matters."
    else:
        text += "."
    cause, fix = _shared(groups, pinned) if slowed else ("", "")
    topic = f"threads_devices_{setting.host_memory}"
    return Finding("warning" if slowed else "info", topic, text, cause, fix)


def _shared(groups: Mapping[Direction, Together], pinned: Mapping[Direction, Together]) -> tuple[str, str]:
    """Cause and advice: what devices share that slow each other, as far as the directions and pinned memory tell."""
    slowed = [way for way, group in groups.items() if _slowed(group)]
    kept = [way for way in slowed if way in pinned and not _slowed(pinned[way])]
    if next(iter(groups.values())).setting.host_memory != "pinned":
        if not kept:
            return "", ""
        ways = "" if kept == list(groups) else f" {joined([_WAYS.get(way, way) for way in kept])}"
        return (
            f"The links are not what they share, since pinned memory is not slowed{ways}: it is the host's part of the "
            "copy.",
            "Pin or register the buffers of devices that work at once.",
        )
    both = groups.get("both")
    if slowed == ["both"] and all(way in groups and groups[way].together for way in ONE_WAY):
        sums = (
            f" with {format_rate(both.all.rate.median)} for both directions of all of them together"
            if both and both.all
            else ""
        )
        return (
            "One way each device keeps its rate; what the host carries in both directions together is the limit.",
            f"Plan{sums}." if sums else "",
        )
    return (
        "The devices share a part of the way to host memory, a switch, a root port or the memory of one node; this run "
        "cannot tell which.",
        "See with lspci -tv which devices share a switch, and place the buffers of each on its own NUMA node.",
    )


def _moved(group: Together) -> str:
    rate = format_rate(group.all.rate.median) if group.all else ""
    return f"{rate} {_way(group.setting)}{_share(group)}"


def _slower(groups: Sequence[Together]) -> str:
    """``each device is 1.34 times slower than alone``, or which ones are."""
    factors: dict[str, list[float]] = {}
    for group in groups:
        for device, factor in _slowed(group).items():
            factors.setdefault(device, []).append(factor)
    if len(factors) > 1 and all(_slowed(group).keys() == group.together.keys() for group in groups):
        every = [factor for of_device in factors.values() for factor in of_device]
        return f"each device is {times(min(every), max(every))} slower than alone"
    each = [f"{device} is {times(min(found), max(found))} slower" for device, found in factors.items()]
    return f"{joined(each)} than alone"


def _share(group: Together) -> str:
    if group.share is None:
        return ""
    low, high = f"{100 * group.share.low:.0f}", f"{100 * group.share.high:.0f}"
    return f" ({low if low == high else f'{low} to {high}'} % of what they move alone)"


def _slowed(group: Together) -> dict[str, float]:
    """Devices that are slower than alone for certain and by a factor that matters."""
    factors = {device: group.slowdown(device) for device in group.together}
    return {
        device: factor.median
        for device, factor in factors.items()
        if factor and factor.low > 1 and factor.median >= MATTERS
    }


def _peers(run: Run, rates: Sequence[PeerRate]) -> Finding | None:
    size = max((rate.bytes for rate in rates), default=0)
    chosen = sorted((rate for rate in rates if rate.bytes == size), key=lambda rate: rate.point.rate.median)
    if not chosen:
        return None
    slow, fast = chosen[0], chosen[-1]
    between = "1 pair" if len(chosen) == 1 else f"{len(chosen)} pairs"
    text = (
        f"Copies of {format_bytes(size)} from device to device move "
        f"{range_text(slow.point.rate.median, fast.point.rate.median)} ({between})."
    )
    gap = ratio(fast.point.rate, slow.point.rate)
    if gap.low > 1 and gap.median >= MATTERS:
        text += (
            f" {slow.source} to {slow.destination} is the slowest pair, {times(gap.median, gap.median)} slower than "
            f"{fast.source} to {fast.destination}."
        )
    limit = link_rate(run)
    cause = ""
    if limit and slow.point.rate.low > limit:
        cause = f"The link to the host carries {format_rate(limit)}: the devices have a faster one between them."
    return Finding("info", "threads_peers", text, cause)


def _nodes(run: Run, rates: Sequence[NodeRates]) -> Finding | None:
    """The best node for each device, from those settings of the size to tell first whose nodes differ for certain."""
    size = _first_size(rate.setting for rate in rates)
    own = run.fingerprint.device
    sentences = []
    contradicted = False
    for device in dict.fromkeys(rate.device for rate in rates):
        measured = [rate for rate in rates if rate.device == device and rate.setting.bytes == size]
        telling = [rate for rate in measured if rate.certain]
        best = {rate.best for rate in telling}
        if not telling:
            sentences.append(f"For {device} the NUMA node makes no difference that is certain and matters.")
        elif len(best) > 1:
            each = [f"{rate.best} for {_what(rate.setting)}" for rate in telling]
            sentences.append(f"No NUMA node is the best for all transfers of {device}: {joined(each)}.")
        else:
            (node,) = best
            named = own.numa_node if device == own.spec else None
            contradicted = contradicted or named not in (None, node)
            words = {None: "", node: ", which the system names for it"}
            sentences.append(
                f"{device} is fastest with memory and threads on NUMA node {node}"
                f"{words.get(named, f', although the system names node {named} for it')}; {_losses(telling, measured)}."
            )
    if not sentences:
        return None
    return Finding(
        "warning" if contradicted else "info",
        "threads_nodes",
        " ".join(sentences),
        cause="The table by which the firmware tells distances is wrong, or the virtual machine hides them."
        if contradicted
        else "",
        fix="Bind the process to the best node of its device, with numactl --cpunodebind and --membind."
        if any("fastest" in sentence for sentence in sentences)
        else "",
    )


def _losses(telling: Sequence[NodeRates], measured: Sequence[NodeRates]) -> str:
    """How much the other nodes lose, and in which transfers, if not in all."""
    factors = [rate.loss(node).median for rate in telling for node in rate.nodes if node != rate.best]
    what = "" if len(telling) == len(measured) else f" with {joined([_what(rate.setting) for rate in telling])}"
    return f"elsewhere it is {times(min(factors), max(factors))} slower{what}"


def _first_size(settings: Iterable[TransferSetting]) -> int | None:
    sizes = {setting.bytes for setting in settings}
    return REFERENCE_BYTES if REFERENCE_BYTES in sizes else max(sizes, default=None)


def _what(setting: TransferSetting) -> str:
    return f"{memory_name(setting.host_memory)} {_way(setting)}"


def _way(setting: TransferSetting) -> str:
    return _WAYS.get(setting.direction, setting.direction)
