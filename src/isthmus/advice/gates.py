"""The condition under which advice fails a build: `--fail-if gain:10%`."""

import re
from dataclasses import dataclass

from isthmus.advice.finding import Advice
from isthmus.errors import UsageError
from isthmus.record import format_seconds, parse_seconds

_GATE = re.compile(r"\s*gain\s*:\s*(?:(?P<percent>\d+(?:\.\d+)?)\s*%\s*|(?P<time>\d.*))", re.ASCII)


@dataclass(frozen=True)
class GainGate:
    """Fails where all changes together would gain at least that share of the span, or that many seconds."""

    share: float | None
    seconds: float | None

    def __str__(self) -> str:
        return f"gain:{100 * self.share:g}%" if self.share is not None else f"gain:{format_seconds(self.seconds or 0)}"

    def fails(self, advice: Advice) -> bool:
        """Whether the advice reaches it; advice without a price never does."""
        if advice.gain_seconds is None:
            return False
        limit = self.share * advice.span_seconds if self.share is not None else self.seconds or 0.0
        return advice.gain_seconds.median >= limit


def parse_gain_gate(text: str) -> GainGate:
    """The gate in a text such as ``gain:10%`` or ``gain:5ms``.

    Raises UsageError for anything else.
    """
    match = _GATE.fullmatch(text)
    if match is None:
        raise UsageError(
            f"not a gate: {text!r}; expected gain:N% of the span or gain:TIME, such as gain:10% or gain:5ms"
        )
    if match["time"]:
        if match["time"].rstrip()[-1].isdigit():
            raise UsageError(f"not a gate: {text!r}; say % of the span or a unit of time: gain:10%, gain:5ms, gain:2s")
        return GainGate(None, parse_seconds(match["time"]))
    share = float(match["percent"]) / 100
    if not 0 < share <= 1:
        raise UsageError(f"not a gate: {text!r}; changes gain more than nothing, and no more than all of the time")
    return GainGate(share, None)
