"""What a plan answers: every way that would do, with its time and the arithmetic behind it, the fastest first."""

from dataclasses import dataclass, field
from typing import Literal

from isthmus.analysis.statistics.resample import Draws
from isthmus.plan.need import Need
from isthmus.record import Interval

# On which side of the measured sizes, or numbers of pieces, a prediction lies; empty within them.
Beyond = Literal["", "below", "above"]


@dataclass(frozen=True)
class Step:
    """One cost of a way: what it is (a key of the plan's texts), how often it is paid, seconds each time."""

    name: str
    count: float
    seconds: Interval


@dataclass(frozen=True)
class Way:
    """One way to meet a need.

    `name` is a stable name for scripts, made of the words of run files: a kind of memory (``registered``), a method
    (``pack_threads``), a managed way. `seconds` is the whole need's time with its 95 % interval; `steps` add up to its
    median where the way is a sum, and are empty where it was interpolated as a whole. `options` holds what else the
    way needs to know, such as chunks or threads. `draws` are the time and its bootstrap draws, where there are such:
    what two ways share cancels out of their ratio.
    """

    name: str
    seconds: Interval
    steps: tuple[Step, ...] = ()
    beyond: Beyond = ""
    options: dict[str, int] = field(default_factory=dict)
    draws: Draws | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Plan:
    """The answer to a need: ways by ascending median, and ways that cannot be priced with the reason for each.

    `missing_experiments` are those that the run lacks and that would make the answer better or possible. `extend` is
    the command that measures where the plan had to go beyond what the run has; empty where it did not, or where none
    can. `unmeasured_unit` is what the need's pieces are aligned to where the run does not say what that costs, else 0;
    `exceeded_bytes` is the device's memory where the need is larger than that, else 0.
    """

    need: Need
    ways: tuple[Way, ...]
    unknown: dict[str, str] = field(default_factory=dict)
    missing_experiments: tuple[str, ...] = ()
    extend: str = ""
    unmeasured_unit: int = 0
    exceeded_bytes: int = 0
