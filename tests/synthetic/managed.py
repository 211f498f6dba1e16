"""Runs of the managed experiment whose truth is known: rates of copies and of faults, time of both sides' work."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from isthmus.record import GIB, KIB, MIB, Case, Series, Verified
from tests.synthetic.made import without

SIZE = GIB
PERCENTS = (1, 10, 25, 50, 100)
STRIDES = (4 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB)

# Seconds of both phases, by the share of the array that moves.
Truth = Callable[[float], tuple[float, float]]
Key = tuple[str, str]

SUM = 0.1
# As an H200 behaves: copies of 8 and 15 GB/s, faults of 8 and 2.7 GB/s; the CPU adds up for 0.1 s.
H200: Mapping[Key, Truth] = {
    ("explicit_whole", "pageable"): lambda _: (0.135, 0.070 + SUM),
    ("explicit_whole", "pinned"): lambda _: (0.020, 0.020 + SUM),
    ("explicit_touched", "pageable"): lambda share: (0.135 * share, 0.070 * share + SUM),
    ("managed", "managed"): lambda share: (0.133 * share + 1e-3, 0.400 * share + SUM),
    ("prefetch_whole", "managed"): lambda _: (0.022, 0.068 + SUM),
    ("prefetch_touched", "managed"): lambda share: (0.022 * share + 1e-4, 0.068 * share + SUM),
    ("read_mostly", "managed"): lambda share: (0.140 * share + 1e-3, 0.420 * share + SUM),
    ("mapped", "mapped"): lambda share: (0.040 * share, SUM),
}
# What a fault moves, at least.
UNIT = 256 * KIB


def case(
    key: Key,
    into: float,
    out: float,
    *,
    fraction: float | None = None,
    stride: int | None = None,
    size: int = SIZE,
    noise: float = 0.002,
    samples: int = 12,
    verified: Verified = "yes",
    **fields: Any,
) -> Case:
    """One case whose samples spread around these times."""
    # Every case draws noise of its own, the same in each test.
    place = stride or round(100 * (fraction or 0))
    random = np.random.default_rng([size, place, *map(ord, "".join(key))])
    noisy = [[float(seconds * factor) for factor in random.lognormal(0, noise, samples)] for seconds in (into, out)]
    both = [one + other for one, other in zip(*noisy, strict=True)]
    return Case(
        experiment="managed",
        method=key[0],
        host_memory=key[1],
        bytes=size,
        fraction=fraction,
        stride_bytes=stride,
        series=[
            Series(metric="host_seconds", samples=both),
            Series(metric="in_seconds", samples=noisy[0]),
            Series(metric="out_seconds", samples=noisy[1]),
        ],
        verified=verified,
        **fields,
    )


def cases(
    truths: Mapping[Key, Truth] = H200,
    *,
    percents: Iterable[int] = PERCENTS,
    strides: Iterable[int] = STRIDES,
    **fields: Any,
) -> list[Case]:
    """Every way with every part touched; what copies the whole array was measured once for each pattern."""
    found = []
    percents, strides = list(percents), list(strides)
    for key, truth in truths.items():
        once = key[0] == "explicit_whole"
        found += [
            case(key, *truth(percent / 100), fraction=percent / 100, **fields)
            for percent in (percents[-1:] if once else percents)
        ]
        found += [
            case(key, *truth(min(UNIT / stride, 1.0)), stride=stride, **fields)
            for stride in (strides[:1] if once else strides)
        ]
    return found


def skips(key: Key, reason: str, *, percents: Iterable[int] = PERCENTS, size: int = SIZE) -> list[Case]:
    """Ways that could not be measured."""
    return [without(case(key, 0.0, 0.0, fraction=percent / 100, size=size), reason) for percent in percents]


def stays(reason: str) -> Case:
    """How a run says that no page migrated."""
    return Case(experiment="managed", method="migration", host_memory="managed", bytes=0, skipped=True, note=reason)
