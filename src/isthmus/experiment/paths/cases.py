"""Large copies by a device's own link alone, by that of each neighbour, too, and by all of them.

The library itself copies: it divides copies of pinned memory and of pageable memory that is used again while they run.
Then what it costs the neighbour: copies of its own at the full rate of its link, and a kernel that computes there. Both
alone, during copies that go over its link, and during copies by the own link alone, which share the host's memory. Last
what all devices copy at once, each by its own link.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial

from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.blocks import over_budget
from isthmus.experiment.engine.buffers import TransferBuffers
from isthmus.experiment.engine.links import Group, LinkSweep
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.sweep import Bench, Start, Sweep, planned
from isthmus.experiment.paths.copies import Copies, Machine, NeighbourWork
from isthmus.machine.binding import near, on_node
from isthmus.machine.devices import OpenDevice, neighbours, probe
from isthmus.record import GIB, MIB, Case, Direction

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
        self.devices = {each.spec: each for each in neighbours(device.description, probe())}

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
