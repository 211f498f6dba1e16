"""What the smallest steps take, which every larger one is made of.

An access is what nvbandwidth's host_device_latency_sm measures: one thread of the device follows a chain of words in
other memory, each of which says where the next one is.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from isthmus import _native
from isthmus.experiment.engine.accesses import LINES, Access, Chain
from isthmus.experiment.engine.blocks import over_budget
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sweep import Bench, Samples, Start, Sweep, Timed
from isthmus.experiment.engine.transfers import Transfer
from isthmus.machine.devices import OpenDevice, neighbours, open_neighbour
from isthmus.record import MIB, Case, Metric

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
# Every access finds its page on the host; drivers move no more than such a block at once.
_PAGES = Chain(32 * MIB, 2 * MIB, 16)
# Steps of the host, each with what times it and by which metric the record has the samples.
_STEPS: Mapping[str, tuple[str, Mapping[Metric, str]]] = {
    "launch": ("time_launches", {"host_seconds": "host_seconds", "enqueue_seconds": "enqueue_seconds"}),
    "event": ("time_events", {"host_seconds": "host_seconds", "device_seconds": "device_seconds"}),
    "query": ("time_waits", {"host_seconds": "query_seconds"}),
    "wait": ("time_waits", {"host_seconds": "synchronize_seconds"}),
}


class _Sweep(Sweep):
    """Steps of the host, accesses of the device, and copies within it."""

    def __init__(self, device: OpenDevice, options: Options, memory_bytes: int) -> None:
        super().__init__(device, options, memory_bytes)
        others = neighbours(device.description)
        self.peers = {each.spec: each for each in others if each.spec != device.description.spec}

    def cases(self) -> Iterator[Case]:
        for step in _STEPS:
            yield Case(experiment="latency", method=step, host_memory="", bytes=0)
        for kind in self.options.chosen(MEMORY_KINDS, self.options.memory):
            pages = kind == "managed" and self.native.why_no_migration() is None
            yield (_PAGES if pages else LINES).case("latency", kind)
        for peer in self.peers or [""]:
            yield LINES.case("latency", "device", self.device.description.spec if peer else "", peer)
        for size in self.sizes(EFFORTS, _SHARED_SIZES):
            yield Case(experiment="latency", method="copy", host_memory="device", bytes=size)

    def why_not(self, case: Case) -> str | None:
        is_access = case.method == "access"
        if is_access and case.host_memory == "device" and not case.peer:
            return _NO_PEER
        held = 2 * case.bytes if is_access or self.shares_host_memory else 0
        return over_budget(self.memory_bytes) if held > self.memory_bytes else None

    def prepare(self, _cases: Sequence[Case]) -> Bench:
        def start(case: Case) -> Start:
            native = self.native
            timed: Timed
            if case.method == "access":
                peer = self.peers.get(case.peer)
                timed = Access(native, open_neighbour(self.device, peer) if peer else native, case)
            elif case.method == "copy":
                source, destination = (native.allocate("device", case.bytes) for _ in range(2))
                source.fill_pattern(0, case.bytes, self.seed)
                timed = Transfer(case, [("h2d", source, destination)], self.seed)
            else:
                timed = _Step(native, case.method)
            return lambda: timed

        return Bench(start)


plan = _Sweep.plan


class _Step(Timed):
    """A launch, an event, or a wait for nothing, on a stream where nothing else is under way."""

    checks = "never"

    def __init__(self, device: _native.Device, step: str) -> None:
        timer, self._metrics = _STEPS[step]
        self._time = partial(getattr(_native, timer), device)

    def run(self, quota: Quota) -> Samples:
        samples = self._time(*quota)
        return {metric: samples[name] for metric, name in self._metrics.items()}
