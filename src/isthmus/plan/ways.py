"""Puts a way together from its steps, orders ways, and says which of them may be the fastest."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from isthmus.analysis.statistics.contrast import MATTERS
from isthmus.analysis.statistics.resample import DRAWS, Draws, interval_of
from isthmus.plan.answer import Beyond, Step, Way
from isthmus.plan.prices import Price
from isthmus.record import format_bytes


class Part(NamedTuple):
    """A step of a way: its name, how often it is taken and what it costs each time."""

    name: str
    times: float
    price: Price


def total(parts: Iterable[Part]) -> Draws:
    """Seconds of all steps, as an estimate with its draws."""
    seconds: Draws = np.sum([np.zeros(1 + DRAWS), *(part.times * part.price.draws for part in parts)], axis=0)
    return seconds


def way_of(name: str, parts: Sequence[Part], options: dict[str, int] | None = None) -> Way:
    """The way that takes these steps, one after the other."""
    beyond: tuple[Beyond, ...] = ("above", "below")
    outside = {part.price.beyond for part in parts}
    seconds = total(parts)
    return Way(
        name=name,
        seconds=interval_of(seconds),
        steps=tuple(Step(part.name, part.times, interval_of(part.price.draws)) for part in parts),
        beyond=next((side for side in beyond if side in outside), ""),
        options=options or {},
        draws=seconds,
    )


def by_time(ways: Iterable[Way]) -> tuple[Way, ...]:
    """The fastest first, of ways that come the plainest first.

    Those that are no slower than by what matters are level with the fastest. Of them the one leads that is known not to
    take long, and of several such the plainest.
    """
    given = tuple(ways)
    fastest = min((way.seconds.median for way in given), default=0.0)
    level = [way for way in given if way.seconds.median <= MATTERS * fastest]
    surest = min((way.seconds.high for way in level), default=0.0)
    first = next((way for way in level if way.seconds.high <= MATTERS * surest), None)
    return tuple(sorted(given, key=lambda way: (way is not first, way.seconds.median)))


def contenders(ways: Sequence[Way]) -> list[Way]:
    """The ways, which come the fastest first, whose intervals reach down to that of the first."""
    return [way for way in ways if way.seconds.low <= ways[0].seconds.high]


def size_option(count: int) -> str:
    """``4KiB``, as options of the command line take sizes."""
    return format_bytes(count).replace(" ", "")
