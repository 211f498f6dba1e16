"""Which ways of a plan may be the fastest: those that the rest of an answer has to be sure of."""

from collections.abc import Sequence

from isthmus.plan.answer import Way


def contenders(ways: Sequence[Way]) -> list[Way]:
    """The ways, which come the fastest first, whose intervals reach down to that of the first."""
    return [way for way in ways if way.seconds.low <= ways[0].seconds.high]
