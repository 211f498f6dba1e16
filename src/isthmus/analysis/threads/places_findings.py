"""What several devices at once, copies between devices, and the NUMA node of host memory change, in sentences."""

from collections.abc import Iterable, Mapping, Sequence

from isthmus.analysis.phrases import link_rate, memory_name, range_text, spanned, times
from isthmus.analysis.statistics.contrast import MATTERS, ratio
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.analysis.threads.labels import direction_word
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
from isthmus.language import enumerated, say, sentences
from isthmus.record import Direction, Run, format_bytes, format_rate

_Groups = Mapping[Direction, Together]


def place_findings(run: Run) -> list[Finding]:
    """Findings about devices at once, peer copies and nodes; none where there is one device or node."""
    groups = device_groups(run)
    most, size = max((group.devices for group in groups), default=0), _first_size(group.setting for group in groups)
    chosen: dict[str, dict[Direction, Together]] = {}
    for group in groups:
        if (group.devices, group.setting.bytes) == (most, size):
            chosen.setdefault(group.setting.host_memory, {}).setdefault(group.setting.direction, group)
    found = [_at_once(of_kind, chosen.get("pinned", {})) for of_kind in chosen.values()]
    others = [_peers(run, peer_rates(run)), _nodes(run, node_rates(run))]
    return [*found, *(finding for finding in others if finding)]


def _at_once(groups: _Groups, pinned: _Groups) -> Finding:
    """All devices at once against each alone, of one kind of memory."""
    first = next(iter(groups.values()))
    moved = [_moved(group) for group in groups.values() if group.all]
    text = say(
        "threads.devices_move" if moved else "threads.devices",
        count=first.devices,
        memory=memory_name(first.setting.host_memory),
        size=format_bytes(first.setting.bytes),
        moved=enumerated(moved),
    )
    slowed = {way: factors for way, group in groups.items() if (factors := _slowed(group))}
    if not slowed:
        compared = any(group.alone and group.together for group in groups.values())
        text = say("threads.devices_alike" if compared else "threads.sentence", what=text, text=text)
        return Finding("note", f"threads_devices_{first.setting.host_memory}", text)
    each = [
        say("threads.device_slower", way=direction_word(way), times=times(min(factors), max(factors)))
        for way, factors in slowed.items()
    ]
    text = say("threads.devices_slower", what=text, each=enumerated(each))
    cause, fix = _shared(groups, pinned, list(slowed))
    return Finding("ATTENTION", f"threads_devices_{first.setting.host_memory}", text, cause, fix)


def _shared(groups: _Groups, pinned: _Groups, slowed: Sequence[Direction]) -> tuple[str, str]:
    """Cause and advice: what devices share that slow each other, as far as the directions and pinned memory tell."""
    if groups is not pinned and next(iter(groups.values())).setting.host_memory != "pinned":
        if not any(way in pinned and not _slowed(pinned[way]) for way in slowed):
            return "", ""
        return say("threads.host_shared"), say("threads.host_shared_fix")
    both = groups.get("both")
    if both and list(slowed) == ["both"] and all(way in groups and groups[way].together for way in ONE_WAY):
        fix = say("threads.both_limited_fix", rate=format_rate(both.all.rate.median)) if both.all else ""
        return say("threads.both_limited"), fix
    return say("threads.way_shared"), say("threads.way_shared_fix")


def _moved(group: Together) -> str:
    rate = f"{format_rate(group.all.rate.median) if group.all else ''} {direction_word(group.setting.direction)}"
    if group.share is None:
        return rate
    return rate + say("threads.of_alone", percent=spanned(*(f"{100 * end:.0f}" for end in group.share[1:])))


def _slowed(group: Together) -> list[float]:
    """By how much devices are slower than alone, where that matters and intervals are apart."""
    factors = [group.slowdown(device) for device in group.together]
    return [factor.median for factor in factors if factor and factor.low > 1 and factor.median >= MATTERS]


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
        factor = times(gap.median, gap.median)
        pair = {"source": slow.source, "destination": slow.destination, "times": factor}
        text = sentences([text, say("threads.peers_slowest", **pair)])
    limit = link_rate(run)
    cause = say("threads.peers_cause", rate=format_rate(limit)) if limit and slow.point.rate.low > limit else ""
    return Finding("note", "threads_peers", text, cause)


def _nodes(run: Run, rates: Sequence[NodeRates]) -> Finding | None:
    """The best node for each device, by those transfers of the size to conclude about whose nodes differ."""
    size = _first_size(rate.setting for rate in rates)
    own = run.fingerprint.device
    texts = []
    contradicted = bound = False
    for device in dict.fromkeys(rate.device for rate in rates):
        differing = [rate for rate in rates if (rate.device, rate.setting.bytes) == (device, size) and rate.certain]
        best = sorted({rate.best for rate in differing})
        if len(best) != 1:
            texts.append(say("threads.node_alike" if not best else "threads.node_mixed", device=device))
            continue
        named = own.numa_node if device == own.spec else None
        contradicted = contradicted or named not in (None, best[0])
        bound = True
        factors = [rate.loss(node).median for rate in differing for node in rate.nodes if node != rate.best]
        key = "threads.node_best_named" if named == best[0] else "threads.node_best_unnamed"
        losses = times(min(factors), max(factors))
        texts.append(
            say("threads.node_best" if named is None else key, device=device, node=best[0], named=named, times=losses)
        )
    if not texts:
        return None
    cause = say("threads.node_cause") if contradicted else ""
    fix = say("threads.node_fix") if bound else ""
    return Finding("ATTENTION" if contradicted else "note", "threads_nodes", sentences(texts), cause, fix)


def _first_size(settings: Iterable[TransferSetting]) -> int | None:
    sizes = {setting.bytes for setting in settings}
    return REFERENCE_BYTES if REFERENCE_BYTES in sizes else max(sizes, default=None)
