"""Words that conclusions and tables about sections of arrays share: sections, methods, sides, where one method wins."""

import math
from collections.abc import Callable

from isthmus.model.breakeven_words import about_uses
from isthmus.model.phrases import about_bytes, times
from isthmus.model.strided import DOUBLE, Shape, StridedCell
from isthmus.model.strided_grid import StridedGrid
from isthmus.model.threshold import Threshold
from isthmus.record import Interval, LayoutName, format_bytes

__all__ = [
    "direction_words",
    "factor_words",
    "grid_words",
    "method_words",
    "rows_words",
    "section_kind",
    "section_words",
    "sides_words",
    "width_words",
]

_METHODS = {
    "section": "the driver's {dimensions}-D copy",
    "copies": "one copy per row",
    "batch": "the driver's batch call",
    "whole": "copying all between the rows with them",
    "device_pack": "{packing} by a kernel on the device and one copy",
    "kernel": "a kernel that reaches host memory",
    "mapped_kernel": "a kernel that reaches mapped memory",
    "pack": "packing on one thread",
    "pack_threads": "packing on {threads}",
    "pack_kernel": "packing on {threads} for kernels",
}
_WAYS = {"h2d": "H2D", "d2h": "D2H"}


def direction_words(direction: str) -> str:
    """``H2D``."""
    return _WAYS.get(direction, direction)


def method_words(method: str, cell: StridedCell) -> str:
    """The method in running text; one that this version does not know keeps its field name."""
    return _METHODS.get(method, method.replace("_", " ")).format(
        dimensions=3 if cell.shape.slices > 1 else 2,
        packing="unpacking" if cell.direction == "h2d" else "packing",
        threads="one thread" if cell.threads == 1 else f"{cell.threads} threads" if cell.threads else "many threads",
    )


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
            return f"a column of {rows} doubles"
        case "halo":
            return f"a halo {width // DOUBLE} double{'s' if width > DOUBLE else ''} wide along {rows} rows"
        case "face":
            return f"a face of {rows} x {slices} doubles"
        case "box" if width % DOUBLE == 0:
            return f"a box of {width // DOUBLE} x {rows} x {slices} doubles"
    deep = f"{slices} slices of " if slices > 1 else ""
    return f"{deep}{rows} row{'' if rows == 1 else 's'} of {format_bytes(width)}"


def sides_words(host: LayoutName, device: LayoutName) -> str:
    """``strided on both sides``, ``strided on the device alone``."""
    if host == device:
        return f"{host} on both sides"
    return f"strided on the {'host' if host == 'strided' else 'device'} alone"


def grid_words(grid: StridedGrid) -> str:
    """``strided on the host alone, a row every 32 KiB``."""
    pitch = "every other stretch" if grid.pitch_bytes is None else f"a row every {format_bytes(grid.pitch_bytes)}"
    return f"{sides_words(grid.host_layout, grid.device_layout)}, {pitch}"


def factor_words(factor: Interval) -> str:
    """``3.5 times``, with its interval in brackets where that reads differently: ``3.5 times (3.2 to 3.7)``."""
    middle, span = times(factor.median, factor.median), times(factor.low, factor.high)
    return middle if middle == span else f"{middle} ({span.removesuffix(' times')})"


def rows_words(threshold: Threshold) -> str:
    """From how many rows on: ``from 70 rows on (60 to 90)``, ``never in range``, ``always``, ``only up to 12 rows``."""
    return _answer(threshold, about_uses, " rows")


def width_words(threshold: Threshold) -> str:
    """At which widths: ``only up to 190 B of width (150 B to 240 B)``."""
    return _answer(threshold, about_bytes, " of width")


def _answer(threshold: Threshold, number: Callable[[float], str], unit: str) -> str:
    low, high = max(threshold.low, threshold.first), min(threshold.high, threshold.last)
    within = f" ({number(low)} to {number(high)})" if number(low) != number(high) else ""
    doubt = "" if threshold.certain else ", not for certain"
    match threshold.state:
        case "always":
            return f"always{doubt}"
        case "never":
            earliest = math.isfinite(threshold.low) and threshold.low > 0 and not threshold.certain
            maybe = f" for certain, from {number(low)}{unit} on at the earliest" if earliest else doubt
            return f"never in range{maybe}"
        case "from":
            return f"from {number(threshold.value)}{unit} on{within}"
        case "up_to":
            return f"only up to {number(threshold.value)}{unit}{within}"
        case _:
            return "cannot tell"
