"""When an event began and ended, and other numbers that writers give as numbers or as text."""

from decimal import Decimal
from typing import Any

from isthmus.trace.columns import UNKNOWN
from isthmus.trace.kineto.event import Event
from isthmus.trace.recorded import MOST_NS

# Times count from 1970, or from any moment of the recording: then some are before it.
_MOST_US = MOST_NS // 1000
_LAST_US = 100 * _MOST_US
# Longer texts are no numbers of microseconds.
_LONGEST_NUMBER = 32


def when(event: Event) -> tuple[int, int] | None:
    """From when to when an event lasted, in nanoseconds; None where that is missing or cannot be."""
    start: Any = event.ts
    duration: Any = event.dur
    if start.__class__ is str:
        start = _parsed(start)
    if duration.__class__ is str:
        duration = _parsed(duration)
    # Bounds come first: no power of ten is too high for a Decimal.
    if type(start) not in _NUMBERS or not -_MOST_US <= start <= _LAST_US:
        return None
    if type(duration) not in _NUMBERS or not 0 <= duration <= _MOST_US:
        return None
    # CUPTI gives both as 0 where it did not learn them.
    if start == duration == 0:
        return None
    start_ns = round(start * 1000)
    return start_ns, start_ns + round(duration * 1000)


def moment(value: object) -> Decimal | None:
    """A moment in microseconds; None for anything else."""
    number = _parsed(value) if isinstance(value, str) else value
    return Decimal(number) if isinstance(number, int | float | Decimal) and not isinstance(number, bool) else None


def decimal_of(text: str) -> int:
    """The number in a text of a few digits; UNKNOWN for any other."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else UNKNOWN


def number_of(value: object) -> int:
    """A number that identifies or counts something; UNKNOWN for anything else."""
    return value if type(value) is int and 0 <= value < 1 << 63 else UNKNOWN


def whole(value: object) -> int:
    """The same of a number that may be there as text."""
    return decimal_of(value) if isinstance(value, str) else number_of(value)


_NUMBERS = frozenset({int, float, Decimal})


def _parsed(text: str) -> Decimal | None:
    digits = text.removeprefix("-").replace(".", "", 1)
    return Decimal(text) if len(text) <= _LONGEST_NUMBER and digits.isascii() and digits.isdecimal() else None
