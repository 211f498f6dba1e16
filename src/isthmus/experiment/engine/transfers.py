"""Transfers between buffers of the host and of a device, one way or both at once, as several experiments time them."""

from collections.abc import Iterator, Sequence

import msgspec

from isthmus import _native
from isthmus.experiment.engine.buffers import TransferLane, first_wrong
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Companion
from isthmus.experiment.engine.sweep import Samples, Timed, checks_of
from isthmus.record import Case, CommandMetric, Direction

_METRICS: tuple[CommandMetric, ...] = ("host_seconds", "device_seconds", "enqueue_seconds")
# How the native core orders the directions' own times where both run at once.
_DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h")


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
