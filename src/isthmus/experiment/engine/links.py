"""What the links of the host's devices give at once: each alone, those below one root port, and all of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.blocks import over_budget
from isthmus.experiment.engine.buffers import Arena, allocate_largest
from isthmus.experiment.engine.options import ModeName, Options
from isthmus.experiment.engine.sampling import reason_of
from isthmus.experiment.engine.sweep import Bench, Start, Sweep
from isthmus.experiment.engine.transfers import Copies, Lane
from isthmus.machine.binding import near, on_node
from isthmus.machine.devices import OpenDevice, open_neighbour
from isthmus.machine.pci import pci_root_port
from isthmus.record import MIB, Case, Device, Direction

_BYTES: Mapping[ModeName, int] = {"quick": 64 * MIB, "default": 256 * MIB, "full": 512 * MIB}
# Copies of one sample: links to the host are slower than those between devices.
_COPIES = 4
_DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h", "both")


class Group(NamedTuple):
    """Devices at work at once; `port` is the root port that all of them are below, empty for one and for all.

    `experiment` is what its cases belong to.
    """

    specs: Sequence[str]
    port: str = ""
    experiment: str = "peers"

    def case(self, direction: Direction, size: int, spec: str = "") -> Case:
        """The case of the group, or of one device in it, without results."""
        alone = len(self.specs) == 1
        lanes = 1 if alone or spec else len(self.specs)
        return Case(
            experiment=self.experiment,
            method="link",
            direction=direction,
            host_memory="pinned",
            bytes=size,
            devices=len(self.specs),
            target=self.specs[0] if alone else spec,
            neighbour=self.port,
            moved_bytes=lanes * size * (2 if direction == "both" else 1) if lanes > 1 else None,
        )


def groups_of(devices: Sequence[Device]) -> Iterator[Group]:
    """Each device alone, those that share a root port and with it a switch, and all of them."""
    yield from (Group([device.spec]) for device in devices)
    below: dict[str, list[str]] = {}
    for device in devices:
        if port := pci_root_port(device.pci_address) if device.pci_address else None:
            below.setdefault(port, []).append(device.spec)
    yield from (Group(specs, port) for port, specs in below.items() if len(specs) > 1)
    yield Group([device.spec for device in devices])


class LinkSweep(Sweep):
    """Pinned memory to, from and both ways with every group of devices."""

    def __init__(
        self,
        device: OpenDevice,
        options: Options,
        memory_bytes: int,
        devices: Sequence[Device],
        groups: Iterable[Group] = (),
    ) -> None:
        """`groups` are all that `groups_of` gives unless named."""
        super().__init__(device, options, memory_bytes)
        self.devices = devices
        # By what tells their cases apart.
        self.groups_by = {
            (group.specs[0] if len(group.specs) == 1 else "", group.port): group
            for group in groups or groups_of(devices)
        }
        self.bytes = min(max(options.sizes, default=_BYTES[options.mode]), _BYTES["full"])

    def cases(self) -> Iterator[Case]:
        """Every group, each direction."""
        for group in self.groups_by.values():
            directions = self.options.chosen(_DIRECTIONS, self.options.directions)
            yield from (group.case(direction, self.bytes) for direction in directions)

    def why_not(self, _case: Case) -> str | None:
        """All groups share the buffers of their devices."""
        needed = 2 * len(self.devices) * self.bytes * (2 if self.shares_host_memory else 1)
        return over_budget(self.memory_bytes) if needed > self.memory_bytes else None

    def weight(self, _cases: Sequence[Case]) -> float:
        """A quarter of that of all pairs."""
        return 0.25

    def prepare(self, _cases: Sequence[Case]) -> Bench:
        """Open the devices, and allocate for each."""
        all_ends = {
            other.spec: _ends(self.device, other, self.bytes, self.seed + 2 * at)
            for at, other in enumerate(self.devices)
        }

        def start(case: Case) -> Start | str:
            group = self.groups_by[case.target, case.neighbour]
            direction: Direction = case.direction or "h2d"
            directions: tuple[Direction, ...] = ("h2d", "d2h") if direction == "both" else (direction,)
            lanes: list[Lane] = []
            parts: list[tuple[Case, Sequence[int]]] = []
            for spec in group.specs:
                ends = all_ends[spec]
                if isinstance(ends, str):
                    return ends
                if len(group.specs) > 1:
                    part = group.case(direction, case.bytes, spec)
                    parts.append((part, range(len(lanes), len(lanes) + len(directions))))
                lanes += [ends.lane(spec, each) for each in directions]
            return cache(partial(Copies, case, lanes, _COPIES, parts=parts))

        def host_buffers() -> Iterator[_native.Buffer]:
            for ends in all_ends.values():
                if not isinstance(ends, str):
                    yield from (arena.buffer for arena in ends.host.values() if arena.buffer is not None)

        return Bench(start, host_buffers)


class _Ends(NamedTuple):
    """By direction the buffers of one device, and those of the host that are near to it."""

    host: Mapping[str, Arena]
    device: Mapping[str, Arena]
    seed: int

    def lane(self, spec: str, direction: str) -> Lane:
        host, on_device = self.host[direction].buffer, self.device[direction].buffer
        assert host is not None, "a device without buffers is unusable"
        assert on_device is not None, "likewise"
        source, destination = (host, on_device) if direction == "h2d" else (on_device, host)
        return f"{spec} {direction}", source, destination, self.seed + (direction == "d2h"), False


def _ends(device: OpenDevice, other: Device, size: int, seed: int) -> _Ends | str:
    """The buffers of a device, those of the host from the node that is nearest to it; or why there are none."""
    try:
        native = open_neighbour(device, other)
        sizes = {direction: [size] for direction in ("h2d", "d2h")}
        host = on_node(near(other, device.allowed_cpus), lambda: allocate_largest(native, "pinned", sizes))
        on_device = allocate_largest(native, "device", sizes)
        for direction, arena in (("h2d", host["h2d"]), ("d2h", on_device["d2h"])):
            if arena.buffer is not None:
                arena.buffer.fill_pattern(0, size, seed + (direction == "d2h"))
    except IsthmusError as error:
        return reason_of(error, f"{other.spec}: ")
    reasons = (arena.too_large.get(size) for arenas in (host, on_device) for arena in arenas.values())
    return next((f"{other.spec}: {reason}" for reason in reasons if reason), _Ends(host, on_device, seed))
