"""Copies into new pages, for which the driver waits, and from such, which the program put in place before."""

import numpy as np

from isthmus.advice.places import previous
from isthmus.advice.rates import Range, Rates, Seconds, priced
from isthmus.advice.records import Mask
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import (
    LARGEST_PAGE_BYTES,
    LONGEST_BURST_GAP_SECONDS,
    NEW_PAGES_SHARE,
    NEW_PAGES_TIMES,
    SLOW_PAGEABLE_TIMES,
    TRACED_BYTES,
)
from isthmus.trace import UNKNOWN, Integers, direction_index, memory_index, union


def into_new_pages(scene: Scene, rates: Rates, rows: Integers) -> Mask:
    """Which of these copies went into pageable memory as slowly as only new pages make them; none without rates."""
    copies = scene.trace.copies
    mask: Mask = (copies.direction[rows] == direction_index("d2h")) & (copies.bytes[rows] >= TRACED_BYTES)
    mask &= scene.host_kind(rows) == memory_index("pageable")
    if mask.any():
        price = priced(rates.copy, "pageable", "d2h", copies.bytes[rows[mask]])
        if price is None:
            return np.zeros(rows.size, np.bool_)
        cost = scene.cost(rows[mask], rates)
        mask[mask] = (cost > SLOW_PAGEABLE_TIMES * price[:, 2]) & (cost < NEW_PAGES_TIMES * price[:, 2])
    return mask


def made_before(scene: Scene, rows: Integers) -> tuple[Mask, Seconds, Seconds]:
    """Which copies to the device come from pages that were new, and how long their threads were in the kernel before.

    It clears new pages, and takes old ones back; no longer than the thread called nothing. That is the third: threads
    that helped it may have been in the kernel for all of this time.
    """
    copies, calls = scene.trace.copies, scene.call(rows)
    known = (copies.direction[rows] == direction_index("h2d")) & (calls != UNKNOWN) & (copies.faults[rows] != UNKNOWN)
    made = known & (copies.faults[rows] * LARGEST_PAGE_BYTES >= NEW_PAGES_SHARE * copies.bytes[rows])
    seconds, own = np.zeros(rows.size), np.zeros(rows.size)
    if made.any():
        own[made] = scene.own_time_before(calls[made])
        seconds[made] = np.minimum(np.maximum(copies.system_ns[rows[made]], 0) * 1e-9, own[made])
    return made, seconds, own


def busy_threads(scene: Scene, rows: Integers) -> float:
    """How many threads of the program ran on average while these copies were made; 0 where that is not known."""
    copies, calls = scene.trace.copies, scene.call(rows)
    known = (copies.running_ns[rows] != UNKNOWN) & (calls != UNKNOWN)
    lasted = float(scene.lasted(scene.trace.calls, calls[known]).sum()) if known.any() else 0.0
    return float(copies.running_ns[rows[known]].sum()) * 1e-9 / lasted if lasted else 0.0


def freed_after(scene: Scene, rates: Rates, rows: Integers) -> Range:
    """Seconds in which the host freed what each of these copies had filled, so that its pages had to be made again.

    That it did is known where a later one of them comes to new pages at the same address. The time is the run's, and
    no more than the host did by itself meanwhile; none where the run does not say.
    """
    freed = np.zeros((rows.size, 3))
    address = scene.host_address(rows)
    earlier = previous(scene.trace.copies.start_ns[rows], address)
    again = np.flatnonzero((earlier >= 0) & (address != UNKNOWN) & into_new_pages(scene, rates, rows))
    price = priced(rates.freed, scene.trace.copies.bytes[rows[earlier[again]]])
    if price is None or not again.size:
        return freed
    begin, end = scene.occupied(rows[earlier[again]])[1], scene.asked(rows[again])
    spent = np.minimum(price, scene.own_time(begin, end)[:, np.newaxis])
    # What several buffers were given back in counts once.
    meanwhile = union(begin, end)
    most = float(scene.own_time(meanwhile.begin, meanwhile.end).sum())
    freed[earlier[again]] = spent * np.minimum(most / np.maximum(spent.sum(axis=0), 1e-12), 1.0)
    return freed


def most_in_a_row(scene: Scene, rows: Integers) -> int:
    """How many of these copies came after one another: so many buffers the program fills.

    With no kernel between; where kernels are not known, with no pause.
    """
    begin = np.sort(scene.device_begin(rows))
    between = scene.kernels[0]
    if "kernels" not in scene.trace.knows:
        ended = np.maximum.accumulate(np.sort(scene.device_end(rows)))
        between = begin[1:][begin[1:] - ended[:-1] > LONGEST_BURST_GAP_SECONDS]
    _, counts = np.unique(np.searchsorted(between, begin, "right"), return_counts=True)
    return int(counts.max(initial=0))
