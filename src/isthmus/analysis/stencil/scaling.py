"""How a stencil's time goes with the number of ranks: curves from one rank to all, and what they say."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.stencil.model import Stencil, StencilWay, elapsed, stencils, way_of
from isthmus.grouping import grouped
from isthmus.language import say
from isthmus.record import Interval, Run

# Strong: the field stays; weak: the part of it that a rank has.
Scaling = Literal["strong", "weak"]
_SCALINGS: tuple[Scaling, ...] = ("strong", "weak")
CutKind = Literal["strips", "grid"]
_CUT_KINDS: tuple[CutKind, ...] = ("strips", "grid")


@dataclass(frozen=True)
class StencilCurve:
    """One field (strong), or one part (weak) of so many points a side, on ever more ranks, ascending."""

    scaling: Scaling
    kind: CutKind
    side: int
    halo: int
    stencils: tuple[Stencil, ...]

    @property
    def last(self) -> Stencil:
        """That on the most ranks."""
        return self.stencils[-1]

    @cached_property
    def ranking(self) -> tuple[Point, ...]:
        """The methods by what elapses on the most ranks, the fastest first."""
        timed = [(each.median, point) for point in self.last.points.values() if (each := elapsed(point))]
        return tuple(point for _, point in sorted(timed, key=lambda pair: pair[0]))

    @property
    def methods(self) -> list[StencilWay]:
        """All of them, those first that were measured on the most ranks."""
        others = (method for each in self.stencils for method in each.methods)
        return list(dict.fromkeys((*map(way_of, self.ranking), *others)))

    def efficiency(self, stencil: Stencil, method: StencilWay) -> Interval | None:
        """What a rank gets done in a time, over what one rank alone does; None where one of them was not measured."""
        points = self.single(method), stencil.points.get(method)
        alone, together = (elapsed(point) if point else None for point in points)
        if alone is None or together is None or not together.low:
            return None
        if stencil.ranks == 1:
            return Interval(1, 1, 1)
        efficiency = ratio(alone, together)
        return efficiency.scaled(1 / stencil.ranks) if self.scaling == "strong" else efficiency

    def single(self, method: StencilWay) -> Point | None:
        """One rank alone."""
        first = self.stencils[0]
        return first.points.get(method) if first.ranks == 1 else None


def curve_title(curve: StencilCurve) -> str:
    """``Strong scaling, strips: 8192 x 8192 points, halos 1 wide``."""
    field = say("stencil.field", rows=curve.side, columns=curve.side, count=curve.halo)
    return say(f"stencil.scaling_{curve.scaling}", cut=say(f"stencil.cut_{curve.kind}"), field=field)


def stencil_curves(run: Run) -> list[StencilCurve]:
    """Those that the run was asked for."""
    asked = run.settings.options.get("scaling", "").split(",")
    return [
        curve for scaling in _SCALINGS if scaling in asked for kind in _CUT_KINDS for curve in _of(run, scaling, kind)
    ]


def _of(run: Run, scaling: Scaling, kind: CutKind) -> Iterator[StencilCurve]:
    fitting = (each for each in stencils(run) if each.ranks == 1 or (each.down > 1) == (kind == "grid"))
    for (side, halo), alike in sorted(grouped(fitting, lambda each: (_side(each, scaling) or 0, each.halo)).items()):
        of_square = {each.ranks: each for each in alike}
        if side and len(of_square) > 1:
            yield StencilCurve(scaling, kind, side, halo, tuple(of_square[ranks] for ranks in sorted(of_square)))


def _side(stencil: Stencil, scaling: Scaling) -> int | None:
    """Side of the square that stays; None where there is none."""
    if scaling == "strong":
        return stencil.side if stencil.is_square else None
    part = stencil.side // stencil.down
    return part if (stencil.side, stencil.columns) == (part * stencil.down, part * stencil.across) else None
