"""What several devices at once, copies between devices, and the NUMA node of host memory change, in sentences."""

from collections.abc import Iterable, Mapping, Sequence

from isthmus.analysis.phrases import link_rate, memory_name, range_text, spanned, times
from isthmus.analysis.statistics.contrast import MATTERS, ratio
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.analysis.threads.model import REFERENCE_BYTES
from isthmus.analysis.threads.places import (
    NodeRates,
    PeerRate,
    Together,
    TransferSetting,
    device_groups,
    node_rates,
    peer_rates,
)
from isthmus.document.finding import Finding
from isthmus.language import can_say, enumerated, say, sentences
from isthmus.record import Direction, Run, format_bytes, format_rate

__all__ = ["place_findings"]


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
    text = say(
        "threads.devices_move" if moved else "threads.devices",
        count=next(iter(groups.values())).devices,
        memory=memory_name(setting.host_memory),
        size=format_bytes(setting.bytes),
        moved=enumerated(moved),
    )
    rest = [_moved(group) for group in others if group.all]
    if slowed:
        unslowed = say("threads.not_slowed", moved=enumerated(rest)) if rest else ""
        text = sentences([say("threads.devices_slower", what=text, slower=_slower(slowed)), unslowed])
    elif any(group.alone and group.together for group in others):
        text = say("threads.devices_alike", what=text)
    else:
        text = say("threads.sentence", text=text)
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
        ways = enumerated([_way_of(way) for way in kept])
        key = "threads.host_shared" if kept == list(groups) else "threads.host_shared_ways"
        return say(key, ways=ways), say("threads.host_shared_fix")
    both = groups.get("both")
    if slowed == ["both"] and all(way in groups and groups[way].together for way in ONE_WAY):
        fix = say("threads.both_limited_fix", rate=format_rate(both.all.rate.median)) if both and both.all else ""
        return say("threads.both_limited"), fix
    return say("threads.way_shared"), say("threads.way_shared_fix")


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
        return say("threads.each_slower", times=times(min(every), max(every)))
    each = [
        say("threads.device_slower", device=device, times=times(min(found), max(found)))
        for device, found in factors.items()
    ]
    return say("threads.some_slower", each=enumerated(each))


def _share(group: Together) -> str:
    if group.share is None:
        return ""
    low, high = f"{100 * group.share.low:.0f}", f"{100 * group.share.high:.0f}"
    return say("threads.of_alone", percent=spanned(low, high))


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
    span = range_text(slow.point.rate.median, fast.point.rate.median)
    text = say("threads.peers", count=len(chosen), size=format_bytes(size), rates=span)
    gap = ratio(fast.point.rate, slow.point.rate)
    if gap.low > 1 and gap.median >= MATTERS:
        slowest = say(
            "threads.peers_slowest",
            source=slow.source,
            destination=slow.destination,
            times=times(gap.median, gap.median),
            fast_source=fast.source,
            fast_destination=fast.destination,
        )
        text = sentences([text, slowest])
    limit = link_rate(run)
    cause = ""
    if limit and slow.point.rate.low > limit:
        cause = say("threads.peers_cause", rate=format_rate(limit))
    return Finding("info", "threads_peers", text, cause)


def _nodes(run: Run, rates: Sequence[NodeRates]) -> Finding | None:
    """The best node for each device, from those settings of the size to tell first whose nodes differ for certain."""
    size = _first_size(rate.setting for rate in rates)
    own = run.fingerprint.device
    told = []
    contradicted = bound = False
    for device in dict.fromkeys(rate.device for rate in rates):
        measured = [rate for rate in rates if rate.device == device and rate.setting.bytes == size]
        telling = [rate for rate in measured if rate.certain]
        best = {rate.best for rate in telling}
        if not telling:
            told.append(say("threads.node_alike", device=device))
        elif len(best) > 1:
            each = [say("threads.node_for", node=rate.best, what=_what(rate.setting)) for rate in telling]
            told.append(say("threads.node_mixed", device=device, each=enumerated(each)))
        else:
            (node,) = best
            named = own.numa_node if device == own.spec else None
            contradicted = contradicted or named not in (None, node)
            bound = True
            key = "threads.node_best_named" if named == node else "threads.node_best_unnamed"
            losses = _losses(telling, measured)
            if named is None:
                told.append(say("threads.node_best", device=device, node=node, losses=losses))
            else:
                told.append(say(key, device=device, node=node, named=named, losses=losses))
    if not told:
        return None
    return Finding(
        "warning" if contradicted else "info",
        "threads_nodes",
        sentences(told),
        cause=say("threads.node_cause") if contradicted else "",
        fix=say("threads.node_fix") if bound else "",
    )


def _losses(telling: Sequence[NodeRates], measured: Sequence[NodeRates]) -> str:
    """How much the other nodes lose, and in which transfers, if not in all."""
    factors = [rate.loss(node).median for rate in telling for node in rate.nodes if node != rate.best]
    slower = times(min(factors), max(factors))
    if len(telling) == len(measured):
        return say("threads.node_losses", times=slower)
    return say("threads.node_losses_with", times=slower, what=enumerated([_what(rate.setting) for rate in telling]))


def _first_size(settings: Iterable[TransferSetting]) -> int | None:
    sizes = {setting.bytes for setting in settings}
    return REFERENCE_BYTES if REFERENCE_BYTES in sizes else max(sizes, default=None)


def _what(setting: TransferSetting) -> str:
    return f"{memory_name(setting.host_memory)} {_way(setting)}"


def _way(setting: TransferSetting) -> str:
    return _way_of(setting.direction)


def _way_of(direction: str) -> str:
    """Sums over devices need no word about sums over directions beside them."""
    key = f"threads.way_{direction}"
    return say(key) if can_say(key) else direction
