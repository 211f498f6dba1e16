"""Words that conclusions share: names of memory kinds, shares of the link, and how a curve ends."""

from collections.abc import Sequence

from isthmus.model.curve import Curve
from isthmus.model.shape import largest, peak, plateau, trend
from isthmus.record import GIB, KIB, MIB, Run, format_bytes, format_rate

__all__ = [
    "MEMORY_NAMES",
    "about_bytes",
    "capitalised",
    "describe_device",
    "enumerated",
    "link_rate",
    "memory_name",
    "moved_memory_name",
    "of_link",
    "range_text",
    "settles",
    "times",
]

# In the order in which tables and charts show them: what everybody has first, what needs most care after, the device's
# own last.
MEMORY_NAMES = {
    "malloc": "memory from malloc",
    "pageable": "pageable memory",
    "pageable_huge": "pageable memory on huge pages",
    "pinned": "pinned memory",
    "pinned_portable": "portable pinned memory",
    "write_combined": "write-combined memory",
    "registered": "registered memory",
    "registered_huge": "registered memory on huge pages",
    "touched_registered": "memory touched by many threads and registered",
    "touched_registered_huge": "huge-page memory touched by many threads and registered",
    "staging": "a kept staging buffer",
    "staged": "staged pageable memory",
    "mapped": "mapped memory",
    "managed": "managed memory",
    "managed_prefetch": "managed memory with prefetch",
    "device": "device memory",
    "device_pitched": "pitched device memory",
    "device_array": "a device array",
    "device_pool": "the warm memory pool",
    "device_pool_cold": "the cold memory pool",
}
# How the bandwidth experiment moves what no plain copy moves.
_MOVED = {"mapped": " (through a kernel)", "managed": " (prefetched)"}


def memory_name(kind: str) -> str:
    """The kind in running text; one that this version does not know keeps its field name."""
    return MEMORY_NAMES.get(kind, kind.replace("_", " "))


def moved_memory_name(kind: str) -> str:
    """The kind in running text about bandwidth, with the way in which it moves where that is no plain copy."""
    return memory_name(kind) + _MOVED.get(kind, "")


def link_rate(run: Run, *, both: bool = False) -> float | None:
    """Bytes per second that the wire could carry, twice that for both ways; None where no link is known or crossed."""
    device = run.fingerprint.device
    if device.link is None or device.shares_host_memory:
        return None
    rate = device.link.theoretical_bytes_per_second
    return rate * (2 if both else 1) if rate else None


def of_link(run: Run, rate: float, *, both: bool = False) -> str:
    """`` (88 % of the link)``, or nothing where no link is known."""
    limit = link_rate(run, both=both)
    return f" ({100 * rate / limit:.0f} % of the link)" if limit else ""


def settles(run: Run, curve: Curve) -> str:
    """How a curve with points ends, as the rest of a sentence that its name begins: ``settles at 55.3 GB/s ...``."""
    way = {"h2d": "H2D", "d2h": "D2H", "both": "both ways in sum"}.get(curve.direction, curve.direction)
    last = curve.points[-1]
    both = curve.direction == "both"
    settled = plateau(curve)
    if settled:
        text = f"settles at {format_rate(settled.rate.median)} {way}{of_link(run, settled.rate.median, both=both)}"
        top = peak(curve)
        if top.rate.low > settled.rate.high * 1.1:
            text += f", after a peak of {format_rate(top.rate.median)} at {format_bytes(top.bytes)}"
        return text
    rate = f"{format_rate(last.rate.median)}{of_link(run, last.rate.median, both=both)}"
    match trend(curve):
        case "single":
            return f"moves {rate} {way} at {format_bytes(last.bytes)}, the only size measured"
        case "rising":
            return f"is still rising {way} at {format_bytes(last.bytes)}, the largest size, where it moves {rate}"
        case _:
            end = largest(curve)
            rates = [point.rate.median for point in end]
            return (
                f"does not settle {way}: {range_text(min(rates), max(rates))} "
                f"between {format_bytes(end[0].bytes)} and {format_bytes(last.bytes)}"
            )


def range_text(low: float, high: float) -> str:
    """``3.20 GB/s to 11.4 GB/s``, or one rate where both read the same."""
    first, last = format_rate(low), format_rate(high)
    return first if first == last else f"{first} to {last}"


def times(low: float, high: float) -> str:
    """A factor or a range of factors: ``1.4 to 7.2 times``; near 1 with a second decimal, because it matters there."""
    first, last = (
        f"{value:.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 1.5 else f"{value:.2f}" for value in (low, high)
    )
    return f"{first} times" if first == last else f"{first} to {last} times"


def about_bytes(count: float) -> str:
    """A size that was interpolated, to two digits: ``190 KiB``."""
    factor, unit = next(pair for pair in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (0, "B")) if count >= pair[0])
    return f"{float(f'{count / (factor or 1):.2g}'):g} {unit}"


def enumerated(words: Sequence[str], last: str = "and") -> str:
    """``a``, ``a and b`` or ``a, b and c``; nothing for no words."""
    *others, final = words or [""]
    return f"{', '.join(others)} {last} {final}" if others else final


def capitalised(text: str) -> str:
    """The text with a capital first letter and everything else as it is."""
    return text[:1].upper() + text[1:]


def describe_device(run: Run) -> str:
    """``NVIDIA H200 (cuda:0)``."""
    device = run.fingerprint.device
    return f"{device.name or 'unnamed device'} ({device.spec})"
