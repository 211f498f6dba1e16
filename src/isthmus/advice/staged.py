"""Arrays that a library copies into pinned memory of its own, by one thread, before it sends them: CuPy's `asarray`."""

import re

import numpy as np

from isthmus.advice.rates import Range, Rates, Seconds, priced
from isthmus.advice.records import Mask
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import TRACED_BYTES
from isthmus.trace import UNKNOWN, Integers

# Where a library makes an array of one in the host's memory: it stages what is pinned, too.
_STAGES = re.compile(r"(?:.*/)?cupy/_creation/from_data\.py:")


def staged(scene: Scene) -> Integers:
    """Rows of the copies to the device that such a function made from pinned memory."""
    rows = scene.of("h2d", "pinned")
    mask: Mask = (scene.trace.copies.bytes[rows] >= TRACED_BYTES) & (scene.call(rows) != UNKNOWN)
    stages = [place for place, site in enumerate(scene.trace.sites) if any(map(_STAGES.match, site))]
    mask[mask] = np.isin(scene.trace.calls.site[scene.call(rows[mask])], stages)
    selected: Integers = rows[mask]
    return selected


def staging(scene: Scene, rates: Rates, rows: Integers) -> tuple[Seconds, Range]:
    """What the host did by itself before each of these copies, and what of that was the copy within the host.

    The copy is the run's, and no longer than the time there was. Raises `isthmus.plan.Unpriced` without its price.
    """
    before = scene.own_time_before(scene.call(rows))
    return before, np.minimum(rates.memcpy(scene.trace.copies.bytes[rows]), before[:, np.newaxis])


def accelerated(scene: Scene, rates: Rates, rows: Integers, spent: Range) -> Range | None:
    """What several threads save of that: they take no longer than the library's whole copy; None without its price."""
    seconds = priced(rates.library, "h2d", scene.trace.copies.bytes[rows], fresh=False)
    return None if seconds is None else np.maximum(spent - seconds[:, [0, 2, 1]], 0.0)
