"""Rate against the number of host threads: the cases of a run's threads experiment that use one device, as curves."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

from isthmus.analysis.figures import Figure, figures
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.statistics.once import once
from isthmus.document.chart import Look, numbered_look
from isthmus.document.grid import Cell
from isthmus.grouping import grouped
from isthmus.language import say
from isthmus.record import MIB, Case, Direction, Run, kind_rank

StreamUse = Literal["shared", "own"]
Slicing = Literal["slices", "chunks"]

# The size of the buffer of the program whose figures ours are next to (cellspe.matrix.jp, main.cpp, BUFFER_SIZE).
REFERENCE_BYTES = 64 * MIB
# Where a row has nothing to say about a column.
BLANK = Cell("", state="missing")

_MODES = (("slices", "shared"), ("slices", "own"), ("chunks", "shared"), ("chunks", "own"))
_CREATED_DASH = (5, 4)


@dataclass(frozen=True)
class ThreadCurve:
    """One method to divide a transfer among threads: number of threads, of one direction, to figure, ascending.

    `streams` says whether the threads of a direction share a stream or have one each, `slicing` whether each copies
    one slice or they take chunks from a common counter. With one thread there is no difference between the streams:
    that figure belongs to both.
    """

    method: str
    direction: Direction
    host_memory: str
    bytes: int
    streams: StreamUse
    slicing: Slicing
    figures: Mapping[int, Figure]

    @cached_property
    def points(self) -> Mapping[int, Point]:
        """What may be concluded from."""
        return {count: each.point for count, each in self.figures.items() if each.point}

    @property
    def subject(self) -> tuple[str, Direction, int]:
        """What is transferred, however it is divided: memory kind, direction, bytes in each direction."""
        return self.host_memory, self.direction, self.bytes


@once()
def thread_curves(run: Run) -> Sequence[ThreadCurve]:
    """The curves of a run: by memory kind, direction and size, and of these the plainest to program first.

    Cases that concern one of several devices or NUMA nodes are no part of any. A curve without any point does not
    appear.
    """
    plain = [each for each in figures(run, "threads") if _is_plain(each.case) and (each.case.skipped or each.measured)]
    curves = [
        ThreadCurve(method, direction, memory, size, streams, slicing, _by_threads(chosen))
        for (method, direction, memory, size, slicing), alike in grouped(plain, _division).items()
        for streams, chosen in _by_streams(alike).items()
        if any(each.measured for each in chosen)
    ]
    return sorted(curves, key=_place)


def _threads(figure: Figure) -> int:
    return figure.case.threads or 1


def _by_threads(chosen: Iterable[Figure]) -> dict[int, Figure]:
    """Ascending; what was measured replaces what was skipped."""
    return {
        _threads(each): each for each in sorted(chosen, key=lambda each: (_threads(each), each.measured is not None))
    }


def _division(figure: Figure) -> tuple[str, Direction, str, int, Slicing]:
    case = figure.case
    assert case.direction, "plain transfers have one"
    slicing: Slicing = "slices" if case.pieces is None else "chunks"
    return case.method, case.direction, case.host_memory, case.bytes, slicing


def worker_curves(curves: Iterable[ThreadCurve]) -> list[ThreadCurve]:
    """Those of persistent threads that have a point to conclude from."""
    return [curve for curve in curves if curve.method == "workers" and curve.points]


def most_complete(curves: Iterable[ThreadCurve]) -> ThreadCurve:
    """The curve with the most numbers of threads, of several the plainest to program; there must be one at least."""
    return min(curves, key=lambda curve: (-len(curve.points), curve.slicing != "slices", curve.streams != "shared"))


def reference_bytes(curves: Sequence[ThreadCurve]) -> int | None:
    """The size to conclude about first: 64 MiB where it was measured, else the largest; None without a curve."""
    sizes = {curve.bytes for curve in curves}
    return REFERENCE_BYTES if REFERENCE_BYTES in sizes else max(sizes, default=None)


def _place(curve: ThreadCurve) -> tuple[object, ...]:
    plain = (curve.method != "workers", curve.slicing != "slices", curve.streams != "shared")
    return (
        kind_rank(curve.host_memory),
        curve.host_memory,
        get_args(Direction).index(curve.direction),
        curve.bytes,
        *plain,
    )


def _is_plain(case: Case) -> bool:
    plain = case.devices is None and not case.target and case.node is None
    return case.method in ("workers", "spawn") and case.direction is not None and plain


def _by_streams(alike: Sequence[Figure]) -> dict[StreamUse, list[Figure]]:
    """Those of several threads by their use of streams, each group with those of one thread."""
    single = [each for each in alike if _threads(each) == 1]
    several = grouped((each for each in alike if _threads(each) > 1), _streams)
    return {streams: [*single, *chosen] for streams, chosen in several.items()} or {"shared": single}


def _streams(figure: Figure) -> StreamUse:
    return "own" if figure.case.streams == figure.case.threads else "shared"


def mode_name(curve: ThreadCurve) -> str:
    """``chunks, own streams, threads created``: how threads share the work, in a legend or a heading."""
    named = [say(f"threads_report.slicing_{curve.slicing}"), say(f"threads_report.streams_{curve.streams}")]
    if curve.method == "spawn":
        named.append(say("threads_report.created"))
    return say("common.comma").join(named)


def mode_look(curve: ThreadCurve) -> Look:
    """Colour and shape tell how the work is shared; a dashed line, that threads are created for each transfer."""
    look = numbered_look(_MODES.index((curve.slicing, curve.streams)))
    return replace(look, dash=_CREATED_DASH if curve.method == "spawn" else ())


def threads_label(direction: str, count: int) -> str:
    """``16``, or ``16 + 16`` where both directions have as many."""
    return f"{count} + {count}" if direction == "both" else str(count)


def threads_of(direction: str, count: int) -> str:
    """``one thread``, ``16 threads``; for both directions ``16 + 16 threads``."""
    return say("threads.of_both" if direction == "both" else "threads.of", count=count)
