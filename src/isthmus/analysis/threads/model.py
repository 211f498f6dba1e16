"""Rate against the number of host threads: the cases of a run's threads experiment that use one device, as curves."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, get_args

from isthmus.analysis.statistics.curve import Point, case_point, is_resolved
from isthmus.analysis.statistics.once import once
from isthmus.record import MIB, Case, Direction, Run, kind_rank

StreamUse = Literal["shared", "own"]
Slicing = Literal["slices", "chunks"]

# The size of the buffer of the program whose figures ours are next to (cellspe.matrix.jp, main.cpp, BUFFER_SIZE).
REFERENCE_BYTES = 64 * MIB


@dataclass(frozen=True)
class ThreadCurve:
    """One method to divide a transfer among threads: number of threads, of one direction, to point, ascending.

    `streams` says whether the threads of a direction share a stream or have one each, `slicing` whether each copies
    one slice or they take chunks, of `chunk_bytes`, from a common counter. With one thread there is no difference
    between the streams: that point belongs to both. `failed` are points whose data did not arrive; no conclusion may
    rest on them. `skipped` has the reasons of those that could not be measured.
    """

    method: str
    direction: Direction
    host_memory: str
    bytes: int
    streams: StreamUse
    slicing: Slicing
    chunk_bytes: int | None
    points: Mapping[int, Point]
    failed: Mapping[int, Point]
    skipped: Mapping[int, str]

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
    target = run.settings.target_relative_half_width
    groups: dict[tuple[str, Direction, str, int, Slicing], list[Case]] = {}
    for case in run.cases:
        if _is_plain(case) and (case.skipped or is_resolved(case)) and case.direction:
            slicing: Slicing = "slices" if case.pieces is None else "chunks"
            groups.setdefault((case.method, case.direction, case.host_memory, case.bytes, slicing), []).append(case)
    curves = []
    for (method, direction, memory, size, slicing), cases in groups.items():
        for streams, chosen in _by_streams(cases).items():
            points = {case.threads or 1: case_point(case, target) for case in chosen if not case.skipped}
            if not points:
                continue
            curves.append(
                ThreadCurve(
                    method=method,
                    direction=direction,
                    host_memory=memory,
                    bytes=size,
                    streams=streams,
                    slicing=slicing,
                    chunk_bytes=_chunk_bytes(chosen[0]),
                    points={count: point for count, point in sorted(points.items()) if point.verified != "no"},
                    failed={count: point for count, point in sorted(points.items()) if point.verified == "no"},
                    skipped={case.threads or 1: case.note for case in chosen if case.skipped},
                )
            )
    return sorted(curves, key=_place)


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
    return case.experiment == "threads" and case.method in ("workers", "spawn") and plain


def _chunk_bytes(case: Case) -> int | None:
    return ceil(case.bytes / case.pieces) if case.pieces else None


def _by_streams(cases: Iterable[Case]) -> dict[StreamUse, list[Case]]:
    """The cases of several threads by their use of streams, each group with those of one thread."""
    single, several = [], dict[StreamUse, list[Case]]()
    for case in cases:
        if (case.threads or 1) == 1:
            single.append(case)
        else:
            several.setdefault("own" if case.streams == case.threads else "shared", []).append(case)
    if not several:
        return {"shared": single} if single else {}
    return {streams: [*single, *chosen] for streams, chosen in several.items()}
