"""How the square of a stencil is cut: one tall tile of columns for each rank, with halo columns on either side."""

from typing import NamedTuple

from isthmus.errors import UsageError

__all__ = ["DOUBLE", "ITERATIONS", "Tile", "check_cut"]

DOUBLE = 8
# As in the paper, IPSJ HPC-177-13, section 4.2.3.
ITERATIONS = 20


class Tile(NamedTuple):
    """One rank's rows of 64-bit floats, `halo` of them on either side belonging to the neighbours in the ring."""

    side: int
    halo: int
    rank: int
    ranks: int

    @property
    def columns(self) -> int:
        """Those of its own: as many as others have, or one more."""
        return self.side // self.ranks + (self.rank < self.side % self.ranks)

    @property
    def first_column(self) -> int:
        """The place in the square of its first column, which is one of a halo."""
        first = self.rank * (self.side // self.ranks) + min(self.rank, self.side % self.ranks)
        return (first - self.halo) % self.side

    @property
    def width(self) -> int:
        """Columns with both halos."""
        return self.columns + 2 * self.halo

    @property
    def pitch_bytes(self) -> int:
        """From one row to the next."""
        return self.width * DOUBLE

    @property
    def bytes(self) -> int:
        """Of one array."""
        return self.side * self.pitch_bytes

    @property
    def halo_bytes(self) -> int:
        """Of one side's halo."""
        return self.side * self.halo * DOUBLE

    @property
    def edges(self) -> tuple[int, int]:
        """Columns where what the left and the right neighbour need begins."""
        return self.halo, self.columns

    @property
    def halos(self) -> tuple[int, int]:
        """Columns where what comes from the left and from the right neighbour begins."""
        return 0, self.columns + self.halo


def check_cut(side: int, halo: int, ranks: int) -> None:
    """Raises UsageError where a rank has fewer columns than its neighbour's halo takes."""
    if side < ranks * halo:
        takers = "one rank" if ranks == 1 else f"{ranks} ranks"
        raise UsageError(
            f"a side of {side} points is too short for halos of {halo} columns on {takers}; "
            f"expected --side {ranks * halo} or more"
        )
