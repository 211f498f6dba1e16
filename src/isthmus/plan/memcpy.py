"""What one thread's memcpy between pageable and pinned memory takes, out of the trips that have one in them."""

import numpy as np

from isthmus.analysis.breakeven.costs import CostTable, Term
from isthmus.analysis.breakeven.measured import measured_totals
from isthmus.analysis.statistics.resample import Draws
from isthmus.record import KIB, Run

_PINNED = Term("bandwidth", "copy", "pinned", "h2d")
# So small a memcpy takes nothing beside the calls around it.
_SMALL_BYTES = 4 * KIB
_FIXED_UP_TO = 64 * KIB


def memcpy_seconds(run: Run, costs: CostTable) -> dict[int, Draws]:
    """Seconds by size, as estimates with their draws; empty where the run does not say.

    A further use of a kept staging buffer, whose data a kernel adds up, takes a memcpy, a copy, and what hardly depends
    on the size: the kernel's launch and the copy of its result. That is what remains of the smallest trip without its
    copy, so it is taken off the larger ones; those in which the memcpy is no larger than it are left out as too
    uncertain. Where the device shares the host's memory its kernel takes as long as a memcpy; but there a copy to the
    device is one.
    """
    copies = {size: seconds for size in costs.sizes(_PINNED) if (seconds := costs.seconds(_PINNED, size)) is not None}
    if run.fingerprint.device.shares_host_memory:
        return _growing({size: seconds for size, seconds in copies.items() if size >= _SMALL_BYTES})
    staging = measured_totals(run).get(("reduction", "staging"))
    further = staging.further if staging else {}
    return _growing({size: further[size] - copies[size] for size in further if size in copies})


def _growing(rest: dict[int, Draws]) -> dict[int, Draws]:
    """The times without what the smallest takes, where at least as much remains."""
    smallest = min(rest, default=0)
    if not _SMALL_BYTES <= smallest <= _FIXED_UP_TO:
        return {}
    fixed = rest[smallest]
    found = {size: np.maximum(seconds - fixed, fixed / 2) for size, seconds in rest.items() if size != smallest}
    return {size: seconds for size, seconds in found.items() if seconds[0] >= fixed[0]}
