"""OpenACC programs of a run: for each piece of work the time of every mode to move its data, and how they compare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isthmus.analysis.figures import figures
from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.statistics.curve import Point
from isthmus.grouping import grouped
from isthmus.language import say
from isthmus.record import Case, Interval, Run, format_bytes

# In the order of tables; the last is the work of the contiguous program done by this package's own calls.
OPENACC_WAYS = ("explicit", "automatic", "both", "native")


@dataclass(frozen=True)
class OpenaccWork:
    """One program with what it works on; `modes` are those that were measured and whose results were right.

    `pack` is ``cpu`` or ``gpu`` of a stencil; `fraction` is of the contiguous program, `stride_bytes` of the other.
    """

    program: str
    pack: str
    bytes: int
    fraction: float | None
    stride_bytes: int | None
    side: int | None
    halo: int | None
    modes: Mapping[str, Point]

    def ratio(self, mode: str, base: str = "explicit") -> Interval | None:
        """The time of one mode over that of another; None where one of them was not measured."""
        over, under = self.modes.get(mode), self.modes.get(base)
        return ratio(over.seconds, under.seconds) if over and under else None

    @property
    def compiler(self) -> str:
        """What built the program; empty where only the native mode was measured."""
        return next((each.case.compiler for each in self.modes.values() if each.case.compiler), "")


def openacc_works(run: Run) -> list[OpenaccWork]:
    """Everything measured, programs in the order contiguous, stride, stencil, smaller parts and arrays first."""
    measured = [each.point for each in figures(run, "openacc") if each.point]
    works = map(_work, grouped(measured, _key).values())
    return sorted(
        works,
        key=lambda work: (
            work.program,
            work.side or 0,
            work.halo or 0,
            work.pack,
            work.bytes,
            work.fraction or 0,
            work.stride_bytes or 0,
        ),
    )


def _key(point: Point) -> tuple[object, ...]:
    case = point.case
    return *_parts(case)[:2], case.bytes, case.fraction, case.stride_bytes, case.rows, case.halo


def whole_arrays(works: list[OpenaccWork]) -> list[OpenaccWork]:
    """Those in which the device works on the whole of a contiguous array, as in the paper's section 5.1."""
    return [work for work in works if work.program == "contiguous" and work.fraction == 1.0]


def _parts(case: Case) -> tuple[str, str, str]:
    """Program, pack and mode; the native mode does what the contiguous program does."""
    before, _, mode = case.method.rpartition("_")
    program, _, pack = before.partition("_")
    return ("contiguous", "", "native") if program == "native" else (program, pack, mode)


def _work(points: Sequence[Point]) -> OpenaccWork:
    first, by_mode = points[0].case, {_parts(each.case)[2]: each for each in points}
    program, pack, _ = _parts(first)
    return OpenaccWork(
        program=program,
        pack=pack,
        bytes=first.bytes,
        fraction=first.fraction,
        stride_bytes=first.stride_bytes,
        side=first.rows,
        halo=first.halo,
        modes={mode: by_mode[mode] for mode in OPENACC_WAYS if mode in by_mode},
    )


def part_words(work: OpenaccWork) -> str:
    """``10 % of 1 GiB``, ``a double every 4 KiB of 1 GiB``."""
    if work.program == "stencil":
        return say("openacc.part_stencil", side=work.side, halo=work.halo, packer=work.pack.upper())
    if work.stride_bytes is not None:
        return say("openacc.part_stride", stride=format_bytes(work.stride_bytes), size=format_bytes(work.bytes))
    return say("openacc.part_percent", percent=100 * (work.fraction or 0), size=format_bytes(work.bytes))
