"""Words that conclusions share: names of memory kinds, ranges, factors and shares."""

from isthmus.document.grid import UNKNOWN, Cell
from isthmus.language import in_brackets, say, say_or
from isthmus.record import GIB, KIB, MIB, Interval, Run, format_rate


def memory_name(kind: str) -> str:
    """The kind in running text; one that this version does not know keeps its field name."""
    return say_or(f"memory.text_{kind}", kind.replace("_", " "))


def memory_label(kind: str) -> str:
    """The kind in a legend, a list or a cell of a table."""
    return say_or(f"memory.label_{kind}", kind.replace("_", " "))


def moved_memory_name(kind: str) -> str:
    """The kind in running text about bandwidth, with the direction in which it moves where that is no plain copy."""
    return say_or(f"memory.moved_text_{kind}", memory_name(kind))


def direction_name(direction: str) -> str:
    """``H2D``; for both directions at once it says that rates are sums."""
    return say_or(f"common.way_{direction}", direction)


def direction_word(direction: str) -> str:
    """``H2D``, ``both``: next to the name of a device or an experiment."""
    return say("skips.way_both") if direction == "both" else direction_name(direction)


def link_rate(run: Run, *, both: bool = False) -> float | None:
    """Bytes per second of the wire, twice that for both directions; None where no link is known or crossed."""
    device = run.fingerprint.device
    if device.link is None or device.shares_host_memory:
        return None
    rate = device.link.theoretical_bytes_per_second
    return rate * (2 if both else 1) if rate else None


def range_text(low: float, high: float) -> str:
    """``3.20 GB/s to 11.4 GB/s``, or one rate where both read the same."""
    return spanned(format_rate(low), format_rate(high))


def spanned(first: str, last: str) -> str:
    """``a to b``, or one of them where both read the same."""
    return first if first == last else say("common.range", low=first, high=last)


def times(low: float, high: float) -> str:
    """A factor or a range of factors: ``1.4 to 7.2 times``; near 1 with a second decimal, because it matters there."""
    first, last = factor_digits(low), factor_digits(high)
    return say("common.times", factor=first) if first == last else say("common.times_range", low=first, high=last)


def factor_words(factor: Interval) -> str:
    """``21 times``, with its interval in brackets where that reads differently: ``21 times (19 to 23)``."""
    middle, low, high = map(factor_digits, (factor.median, factor.low, factor.high))
    if middle == low == high:
        return say("common.times", factor=middle)
    return say("common.times", factor=middle) + in_brackets(say("common.range", low=low, high=high))


def factor_digits(value: float) -> str:
    """The digits of a factor: ``21``, ``2.5``, ``1.07``."""
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 1.5 else f"{value:.2f}"


def about_bytes(count: float) -> str:
    """A size that was interpolated, to two digits: ``190 KiB``."""
    factor, unit = next(pair for pair in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (0, "B")) if count >= pair[0])
    return f"{float(f'{count / (factor or 1):.2g}'):g} {unit}"


def describe_device(run: Run) -> str:
    """``NVIDIA H200 (cuda:0)``."""
    device = run.fingerprint.device
    return say("common.device", name=device.name or say("common.unnamed_device"), spec=device.spec)


def percent_cell(share: Interval, *, wide: bool = False) -> Cell:
    """A share in per cent with half of its interval."""
    half = percent_words((share.high - share.low) / 2) if share.is_known else UNKNOWN
    return Cell(percent_words(share.median), half, state="wide" if wide and share.is_known else "ok")


def percent_words(share: float) -> str:
    """``-1.5``, ``10``: per cent, with a decimal below ten; never a zero with a sign."""
    return f"{100 * share:.{0 if abs(share) >= 0.0995 else 1}f}".replace("-0.0", "0.0")
