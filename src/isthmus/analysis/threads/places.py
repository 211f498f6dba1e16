"""Several devices alone and together, copies between devices, and NUMA nodes against devices, as comparisons."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from isthmus.analysis.statistics.contrast import MATTERS, above, ratio
from isthmus.analysis.statistics.curve import Point, case_point, is_resolved
from isthmus.record import Case, Direction, Interval, Run


@dataclass(frozen=True)
class TransferSetting:
    """How the transfers that are compared were made; `bytes` are those of one device, in each direction."""

    direction: Direction
    host_memory: str
    bytes: int
    threads: int | None
    streams: int | None
    pieces: int | None


@dataclass(frozen=True)
class Together:
    """`devices` devices working at once, against each alone: rates by device, and those of all of them in sum."""

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


@dataclass(frozen=True)
class PeerRate:
    """Copies from one device to another."""

    source: str
    destination: str
    bytes: int
    point: Point


@dataclass(frozen=True)
class NodeRates:
    """One device fed from each NUMA node of the host: rates by node."""

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
    groups: dict[TransferSetting, list[Case]] = {}
    for case in _measured(run):
        if case.devices is not None and case.node is None and case.method == "workers" and case.direction:
            groups.setdefault(_setting(case, case.direction), []).append(case)
    all_together = []
    for setting, cases in groups.items():
        alone = {_device(run, case): point for case, point in _points(run, cases) if case.devices == 1}
        for devices in sorted({case.devices for case in cases if case.devices and case.devices > 1}):
            points = _points(run, (case for case in cases if case.devices == devices))
            together = {case.target: point for case, point in points if case.target}
            everything = [
                replace(point, bytes_moved=devices * point.bytes_moved) for case, point in points if not case.target
            ]
            if together or everything:
                all_together.append(Together(setting, devices, alone, together, everything[0] if everything else None))
    return all_together


def peer_rates(run: Run) -> list[PeerRate]:
    """The rate of every ordered pair of devices."""
    cases = [case for case in _measured(run) if case.method == "peer_copy"]
    return [PeerRate(_device(run, case), case.peer, case.bytes, point) for case, point in _points(run, cases)]


def node_rates(run: Run) -> list[NodeRates]:
    """Rates by node for each device and setting that was fed from more than one node."""
    groups: dict[tuple[str, TransferSetting], list[Case]] = {}
    for case in _measured(run):
        if case.node is not None and case.method == "workers" and case.direction:
            groups.setdefault((_device(run, case), _setting(case, case.direction)), []).append(case)
    rates = []
    for (device, setting), cases in groups.items():
        nodes = {case.node: point for case, point in _points(run, cases) if case.node is not None}
        if len(nodes) > 1:
            rates.append(NodeRates(setting, device, dict(sorted(nodes.items()))))
    return rates


def _measured(run: Run) -> list[Case]:
    """Cases with times whose data arrived."""
    return [case for case in run.cases if case.experiment == "threads" and is_resolved(case) and case.verified != "no"]


def _points(run: Run, cases: Iterable[Case]) -> list[tuple[Case, Point]]:
    return [(case, case_point(case, run.settings.target_relative_half_width)) for case in cases]


def _device(run: Run, case: Case) -> str:
    """The device that a case concerns; where it names none, that of the run."""
    return case.target or run.fingerprint.device.spec


def _setting(case: Case, direction: Direction) -> TransferSetting:
    return TransferSetting(direction, case.host_memory, case.bytes, case.threads, case.streams, case.pieces)
