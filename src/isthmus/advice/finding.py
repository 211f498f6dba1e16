"""What advice on a trace consists of: priced findings, rules that could not judge, and the gate of a build."""

import re
from dataclasses import dataclass

from isthmus.document.finding import Level
from isthmus.errors import UsageError
from isthmus.record import Interval, format_seconds, parse_seconds

_GATE = re.compile(r"\s*gain\s*:\s*(?:(?P<percent>\d+(?:\.\d+)?)\s*%\s*|(?P<time>\d.*))", re.ASCII)


@dataclass(frozen=True)
class Evidence:
    """Copies or calls of one place in the program that a finding rests on."""

    # As the trace names it: ``train.py:42 step``; the name of the call where the trace has no call sites.
    place: str
    calls: int
    bytes: int
    # In these calls, of the thread that spent most; of a loop that the loop took, of waits that were waited. Where no
    # calls are known, on the device.
    seconds: float
    # On the device, by the engine that was busy longest; None for loops and for calls without copies.
    device_seconds: float | None = None


@dataclass(frozen=True)
class Finding:
    """One thing to change, or to know. All texts are sentences in the language spoken."""

    # ``pageable``, ``small-copies``: as documented, for scripts.
    rule: str
    # ATTENTION for something to change that would gain time, note for what is worth knowing.
    level: Level
    title: str
    # What was seen, with its figures; what is to be changed; what the gain rests on.
    cause: str
    change: str
    pricing: str
    # A few lines of code that show the change, by language: ``cuda``, ``torch``, ``cupy``, ``isthmus``, ``opencl``.
    snippets: dict[str, str]
    # The places with the most time first.
    evidence: tuple[Evidence, ...]
    calls: int
    bytes: int
    # Time of the program that the change would save, after what the timeline cannot absorb; None where it has no price.
    gain_seconds: Interval | None
    # Whether that follows from the trace's own times alone.
    by_trace: bool = False
    # What `isthmus accelerate` would save of it without a change in the program; None where that is not known.
    accelerate_seconds: Interval | None = None
    # The paragraph of `isthmus.advice.lines` that shows the change in short; empty where there is none.
    lines: str = ""
    # Rules that would change some of the same copies or calls, too.
    also: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Abstention:
    """A rule that lacked what it needs."""

    rule: str
    # What is missing, and how to get it: an option of recording, or a measurement.
    why: str


@dataclass(frozen=True)
class Steps:
    """Steps of one process, all of which take about as long."""

    # How many; seconds of the median one, and of the time before the first.
    count: int
    seconds: float
    before_seconds: float
    # Seconds of all of them, and what of that all changes would gain.
    steady_seconds: float
    gain_seconds: Interval | None = None

    @property
    def new_seconds(self) -> float:
        """What a step takes with all changes."""
        gained = self.gain_seconds.median if self.gain_seconds else 0.0
        return max(self.seconds * (1 - gained / self.steady_seconds), 0.0)


@dataclass(frozen=True)
class Advice:
    """What was found in traces of one program, the largest gain first."""

    findings: tuple[Finding, ...]
    abstentions: tuple[Abstention, ...]
    # The program's time, from the first record to the last.
    span_seconds: float
    # The gain of all changes together: never more than the span, and no second counted twice.
    gain_seconds: Interval | None
    # What the run is called whose rates the gains are priced with, and the device that it measured.
    priced_by: str
    # Whether that is another machine than the one the trace is of, as far as one can tell; empty where it is not.
    priced_elsewhere: str
    # The traced devices where those are others than the run's. Then copies are priced as the run's device makes them,
    # and what follows from the trace's own times is apart from that.
    foreign: tuple[str, ...] = ()
    # The run's device.
    priced_on: str = ""
    gain_by_trace_seconds: Interval | None = None
    # What the traces do not show of the copies, each a sentence: over that nothing is reported to be all right.
    unseen: tuple[str, ...] = ()
    # The repeated phase of the process that gains most, where one was found.
    steps: Steps | None = None


@dataclass(frozen=True)
class GainGate:
    """Fails where all changes together would gain at least that share of the time, or that many seconds.

    A share is of the program's steps where it has such, of the whole trace where it has none or `of_total` says so.
    """

    share: float | None
    seconds: float | None
    of_total: bool = False

    def __str__(self) -> str:
        return f"gain:{100 * self.share:g}%" if self.share is not None else f"gain:{format_seconds(self.seconds or 0)}"

    def fails(self, advice: Advice) -> bool:
        """Whether the advice reaches it; advice without a price never does."""
        gain, time = self._judged(advice)
        return gain is not None and gain.median >= (
            self.share * time if self.share is not None else self.seconds or 0.0
        )

    def gained(self, advice: Advice) -> str:
        """The figure that is judged, as a text: a share of the steps, or of the time traced, or seconds of that."""
        gain, time = self._judged(advice)
        if gain is None or self.share is None:
            return format_seconds(gain.median if gain else 0.0)
        what = "steps" if self._steps(advice) else "time traced"
        return f"{100 * gain.median / time if time else 0.0:.1f} % of the {what}"

    def _judged(self, advice: Advice) -> tuple[Interval | None, float]:
        steps = self._steps(advice)
        return (steps.gain_seconds, steps.steady_seconds) if steps else (advice.gain_seconds, advice.span_seconds)

    def _steps(self, advice: Advice) -> Steps | None:
        return None if self.of_total or self.share is None else advice.steps


def parse_gain_gate(text: str, *, of_total: bool = False) -> GainGate:
    """The gate in a text such as ``gain:10%`` or ``gain:5ms``; shares are of steps, or of the whole trace.

    Raises UsageError for anything else.
    """
    match = _GATE.fullmatch(text)
    if match is None:
        raise UsageError(
            f"not a gate: {text!r}; expected gain:N% of the time or gain:TIME, such as gain:10% or gain:5ms"
        )
    if match["time"]:
        if match["time"].rstrip()[-1].isdigit():
            raise UsageError(f"not a gate: {text!r}; say % of the time or a unit of time: gain:10%, gain:5ms, gain:2s")
        return GainGate(None, parse_seconds(match["time"]), of_total)
    share = float(match["percent"]) / 100
    if not 0 < share <= 1:
        raise UsageError(f"not a gate: {text!r}; changes gain more than nothing, and no more than all of the time")
    return GainGate(share, None, of_total)
