"""What a plan answers: every method that would do, with its time and the arithmetic behind it, the fastest first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from isthmus.analysis.statistics.contrast import MATTERS
from isthmus.analysis.statistics.resample import DRAWS, Draws, interval_of
from isthmus.language import say, say_or
from isthmus.plan.prices import Price, Unpriced
from isthmus.record import Device, Interval, Need, Timed


@dataclass(frozen=True)
class Step:
    """One cost of a method: what it is (a key of the plan's texts), how often it is paid, seconds each time."""

    name: str
    count: float
    seconds: Interval


@dataclass(frozen=True)
class Method:
    """A method to meet a need.

    `name` is a stable name for scripts, made of the words of run files: a kind of memory (``registered``), a method
    (``pack_threads``), a managed method. `seconds` is the whole need's time with its 95 % interval; `steps` add up to
    its median where the method is a sum of predictions. `options` holds what else the method needs to know, such as
    chunks or threads. `draws` are the time and its bootstrap draws, where there are such: what two methods share
    cancels out of their ratio. `samples` counts those of a time that was measured.
    """

    name: str
    seconds: Interval
    steps: tuple[Step, ...] = ()
    options: Mapping[str, int] = field(default_factory=dict)
    draws: Draws | None = field(default=None, repr=False, compare=False)
    samples: int = 0


@dataclass(frozen=True)
class Plan:
    """The answer to a need: methods by ascending median, timed (`timed`) or predicted from the run of this name.

    `unknown` has methods that cannot be had on the device, and `unpriced` those that can and have no time, with
    reasons; while there are such, none is the fastest. `scale` is what the times of less data were multiplied by.
    `exceeded_bytes` is the device's memory where the need is larger than that, else 0; `wrong` counts cases whose data
    did not arrive. `beside` is what the fastest method costs concurrent work: by neighbour the share by which its
    work takes longer, where the run has measured that.
    """

    need: Need
    methods: tuple[Method, ...]
    unknown: Mapping[str, str] = field(default_factory=dict)
    unpriced: Mapping[str, str] = field(default_factory=dict)
    device: Device = field(default_factory=lambda: Device(backend="host", index=0, name=""))
    run: str = ""
    timed: Timed | None = None
    scale: float = 1.0
    exceeded_bytes: int = 0
    wrong: int = 0
    beside: Mapping[str, float] = field(default_factory=dict)

    @property
    def fastest(self) -> Method | None:
        """The first of the methods, where no rival is without a time."""
        return self.methods[0] if self.methods and not self.unpriced else None


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
    return direction.upper() if direction in {"h2d", "d2h"} else say_or(f"plan.step_{name}", name)


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
