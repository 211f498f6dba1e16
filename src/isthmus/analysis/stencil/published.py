"""What the paper on OpenACC found for halos of a stencil, and which of our ways are the ones that it compared.

Source: IPSJ SIG Technical Report HPC-177-13, section 5.3 and figures 5 and 6: two ranks, a V100 each, 20 iterations,
halos of one column, MPI excluded, one run each; directives move whole arrays of ordinary memory, or nvc++ makes all
memory managed.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from isthmus.analysis.openacc.model import PUBLISHED_STENCIL_RATIOS
from isthmus.analysis.stencil.model import MANAGED, Stencil, StencilWay
from isthmus.record import Interval

__all__ = ["PUBLISHED_PAIRS", "PUBLISHED_SIDES", "PublishedPair"]

PUBLISHED_SIDES = tuple(PUBLISHED_STENCIL_RATIOS["cpu"])


class PublishedPair(NamedTuple):
    """Automatic against manual movement, with the same part of the machine packing: its time over theirs, by side."""

    packer: Literal["cpu", "gpu"]
    managed: StencilWay
    explicit: StencilWay
    ratios: Mapping[int, float]

    def ours(self, stencil: Stencil) -> Interval | None:
        """The same quotient of a stencil; None where one of the two was not measured."""
        return stencil.ratio(self.managed, self.explicit)


PUBLISHED_PAIRS = (
    PublishedPair("cpu", ("cpu_columns", MANAGED), ("cpu_whole", "pageable"), PUBLISHED_STENCIL_RATIOS["cpu"]),
    PublishedPair("gpu", ("gpu_pack", MANAGED), ("gpu_pack", "pageable"), PUBLISHED_STENCIL_RATIOS["gpu"]),
)
