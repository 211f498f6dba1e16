"""Large copies by a device's own link alone, by that of each neighbour, too, and by all of them.

The library itself copies: it divides copies of pinned memory and of pageable memory that is used again while they run.
Then what it costs the neighbour: copies of its own at the full rate of its link, and a kernel that computes there. Both
alone, during copies that go over its link, and during copies by the own link alone, which share the host's memory. Last
what all devices copy at once, each by its own link.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple, cast

import msgspec

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.blocks import over_budget
from isthmus.experiment.engine.buffers import TransferBuffers, TransferLane, first_wrong, wrong_data
from isthmus.experiment.engine.links import Group, LinkSweep
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import reason_of
from isthmus.experiment.engine.sweep import Bench, Samples, Start, Sweep, Timed, checks_of, planned
from isthmus.machine.binding import near, on_node
from isthmus.machine.devices import OpenDevice, neighbours, open_neighbour
from isthmus.record import GIB, MIB, Case, Device, Direction

# The neighbour's work takes this long alone; at least four of our copies.
_WORK_SECONDS = 0.01
# The neighbour's own copies have other contents than ours.
_LOAD_SEED = 2
# A kernel that computes needs a word a thread, and some more.
_COMPUTE_BYTES = 4 * MIB
_LONE = "copies can go by one other device alone"
NAME = "paths"
MEMORY_KINDS = ("pinned", "pageable")
DIRECTIONS: Sequence[Direction] = ("h2d", "d2h")
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([64 * MIB, 256 * MIB], 10.0, 0.3),
    "default": Effort([16 * MIB, 64 * MIB, 256 * MIB, GIB], 60.0, 1.0),
    "full": Effort([16 * MIB << power for power in range(7)], 300.0, 4.0),
}
# The neighbour's own work during copies that go over its link: copies, and a kernel that computes.
WORKS = ("copies_h2d", "copies_d2h", "compute")
# Long enough for copies to be divided, and short enough for many of them during that work.
_MOST_BESIDE_BYTES = 256 * MIB
_NEEDS_TWO = "needs two devices of one backend; there is one"
# With more devices than so many, a quick run measures the others' copies by all links alone, and not by each.
_MOST_QUICK = 2


class Load(NamedTuple):
    """Memory for a neighbour's work: device memory, or what copies go to and from."""

    to: _native.Buffer
    source: _native.Buffer | None = None


class Machine:
    """The target of copies, open, and the devices beside it; one that is of no use says why."""

    def __init__(self, device: OpenDevice, target: Device, others: Sequence[Device]) -> None:
        """Open them. Raises an IsthmusError where the target cannot be opened."""
        self.native = open_neighbour(device, target)
        self._cpus = device.allowed_cpus
        self._others = {other.spec: other for other in others}
        self._open: dict[str, _native.Device] = {}
        self._unusable: dict[str, str] = {}
        for other in others:
            try:
                native = open_neighbour(device, other)
            except IsthmusError as error:
                self._unusable[other.spec] = reason_of(error, f"{other.spec}: ")
                continue
            if reason := self.native.why_no_peer(native) or self.native.why_no_peer_reach(native):
                self._unusable[other.spec] = reason
            self._open[other.spec] = native
        self._table = _usable(_native.machine_transfer_table(self.native).text())
        self._sessions: dict[str, _native.Session] = {}
        self._loads: dict[tuple[str, str, int], _native.Buffer] = {}

    def why_not(self, method: str, peer: str) -> str | None:
        """Why nothing can be copied by this way; None where it can. Alone by the own link is a part of comparisons."""
        usable = [spec for spec in self._open if spec not in self._unusable]
        if peer:
            return self._unusable.get(peer)
        if not usable:
            return next(iter(self._unusable.values()), None)
        return _LONE if method == "all" and len(usable) == 1 else None

    def session(self, paths: str) -> _native.Session:
        """The library going by these links, whatever a calibration has found of them."""
        if paths not in self._sessions:
            self._sessions[paths] = _native.Session(self.native, None, 0, self._table, 0, paths)
        return self._sessions[paths]

    def load(self, peer: str, work: str, size: int) -> Load:
        """Memory for a neighbour's work, of so many bytes for its copies. Raises an IsthmusError."""
        if work == "compute":
            return Load(self._memory(peer, "device", _COMPUTE_BYTES))
        host, there = (self._memory(peer, kind, size) for kind in ("pinned", "device"))
        return Load(there, host) if work == "copies_h2d" else Load(host, there)

    def _memory(self, peer: str, kind: str, size: int) -> _native.Buffer:
        """That of the host near the neighbour; got when it is first asked for, and the same for all work."""
        if (peer, kind, size) not in self._loads:
            make = partial(self._open[peer].allocate, kind, size)
            self._loads[peer, kind, size] = on_node(near(self._others[peer], self._cpus), make)
        return self._loads[peer, kind, size]


