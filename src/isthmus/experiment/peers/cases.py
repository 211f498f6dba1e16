"""All that there is between the devices of a host.

Every pair one way and both ways, by copy engines and by kernels, one to all and all to one, accesses, small to large;
with ``--together`` all pairs at once, and what the host's links give at once. Copies are made and timed as
nvbandwidth's device-to-device tests are, whose buffers have 512 MiB.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import combinations, permutations
from typing import NamedTuple

import msgspec

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.accesses import LINES, Access
from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.blocks import over_budget
from isthmus.experiment.engine.buffers import Arena, allocate_largest
from isthmus.experiment.engine.links import LinkSweep
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.sampling import reason_of
from isthmus.experiment.engine.sweep import Bench, Start, Sweep, planned
from isthmus.experiment.engine.transfers import Copies, Lane
from isthmus.machine.devices import OpenDevice, neighbours, open_neighbour, path_between
from isthmus.record import GIB, KIB, MIB, Case, Device

NAME = "peers"
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([128 * MIB], 3.0, 0.05),
    "default": Effort([4 * KIB, 64 * KIB, MIB, 16 * MIB, 128 * MIB, 512 * MIB], 30.0, 0.3),
    "full": Effort([*(4 * KIB << power for power in range(0, 18, 2)), 512 * MIB, GIB], 240.0, 2.0),
}
_NEEDS_TWO = "needs two devices of one backend; there is one"
# Fewer than `latency` takes, since there are many pairs: a mean of some milliseconds.
_CHAIN = LINES._replace(hops=4 * KIB)
# Who copies, and by what: a write is made by the device with the source, a read by the one with the destination; both
# as nvbandwidth has them, whose tests are named _write_ce, _read_ce, _write_sm, _read_sm.
_METHODS = ("copy_write", "copy_read", "kernel_write", "kernel_read")
# With many devices, a quick run leaves out what seldom differs.
_WRITES = ("copy_write", "kernel_write")
_MOST_COPIES = 64
_FEWEST_COPIES = 2


class _Ready(NamedTuple):
    """One source that all others read, and a destination for each of them."""

    native: _native.Device
    source: Arena
    destinations: Mapping[str, Arena]
    seed: int


class Machine:
    """The devices by name; one that cannot be used costs the cases that it has part in."""

    def __init__(self, device: OpenDevice, others: Sequence[Device], sizes: Sequence[int], seed: int) -> None:
        self.specs = [other.spec for other in others]
        self._ready: dict[str, _Ready] = {}
        self._unusable: dict[str, str] = {}
        opened: dict[str, _native.Device] = {}
        for other in others:
            try:
                opened[other.spec] = open_neighbour(device, other)
            except IsthmusError as error:
                self._unusable[other.spec] = reason_of(error, f"{other.spec}: ")
        # What copies to no other device needs no memory for that.
        for spec, native in opened.items():
            if reason := device.native.why_no_peer(native):
                self._unusable[spec] = reason
        usable = [spec for spec in opened if spec not in self._unusable]
        for index, spec in enumerate(usable if len(usable) > 1 else []):
            try:
                to = [other for other in usable if other != spec]
                self._ready[spec] = _make_ready(opened[spec], to, sizes, seed + index)
            except IsthmusError as error:
                self._unusable[spec] = reason_of(error, f"{spec}: ")

    def native(self, spec: str) -> _native.Device:
        """The open device. Precondition: why_unusable is None."""
        return self._ready[spec].native

    def why_unusable(self, *specs: str) -> str | None:
        """Why one of the devices cannot be used; None where all can."""
        return next((self._unusable[spec] for spec in specs if spec in self._unusable), None)

    def path(self, source: str, destination: str) -> str:
        """By what copies go from the one to the other, as `Case.path` has it; empty where one cannot be used."""
        if source not in self._ready or destination not in self._ready:
            return ""
        return path_between(self.native(source), self.native(destination))

    def why_no_lane(self, source: str, destination: str, method: str, size: int) -> str | None:
        """Why nothing of this size can be copied so; None where it can."""
        if reason := self.why_unusable(source, destination):
            return reason
        here, there = self._ready[source], self._ready[destination]
        by, other = (there, here) if method.endswith("_read") else (here, there)
        return (
            here.native.why_no_peer(there.native)
            or (by.native.why_no_peer_reach(other.native) if method.startswith("kernel") else None)
            or here.source.too_large.get(size)
            or there.destinations[source].too_large.get(size)
        )

    def lane(self, source: str, destination: str, method: str) -> Lane:
        """One copy. Precondition: why_no_lane is None."""
        here, there = self._ready[source], self._ready[destination]
        begin, end = here.source.buffer, there.destinations[source].buffer
        assert begin is not None, "why_no_lane finds what could not be allocated"
        assert end is not None, "likewise"
        return f"{source} to {destination}", begin, end, here.seed, method.endswith("_read")


def _make_ready(native: _native.Device, others: Sequence[str], sizes: Sequence[int], seed: int) -> _Ready:
    arenas = allocate_largest(native, "device", dict.fromkeys(("", *others), sizes))
    source = arenas.pop("")
    if source.buffer is not None:
        source.buffer.fill_pattern(0, source.usable(0), seed)
    return _Ready(native, source, arenas, seed)


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Everything between the devices of the backend that can work at once, then their links."""
    sweep = PairSweep(device, options, memory_bytes)
    if options.together and len(sweep.devices) > 1:
        return planned(sweep, LinkSweep(device, options, memory_bytes, sweep.devices))
    return planned(sweep)


