"""What several devices at once, copies between devices, and the NUMA node of host memory change, in sentences."""

from collections.abc import Iterable, Mapping, Sequence

from isthmus.analysis.phrases import direction_word, link_rate, memory_name, range_text, times
from isthmus.analysis.statistics.contrast import MATTERS
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
from isthmus.document.finding import Finding, known
from isthmus.language import enumerated, say, sentences
from isthmus.record import Direction, Run, format_bytes, format_rate

_Groups = Mapping[Direction, Together]


def place_findings(run: Run) -> list[Finding]:
    """Findings about devices at once, peer copies and nodes; none where there is one device or node."""
    groups = device_groups(run)
    most, size = max((group.devices for group in groups), default=0), _first_size(group.setting for group in groups)
    chosen: dict[str, dict[Direction, Together]] = {}
    for group in groups:
        if (group.devices, group.setting.bytes) == (most, size) and group.alone and group.together:
            chosen.setdefault(group.setting.host_memory, {}).setdefault(group.direction, group)
    at_once = (_at_once(of_kind, chosen.get("pinned", {})) for of_kind in chosen.values())
    return known(*at_once, _peers(run, peer_rates(run)), _nodes(run, node_rates(run)))


def _at_once(groups: _Groups, pinned: _Groups) -> Finding:
    """All devices at once against each alone, of one kind of memory."""
    first = next(iter(groups.values()))
    memory = first.setting.host_memory
    slowed = {direction: factors for direction, group in groups.items() if (factors := _slowed(group))}
    text = say(
        "threads.devices_slower" if slowed else "threads.devices_alike",
        count=first.devices,
        memory=memory_name(memory),
        size=format_bytes(first.setting.bytes),
        each=enumerated(
            [f"{direction_word(direction)} {times(min(each), max(each))}" for direction, each in slowed.items()]
        ),
    )
    cause, fix = _shared(groups, pinned, list(slowed)) if slowed else ("", "")
    return Finding("ATTENTION" if slowed else "note", f"threads_devices_{memory}", text, cause, (fix,))


def _shared(groups: _Groups, pinned: _Groups, slowed: Sequence[Direction]) -> tuple[str, str]:
    """Cause and advice: what devices share that slow each other, as far as the directions and pinned memory tell."""
    if groups is not pinned:
        unslowed = any(direction in pinned and not _slowed(pinned[direction]) for direction in slowed)
        return (say("threads.host_shared"), say("threads.host_shared_fix")) if unslowed else ("", "")
    both = groups.get("both")
    if both and both.all and list(slowed) == ["both"] and all(direction in groups for direction in ONE_WAY):
        rate = format_rate(both.all.rate.median)
        return say("threads.both_limited"), say("threads.both_limited_fix", rate=rate)
    return "", say("threads.way_shared_fix")


def _slowed(group: Together) -> list[float]:
    """By how much devices are slower than alone, where that matters and intervals are apart."""
    factors = [group.slowdown(device) for device in group.together]
    return [factor.median for factor in factors if factor and factor.low > 1 and factor.median >= MATTERS]


def _peers(run: Run, rates: Sequence[PeerRate]) -> Finding | None:
    size = max((rate.bytes for rate in rates), default=0)
    chosen = [rate.point.rate for rate in rates if rate.bytes == size]
    if not chosen:
        return None
    medians = [rate.median for rate in chosen]
    text = say("threads.peers", size=format_bytes(size), rates=range_text(min(medians), max(medians)))
    limit = link_rate(run)
    own = limit is not None and min(rate.low for rate in chosen) > limit
    cause = say("threads.peers_cause", rate=format_rate(limit)) if own and limit else ""
    return Finding("note", "threads_peers", text, cause)


def _nodes(run: Run, rates: Sequence[NodeRates]) -> Finding | None:
    """The best node for each device, by those transfers of the size to conclude about whose nodes differ."""
    size = _first_size(rate.setting for rate in rates)
    own = run.fingerprint.device
    texts, bound, contradicted = [], False, False
    for device in dict.fromkeys(rate.device for rate in rates):
        differing = [rate for rate in rates if (rate.device, rate.setting.bytes) == (device, size) and rate.certain]
        best = sorted({rate.best for rate in differing})
        if len(best) != 1:
            texts.append(say("threads.node_mixed" if best else "threads.node_alike", device=device))
            continue
        bound = True
        losses = [rate.loss(node).median for rate in differing for node in rate.nodes if node != rate.best]
        texts.append(say("threads.node_best", device=device, node=best[0], times=times(min(losses), max(losses))))
        if device == own.spec and own.numa_node not in (None, best[0]):
            contradicted = True
            texts.append(say("threads.node_named", node=own.numa_node))
    if not texts:
        return None
    fix = say("threads.node_fix") if bound else ""
    return Finding("ATTENTION" if contradicted else "note", "threads_nodes", sentences(texts), do=(fix,))


def _first_size(settings: Iterable[TransferSetting]) -> int | None:
    sizes = {setting.bytes for setting in settings}
    return REFERENCE_BYTES if REFERENCE_BYTES in sizes else max(sizes, default=None)
