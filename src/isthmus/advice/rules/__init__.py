"""One module a rule, and the table of all."""

from isthmus.advice.rules import (
    duplicate,
    managed,
    no_overlap,
    over_pinned,
    pageable,
    pinned_in_loop,
    round_trip,
    slow_copies,
    small_copies,
    strided,
    synchronous,
    unused,
)

__all__ = ["RULES"]

# In the order of the documentation; findings come by what they gain.
RULES = (
    pageable.RULE,
    small_copies.RULE,
    strided.RULE,
    no_overlap.RULE,
    synchronous.RULE,
    duplicate.RULE,
    round_trip.RULE,
    unused.RULE,
    managed.RULE,
    pinned_in_loop.RULE,
    over_pinned.RULE,
    slow_copies.RULE,
)
