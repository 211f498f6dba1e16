"""Copies to the host whose pages are new: the driver waits for each page to be made before it can write there."""

import numpy as np

from isthmus.advice.rates import Rates, priced
from isthmus.advice.records import Mask
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import LONGEST_BURST_GAP_SECONDS, NEW_PAGES_TIMES, SLOW_PAGEABLE_TIMES, TRACED_BYTES
from isthmus.trace import Integers, direction_index, memory_index


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
