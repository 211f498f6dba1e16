"""What synthetic runs share: samples that spread around a time, and cases without results."""

import msgspec
import numpy as np

from isthmus.record import Case, Metric, Series


def drawn(
    seconds: float,
    random: np.random.Generator | int,
    noise: float = 0.002,
    samples: int = 12,
    metric: Metric = "host_seconds",
) -> Series:
    """So many samples around a time; `random` draws them, or a new generator of this seed does."""
    factors = np.random.default_rng(random).lognormal(0, noise, samples)
    return Series(metric=metric, samples=[float(seconds * factor) for factor in factors])


def without(case: Case, reason: str) -> Case:
    """The case skipped for this reason."""
    return msgspec.structs.replace(case, series=[], verified="n/a", skipped=True, note=reason)
