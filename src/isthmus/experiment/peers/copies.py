"""Copies that run at once, between devices or between devices and the host, each timed by itself and all together."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from isthmus import _native
from isthmus.experiment.engine.buffers import first_wrong
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Companion
from isthmus.experiment.engine.sweep import Samples, Timed, checks_of
from isthmus.record import Case

# Name for messages, source, destination, seed of the source's pattern, whether the destination's device copies.
Lane: TypeAlias = tuple[str, _native.Buffer, _native.Buffer, int, bool]


class Copies(Timed):
    """Lanes of a case; each of `parts` is a case that ends with the last of the lanes of these numbers."""

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
        self.checks = checks_of(case.bytes)
        self._bytes, self._lanes, self._parts = case.bytes, lanes, parts
        self._copies = _native.create_peer_copies(lanes, case.bytes, copies, by_kernel)
        self._each: Sequence[Sequence[float]] = ()

    def poison(self) -> None:
        """Overwrite all destinations."""
        self._copies.poison()

    def run(self, quota: Quota) -> Samples:
        """Seconds until all lanes have ended, on the devices' clocks."""
        # Each sample has its own warm-up.
        samples = self._copies.run(0, *quota[1:])
        self._each = samples["lanes"]
        return {"device_seconds": samples["device_seconds"]}

    def companions(self) -> Iterator[Companion]:
        """The parts."""
        for case, numbers in self._parts:
            ends = zip(*(self._each[number] for number in numbers), strict=True)
            yield Companion(case, "device_seconds", [max(times) for times in ends])

    def verify(self) -> str:
        """The first lane of which something else arrived."""
        return first_wrong([name for name, *_ in self._lanes], self._copies.verify(), self._bytes)
