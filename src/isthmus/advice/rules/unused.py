"""Data that was sent to the device and overwritten before anything there could have read it."""

import numpy as np

from isthmus.advice.places import previous
from isthmus.advice.rates import Rates
from isthmus.advice.rule import Draft, Rule, Summary, Words, removed
from isthmus.advice.scene import Scene
from isthmus.language import say
from isthmus.record import decimal_bytes
from isthmus.trace import UNKNOWN, direction_index


def _find(scene: Scene, rates: Rates) -> Draft | None:
    copies = scene.trace.copies
    rows = scene.of("h2d")
    rows = rows[copies.destination_address[rows] != UNKNOWN]
    begin, end = scene.kernels
    # A program without a kernel in the trace computes where the trace does not see it.
    if not begin.size or not rows.size:
        return None
    keys = (copies.destination_address[rows], copies.bytes[rows], copies.device[rows])
    before = previous(np.arange(rows.size), *keys)
    later = np.flatnonzero(before >= 0)
    first, second = rows[before[later]], rows[later]
    # What may read it: kernels, and copies that are not to the device.
    inward = copies.direction == direction_index("h2d")
    readers = np.flatnonzero((copies.process == scene.process) & ~inward)
    begins = np.sort(np.concatenate([begin, scene.device_begin(readers)]))
    ends = np.sort(np.concatenate([end, scene.device_end(readers)]))
    begun = np.searchsorted(begins, scene.device_begin(second))
    over = np.searchsorted(ends, scene.device_begin(first), "right")
    return removed(scene, rates, first[begun == over], {})


def _words(summary: Summary) -> Words:
    return Words(
        say("advice.unused_title", count=summary.calls, size=decimal_bytes(summary.bytes)),
        say("advice.unused_cause"),
        say("advice.unused_change"),
        say("advice.removed_pricing"),
    )


RULE = Rule("unused", (("addresses",), ("kernels",)), _find, _words)
