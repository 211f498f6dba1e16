"""Transfers between buffers of the host and of a device, one way or both at once, as several experiments time them."""

from collections.abc import Sequence
from functools import cache, partial

import msgspec

from isthmus import _native
from isthmus.experiment.engine.buffers import TransferBuffers, TransferLane
from isthmus.experiment.engine.lanes import TimedLanes
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sweep import Bench, Samples, Start
from isthmus.record import Case, CommandMetric, Direction

_METRICS: tuple[CommandMetric, ...] = ("host_seconds", "device_seconds", "enqueue_seconds")
# How the native core orders the directions' own times where both run at once.
_DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h")
_METHODS = {"mapped": "kernel", "managed": "prefetch"}


def transfer_case(experiment: str, memory: str, direction: Direction, size: int, method: str = "") -> Case:
    """A transfer without results, by the one method that suits the memory if none is given."""
    method = method or _METHODS.get(memory, "copy")
    return Case(experiment=experiment, method=method, direction=direction, host_memory=memory, bytes=size)


class Transfer(TimedLanes):
    """The lanes of a case, moved at once by its method; where there are two, each direction is a companion."""

    def __init__(
        self, case: Case, lanes: Sequence[TransferLane], seed: int, *, offset: int = 0, from_caches: bool = False
    ) -> None:
        """Raises the errors of `isthmus.errors`; `_native.create_transfer` says what the arguments are."""
        untouched = case.host_memory == "untouched"
        self._transfer = _native.create_transfer(
            case.method, list(lanes), offset, case.bytes, seed, from_caches, untouched
        )
        each = [msgspec.structs.replace(case, method="duplex", direction=direction) for direction in _DIRECTIONS]
        parts = [(part, [number]) for number, part in enumerate(each)] if len(lanes) > 1 else []
        super().__init__(case, self._transfer, [name for name, *_ in lanes], parts, "device_seconds")

    def run(self, quota: Quota) -> Samples:
        """Seconds until all lanes have arrived, on either clock, and those that starting them took."""
        samples = self.keep_lanes(self._transfer.run(*quota))
        return {metric: samples[metric] for metric in _METRICS}


class TransferBench(Bench):
    """Buffers that all transfers of a batch share, and what moves data between them."""

    def __init__(
        self, cases: Sequence[Case], device: _native.Device, seed: int, *, offset: int = 0, from_caches: bool = False
    ) -> None:
        """Allocate and fill. Raises CallFailed when the device fails at more than the lack of memory."""
        self._buffers = TransferBuffers(cases, device, offset, seed)
        self._transfer = partial(Transfer, seed=seed, offset=offset, from_caches=from_caches)

    def start(self, case: Case) -> Start | str:
        """The transfer, or why there is no memory for it."""
        return self._buffers.why_not(case) or cache(partial(self._transfer, case, self._buffers.lanes(case)))

    def host_buffers(self) -> Sequence[_native.Buffer]:
        """Those of all kinds."""
        return self._buffers.host_buffers()
