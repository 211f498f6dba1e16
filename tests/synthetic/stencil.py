"""Runs of the stencil experiment whose truth is known: seconds of each phase of each way on a side."""

from collections.abc import Mapping, Sequence

import numpy as np

from isthmus.record import Case, Metric, Series, Verified
from tests.synthetic.made import without

# A method and a kind of memory.
Way = tuple[str, str]
# Computing, packing, copies, unpacking, MPI.
Phases = tuple[float, float, float, float, float]
METRICS: tuple[Metric, ...] = ("compute_seconds", "pack_seconds", "copy_seconds", "unpack_seconds", "mpi_seconds")

# As the paper has it for its two sides, with phases that suit the totals: managed memory takes 1.87 and 0.782 times as
# long where the CPU packs, 1.03 and 1.04 times where the GPU does.
PAPER: Mapping[int, Mapping[Way, Phases]] = {
    30720: {
        ("cpu_whole", "pageable"): (1.0, 0.1, 8.8, 0.1, 0.02),
        ("cpu_whole", "pinned"): (1.0, 0.1, 2.8, 0.1, 0.02),
        ("cpu_columns", "managed"): (7.0, 6.7, 0.0, 5.0, 0.02),
        ("gpu_pack", "pageable"): (1.0, 0.004, 0.003, 0.003, 0.02),
        ("gpu_pack", "managed"): (1.0, 0.02, 0.0203, 0.0, 0.02),
        ("gpu_pack_mapped", "mapped"): (1.0, 0.002, 0.0, 0.002, 0.02),
    },
    61440: {
        ("cpu_whole", "pageable"): (4.0, 0.2, 35.6, 0.2, 0.04),
        ("cpu_whole", "pinned"): (4.0, 0.2, 11.6, 0.2, 0.04),
        ("cpu_columns", "managed"): (12.0, 10.0, 0.0, 9.28, 0.04),
        ("gpu_pack", "pageable"): (4.0, 0.008, 0.006, 0.006, 0.04),
        ("gpu_pack", "managed"): (4.0, 0.09, 0.0908, 0.0, 0.04),
        ("gpu_pack_mapped", "mapped"): (4.0, 0.004, 0.0, 0.004, 0.04),
    },
}


def case(
    side: int,
    way: Way,
    phases: Phases,
    *,
    halo: int = 1,
    columns: int | None = None,
    cut: str = "",
    ranks: int = 2,
    devices: int | None = None,
    noise: float = 0.002,
    verified: Verified = "yes",
) -> Case:
    """One case whose samples spread around these phases; all phases of a sample by the same factor.

    The field is a square of so many points a side, or has other `columns`.
    """
    method, memory = way
    random = np.random.default_rng([side, halo, *map(ord, method + memory)])
    factors = random.lognormal(0, noise, 12)
    totals: dict[Metric, float] = {"host_seconds": sum(phases[:4]), "elapsed_seconds": sum(phases)}
    series = [
        Series(metric=metric, samples=[float(seconds * factor) for factor in factors])
        for metric, seconds in totals.items()
    ]
    series += [
        Series(metric=metric, samples=[float(seconds * factor) for factor in factors])
        for metric, seconds in zip(METRICS, phases, strict=True)
        if seconds
    ]
    return Case(
        experiment="stencil",
        method=method,
        host_memory=memory,
        bytes=side * (columns or side) * 8,
        rows=side,
        width_bytes=8 * halo,
        pitch_bytes=8 * (side // ranks + 2 * halo),
        ranks=ranks,
        halo=halo,
        devices=devices,
        cut=cut,
        series=series,
        verified=verified,
    )


def skip(side: int, way: Way, reason: str, *, ranks: int = 2) -> Case:
    """A way that was not measured."""
    return without(case(side, way, (0.0,) * 5, ranks=ranks), reason)


def cases(sides: Sequence[int] = tuple(PAPER), *, halo: int = 1, devices: int | None = 2) -> list[Case]:
    """Every way of those sides."""
    return [
        case(side, way, phases, halo=halo, devices=devices) for side in sides for way, phases in PAPER[side].items()
    ]
