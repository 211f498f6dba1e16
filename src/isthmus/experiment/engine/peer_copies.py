"""Copies that run at once, between devices or between devices and the host, each timed by itself and all together."""

from collections.abc import Sequence
from typing import TypeAlias

from isthmus import _native
from isthmus.experiment.engine.lanes import TimedLanes
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sweep import Samples
from isthmus.record import Case

# Name for messages, source, destination, seed of the source's pattern, whether the destination's device copies.
Lane: TypeAlias = tuple[str, _native.Buffer, _native.Buffer, int, bool]


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
        self._copies = _native.create_peer_copies(lanes, case.bytes, copies, by_kernel)
        super().__init__(case, self._copies, [name for name, *_ in lanes], parts, "device_seconds")

    def run(self, quota: Quota) -> Samples:
        """Seconds until all lanes have ended; each sample has its own warm-up."""
        return self.keep_lanes(self._copies.run(0, *quota[1:]))
