"""Transfers between buffers of the host and of a device, one way or both at once, as several experiments time them."""

from collections.abc import Iterator, Sequence
from functools import cache, partial

import msgspec

from isthmus import _native
from isthmus.experiment.engine.buffers import TransferBuffers, TransferLane, first_wrong
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Companion
from isthmus.experiment.engine.sweep import Bench, Samples, Start, Timed, checks_of
from isthmus.record import Case, CommandMetric, Direction

_METRICS: tuple[CommandMetric, ...] = ("host_seconds", "device_seconds", "enqueue_seconds")
# How the native core orders the directions' own times where both run at once.
_DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h")
_METHODS = {"mapped": "kernel", "managed": "prefetch"}


def transfer_case(experiment: str, memory: str, direction: Direction, size: int, method: str = "") -> Case:
    """A transfer without results, by the one method that suits the memory if none is given."""
    method = method or _METHODS.get(memory, "copy")
    return Case(experiment=experiment, method=method, direction=direction, host_memory=memory, bytes=size)


class Transfer(Timed):
    """The lanes of a case, moved at once by its method; where there are two, each direction is a companion."""

    def __init__(
        self, case: Case, lanes: Sequence[TransferLane], seed: int, *, offset: int = 0, from_caches: bool = False
    ) -> None:
        """Raises the errors of `isthmus.errors`; `_native.create_transfer` says what the arguments are."""
        self._case, self._names = case, [name for name, *_ in lanes]
        self.checks = checks_of(case.bytes)
        untouched = case.host_memory == "untouched"
        self._transfer = _native.create_transfer(
            case.method, list(lanes), offset, case.bytes, seed, from_caches, untouched
        )
        self._each: Sequence[Sequence[float]] = ()

    def poison(self) -> None:
        """Overwrite all destinations."""
        self._transfer.poison()

    def run(self, quota: Quota) -> Samples:
        """Seconds until all lanes have arrived, on either clock, and those that starting them took."""
        samples = self._transfer.run(*quota)
        self._each = samples["lanes"]
        return {metric: samples[metric] for metric in _METRICS}

    def companions(self) -> Iterator[Companion]:
        """Each direction by itself, where both run at once."""
        for direction, seconds in zip(_DIRECTIONS, self._each, strict=False):
            case = msgspec.structs.replace(self._case, method="duplex", direction=direction)
            yield Companion(case, "device_seconds", seconds)

    def verify(self) -> str:
        """The first lane of which something else arrived."""
        return first_wrong(self._names, self._transfer.verify(), self._case.bytes)


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
