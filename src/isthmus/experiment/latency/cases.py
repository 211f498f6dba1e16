"""What the smallest steps take, which every larger one is made of.

An access is what nvbandwidth's host_device_latency_sm measures: one thread of the device follows a chain of words in
other memory, each of which says where the next one is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.bandwidth.cases import TransferSubject
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import over_budget
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.rounds import Quota, Subject
from isthmus.experiment.engine.sampling import Collected, reason_of, skipped_case
from isthmus.machine.devices import OpenDevice, neighbours, open_neighbour, probe
from isthmus.record import KIB, MIB, Case, Metric

MEMORY_KINDS = ("pinned", "mapped", "managed")
# Sizes are those of copies within the device.
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([64 * MIB], 1.5, 0.1),
    "default": Effort([64 * MIB, 256 * MIB], 6.0, 0.5),
    "full": Effort([16 * MIB, 64 * MIB, 256 * MIB, 1024 * MIB], 30.0, 3.0),
}
# Where device memory is host memory, the processor copies.
_SHARED_SIZES = [4 * MIB]
_NO_PEER = "needs two devices of one backend; there is one"


class Chain(NamedTuple):
    """Words that are read one after the other, each of which says where the next one is."""

    bytes: int
    stride_bytes: int
    hops: int


# As large as nvbandwidth's, in lines that no two accesses share.
LINES = Chain(2 * MIB, 128, 16 * KIB)
# Every access finds its page on the host; drivers move no more than such a block at once.
_PAGES = Chain(32 * MIB, 2 * MIB, 16)


class _Point(NamedTuple):
    method: str
    memory: str = ""
    bytes: int = 0
    peer: str = ""  # the device whose memory is accessed


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Every access, step and size; one skipped access to a peer where the device has none."""
    others = [each for each in neighbours(device.description, probe()) if each.spec != device.description.spec]
    peers = {each.spec: partial(open_neighbour, device, each) for each in others}
    points, skipped = [], []
    for point in _points(device, options, list(peers)):
        held = 2 * point.bytes if device.description.shares_host_memory or point.method == "access" else 0
        why = _NO_PEER if point.memory == "device" and point.method == "access" and not point.peer else None
        if why := why or (over_budget(memory_bytes) if held > memory_bytes else None):
            skipped.append(skipped_case(_template(point, device), why))
        else:
            points.append(point)
    return Planned([Batch(len(points), 1.0, partial(_prepare, device, points, peers, options.seed))], skipped)


def _points(device: OpenDevice, options: Options, peers: Sequence[str]) -> Iterator[_Point]:
    yield from (_Point(step) for step in _TIMERS)
    for kind in options.chosen(MEMORY_KINDS, options.memory):
        yield _Point("access", kind, _chain(device, kind).bytes)
    yield from (_Point("access", "device", LINES.bytes, peer) for peer in peers or [""])
    shared = device.description.shares_host_memory and not options.sizes
    for size in _SHARED_SIZES if shared else options.effort(EFFORTS).sizes:
        yield _Point("copy", "device", size)


def _chain(device: OpenDevice, kind: str) -> Chain:
    return _PAGES if kind == "managed" and device.native.why_no_migration() is None else LINES


def _template(point: _Point, device: OpenDevice) -> Case:
    chain = _chain(device, point.memory) if point.method == "access" else None
    return Case(
        experiment="latency",
        method=point.method,
        host_memory=point.memory,
        bytes=point.bytes,
        pieces=chain.hops if chain else None,
        stride_bytes=chain.stride_bytes if chain else None,
        target=device.description.spec if point.peer else "",
        peer=point.peer,
    )


def _prepare(
    device: OpenDevice, points: Sequence[_Point], peers: Mapping[str, Callable[[], _native.Device]], seed: int
) -> Prepared:
    subjects: list[Subject] = []
    ended: list[list[Case]] = []
    for point in points:
        case = _template(point, device)
        try:
            subjects.append(_subject(point, case, device, peers, seed))
        except IsthmusError as error:
            ended.append([skipped_case(case, reason_of(error))])
    return Prepared(subjects, ended)


def _subject(
    point: _Point, case: Case, device: OpenDevice, peers: Mapping[str, Callable[[], _native.Device]], seed: int
) -> Subject:
    """What measures a point. Raises Unsupported, and what allocating raises."""
    native = device.native
    if point.method == "access":
        owner = peers[point.peer]() if point.peer else native
        return AccessSubject(case, access_chase(native, owner, point.memory, _chain(device, point.memory)))
    if point.method == "copy":
        source, destination = (native.allocate("device", point.bytes) for _ in range(2))
        source.fill_pattern(0, point.bytes, seed)
        return TransferSubject(case, [("h2d", source, destination)], 0, seed, False)
    return _StepSubject(case, native)


def access_chase(reader: _native.Device, owner: _native.Device, memory: str, chain: Chain) -> _native.Chase:
    """A chain through new memory of `owner` that `reader` follows. Raises Unsupported, and what allocating raises."""
    # What a CPU is to follow must not be foreseen.
    return _native.create_chase(reader, owner.allocate(memory, chain.bytes), 0, *chain, shuffled=True)


class AccessSubject:
    """A chain that one thread of the device follows; each sample is the time of one access, the mean of a launch."""

    def __init__(self, template: Case, chase: _native.Chase) -> None:
        self.template = template
        self._chase = chase

    def visit(self, quota: Quota, collected: Collected) -> None:
        """Take samples on the device's clock, and check where the thread arrived."""
        collected.begin()
        collected.samples.setdefault("device_seconds", []).extend(self._chase.run(*quota))
        collected.verified = True
        if not self._chase.verify():
            collected.wrong = "wrong data: the chain did not end where it had to"


_Samples = Mapping[Metric, Sequence[float]]


def _launches(device: _native.Device, quota: Quota) -> _Samples:
    samples = _native.time_launches(device, *quota)
    return {"host_seconds": samples["host_seconds"], "enqueue_seconds": samples["enqueue_seconds"]}


def _events(device: _native.Device, quota: Quota) -> _Samples:
    samples = _native.time_events(device, *quota)
    return {"host_seconds": samples["host_seconds"], "device_seconds": samples["device_seconds"]}


def _queries(device: _native.Device, quota: Quota) -> _Samples:
    return {"host_seconds": _native.time_waits(device, *quota)["query_seconds"]}


def _waits(device: _native.Device, quota: Quota) -> _Samples:
    return {"host_seconds": _native.time_waits(device, *quota)["synchronize_seconds"]}


# Steps of the host, each with what times it.
_TIMERS = {"launch": _launches, "event": _events, "query": _queries, "wait": _waits}


class _StepSubject:
    """A launch, an event, or a wait for nothing, on a stream where nothing else is under way."""

    def __init__(self, template: Case, device: _native.Device) -> None:
        self.template = template
        self._device = device

    def visit(self, quota: Quota, collected: Collected) -> None:
        """Take samples; there is no data to check."""
        collected.begin()
        for metric, samples in _TIMERS[self.template.method](self._device, quota).items():
            collected.samples.setdefault(metric, []).extend(samples)
