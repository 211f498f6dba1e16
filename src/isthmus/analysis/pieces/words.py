"""Words that conclusions and tables about many small pieces share: methods, layouts, cells, numbers of pieces."""

import math
from collections.abc import Iterable

from isthmus.analysis.batching.model import BatchingSurface, CellKey
from isthmus.analysis.breakeven.words import about_uses
from isthmus.analysis.phrases import memory_name, spanned, way_name
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.language import can_say, enumerated, in_brackets, say
from isthmus.record import LayoutName, format_bytes

__all__ = [
    "cell_words",
    "count_words",
    "layout_words",
    "method_words",
    "place_words",
    "setting_words",
    "tied_words",
    "within_words",
]


def method_words(method: str, surface: BatchingSurface) -> str:
    """The method in running text; one that this version does not know keeps its field name."""
    key, many = f"batching.method_{method}", f"batching.method_{method}_many"
    if not surface.threads and can_say(many):
        return say(many)
    return say(key, count=surface.threads) if can_say(key) else method.replace("_", " ")


def tied_words(methods: Iterable[str], surface: BatchingSurface) -> str:
    """`` (a graph or the batch call as fast)``; nothing where no other method is."""
    names = [method_words(method, surface) for method in methods]
    return in_brackets(say("batching.as_fast", methods=enumerated(names, "or"))) if names else ""


def place_words(surface: BatchingSurface) -> str:
    """``H2D with pinned memory``."""
    return say("batching.way_with", way=way_name(surface.direction), memory=memory_name(surface.host_memory))


def layout_words(host: LayoutName, device: LayoutName) -> str:
    """``scattered on both sides``, ``scattered on the host, contiguous on the device``."""
    if host == device:
        return say("batching.layout_both", layout=_layout(host))
    return say("batching.layout_apart", host=_layout(host), device=_layout(device))


def _layout(name: LayoutName) -> str:
    return say(f"batching.layout_{name}") if name else ""


def setting_words(surface: BatchingSurface) -> str:
    """``pinned memory, scattered on both sides``."""
    layouts = layout_words(surface.host_layout, surface.device_layout)
    return say("batching.setting", memory=memory_name(surface.host_memory), layouts=layouts)


def cell_words(key: CellKey) -> str:
    """``4096 pieces of 4 KiB``."""
    size, count = key
    return say("batching.pieces", count=count, size=format_bytes(size))


def count_words(threshold: Threshold) -> str:
    """How many pieces: ``from 7 on (6 to 9)``, ``never up to 4096``, ``always``, ``only up to 12 (9 to 15)``.

    Where the smallest number measured is large, nobody knows of fewer: ``from 16 on or fewer``.
    """
    match threshold.state:
        case "always" if threshold.first == 1:
            return say("batching.count_always" if threshold.certain else "batching.count_always_perhaps")
        case "always":
            key = "batching.count_first" if threshold.certain else "batching.count_first_perhaps"
            return say(key, first=f"{threshold.first:.0f}")
        case "never":
            return _never_words(threshold)
        case "from":
            return say("batching.count_from", value=about_uses(threshold.value), within=within_words(threshold))
        case "up_to":
            return say("batching.count_up_to", value=about_uses(threshold.value), within=within_words(threshold))
        case _:
            return say("batching.cannot_tell")


def _never_words(threshold: Threshold) -> str:
    most = f"{threshold.last:.0f}"
    if threshold.certain:
        return say("batching.count_never", most=most)
    if math.isfinite(threshold.low) and threshold.low > 0:
        low = about_uses(max(threshold.low, threshold.first))
        return say("batching.count_never_before", most=most, low=low)
    return say("batching.count_never_perhaps", most=most)


def within_words(threshold: Threshold) -> str:
    """The interval of a number of pieces in brackets; nothing where it is the number itself."""
    low, high = max(threshold.low, threshold.first), min(threshold.high, threshold.last)
    first, last = about_uses(low), about_uses(high)
    return in_brackets(spanned(first, last)) if first != last else ""
