"""What `stencil` measures: sides, halos and cuts, and the ways to exchange halos in explicit and in managed memory."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from isthmus.errors import UsageError
from isthmus.experiment.engine.options import ModeName, Options
from isthmus.record import MIB, Case

DOUBLE = 8
# In a sample, as in the paper, IPSJ HPC-177-13, section 4.2.3; --iterations asks for fewer.
ITERATIONS = 20


class Section(NamedTuple):
    """Points within an array: where they begin, and how many rows and columns they are."""

    row: int
    column: int
    rows: int
    columns: int

    @property
    def points(self) -> int:
        """Points in all rows together."""
        return self.rows * self.columns


class Border(NamedTuple):
    """One side of a tile: the rank's own points that the neighbour needs, and where the neighbour's arrive."""

    edge: Section
    halo: Section
    neighbour: int


class Cut(NamedTuple):
    """A field of 64-bit floats, periodic both ways, on `down` x `across` ranks; those in a row have adjacent ranks.

    Where ranks do not divide the points, the first rows and columns of ranks have one more.
    """

    rows: int
    columns: int
    halo: int
    down: int = 1
    across: int = 1
    iterations: int = ITERATIONS

    @property
    def ranks(self) -> int:
        """How many ranks, and so tiles, there are."""
        return self.down * self.across

    @property
    def name(self) -> str:
        """``2x3`` where rows are cut too, as records have it; tall tiles, as the paper has them, need no name."""
        return f"{self.down}x{self.across}" if self.down > 1 else ""

    @property
    def bytes(self) -> int:
        """Bytes of the field, without halos."""
        return self.rows * self.columns * DOUBLE

    def tile(self, rank: int) -> "Tile":
        """That of a rank; no other exceeds rank 0's."""
        return Tile(self, rank)

    def check(self) -> None:
        """Raises UsageError where a rank of a square has fewer points than its neighbour's halo takes."""
        side, least = self.rows, self.halo * max(self.across, self.down)
        if side < least:
            takers = "one rank" if self.ranks == 1 else f"{self.ranks} ranks"
            raise UsageError(
                f"a side of {side} points is too short for halos of {self.halo} columns on {takers}; "
                f"expected --side {least} or more"
            )


