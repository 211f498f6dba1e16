"""What the links of the host's devices give at once: each alone, those below one root port, and all of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.arena import Arena, allocate_largest
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import over_budget
from isthmus.experiment.engine.buffers import page_shares
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.rounds import Subject
from isthmus.experiment.engine.sampling import reason_of, skipped_case
from isthmus.experiment.peers.machine import Lane
from isthmus.experiment.peers.points import NAME
from isthmus.experiment.peers.subjects import CopySubject
from isthmus.machine.binding import near, on_node
from isthmus.machine.devices import OpenDevice, open_neighbour
from isthmus.machine.pci import pci_root_port
from isthmus.record import MIB, Case, Device, Direction

_BYTES = {"quick": 64 * MIB, "default": 256 * MIB, "full": 512 * MIB}
# Of one sample: links to the host are slower than those between devices.
_COPIES = 4
_DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h", "both")


class _Group(NamedTuple):
    """Devices at work at once; `port` is the root port that all of them are below, empty for one and for all."""

    specs: Sequence[str]
    port: str = ""


def groups_of(devices: Sequence[Device]) -> Iterator[_Group]:
    """Each device alone, those that share a root port and with it a switch, and all of them."""
    yield from (_Group([device.spec]) for device in devices)
    below: dict[str, list[str]] = {}
    for device in devices:
        if port := pci_root_port(device.pci_address) if device.pci_address else None:
            below.setdefault(port, []).append(device.spec)
    yield from (_Group(specs, port) for port, specs in below.items() if len(specs) > 1)
    yield _Group([device.spec for device in devices])


def plan_links(device: OpenDevice, devices: Sequence[Device], options: Options, memory_bytes: int) -> Planned:
    """Pinned memory to, from and both ways with every group of devices; skipped where memory does not suffice."""
    size = min(max(options.sizes, default=_BYTES[options.mode]), _BYTES["full"])
    groups = list(groups_of(devices))
    needed = 2 * len(devices) * size * (2 if device.description.shares_host_memory else 1)
    if needed > memory_bytes:
        cases = [_template(group, way, size) for group in groups for way in _DIRECTIONS]
        return Planned([], [skipped_case(case, over_budget(memory_bytes)) for case in cases])
    prepare = partial(_prepare, device, devices, groups, size, options.seed)
    return Planned([Batch(len(groups) * len(_DIRECTIONS), 0.25, prepare)])


def _template(group: _Group, direction: Direction, size: int, spec: str = "") -> Case:
    """The case of a group, or of one device in it, without results."""
    alone = len(group.specs) == 1
    lanes = 1 if alone or spec else len(group.specs)
    return Case(
        experiment=NAME,
        method="link",
        direction=direction,
        host_memory="pinned",
        bytes=size,
        devices=len(group.specs),
        target=group.specs[0] if alone else spec,
        neighbour=group.port,
        moved_bytes=lanes * size * (2 if direction == "both" else 1) if lanes > 1 else None,
    )


class _Ends(NamedTuple):
    """Of one device, by direction: where copies start and where they end."""

    host: Mapping[str, Arena]
    device: Mapping[str, Arena]
    seed: int

    def lane(self, spec: str, way: str) -> Lane:
        host, on_device = self.host[way].buffer, self.device[way].buffer
        assert host is not None, "a device without buffers is unusable"
        assert on_device is not None, "likewise"
        source, destination = (host, on_device) if way == "h2d" else (on_device, host)
        return f"{spec} {way}", source, destination, self.seed + (way == "d2h"), False


def _ends(device: OpenDevice, other: Device, size: int, seed: int) -> _Ends | str:
    """The buffers of a device, those of the host from the node that is nearest to it; or why there are none."""
    try:
        native = open_neighbour(device, other)
        sizes = {way: [size] for way in ("h2d", "d2h")}
        host = on_node(near(other, device.allowed_cpus), lambda: allocate_largest(native, "pinned", sizes))
        on_device = allocate_largest(native, "device", sizes)
        for way, arena in (("h2d", host["h2d"]), ("d2h", on_device["d2h"])):
            if arena.buffer is not None:
                arena.buffer.fill_pattern(0, size, seed + (way == "d2h"))
    except IsthmusError as error:
        return reason_of(error, f"{other.spec}: ")
    reasons = (arena.too_large.get(size) for arenas in (host, on_device) for arena in arenas.values())
    return next((f"{other.spec}: {reason}" for reason in reasons if reason), _Ends(host, on_device, seed))


def _prepare(device: OpenDevice, devices: Sequence[Device], groups: Sequence[_Group], size: int, seed: int) -> Prepared:
    subjects: list[Subject] = []
    ended: list[list[Case]] = []
    ends = {other.spec: _ends(device, other, size, seed + 2 * at) for at, other in enumerate(devices)}
    for group in groups:
        missing = next((each for spec in group.specs if isinstance(each := ends[spec], str)), None)
        for direction in _DIRECTIONS:
            case = _template(group, direction, size)
            if missing is not None:
                ended.append([skipped_case(case, missing)])
                continue
            lanes: list[Lane] = []
            parts: dict[str, tuple[Case, Sequence[int]]] = {}
            for spec in group.specs:
                of_device = ends[spec]
                assert isinstance(of_device, _Ends), "said above"
                ways = ("h2d", "d2h") if direction == "both" else (direction,)
                if len(group.specs) > 1:
                    numbers = range(len(lanes), len(lanes) + len(ways))
                    parts[spec] = _template(group, direction, size, spec), numbers
                lanes += [of_device.lane(spec, way) for way in ways]
            subjects.append(CopySubject(case, lanes, _COPIES, parts=parts))
    return Prepared(subjects, ended, page_shares(_host_buffers(ends.values())))


def _host_buffers(ends: Iterable[_Ends | str]) -> Iterator[_native.Buffer]:
    for each in ends:
        if isinstance(each, _Ends):
            yield from (arena.buffer for arena in each.host.values() if arena.buffer is not None)
