"""Copies that run at once and are timed by one native object, lane by lane."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, cast

from isthmus.experiment.engine.buffers import first_wrong
from isthmus.experiment.engine.sampling import Companion
from isthmus.experiment.engine.sweep import Samples, Timed, checks_of
from isthmus.record import Case, Metric


class _Native(Protocol):
    def poison(self) -> None: ...
    def verify(self) -> list[tuple[int, int]]: ...


class TimedLanes(Timed):
    """`made` copies the lanes of a case, whose names are for messages.

    Each of `parts` is a case that ends with the last of the lanes of these numbers.
    """

    def __init__(
        self,
        case: Case,
        made: _Native,
        names: Sequence[str],
        parts: Sequence[tuple[Case, Sequence[int]]] = (),
        metric: Metric = "host_seconds",
    ) -> None:
        self.checks = checks_of(case.bytes)
        self._bytes, self._native, self._names = case.bytes, made, names
        self._parts, self._metric = parts, metric
        self._each: Sequence[Sequence[float]] = ()

    def poison(self) -> None:
        """Overwrite all destinations."""
        self._native.poison()

    def keep_lanes(self, samples: Mapping[str, object]) -> Samples:
        """The samples of the case without those of each lane, which are for the parts."""
        self._each = cast(Sequence[Sequence[float]], samples["lanes"])
        return cast(Samples, {metric: values for metric, values in samples.items() if metric != "lanes"})

    def companions(self) -> Iterator[Companion]:
        """The parts."""
        for case, numbers in self._parts if self._each else ():
            ends = zip(*(self._each[number] for number in numbers), strict=True)
            yield Companion(case, self._metric, [max(times) for times in ends])

    def verify(self) -> str:
        """The first lane of which something else arrived."""
        return first_wrong(self._names, self._native.verify(), self._bytes)
