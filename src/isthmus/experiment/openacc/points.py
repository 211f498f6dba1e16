"""What `openacc` measures: programs, ways to move their data, and parts of arrays and sides that each mode takes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from isthmus.experiment.engine.options import ModeName, Options
from isthmus.record import KIB, Case

NAME = "openacc"
# Directives move the data; managed memory does; directives are there and the compiler's managed mode is on.
WAYS = ("explicit", "automatic", "both")
# The same array, moved by this package's own calls, for comparison.
NATIVE = "native"
ITERATIONS = 20

_FRACTIONS: Mapping[ModeName, Sequence[float]] = {
    "quick": (1.0,),
    "default": (0.1, 0.5, 1.0),
    "full": (0.1, 0.3, 0.5, 0.6, 0.8, 1.0),
}
_STRIDES: Mapping[ModeName, Sequence[int]] = {
    "quick": (128 * KIB,),
    "default": (4 * KIB, 128 * KIB),
    "full": (4 * KIB, 64 * KIB, 128 * KIB, 256 * KIB),
}
_SIDES: Mapping[ModeName, Sequence[int]] = {"quick": (KIB,), "default": (4 * KIB,), "full": (8 * KIB, 30720)}
_PACKS = ("cpu", "gpu")
_DOUBLE = 8


class ProgramPoint(NamedTuple):
    """One case: a program and what it is told; `program` is NATIVE where none runs."""

    program: str
    way: str
    bytes: int
    fraction: float | None = None
    stride_bytes: int | None = None
    side: int | None = None
    halo: int | None = None
    pack: str = ""

    @property
    def method(self) -> str:
        """``contiguous_explicit``, ``stencil_cpu_automatic``, ``native_explicit``."""
        return "_".join(filter(None, (self.program, self.pack, self.way)))

    @property
    def is_compared(self) -> bool:
        """Whether the programs' calls and native ones do the same here: all of an array, copied in and out."""
        return self.program in (NATIVE, "contiguous") and self.way == "explicit" and self.fraction == 1.0

    def samples_a_visit(self, wanted: int) -> int:
        """One where ways are compared: memory lies differently each time, and that is not theirs."""
        return 1 if self.is_compared else wanted

    @property
    def words(self) -> list[str]:
        """The options of the program."""
        told: dict[str, str | float | None]
        if self.program == "stencil":
            told = {"pack": self.pack, "side": self.side, "halo": self.halo, "iterations": ITERATIONS}
        else:
            told = {"bytes": self.bytes, "fraction": self.fraction, "stride": self.stride_bytes}
        given: dict[str, str | float | None] = {"way": self.way, **told}
        return [word for name, value in given.items() if value is not None for word in (f"--{name}", str(value))]

    @property
    def allocated_bytes(self) -> int:
        """What the program holds on either side: of a stencil the field before and after an iteration."""
        return self.bytes * (2 if self.program == "stencil" else 1)


def points(options: Options, sizes: Iterable[int]) -> Iterator[ProgramPoint]:
    """All cases of arrays of these sizes in bytes, those of one array and point after one another."""
    mode = options.mode
    ways = [way for way in WAYS if not options.memory or _memory(way) in options.memory]
    for asked in sizes:
        size = max(asked - asked % _DOUBLE, _DOUBLE)
        for fraction in _FRACTIONS[mode]:
            # It copies the whole array whatever is touched: once is enough.
            if "explicit" in ways and fraction == 1.0:
                yield ProgramPoint(NATIVE, "explicit", size, fraction=fraction)
            yield from (ProgramPoint("contiguous", way, size, fraction=fraction) for way in ways)
        for stride in _STRIDES[mode]:
            yield from (ProgramPoint("stride", way, size, stride_bytes=stride) for way in ways)
    for side in sorted(set(options.sides or _SIDES[mode])):
        for halo in sorted(set(options.halos or (1,))):
            size = side * (side // 2 + 2 * halo) * _DOUBLE
            for pack in _PACKS:
                yield from (ProgramPoint("stencil", way, size, side=side, halo=halo, pack=pack) for way in ways)


def template(point: ProgramPoint) -> Case:
    """The case of a point, without results."""
    return Case(
        experiment=NAME,
        method=point.method,
        host_memory=_memory(point.way),
        bytes=point.bytes,
        fraction=point.fraction,
        stride_bytes=point.stride_bytes,
        rows=point.side,
        halo=point.halo,
        ranks=1 if point.side else None,
    )


def _memory(way: str) -> str:
    return "pageable" if way == "explicit" else "managed"
