"""Words that conclusions and tables about sections of arrays share: sections, methods, sides, where one method wins."""

import math
from collections.abc import Callable, Iterable

from isthmus.analysis.breakeven.words import about_uses
from isthmus.analysis.phrases import about_bytes, memory_name, spanned
from isthmus.analysis.pieces.words import layout_words
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.analysis.strided.grid import StridedGrid
from isthmus.analysis.strided.model import DOUBLE, Shape, StridedCell
from isthmus.language import can_say, enumerated, in_brackets, say
from isthmus.record import LayoutName, format_bytes

__all__ = [
    "grid_words",
    "method_words",
    "rows_words",
    "section_kind",
    "section_words",
    "sides_words",
    "tied_words",
    "where_words",
    "width_words",
]


def method_words(method: str, cell: StridedCell) -> str:
    """The method in running text; one that this version does not know keeps its field name."""
    plain = f"strided.method_{method}"
    many = [f"strided.method_{method}_many"] if not cell.threads else []
    key = next((each for each in (*many, f"strided.method_{method}_{cell.direction}", plain) if can_say(each)), None)
    dimensions = 3 if cell.shape.slices > 1 else 2
    return say(key, count=cell.threads, dimensions=dimensions) if key else method.replace("_", " ")


def tied_words(methods: Iterable[str], cell: StridedCell) -> str:
    """`` (the driver's batch call or packing on one thread as fast)``; nothing where no other method is."""
    names = [method_words(method, cell) for method in methods]
    return in_brackets(say("strided.as_fast", methods=enumerated(names, "or"))) if names else ""


def where_words(cell: StridedCell) -> str:
    """``D2H to pinned memory``."""
    return say(f"strided.where_{cell.direction}", memory=memory_name(cell.host_memory))


def section_kind(shape: Shape) -> str:
    """``column``, ``halo``, ``box`` or ``face`` for a section that programs know, ``rows`` for any other."""
    narrow = shape.width_bytes == DOUBLE
    if shape.slices > 1:
        return "face" if narrow else "box"
    if shape.is_known and shape.rows * DOUBLE == shape.strided_pitch_bytes:
        return "halo"
    return "column" if shape.is_known and narrow else "rows"


def section_words(shape: Shape) -> str:
    """``a column of 30720 doubles``, ``1024 rows of 64 B``."""
    width, rows, slices = shape[:3]
    match section_kind(shape):
        case "column":
            return say("strided.column", rows=rows)
        case "halo":
            return say("strided.halo", count=width // DOUBLE, rows=rows)
        case "face":
            return say("strided.face", rows=rows, slices=slices)
        case "box" if width % DOUBLE == 0:
            return say("strided.box", columns=width // DOUBLE, rows=rows, slices=slices)
    plain = say("strided.rows", count=rows, width=format_bytes(width))
    return say("strided.slices", slices=slices, rows=plain) if slices > 1 else plain


def sides_words(host: LayoutName, device: LayoutName) -> str:
    """``strided on both sides``, ``strided on the device alone``."""
    if host == device:
        return layout_words(host, device)
    return say("strided.host_alone" if host == "strided" else "strided.device_alone")


def grid_words(grid: StridedGrid) -> str:
    """``strided on the host alone, a row every 32 KiB``."""
    sides = sides_words(grid.host_layout, grid.device_layout)
    if grid.pitch_bytes is None:
        return say("strided.grid_dense", sides=sides)
    return say("strided.grid_pitch", sides=sides, pitch=format_bytes(grid.pitch_bytes))


def rows_words(threshold: Threshold) -> str:
    """From how many rows on: ``from 70 rows on (60 to 90)``, ``never in range``, ``always``, ``only up to 12 rows``."""
    return _answer(threshold, about_uses, "rows")


def width_words(threshold: Threshold) -> str:
    """At which widths: ``only up to 190 B of width (150 B to 240 B)``."""
    return _answer(threshold, about_bytes, "width")


def _answer(threshold: Threshold, number: Callable[[float], str], unit: str) -> str:
    low, high = number(max(threshold.low, threshold.first)), number(min(threshold.high, threshold.last))
    within = in_brackets(spanned(low, high)) if low != high else ""
    match threshold.state:
        case "always":
            return say("strided.always" if threshold.certain else "strided.always_perhaps")
        case "never":
            earliest = math.isfinite(threshold.low) and threshold.low > 0 and not threshold.certain
            if earliest:
                return say(f"strided.never_before_{unit}", low=low)
            return say("strided.never" if threshold.certain else "strided.never_perhaps")
        case "from":
            return say(f"strided.from_{unit}", value=number(threshold.value), within=within)
        case "up_to":
            return say(f"strided.up_to_{unit}", value=number(threshold.value), within=within)
        case _:
            return say("strided.cannot_tell")
