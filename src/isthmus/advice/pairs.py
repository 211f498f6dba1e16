"""Copies that move the same buffer, or the same contents, one after the other."""

import numpy as np

from isthmus.trace import Integers


def previous(order: Integers, *keys: Integers) -> Integers:
    """For each entry the one before it, by `order`, that is equal in every key; -1 where there is none."""
    found = np.full(order.size, -1, np.int64)
    if order.size < 2:
        return found
    places = np.lexsort((order, *keys))
    same = np.ones(order.size - 1, np.bool_)
    for key in keys:
        same &= key[places][1:] == key[places][:-1]
    found[places[1:][same]] = places[:-1][same]
    return found
