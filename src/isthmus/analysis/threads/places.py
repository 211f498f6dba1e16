"""Several devices alone and together, copies between devices, and NUMA nodes against devices, as comparisons."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from isthmus.analysis.figures import Figure, figures
from isthmus.analysis.phrases import direction_word, link_rate, memory_name, range_text, times
from isthmus.analysis.statistics.contrast import MATTERS, above, ratio
from isthmus.analysis.statistics.curve import ONE_WAY, Point
from isthmus.analysis.threads.model import REFERENCE_BYTES
from isthmus.document.finding import Finding, known
from isthmus.grouping import grouped
from isthmus.language import enumerated, say, sentences
from isthmus.record import Direction, Interval, Run, format_bytes, format_rate


class TransferSetting(NamedTuple):
    """How the transfers that are compared were made; `bytes` are those of one device, in each direction."""

    host_memory: str
    bytes: int
    threads: int | None
    streams: int | None
    pieces: int | None


@dataclass(frozen=True)
class Together:
    """`devices` devices working at once, against each alone: rates by device, and those of all of them in sum."""

    direction: Direction
    setting: TransferSetting
    devices: int
    alone: Mapping[str, Point]
    together: Mapping[str, Point]
    all: Point | None

    def slowdown(self, device: str) -> Interval | None:
        """Rate alone over rate together, with the interval that the ends of theirs allow; None where one is missing."""
        if device not in self.alone or device not in self.together:
            return None
        return ratio(self.alone[device].rate, self.together[device].rate)

    @property
    def share(self) -> Interval | None:
        """The sum over the devices' rates alone added up; None unless all of them were measured alone."""
        if self.all is None or len(self.alone) != self.devices:
            return None
        ends = zip(*(point.rate for point in self.alone.values()), strict=True)
        return ratio(self.all.rate, Interval(*(sum(values) for values in ends)))


_Groups = Mapping[Direction, Together]


class PeerRate(NamedTuple):
    """Copies from one device to another."""

    source: str
    destination: str
    bytes: int
    point: Point


@dataclass(frozen=True)
class NodeRates:
    """One device fed from each NUMA node of the host: rates by node."""

    direction: Direction
    setting: TransferSetting
    device: str
    nodes: Mapping[int, Point]

    @property
    def best(self) -> int:
        """The node with the highest rate."""
        return max(self.nodes, key=lambda node: self.nodes[node].rate.median)

    @property
    def certain(self) -> bool:
        """Whether the best node beats every other for certain and by a factor that matters."""
        best = self.nodes[self.best]
        others = [point for node, point in self.nodes.items() if node != self.best]
        return all(above(best, other) and best.rate.median >= MATTERS * other.rate.median for other in others)

    def loss(self, node: int) -> Interval:
        """How many times slower a node is than the best one, with the interval that the ends of theirs allow."""
        return ratio(self.nodes[self.best].rate, self.nodes[node].rate)


def device_groups(run: Run) -> list[Together]:
    """A comparison for each setting and number of devices that worked at once."""
    chosen = (each for each in figures(run, "threads") if each.case.devices is not None and each.case.node is None)
    all_together = []
    for (direction, setting), alike in grouped(_workers(chosen), _setting).items():
        by_count = grouped(alike, lambda each: each.case.devices or 0)
        alone = {_device(run, each): each.point for each in by_count.get(1, []) if each.point}
        for devices in sorted(count for count in by_count if count > 1):
            together = {each.case.target: each.point for each in by_count[devices] if each.case.target and each.point}
            sums = [each.point for each in by_count[devices] if not each.case.target and each.point]
            total = replace(sums[0], bytes_moved=devices * sums[0].bytes_moved) if sums else None
            all_together.append(Together(direction, setting, devices, alone, together, total))
    return all_together


def peer_rates(run: Run) -> list[PeerRate]:
    """The rate of every ordered pair of devices."""
    return [
        PeerRate(_device(run, each), each.case.peer, each.case.bytes, each.point)
        for each in figures(run, "threads")
        if each.case.method == "peer_copy" and each.point
    ]


def node_rates(run: Run) -> list[NodeRates]:
    """Rates by node for each device and setting that was fed from more than one node."""
    chosen = _workers(each for each in figures(run, "threads") if each.case.node is not None)
    rates = []
    for (device, (direction, setting)), alike in grouped(chosen, lambda of: (_device(run, of), _setting(of))).items():
        nodes = {each.case.node: each.point for each in alike if each.case.node is not None and each.point}
        if len(nodes) > 1:
            rates.append(NodeRates(direction, setting, device, dict(sorted(nodes.items()))))
    return rates


def _workers(chosen: Iterable[Figure]) -> list[Figure]:
    """Transfers of one direction or both by persistent threads, whose data was right."""
    return [each for each in chosen if each.case.method == "workers" and each.case.direction and each.point]


def _device(run: Run, figure: Figure) -> str:
    """The device that a case concerns; where it names none, that of the run."""
    return figure.case.target or run.fingerprint.device.spec


def _setting(figure: Figure) -> tuple[Direction, TransferSetting]:
    case = figure.case
    assert case.direction, "workers have one"
    return case.direction, TransferSetting(case.host_memory, case.bytes, case.threads, case.streams, case.pieces)


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
