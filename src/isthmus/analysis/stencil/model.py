"""Stencils between ranks: what each method to exchange halos takes, phase by phase; managed against explicit memory."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from isthmus.analysis.figures import Figure, figures
from isthmus.analysis.phrases import memory_label
from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.statistics.curve import Point
from isthmus.grouping import grouped
from isthmus.language import say, say_or
from isthmus.record import Case, Interval, Metric, Run

# The plainest first.
STENCIL_METHODS = ("cpu_whole", "cpu_columns", "gpu_pack", "gpu_pack_mapped", "cpu_rows")
# In a sample, as in the paper that the experiment follows, where a case names no other number.
STENCIL_ITERATIONS = 20
# Those that make up a sample, in the order of an iteration; MPI is next to it.
STENCIL_PHASES: tuple[Metric, ...] = ("compute_seconds", "pack_seconds", "copy_seconds", "unpack_seconds")
MANAGED = "managed"
_MEMORIES = ("pageable", "pinned", "mapped", MANAGED)

_DOUBLE = 8
_CUT = re.compile(r"([0-9]{1,9})x([0-9]{1,9})")
# Rows, columns, halo, ranks, devices, ranks down, iterations.
_Key = tuple[int, int, int, int, int, int, int]

# A method and the kind of memory that the host's part of it is in.
StencilWay = tuple[str, str]


def way_of(point: Point) -> StencilWay:
    """The method and the memory of a point, whose `seconds` are without MPI."""
    return point.case.method, point.case.host_memory


@dataclass(frozen=True)
class Stencil:
    """All methods for one field, halo and number of ranks on so many devices.

    `side` is the field's in rows; `down` of the ranks share each column of it, and with 1 no row is cut.
    """

    side: int
    columns: int
    halo: int
    ranks: int
    devices: int
    down: int
    iterations: int
    figures: Mapping[StencilWay, Figure]

    @cached_property
    def points(self) -> Mapping[StencilWay, Point]:
        """What may be concluded from: medians over all iterations."""
        return {method: each.point for method, each in self.figures.items() if each.point}

    @property
    def across(self) -> int:
        """Ranks that share a row."""
        return self.ranks // self.down

    @property
    def is_square(self) -> bool:
        """As many rows as columns."""
        return self.side == self.columns

    @property
    def methods(self) -> list[StencilWay]:
        """All that were measured, failed or skipped, the plainest first."""
        return sorted(self.figures, key=_place)

    @cached_property
    def ranking(self) -> tuple[Point, ...]:
        """The methods by their medians, the fastest first."""
        return tuple(sorted(self.points.values(), key=lambda point: point.seconds.median))

    @property
    def as_fast(self) -> tuple[Point, ...]:
        """Methods that are not significantly slower than the fastest."""
        return tuple(point for point in self.ranking[1:] if point.seconds.low <= self.ranking[0].seconds.high)

    def ratio(self, over: StencilWay, under: StencilWay) -> Interval | None:
        """How many times as long the first method takes; None where one of them was not measured."""
        if over not in self.points or under not in self.points:
            return None
        return ratio(self.points[over].seconds, self.points[under].seconds)

    def managed_over_explicit(self, method: str) -> Interval | None:
        """Managed memory against the fastest explicit kind, of one method."""
        explicit = [point for point in self.ranking if way_of(point)[0] == method and way_of(point)[1] != MANAGED]
        return self.ratio((method, MANAGED), way_of(explicit[0])) if explicit else None


def stencils(run: Run) -> list[Stencil]:
    """By field, halo and cut; one of which nothing was measured does not appear."""
    by_key = grouped(figures(run, "stencil"), lambda each: _key(each.case))
    all_stencils = (
        Stencil(*key, {(each.case.method, each.case.host_memory): each for each in by_key[key]})
        for key in sorted(by_key)
    )
    return [each for each in all_stencils if any(one.measured for one in each.figures.values())]


def on_most_ranks(run: Run) -> list[Stencil]:
    """What there is to conclude from, as the paper did."""
    everything = [each for each in stencils(run) if each.points]
    most = max((each.ranks for each in everything), default=0)
    return [each for each in everything if each.ranks == most]


def _key(case: Case) -> _Key:
    rows, ranks = case.rows or 0, case.ranks or 1
    columns = case.bytes // _DOUBLE // rows if rows else 0
    cut = _CUT.fullmatch(case.cut)
    # One that does not fit the ranks is of a version to come, or of a file that was edited.
    fits = cut is not None and int(cut[1]) * int(cut[2]) == ranks
    down = int(cut[1]) if cut and fits else 1
    return rows, columns, case.halo or 0, ranks, case.devices or 1, down, case.iterations or STENCIL_ITERATIONS


def _place(way: StencilWay) -> tuple[object, ...]:
    method, memory = way
    known = method in STENCIL_METHODS and memory in _MEMORIES
    places = (STENCIL_METHODS.index(method), _MEMORIES.index(memory)) if known else (len(STENCIL_METHODS), 0)
    return (*places, *way)


def way_label(method: str) -> str:
    """The method in a table; one that this version does not know keeps its field name."""
    return say_or(f"stencil.method_{method}", method.replace("_", " "))


def way_title(method: StencilWay) -> str:
    """A method as one bar or in a sentence: ``GPU packs, pinned``."""
    return say("common.comma").join([way_label(method[0]), memory_label(method[1])])


def phase_words(phase: Metric) -> str:
    """A phase in a heading."""
    return say_or(f"stencil.phase_{phase}", phase.replace("_", " "))


def stencil_words(stencil: Stencil) -> str:
    """``6144 x 6144 points, halos 1 wide, 4 ranks (2 x 2) on 2 devices``; and iterations that are not the paper's."""
    parts = [say("stencil.field", rows=stencil.side, columns=stencil.columns, count=stencil.halo)]
    devices = say("stencil.devices", count=stencil.devices)
    setting = say("stencil.setting", count=stencil.ranks, down=stencil.down, across=stencil.across, devices=devices)
    parts.append(setting)
    if stencil.iterations != STENCIL_ITERATIONS:
        parts.append(say("stencil.iterations", count=stencil.iterations))
    return say("common.comma").join(parts)
