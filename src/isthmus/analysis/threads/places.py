"""Several devices alone and together, copies between devices, and NUMA nodes against devices, as comparisons."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from isthmus.analysis.figures import Figure, figures
from isthmus.analysis.statistics.contrast import MATTERS, above, ratio
from isthmus.analysis.statistics.curve import Point
from isthmus.grouping import grouped
from isthmus.record import Direction, Interval, Run


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
        alone = _points(run, by_count.get(1, []))
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


def _points(run: Run, alike: Sequence[Figure]) -> dict[str, Point]:
    return {_device(run, each): each.point for each in alike if each.point}


def _device(run: Run, figure: Figure) -> str:
    """The device that a case concerns; where it names none, that of the run."""
    return figure.case.target or run.fingerprint.device.spec


def _setting(figure: Figure) -> tuple[Direction, TransferSetting]:
    case = figure.case
    assert case.direction, "workers have one"
    return case.direction, TransferSetting(case.host_memory, case.bytes, case.threads, case.streams, case.pieces)