class Tile(NamedTuple):
    """One rank's part of the field with its halos: columns on either side, and rows where rows are cut."""

    cut: Cut
    rank: int

    @property
    def own(self) -> Section:
        """The points that this rank computes, in its array."""
        cut = self.cut
        row, column = divmod(self.rank, cut.across)
        return Section(
            self.row_halo, cut.halo, _share(cut.rows, cut.down, row), _share(cut.columns, cut.across, column)
        )

    @property
    def row_halo(self) -> int:
        """Rows of others above and below; none where the kernel finds the neighbouring rows in the array itself."""
        return self.cut.halo if self.cut.down > 1 else 0

    @property
    def first_row(self) -> int:
        """The place in the field of the array's first row, which may lie before the field's."""
        return _first(self.cut.rows, self.cut.down, self.rank // self.cut.across) - self.row_halo

    @property
    def first_column(self) -> int:
        """The same of its first column, which is one of a halo."""
        return _first(self.cut.columns, self.cut.across, self.rank % self.cut.across) - self.cut.halo

    @property
    def height(self) -> int:
        """Rows with halos."""
        return self.own.rows + 2 * self.row_halo

    @property
    def width(self) -> int:
        """Columns with both halos."""
        return self.own.columns + 2 * self.cut.halo

    @property
    def pitch_bytes(self) -> int:
        """From one row to the next."""
        return self.width * DOUBLE

    @property
    def bytes(self) -> int:
        """Bytes of one array, halos and padding included."""
        return self.height * self.pitch_bytes

    @property
    def borders(self) -> tuple[Border, ...]:
        """To the left and to the right, and where rows are cut above and below.

        The opposite of border k is k ^ 1. Four-point stencils need no corners.
        """
        own, halo = self.own, self.cut.halo
        row, column = divmod(self.rank, self.cut.across)
        left, right = ((column + step) % self.cut.across + row * self.cut.across for step in (-1, 1))
        at_side = own._replace(columns=halo)
        sides = (
            Border(at_side, at_side._replace(column=0), left),
            Border(at_side._replace(column=own.columns), at_side._replace(column=own.columns + halo), right),
        )
        if not self.row_halo:
            return sides
        above, below = ((row + step) % self.cut.down * self.cut.across + column for step in (-1, 1))
        over = own._replace(rows=halo)
        return (
            *sides,
            Border(over, over._replace(row=0), above),
            Border(over._replace(row=own.rows), over._replace(row=own.rows + halo), below),
        )

    @property
    def border_bytes(self) -> int:
        """What goes out in one exchange, and comes in."""
        return sum(border.edge.points for border in self.borders) * DOUBLE


def as_square(ranks: int) -> tuple[int, int]:
    """Ranks down and across, as close to each other as whole numbers allow, as MPI_Dims_create has them."""
    across = next(count for count in range(math.isqrt(ranks), 0, -1) if ranks % count == 0)
    return ranks // across, across


def _share(points: int, parts: int, place: int) -> int:
    return points // parts + (place < points % parts)


def _first(points: int, parts: int, place: int) -> int:
    return place * (points // parts) + min(place, points % parts)


NAME = "stencil"
MEMORY_KINDS = ("pageable", "pinned", "mapped", "managed")
# Way -> where the host's side of it can be; managed: the arrays themselves are.
METHODS: Mapping[str, Sequence[str]] = {
    "cpu_whole": ("pageable", "pinned", "managed"),
    "cpu_columns": ("pageable", "pinned", "managed"),
    "gpu_pack": ("pageable", "pinned", "managed"),
    "gpu_pack_mapped": ("mapped", "managed"),
    "cpu_rows": ("pageable",),
}
# Copying row by row needs a thousand copies an iteration, and says the same of larger fields.
_MOST_ROWS_BYTES = 128 * MIB
# Tall tiles of whole columns, or tiles as square as the number of ranks allows.
CUTS = ("strips", "grid")
_SIDES: Mapping[ModeName, Sequence[int]] = {
    "quick": (3072,),
    "default": (1536, 3072, 6144),
    "full": (1536, 3072, 6144, 15360),
}
# Where device memory is host memory, the processor computes.
_SHARED_SIDES: Mapping[ModeName, Sequence[int]] = {"quick": (256,), "default": (512,), "full": (512, 2048)}
_HALOS: Mapping[ModeName, Sequence[int]] = {"quick": (1,), "default": (1, 2, 4), "full": (1, 2, 4)}


class HaloPoint(NamedTuple):
    """One case: a way on a field that is cut, and the kind of memory that the host's part of it is in."""

    cut: Cut
    method: str
    memory: str

    def case(self, devices: int) -> Case:
        """The case without results; the pitch is that of rank 0, whose tile no other exceeds."""
        cut = self.cut
        return Case(
            experiment=NAME,
            method=self.method,
            host_memory=self.memory,
            bytes=cut.bytes,
            rows=cut.rows,
            width_bytes=cut.halo * DOUBLE,
            pitch_bytes=cut.tile(0).pitch_bytes,
            ranks=cut.ranks,
            halo=cut.halo,
            devices=devices if devices > 1 else None,
            cut=cut.name,
            iterations=cut.iterations if cut.iterations != ITERATIONS else None,
        )

    @classmethod
    def of(cls, case: Case) -> "HaloPoint":
        """What a case is about."""
        rows, ranks = case.rows or 1, case.ranks or 1
        down, across = map(int, case.cut.split("x")) if case.cut else (1, ranks)
        cut = Cut(rows, case.bytes // (rows * DOUBLE), case.halo or 0, down, across, case.iterations or ITERATIONS)
        return cls(cut, case.method, case.host_memory)


def grids(options: Options, shares_host_memory: bool) -> list[tuple[int, int]]:
    """Sides and halos, ascending; wider halos than the first by default with the shortest side alone."""
    sides: Sequence[int] = (_SHARED_SIDES if shares_host_memory else _SIDES)[options.mode]
    halos: Sequence[int] = _HALOS[options.mode]
    sides, halos = sorted(set(options.sides or sides)), sorted(set(options.halos or halos))
    everywhere = options.halos or options.mode == "full"
    return [(side, halo) for side in sides for halo in (halos if everywhere or side == sides[0] else halos[:1])]


def cuts(options: Options, shares_host_memory: bool, ranks: int) -> list[Cut]:
    """Every square with its cut. Raises UsageError where a side is too short for one."""
    all_cuts: list[Cut] = []
    for side, halo in grids(options, shares_host_memory):
        for kind in options.chosen(CUTS, options.cuts or CUTS[:1]):
            shape = as_square(ranks) if kind == "grid" else (1, ranks)
            all_cuts.append(Cut(side, side, halo, *shape, options.iterations or ITERATIONS))
            all_cuts[-1].check()
    return list(dict.fromkeys(all_cuts))


def points_of(cut: Cut, kinds: Sequence[str], mode: ModeName = "default") -> list[HaloPoint]:
    """Every method with those kinds of memory; row by row where it takes seconds, and not in a quick run."""
    by_rows = mode != "quick" and cut.bytes <= _MOST_ROWS_BYTES
    return [
        HaloPoint(cut, method, memory)
        for method, of_method in METHODS.items()
        for memory in of_method
        if memory in kinds and (method != "cpu_rows" or by_rows)
    ]