def _usable(table: str) -> str:
    """Without ways that a calibration has found to gain nothing: here they are measured again."""
    return "".join(f"{line}\n" for line in table.splitlines() if not (line.startswith("way ") and "gains=no" in line))


class Copies(Timed):
    """Copies of a session, and how many bytes each link took of them."""

    def __init__(self, case: Case, lanes: Sequence[TransferLane], session: _native.Session, seed: int) -> None:
        """Checks a copy before all others, of which each link takes its part even if it proves slow later."""
        self.checks = checks_of(case.bytes)
        self._case, self._session, self._carried = case, session, dict[str, int]()
        # Memory that is used again and again, as buffers of programs are.
        self._transfer = _native.create_transfer("isthmus", list(lanes), 0, case.bytes, seed, True, session=session)
        self._transfer.poison()
        self._transfer.run(0, 1, 1, 0.0)
        self._wrong_at_first = self._wrong()

    def poison(self) -> None:
        """Overwrite the destination."""
        self._transfer.poison()

    def run(self, quota: Quota) -> Samples:
        """Seconds of a copy on the host's clock."""
        before = self._session.ways
        samples = self._transfer.run(*quota)
        for spec, carried in self._session.ways.items():
            self._carried[spec] = self._carried.get(spec, 0) + carried - before.get(spec, 0)
        return {"host_seconds": samples["host_seconds"]}

    def described(self, case: Case) -> Case:
        """With what each link took."""
        return msgspec.structs.replace(case, carried=dict(self._carried))

    def verify(self) -> str:
        """Whether the first copy, or the last, left something else than was sent."""
        return self._wrong_at_first or self._wrong()

    def _wrong(self) -> str:
        return first_wrong([str(self._case.direction)], self._transfer.verify(), self._case.bytes)


