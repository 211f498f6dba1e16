"""Copies to the host whose pages are new: the driver waits for each page to be made before it can write there."""

import numpy as np

from isthmus.advice.rates import Rates
from isthmus.advice.records import Mask
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import NEW_PAGES_TIMES, SLOW_PAGEABLE_TIMES, TRACED_BYTES
from isthmus.plan import Unpriced
from isthmus.trace import Integers, direction_index, memory_index


def into_new_pages(scene: Scene, rates: Rates, rows: Integers) -> Mask:
    """Which of these copies went into pageable memory as slowly as only new pages make them; none without rates."""
    copies = scene.trace.copies
    mask: Mask = (copies.direction[rows] == direction_index("d2h")) & (copies.bytes[rows] >= TRACED_BYTES)
    mask &= scene.host_kind(rows) == memory_index("pageable")
    if mask.any():
        try:
            price = rates.copy("pageable", "d2h", copies.bytes[rows[mask]])
        except Unpriced:
            return np.zeros(rows.size, np.bool_)
        cost = scene.cost(rows[mask], rates)
        mask[mask] = (cost > SLOW_PAGEABLE_TIMES * price[:, 2]) & (cost < NEW_PAGES_TIMES * price[:, 2])
    return mask


def most_in_a_row(scene: Scene, rows: Integers) -> int:
    """How many of these copies came after one another with no kernel between: so many buffers the program fills."""
    _, counts = np.unique(np.searchsorted(scene.kernels[0], scene.device_begin(rows)), return_counts=True)
    return int(counts.max(initial=0))
