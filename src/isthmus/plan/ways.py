"""Puts a way together from its steps, and orders ways."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from isthmus.analysis.statistics.contrast import MATTERS
from isthmus.analysis.statistics.resample import DRAWS, Draws, interval_of
from isthmus.language import can_say, say
from isthmus.plan.answer import Step, Way
from isthmus.plan.prices import Price, Unpriced


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
    """The way that takes these steps, one after the other. Raises Unpriced beyond what the run holds of one of them."""
    for part in parts:
        if part.price.beyond:
            raise Unpriced(say("plan.beyond", step=step_name(part.name), held=part.price.held))
    seconds = total(parts)
    return Way(
        name=name,
        seconds=interval_of(seconds),
        steps=tuple(Step(part.name, part.times, interval_of(part.price.draws)) for part in parts),
        options=options or {},
        draws=seconds,
    )


def step_name(name: str) -> str:
    """What a step does, as the heading of a column; one that this version has no words for keeps its name."""
    verb, _, way = name.partition("_")
    if verb == "memcpy":
        return say("plan.step_memcpy")
    key = f"plan.step_{name}"
    return way.upper() if way in {"h2d", "d2h"} else say(key) if can_say(key) else name


def by_time(ways: Iterable[Way], matters: float = MATTERS) -> tuple[Way, ...]:
    """The fastest first, of ways that come the plainest first.

    Those that are no slower than by what matters are level with the fastest. Of them the one leads that is known not to
    take long, and of several such the plainest.
    """
    given = tuple(ways)
    fastest = min((way.seconds.median for way in given), default=0.0)
    level = [way for way in given if way.seconds.median <= matters * fastest]
    surest = min((way.seconds.high for way in level), default=0.0)
    first = next((way for way in level if way.seconds.high <= matters * surest), None)
    return tuple(sorted(given, key=lambda way: (way is not first, way.seconds.median)))