class PairSweep(Sweep):
    """Copies and accesses between devices.

    `target` is empty for copies from all others to `peer`, and vice versa; both are for all pairs at once.
    """

    def __init__(self, device: OpenDevice, options: Options, memory_bytes: int) -> None:
        super().__init__(device, options, memory_bytes)
        self.devices = neighbours(device.description)
        self.specs = [each.spec for each in self.devices]

    def cases(self) -> Iterator[Case]:
        """Everything of the largest size; smaller ones one way, from the run's own device, in a full run of each pair.

        Where there is one device, one case represents all that needs two.
        """
        specs, sizes, mode = self.specs, self.sizes(EFFORTS), self.options.mode
        largest = max(sizes)
        if len(specs) < 2:
            yield Case(
                experiment=NAME,
                method=_METHODS[0],
                direction="peer",
                host_memory="device",
                bytes=largest,
                moved_bytes=largest,
            )
            return
        for method in _WRITES if mode == "quick" and len(specs) > 2 else _METHODS:
            copy = partial(Case, experiment=NAME, method=method, host_memory="device")
            pairs = [partial(copy, target=source, peer=to) for source, to in permutations(specs, 2)]
            yield from (pair(direction="peer", bytes=largest) for pair in pairs)
            for source, to in combinations(specs, 2):
                yield copy(direction="both", bytes=largest, target=source, peer=to)
            # With two devices all others are the other one.
            if mode != "quick" or len(specs) > 2:
                moved = (len(specs) - 1) * largest
                fan = partial(copy, direction="peer", bytes=largest, devices=len(specs), moved_bytes=moved)
                for spec in specs:
                    yield fan(target=spec)
                    yield fan(peer=spec)
            if self.options.together and len(specs) > 2:
                yield copy(direction="peer", bytes=largest, devices=len(specs), moved_bytes=len(pairs) * largest)
            for size in sizes:
                for pair in pairs:
                    if size != largest and (mode == "full" or pair.keywords["target"] == self.device.description.spec):
                        yield pair(direction="peer", bytes=size)
        yield from (_CHAIN.case(NAME, "device", here, there) for here, there in permutations(specs, 2))

    def why_not(self, _case: Case) -> str | None:
        """Device memory matters where it is the host's."""
        if len(self.specs) < 2:
            return _NEEDS_TWO
        needed = len(self.specs) ** 2 * max(self.sizes(EFFORTS)) if self.shares_host_memory else 0
        return over_budget(self.memory_bytes) if needed > self.memory_bytes else None

    def weight(self, _cases: Sequence[Case]) -> float:
        """Four times that of the links."""
        return 1.0

    def prepare(self, _cases: Sequence[Case]) -> Bench:
        """Open the other devices, and allocate and fill on all of them."""
        machine = Machine(self.device, self.devices, self.sizes(EFFORTS), self.seed)

        def start(case: Case) -> Start | str:
            if case.method == "access":
                return _access(machine, case)
            method, lanes = case.method, lanes_of(case, machine.specs)
            reasons = (machine.why_no_lane(*each, method, case.bytes) for each in lanes)
            if reason := next(filter(None, reasons), None):
                return reason
            return cache(
                partial(
                    Copies,
                    case,
                    [machine.lane(*each, method) for each in lanes],
                    copies_of(case.bytes, len(machine.specs)),
                    by_kernel=method.startswith("kernel"),
                    parts=_parts(case, lanes),
                )
            )

        return Bench(start, named=lambda case: msgspec.structs.replace(case, path=machine.path(case.target, case.peer)))


def lanes_of(case: Case, specs: Sequence[str]) -> list[tuple[str, str]]:
    """The copies of a case that run at once, each from and to."""
    if not case.target and not case.peer:
        return list(permutations(specs, 2))
    if not case.target or not case.peer:
        one = case.target or case.peer
        others = [spec for spec in specs if spec != one]
        return [(one, other) if case.target else (other, one) for other in others]
    there = (case.target, case.peer)
    return [there, there[::-1]] if case.direction == "both" else [there]


def copies_of(size: int, devices: int) -> int:
    """Copies in a row of one sample: enough that neither clock nor start count, fewer where many devices copy."""
    most = (GIB if devices <= 4 else GIB // 2) if size < 512 * MIB else 2 * GIB
    return min(max(most // size, _FEWEST_COPIES), _MOST_COPIES)


def _access(machine: Machine, case: Case) -> Start | str:
    here, there = case.target, case.peer
    if reason := machine.why_unusable(here, there):
        return reason
    reader, owner = machine.native(here), machine.native(there)
    if reason := reader.why_no_peer_reach(owner):
        return reason
    try:
        access = Access(reader, owner, case)
    except IsthmusError as error:
        return reason_of(error, f"{here} to {there}: ")
    return lambda: access


def _parts(case: Case, lanes: Sequence[tuple[str, str]]) -> list[tuple[Case, Sequence[int]]]:
    """Where copies run both ways, each direction: a copy while another one goes the other way."""
    one_way = partial(msgspec.structs.replace, case, direction="peer", devices=2)
    each = [one_way(target=source, peer=to) for source, to in lanes] if case.direction == "both" else []
    return [(part, [number]) for number, part in enumerate(each)]
