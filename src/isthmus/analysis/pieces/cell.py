"""Pieces of one shape: what each method takes to move them, in one direction, from or to one kind of host memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from isthmus.analysis.statistics.contrast import MATTERS, above, ratio
from isthmus.analysis.statistics.curve import Point
from isthmus.record import KIB, Direction, Interval, LayoutName

# Bytes of a piece, number of pieces.
Key = tuple[int, int]


@dataclass(frozen=True)
class Kind:
    """What differs between the experiments whose cases move pieces.

    `methods` come the plainest first; every other one is compared with the `incumbent`, and `challengers` are those
    that may take its place for many pieces. `layouts` are in the order of tables. Figures are shown as rates or times.
    """

    experiment: Literal["batching", "strided"]
    methods: tuple[str, ...]
    incumbent: str
    challengers: tuple[str, ...]
    layouts: tuple[LayoutName, ...]
    shows: Literal["rate", "time"]
    typical: Key  # what is spoken of where several sizes and numbers were measured


PACKED_ON_THREADS = ("pack_threads", "pack_kernel")
_BATCHED = ("graph", "batch", "device_pack", "pack", *PACKED_ON_THREADS, "kernel", "mapped_kernel")
# Mapped memory replaces pinned memory where kernels reach no other: `mapped_kernel`.
BATCHING = Kind(
    "batching",
    ("waited_copies", "copies", *_BATCHED),
    "copies",
    _BATCHED,
    ("scattered", "strided", "contiguous"),
    "rate",
    (4 * KIB, 4096),
)
STRIDED = Kind(
    "strided",
    ("section", "copies", "batch", "whole", "device_pack", "kernel", "mapped_kernel", "pack", *PACKED_ON_THREADS),
    "section",
    ("device_pack", "kernel", "mapped_kernel", *PACKED_ON_THREADS),
    ("contiguous", "strided"),
    "time",
    (8, 32 * KIB),
)
# Copies what is between the rows too, and so overwrites what the destination has there: no substitute for the others.
WHOLE = "whole"


class Shape(NamedTuple):
    """Pieces, or rows of an array, and where they lie; pitches in bytes, 0 where they say nothing."""

    width_bytes: int
    rows: int
    slices: int = 1
    pitch_bytes: int = 0
    slice_pitch_bytes: int = 0
    device_pitch_bytes: int = 0
    device_slice_pitch_bytes: int = 0

    @property
    def strided_pitch_bytes(self) -> int:
        """From one row to the next where they lie furthest apart."""
        return max(self.pitch_bytes, self.device_pitch_bytes)

    @property
    def is_dense(self) -> bool:
        """Whether every other stretch of the array is asked for, or pitches say nothing."""
        return self.strided_pitch_bytes in (0, 2 * self.width_bytes)

    @property
    def is_known(self) -> bool:
        """Whether it was cut out of an array that programs have: pitches of grids are twice the width or 2 to the n."""
        pitch = self.strided_pitch_bytes
        return self.slices > 1 or not (self.is_dense or pitch & (pitch - 1) == 0)


@dataclass(frozen=True)
class Cell:
    """What each method takes for one shape, in one direction, from or to one kind of host memory.

    `failed` are methods whose data did not arrive, on which no conclusion may rest; `skipped` has the reasons of those
    that were not measured. `moved` are the bytes that cross the link; rates are of the bytes asked for. `threads` are
    those that packed, 0 where none did.
    """

    kind: Kind
    direction: Direction
    host_memory: str
    layouts: tuple[LayoutName, LayoutName]
    shape: Shape
    points: Mapping[str, Point]
    failed: Mapping[str, Point]
    skipped: Mapping[str, str]
    moved: Mapping[str, int]
    threads: int

    @property
    def pieces(self) -> int:
        """How many, in all slices."""
        return self.shape.rows * self.shape.slices

    @property
    def compared(self) -> Mapping[str, Point]:
        """The points of the methods that can take each other's place."""
        return {method: point for method, point in self.points.items() if method != WHOLE}

    @cached_property
    def ranking(self) -> tuple[str, ...]:
        """The methods that are compared by their median rates, the fastest first."""
        return tuple(sorted(self.compared, key=lambda method: -self.points[method].rate.median))

    @property
    def fastest(self) -> str:
        """The method with the highest median rate. Precondition: some are compared."""
        return self.ranking[0]

    @property
    def best(self) -> Point:
        """Its point."""
        return self.points[self.fastest]

    @cached_property
    def as_fast(self) -> tuple[str, ...]:
        """Other methods that are not significantly slower, the fastest of them first."""
        return tuple(method for method in self.ranking[1:] if not above(self.best, self.points[method]))

    @property
    def gain(self) -> Interval | None:
        """How many times as fast as the incumbent the fastest is; None where either was not measured."""
        return self._over(self.kind.incumbent) if self.ranking else None

    @property
    def lead(self) -> Interval | None:
        """The gain; where the incumbent is the fastest, how far it is ahead of the next."""
        if self.fastest != self.kind.incumbent:
            return self.gain
        return self._over(self.ranking[1]) if len(self.ranking) > 1 else None

    @property
    def gains(self) -> bool:
        """Whether something beats the incumbent significantly, and by enough to act on."""
        incumbent = self.points.get(self.kind.incumbent)
        return bool(incumbent and self.gain and above(self.best, incumbent) and self.gain.median >= MATTERS)

    def _over(self, method: str) -> Interval | None:
        other = self.points.get(method)
        return ratio(self.best.rate, other.rate) if other else None
