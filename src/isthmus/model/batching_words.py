"""Words that conclusions and tables about many small pieces share: methods, layouts, cells, numbers of pieces."""

import math

from isthmus.model.batching import BatchingSurface, CellKey
from isthmus.model.breakeven_words import about_uses
from isthmus.model.phrases import memory_name, times
from isthmus.model.threshold import Threshold
from isthmus.record import Interval, LayoutName, format_bytes

__all__ = ["cell_words", "count_words", "factor_words", "layout_words", "method_words", "setting_words", "way_words"]

_METHODS = {
    "waited_copies": "a loop of copies, each waited for",
    "copies": "a loop of copies",
    "graph": "a replayed graph of copies",
    "batch": "the driver's batch call",
    "device_pack": "one copy and a kernel that packs on the device",
    "pack": "packing on one thread",
    "pack_threads": "packing on {threads} threads",
    "pack_kernel": "packing on {threads} threads for kernels",
    "kernel": "a kernel that reaches host memory",
    "mapped_kernel": "a kernel that reaches mapped memory",
}
_WAYS = {"h2d": "H2D", "d2h": "D2H"}


def method_words(method: str, surface: BatchingSurface) -> str:
    """The method in running text; one that this version does not know keeps its field name."""
    threads = surface.threads if surface.threads > 1 else "many"
    return _METHODS.get(method, method.replace("_", " ")).format(threads=threads)


def way_words(surface: BatchingSurface) -> str:
    """``H2D``."""
    return _WAYS[surface.direction]


def layout_words(host: LayoutName, device: LayoutName) -> str:
    """``scattered on both sides``, ``scattered on the host, contiguous on the device``."""
    return f"{host} on both sides" if host == device else f"{host} on the host, {device} on the device"


def setting_words(surface: BatchingSurface) -> str:
    """``pinned memory, scattered on both sides``."""
    return f"{memory_name(surface.host_memory)}, {layout_words(surface.host_layout, surface.device_layout)}"


def cell_words(key: CellKey) -> str:
    """``4096 pieces of 4 KiB``."""
    size, count = key
    return f"{count} piece{'' if count == 1 else 's'} of {format_bytes(size)}"


def factor_words(factor: Interval) -> str:
    """``21 times``, with its interval in brackets where that reads differently: ``21 times (19 to 23)``."""
    middle, span = times(factor.median, factor.median), times(factor.low, factor.high)
    return middle if middle == span else f"{middle} ({span.removesuffix(' times')})"


def count_words(threshold: Threshold) -> str:
    """How many pieces: ``from 7 on (6 to 9)``, ``never up to 4096``, ``always``, ``only up to 12 (9 to 15)``.

    Where the smallest number measured is large, nobody knows of fewer: ``from 16 on or fewer``.
    """
    most = f"{threshold.last:.0f}"
    low, high = max(threshold.low, threshold.first), min(threshold.high, threshold.last)
    within = f" ({about_uses(low)} to {about_uses(high)})" if about_uses(low) != about_uses(high) else ""
    match threshold.state:
        case "always":
            doubt = "" if threshold.certain else ", though not for certain"
            return ("always" if threshold.first == 1 else f"from {threshold.first:.0f} on or fewer") + doubt
        case "never":
            if threshold.certain:
                return f"never up to {most}"
            earliest = math.isfinite(threshold.low) and threshold.low > 0
            maybe = f", from {about_uses(low)} on at the earliest" if earliest else ""
            return f"never for certain up to {most}{maybe}"
        case "from":
            return f"from {about_uses(threshold.value)} on{within}"
        case "up_to":
            return f"only up to {about_uses(threshold.value)}{within}"
        case _:
            return "cannot tell"
