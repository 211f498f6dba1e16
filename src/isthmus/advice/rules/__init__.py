"""The rules by what they look at, and the table of all."""

from isthmus.advice.rules import (
    device_copies,
    double_copy,
    host_time,
    managed,
    needless,
    no_overlap,
    one_by_one,
    pageable,
    pinned_memory,
    queued_behind,
    slow_copies,
    synchronous,
    waits,
)

# In the order of the documentation; findings come by what they gain.
RULES = (
    pageable.RULE,
    double_copy.RULE,
    one_by_one.SMALL_COPIES,
    one_by_one.STRIDED,
    device_copies.RULE,
    queued_behind.RULE,
    no_overlap.RULE,
    synchronous.RULE,
    waits.RULE,
    host_time.PAGES,
    host_time.AGAIN,
    needless.DUPLICATE,
    needless.ROUND_TRIP,
    needless.UNUSED,
    managed.RULE,
    pinned_memory.PINNED_IN_LOOP,
    pinned_memory.OVER_PINNED,
    slow_copies.RULE,
)
