"""What `stencil` measures: sides, halos and cuts, and the ways to exchange halos in explicit and in managed memory."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from isthmus.experiment.engine.options import ModeName, Options
from isthmus.experiment.stencil.tile import DOUBLE, Cut, as_square
from isthmus.record import Case

NAME = "stencil"
MEMORY_KINDS = ("pageable", "pinned", "mapped", "managed")
# Way -> where the host's side of it can be; managed: the arrays themselves are.
METHODS: Mapping[str, Sequence[str]] = {
    "cpu_whole": ("pageable", "pinned", "managed"),
    "cpu_columns": ("pageable", "pinned", "managed"),
    "gpu_pack": ("pageable", "pinned", "managed"),
    "gpu_pack_mapped": ("mapped", "managed"),
}
# Tall tiles of whole columns, or tiles as square as the number of ranks allows.
CUTS = ("strips", "grid")
# On 1, 2, 4, ... ranks either the square stays, or the part of it that each rank has.
SCALINGS = ("strong", "weak")
_SIDES: Mapping[ModeName, Sequence[int]] = {
    "quick": (3072,),
    "default": (1536, 3072, 6144),
    "full": (1536, 3072, 6144, 15360),
}
# Where device memory is host memory, the processor computes.
_SHARED_SIDES: Mapping[ModeName, Sequence[int]] = {"quick": (256,), "default": (512,), "full": (512, 2048)}
_HALOS: Mapping[ModeName, Sequence[int]] = {"quick": (1,), "default": (1, 2, 4), "full": (1, 2, 4)}


class Point(NamedTuple):
    """One case: a way on a field that is cut, and the kind of memory that the host's part of it is in."""

    cut: Cut
    method: str
    memory: str


def grids(options: Options, shares_host_memory: bool) -> list[tuple[int, int]]:
    """Sides and halos, ascending; wider halos than the first by default with the shortest side alone.

    Of what a curve over ranks multiplies, the mode's longest side and first halo alone are there by default.
    """
    sides: Sequence[int] = (_SHARED_SIDES if shares_host_memory else _SIDES)[options.mode]
    halos: Sequence[int] = _HALOS[options.mode]
    if options.scalings:
        sides, halos = sides[-1:], halos[:1]
    sides, halos = sorted(set(options.sides or sides)), sorted(set(options.halos or halos))
    everywhere = options.halos or options.mode == "full"
    return [(side, halo) for side in sides for halo in (halos if everywhere or side == sides[0] else halos[:1])]


def cuts(options: Options, shares_host_memory: bool, ranks: int) -> list[Cut]:
    """Every field with its cut, those on fewer ranks first. Raises UsageError where a side is too short for one."""
    found: list[Cut] = []
    for side, halo in grids(options, shares_host_memory):
        for kind in options.chosen(CUTS, options.cuts or CUTS[:1]):
            for scaling in options.scalings or ("",):
                for count in _counts(ranks) if scaling else [ranks]:
                    down, across = as_square(count) if kind == "grid" else (1, count)
                    grown = (down, across) if scaling == "weak" else (1, 1)
                    found.append(Cut(side * grown[0], side * grown[1], halo, down, across))
                    found[-1].check(side)
    return sorted(dict.fromkeys(found), key=lambda cut: cut.ranks)


def _counts(ranks: int) -> list[int]:
    """1, 2, 4, ... up to all of them, which need not be a power of two."""
    return [*(1 << power for power in range((ranks - 1).bit_length())), ranks]


def points_of(cut: Cut, kinds: Sequence[str]) -> list[Point]:
    """Every way with those kinds of memory."""
    return [
        Point(cut, method, memory) for method, of_method in METHODS.items() for memory in of_method if memory in kinds
    ]


def template(point: Point, devices: int) -> Case:
    """The case without results; the pitch is that of rank 0, whose tile no other exceeds."""
    cut = point.cut
    return Case(
        experiment=NAME,
        method=point.method,
        host_memory=point.memory,
        bytes=cut.bytes,
        rows=cut.rows,
        width_bytes=cut.halo * DOUBLE,
        pitch_bytes=cut.tile(0).pitch_bytes,
        ranks=cut.ranks,
        halo=cut.halo,
        devices=devices if devices > 1 else None,
        cut=cut.name,
    )