class NeighbourWork(Timed):
    """A neighbour's work alone, during copies of a session, and alone; the copies of both are checked."""

    def __init__(
        self, case: Case, lanes: Sequence[TransferLane], session: _native.Session, load: Load, seed: int
    ) -> None:
        """Raises the errors of `isthmus.errors`."""
        self._case, self._load, self._seed = case, load, seed + _LOAD_SEED
        ((direction, host, device),) = lanes
        assert device is not None, "copies have two sides"
        to, source = (device, host) if direction == "h2d" else (host, device)
        self._made = _native.create_interference(
            case.neighbour.partition("_")[0],
            load.to,
            "isthmus",
            to,
            source,
            case.bytes,
            seed + (direction == "d2h"),
            _WORK_SECONDS,
            session=session,
            load_source=load.source,
        )

    def poison(self) -> None:
        """Overwrite both destinations; what the neighbour copies from is filled."""
        self._made.poison()
        if self._load.source is not None:
            self._load.source.fill_pattern(0, self._case.bytes, self._seed)
            self._load.to.set_bytes(0, self._case.bytes, 0)

    def run(self, quota: Quota) -> Samples:
        """Seconds of the work alone and during copies, and of a copy meanwhile."""
        return cast(Samples, self._made.run(*quota))

    def verify(self) -> str:
        """Every byte that was copied last, also of the neighbour's own copies."""
        case, load = self._case, self._load
        wrong = first_wrong([str(case.direction)], self._made.verify(), case.bytes)
        if not wrong and load.source is not None:
            words, first = load.to.verify_pattern(0, case.bytes, self._seed)
            wrong = wrong_data(case.neighbour, words, first, case.bytes) if words else ""
        return wrong


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Every device of the backend that can work at once with the others, one after the other, the run's own first.

    Then all of them by their own links at once: more links than the host's memory feeds bring no more.
    """
    sweep = PathSweep(device, options, memory_bytes)
    if len(sweep.devices) < 2 or "pinned" not in options.chosen(MEMORY_KINDS, options.memory):
        return planned(sweep)
    together = Group([*sweep.devices], experiment=NAME)
    chosen = options._replace(directions=options.directions or DIRECTIONS)
    return planned(sweep, LinkSweep(device, chosen, memory_bytes, [*sweep.devices.values()], [together]))


class PathSweep(Sweep):
    """Copies by the own link, by that of `peer`, too, or by all; `neighbour` is what the peer does meanwhile."""

    def __init__(self, device: OpenDevice, options: Options, memory_bytes: int) -> None:
        super().__init__(device, options, memory_bytes)
        self.devices = {each.spec: each for each in neighbours(device.description)}

    def cases(self) -> Iterator[Case]:
        """Each device with the others; where there is one, one case represents all that needs two."""
        own, sizes = self.device.description.spec, self.sizes(EFFORTS)
        if len(self.devices) < 2:
            yield _case("own", MEMORY_KINDS[0], DIRECTIONS[0], max(sizes), own)
            return
        for target in sorted(self.devices, key=lambda spec: spec != own):
            yield from self._of(target, sizes, is_own=target == own)

    def _of(self, target: str, sizes: Sequence[int], *, is_own: bool) -> Iterator[Case]:
        """Copies of one device, of one that is not the run's of the largest size alone; with pinned memory during work.

        With one neighbour all are that one.
        """
        options, peers = self.options, [spec for spec in self.devices if spec != target]
        by_each = is_own or options.mode != "quick" or len(self.devices) <= _MOST_QUICK
        kinds = options.chosen(MEMORY_KINDS, options.memory)
        for direction in options.chosen(DIRECTIONS, options.directions):
            for memory in kinds:
                for size in sizes if is_own else [max(sizes)]:
                    yield _case("own", memory, direction, size, target)
                    if by_each:
                        yield from (_case("one", memory, direction, size, target, peer) for peer in peers)
                    if len(peers) > 1:
                        yield _case("all", memory, direction, size, target)
            if "pinned" in kinds and (is_own or options.mode == "full"):
                size = max((each for each in sizes if each <= _MOST_BESIDE_BYTES), default=min(sizes))
                for peer in peers:
                    for work in works(direction, options.mode):
                        yield _case("own", "pinned", direction, size, target, peer, work)
                        yield _case("one", "pinned", direction, size, target, peer, work)

    def why_not(self, case: Case) -> str | None:
        """What the devices say is known when they are open."""
        if len(self.devices) < 2:
            return _NEEDS_TWO
        # Each direction and kind of memory has its own, where the device's is the host's that, too, and each neighbour
        # at work.
        copies = (6 if self.shares_host_memory else 4) + (len(self.devices) - 1 if case.neighbour else 0)
        if copies * case.bytes > self.memory_bytes:
            return over_budget(self.memory_bytes)
        bound, node = self.device.placement.bound_node, self.devices[case.target].numa_node
        if case.host_memory == "pageable" and None not in (bound, node) and bound != node:
            return (
                f"{case.target} is on NUMA node {node}, and the threads that pack on node {bound}; measure with "
                f"--device {case.target}"
            )
        return None

    def shares(self, case: Case) -> str:
        """A batch for each target."""
        return case.target

    def weight(self, cases: Sequence[Case]) -> float:
        """Work is timed three times for each copy."""
        return float(sum(3 if case.neighbour else 1 for case in cases))

    def prepare(self, cases: Sequence[Case]) -> Bench:
        """Open the devices and get memory for those cases that they can do."""
        target = self.devices[cases[0].target]
        machine = Machine(self.device, target, [each for each in self.devices.values() if each.spec != target.spec])
        usable = [case for case in cases if machine.why_not(case.method, case.peer) is None]
        buffers = on_node(
            near(target, self.device.allowed_cpus),
            lambda: TransferBuffers(usable, machine.native, 0, self.seed) if usable else None,
        )

        def start(case: Case) -> Start | str:
            if why := machine.why_not(case.method, case.peer):
                return why
            assert buffers is not None, "the machine can do this case"
            if why := buffers.why_not(case):
                return why
            lanes = buffers.lanes(case)
            session = machine.session(case.peer if case.method == "one" else case.method)
            if not case.neighbour:
                return cache(partial(Copies, case, lanes, session, self.seed))
            load = machine.load(case.peer, case.neighbour, case.bytes)
            timed = NeighbourWork(case, lanes, session, load, self.seed)
            return lambda: timed

        return Bench(start, buffers.host_buffers if buffers else tuple)


def works(direction: Direction, mode: ModeName) -> list[str]:
    """A quick run leaves out copies the other way, which a link carries at the same time."""
    return [work for work in WORKS if mode != "quick" or work in ("compute", f"copies_{direction}")]


def _case(
    method: str, memory: str, direction: Direction, size: int, target: str, peer: str = "", work: str = ""
) -> Case:
    return Case(
        experiment=NAME,
        method=method,
        direction=direction,
        host_memory=memory,
        bytes=size,
        target=target,
        peer=peer,
        neighbour=work,
    )
