"""Puts a method together from its steps, and orders methods."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from isthmus.analysis.statistics.contrast import MATTERS
from isthmus.analysis.statistics.resample import DRAWS, Draws, interval_of
from isthmus.language import can_say, say
from isthmus.plan.answer import Method, Step
from isthmus.plan.prices import Price, Unpriced


class Part(NamedTuple):
    """A step of a method: its name, how often it is taken and what it costs each time."""

    name: str
    times: float
    price: Price


def total(parts: Iterable[Part]) -> Draws:
    """Seconds of all steps, as an estimate with its draws."""
    seconds: Draws = np.sum([np.zeros(1 + DRAWS), *(part.times * part.price.draws for part in parts)], axis=0)
    return seconds


def way_of(name: str, parts: Sequence[Part], options: dict[str, int] | None = None) -> Method:
    """The method of these steps, one after the other. Raises Unpriced beyond what the run holds of one of them."""
    for part in parts:
        if part.price.beyond:
            raise Unpriced(say("plan.beyond", step=step_name(part.name), held=part.price.held))
    seconds = total(parts)
    return Method(
        name=name,
        seconds=interval_of(seconds),
        steps=tuple(Step(part.name, part.times, interval_of(part.price.draws)) for part in parts),
        options=options or {},
        draws=seconds,
    )


def step_name(name: str) -> str:
    """What a step does, as the heading of a column; one that this version has no words for keeps its name."""
    verb, _, direction = name.partition("_")
    if verb == "memcpy":
        return say("plan.step_memcpy")
    key = f"plan.step_{name}"
    return direction.upper() if direction in {"h2d", "d2h"} else say(key) if can_say(key) else name


def by_time(methods: Iterable[Method], matters: float = MATTERS) -> tuple[Method, ...]:
    """The fastest first, of methods that come the plainest first.

    Those that are no slower than by what matters are level with the fastest. Of them the one leads that is known not to
    take long, and of several such the plainest.
    """
    given = tuple(methods)
    fastest = min((method.seconds.median for method in given), default=0.0)
    level = [method for method in given if method.seconds.median <= matters * fastest]
    surest = min((method.seconds.high for method in level), default=0.0)
    first = next((method for method in level if method.seconds.high <= matters * surest), None)
    return tuple(sorted(given, key=lambda method: (method is not first, method.seconds.median)))
