"""What advice on a trace consists of: findings with their price, and rules that could not judge."""

from dataclasses import dataclass
from typing import Literal

from isthmus.record import Interval

# A warning names something to change that would gain time; information is worth knowing, and nothing to act on.
Severity = Literal["warning", "information"]


@dataclass(frozen=True)
class Evidence:
    """Copies or calls of one place in the program that a finding rests on."""

    # As the trace names it: ``train.py:42 step``; the name of the call where the trace has no call sites.
    place: str
    calls: int
    bytes: int
    # That they took: each as long as its call or the device, of a loop as long as the loop took for it, untraced.
    seconds: float


@dataclass(frozen=True)
class Finding:
    """One thing to change, or to know. All texts are sentences in the language spoken."""

    # ``pageable``, ``small-copies``: as documented, for scripts.
    rule: str
    severity: Severity
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


@dataclass(frozen=True)
class Abstention:
    """A rule that lacked what it needs."""

    rule: str
    # What is missing, and how to get it: an option of recording, or a measurement.
    why: str


@dataclass(frozen=True)
class Advice:
    """What was found in traces of one program, the largest gain first."""

    findings: tuple[Finding, ...]
    abstentions: tuple[Abstention, ...]
    # Of the program, from the first record to the last.
    span_seconds: float
    # Of all changes together: never more than the span, and no second counted twice.
    gain_seconds: Interval | None
    # The run whose rates the gains are priced with, and the device it measured.
    priced_by: str
    # Whether that is another machine than the one the trace is of, as far as one can tell; empty where it is not.
    priced_elsewhere: str
