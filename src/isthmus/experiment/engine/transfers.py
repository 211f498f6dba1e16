"""Transfers between buffers of the host and of a device, one way or both at once, as several experiments time them."""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import TypeAlias, cast

import msgspec

from isthmus import _native
from isthmus.experiment.engine.buffers import TransferBuffers, TransferLane, first_wrong
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Companion
from isthmus.experiment.engine.sweep import Bench, Samples, Timed, checks_of
from isthmus.record import Case, Direction, Metric

# How the native core orders the directions' own times where both run at once.
_DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h")
_METHODS = {"mapped": "kernel", "managed": "prefetch"}
# Name for messages, source, destination, seed of the source's pattern, whether the destination's device copies.
Lane: TypeAlias = tuple[str, _native.Buffer, _native.Buffer, int, bool]


class TimedLanes(Timed):
    """`made` copies the lanes of a case, whose names are for messages.

    Each of `parts` is a case that ends with the last of the lanes of these numbers.
    """

    def __init__(
        self,
        case: Case,
        made: _native.Timed,
        names: Sequence[str],
        parts: Sequence[tuple[Case, Sequence[int]]] = (),
        metric: Metric = "host_seconds",
    ) -> None:
        self.checks = checks_of(case.bytes)
        self._bytes, self._native, self._names = case.bytes, made, names
        self._parts, self._metric = parts, metric

    def poison(self) -> None:
        """Overwrite all destinations."""
        self._native.poison()

    def run(self, quota: Quota) -> Samples:
        """Seconds until all lanes have ended."""
        return cast(Samples, self._native.run(*quota))

    def companions(self) -> Iterator[Companion]:
        """The parts."""
        each = self._native.lanes
        for case, numbers in self._parts if each else ():
            ends = zip(*(each[number] for number in numbers), strict=True)
            yield Companion(case, self._metric, [max(times) for times in ends])

    def verify(self) -> str:
        """The first lane of which something else arrived."""
        return first_wrong(self._names, self._native.verify(), self._bytes)


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
        made = _native.create_transfer(case.method, list(lanes), offset, case.bytes, seed, from_caches, untouched)
        each = [msgspec.structs.replace(case, method="duplex", direction=direction) for direction in _DIRECTIONS]
        parts = [(part, [number]) for number, part in enumerate(each)] if len(lanes) > 1 else []
        super().__init__(case, made, [name for name, *_ in lanes], parts, "device_seconds")


def transfer_bench(
    cases: Sequence[Case], device: _native.Device, seed: int, *, offset: int = 0, from_caches: bool = False
) -> Bench:
    """Allocate and fill what all transfers of a batch share.

    Raises CallFailed when the device fails at more than the lack of memory.
    """
    buffers = TransferBuffers(cases, device, offset, seed)
    transfer = partial(Transfer, seed=seed, offset=offset, from_caches=from_caches)
    return Bench(
        lambda case: buffers.why_not(case) or cache(partial(transfer, case, buffers.lanes(case))), buffers.host_buffers
    )


class Copies(TimedLanes):
    """The lanes of a case, on the devices' clocks."""

    def __init__(
        self,
        case: Case,
        lanes: Sequence[Lane],
        copies: int,
        *,
        by_kernel: bool = False,
        parts: Sequence[tuple[Case, Sequence[int]]] = (),
    ) -> None:
        """Raises Unsupported where a device cannot; `_native.create_peer_copies` says what the arguments are."""
        made = _native.create_peer_copies(lanes, case.bytes, copies, by_kernel)
        super().__init__(case, made, [name for name, *_ in lanes], parts, "device_seconds")

    def run(self, quota: Quota) -> Samples:
        """Seconds until all lanes have ended; each sample has its own warm-up."""
        return super().run(quota._replace(warmups=0))
