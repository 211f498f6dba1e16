"""What `stencil` measures: sides and halos, and the ways to exchange halos with explicit and with managed memory."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from isthmus.experiment.options import ModeName, Options
from isthmus.experiment.stencil_tile import DOUBLE, Tile
from isthmus.record import Case

__all__ = ["MEMORY_KINDS", "METHODS", "NAME", "Point", "grids", "points_of", "template"]

NAME = "stencil"
MEMORY_KINDS = ("pageable", "pinned", "mapped", "managed")
# Way -> where the host's side of it can be; managed: the arrays themselves are.
METHODS: Mapping[str, Sequence[str]] = {
    "cpu_whole": ("pageable", "pinned", "managed"),
    "cpu_columns": ("pageable", "pinned", "managed"),
    "gpu_pack": ("pageable", "pinned", "managed"),
    "gpu_pack_mapped": ("mapped", "managed"),
}
_SIDES: Mapping[ModeName, Sequence[int]] = {
    "quick": (3072,),
    "default": (1536, 3072, 6144),
    "full": (1536, 3072, 6144, 15360),
}
# Where device memory is host memory, the processor computes.
_SHARED_SIDES: Mapping[ModeName, Sequence[int]] = {"quick": (256,), "default": (512,), "full": (512, 2048)}
_HALOS: Mapping[ModeName, Sequence[int]] = {"quick": (1,), "default": (1, 2, 4), "full": (1, 2, 4)}


class Point(NamedTuple):
    """One case: a way on a side with a halo, and the kind of memory that the host's part of it is in."""

    side: int
    halo: int
    method: str
    memory: str


def grids(options: Options, shares_host_memory: bool) -> list[tuple[int, int]]:
    """Sides and halos, ascending; wider halos than the first by default with the shortest side alone."""
    sides = sorted(set(options.sides or (_SHARED_SIDES if shares_host_memory else _SIDES)[options.mode]))
    halos = sorted(set(options.halos or _HALOS[options.mode]))
    everywhere = options.halos or options.mode == "full"
    return [(side, halo) for side in sides for halo in (halos if everywhere or side == sides[0] else halos[:1])]


def points_of(side: int, halo: int, kinds: Sequence[str]) -> list[Point]:
    """Every way with those kinds of memory."""
    return [
        Point(side, halo, method, memory)
        for method, of_method in METHODS.items()
        for memory in of_method
        if memory in kinds
    ]


def template(point: Point, ranks: int, devices: int) -> Case:
    """The case without results; rows, widths and pitches are those of rank 0, whose tile no other exceeds."""
    tile = Tile(point.side, point.halo, 0, ranks)
    return Case(
        experiment=NAME,
        method=point.method,
        host_memory=point.memory,
        bytes=point.side * point.side * DOUBLE,
        rows=point.side,
        width_bytes=point.halo * DOUBLE,
        pitch_bytes=tile.pitch_bytes,
        ranks=ranks,
        halo=point.halo,
        devices=devices if devices > 1 else None,
    )
