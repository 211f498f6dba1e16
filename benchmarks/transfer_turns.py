"""Contenders that take turns: each runs once a round, in an order drawn anew, so that a noisy moment meets them all."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from isthmus.record import LEAST_SAMPLES, Interval, median_interval

# Beyond this many a median gains nothing that a machine's neighbours leave it.
MOST_ROUNDS = 300
# What takes so many times as long as the fastest is seen after so many rounds; the time is for the others.
FAR, ROUNDS_OF_FAR = 15.0, 3
# Threads of other libraries look for more work for some milliseconds after theirs has ended (OpenMP's spin), and would
# take processors from the next contender. Each begins when the process has been idle for a moment, or after so long.
IDLE_SECONDS, IDLE_SHARE, MOST_IDLE_SECONDS = 0.001, 0.5, 0.05


class Contender(NamedTuple):
    """One way to make the same copy.

    `once` makes it and returns its seconds; the number it is given is another one for every run of any contender, so
    that no two runs that follow one another use the same buffer of several. `check` makes it with the destination
    poisoned before, and says what is wrong with what arrived, or nothing.
    """

    name: str
    once: Callable[[int], float]
    check: Callable[[], str]


@dataclass
class Turns:
    """Seconds of every run of each contender, and why others have none."""

    samples: dict[str, list[float]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)

    def interval(self, name: str) -> Interval | None:
        """The median of one contender with its 95 % interval; None where it did not run."""
        return median_interval(self.samples[name]) if self.samples.get(name) else None

    def seconds(self, name: str) -> float | None:
        """The median of one contender; None where it did not run."""
        found = self.interval(name)
        return found.median if found else None


def timed(work: Callable[[], object], repeats: int = 1) -> float:
    """Seconds that a call takes, one of so many in a row."""
    begin = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - begin) / repeats


def take_turns(
    contenders: Sequence[Contender], seconds: float, order: random.Random, least_rounds: int = LEAST_SAMPLES
) -> Turns:
    """Check every contender, and let them take turns until the time is up, so many rounds at the least.

    The check is the first warm-up; a round that is not kept is the second. What fails is left out with its reason, and
    what is far behind has ROUNDS_OF_FAR samples. Each run begins when no thread of the process is at work any more.
    """
    turns = Turns()
    ready: dict[str, Contender] = {}
    for contender in contenders:
        with _left_out(turns, contender.name):
            if wrong := contender.check():
                turns.wrong[contender.name] = wrong
            contender.once(0)
            ready[contender.name] = contender
            turns.samples[contender.name] = []
    begin = time.monotonic()
    for number in range(1, MOST_ROUNDS + 1):
        if number > least_rounds and time.monotonic() - begin > seconds:
            break
        names = [name for name in ready if name not in turns.left_out]
        if names and number > ROUNDS_OF_FAR:
            medians = {name: median(turns.samples[name]) for name in names}
            names = [name for name in names if medians[name] <= FAR * min(medians.values())]
        order.shuffle(names)
        for place, name in enumerate(names):
            with _left_out(turns, name):
                _await_idle()
                turns.samples[name].append(ready[name].once(number * len(ready) + place))
    return turns


def _await_idle() -> None:
    begin = time.perf_counter()
    while time.perf_counter() - begin < MOST_IDLE_SECONDS:
        since, used = time.perf_counter(), time.process_time()
        time.sleep(IDLE_SECONDS)
        if time.process_time() - used < IDLE_SHARE * (time.perf_counter() - since):
            return


@contextmanager
def _left_out(turns: Turns, name: str) -> Iterator[None]:
    """Keep one contender's failure from ending what the others do."""
    try:
        yield
    except Exception as error:
        turns.left_out[name] = f"{type(error).__name__}: {error}".partition("\n")[0]
        turns.samples.pop(name, None)
