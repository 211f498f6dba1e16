"""What a plan answers: every method that would do, with its time and the arithmetic behind it, the fastest first."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from isthmus.analysis.statistics.resample import Draws
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
