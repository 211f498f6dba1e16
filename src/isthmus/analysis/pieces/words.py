"""Words that conclusions, tables and plans about pieces share: methods, layouts, sections, numbers of pieces."""

import math
from collections.abc import Iterable, Sequence

from isthmus.analysis.breakeven.words import about_uses
from isthmus.analysis.labels import kind_label, of_run
from isthmus.analysis.phrases import memory_name, spanned, way_name
from isthmus.analysis.pieces.cell import BATCHING, Cell, Kind, Shape
from isthmus.analysis.pieces.model import Surface
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.document.palette import Look, numbered_look
from isthmus.language import can_say, enumerated, in_brackets, say
from isthmus.record import Interval, LayoutName, Run, format_bytes, format_rate, format_seconds

_DOUBLE = 8


def method_words(method: str, cell: Cell) -> str:
    """The method in running text, as it moves the pieces of a cell."""
    return method_name(method, cell.direction, cell.threads, 3 if cell.shape.slices > 1 else 2)


def method_name(method: str, direction: str = "h2d", threads: int = 0, dimensions: int = 2) -> str:
    """The method in running text; one that this version does not know keeps its field name."""
    plain = f"pieces.method_{method}"
    several = [] if threads else [f"{plain}_many"]
    key = next((each for each in (*several, f"{plain}_{direction}", plain) if can_say(each)), None)
    return say(key, count=threads, dimensions=dimensions) if key else method.replace("_", " ")


def method_label(method: str) -> str:
    """The method in a cell of a table or a legend: one or two words."""
    key = f"pieces.label_{method}"
    return say(key) if can_say(key) else method.replace("_", " ")


def method_heading(method: str) -> str:
    """The method as a column heading of short lines."""
    key = f"pieces.heading_{method}"
    return say(key) if can_say(key) else method.replace("_", "\n", 1)


def method_look(kind: Kind, method: str) -> Look:
    """Its colour and shape; a kernel looks the same whichever memory it reaches."""
    known = [each for each in kind.methods if each != "mapped_kernel"]
    name = "kernel" if method == "mapped_kernel" else method
    return numbered_look(known.index(name) if name in known else len(known))


def tied_words(methods: Iterable[str], cell: Cell) -> str:
    """`` (tied within noise: packing on one thread)``; nothing where no other method is as fast."""
    names = [method_words(method, cell) for method in methods]
    return in_brackets(say("pieces.tied", methods=enumerated(names))) if names else ""


def where_words(cell: Cell | Surface) -> str:
    """``D2H to pinned memory``."""
    return say(f"pieces.where_{cell.direction}", memory=memory_name(cell.host_memory))


def layout_words(host: LayoutName, device: LayoutName) -> str:
    """``scattered on both sides``, ``contiguous on the host, strided on the device``."""
    if host == device:
        return say("pieces.layout_both", layout=_layout(host))
    return say("pieces.layout_apart", host=_layout(host), device=_layout(device))


def _layout(name: LayoutName) -> str:
    return say(f"pieces.layout_{name}") if name else ""


def surface_words(surface: Surface) -> str:
    """``scattered on both sides``; for rows with their pitch."""
    layouts = layout_words(*surface.layouts)
    if surface.kind is BATCHING:
        return layouts
    if surface.pitch_bytes is None:
        return say("pieces.pitch_double", layouts=layouts)
    return say("pieces.pitch", layouts=layouts, pitch=format_bytes(surface.pitch_bytes))


def surface_title(runs: Sequence[Run], index: int, surface: Surface) -> str:
    """``H2D, pinned, scattered on both sides``, with the run where there are several."""
    named = {"way": way_name(surface.direction), "memory": kind_label(surface.host_memory)}
    return of_run(say("pieces.title", **named, layouts=surface_words(surface)), runs, index)


def section_kind(shape: Shape) -> str:
    """``column``, ``halo``, ``box`` or ``face`` for a section that programs know, ``rows`` for any other."""
    narrow = shape.width_bytes == _DOUBLE
    if shape.slices > 1:
        return "face" if narrow else "box"
    if shape.is_known and shape.rows * _DOUBLE == shape.strided_pitch_bytes:
        return "halo"
    return "column" if shape.is_known and narrow else "rows"


def shape_words(cell: Cell) -> str:
    """``4096 pieces of 4 KiB``, ``a column of 30720 doubles``, ``1024 rows of 64 B``."""
    width, rows, slices = cell.shape[:3]
    size = format_bytes(width)
    if cell.kind is BATCHING:
        return say("pieces.pieces", count=rows, size=size)
    match section_kind(cell.shape):
        case "column":
            return say("pieces.column", rows=rows)
        case "halo":
            return say("pieces.halo", count=width // _DOUBLE, rows=rows)
        case "face":
            return say("pieces.face", rows=rows, slices=slices)
        case "box" if width % _DOUBLE == 0:
            return say("pieces.box", columns=width // _DOUBLE, rows=rows, slices=slices)
    plain = say("pieces.rows", count=rows, size=size)
    return say("pieces.slices", slices=slices, rows=plain) if slices > 1 else plain


def figure_words(kind: Kind, point: Point) -> str:
    """The rate or the time, whichever the experiment shows."""
    return format_rate(point.rate.median) if kind.shows == "rate" else format_seconds(point.seconds.median)


def times_text(factor: Interval | None) -> str:
    """`` x31`` for cells; nothing where there is no factor."""
    return f" x{factor.median:.{0 if factor.median >= 9.95 else 1}f}" if factor else ""


def count_words(threshold: Threshold) -> str:
    """How many pieces: ``from 7 on (6 to 9)``, ``never up to 4096``, ``always``, ``only up to 12 (9 to 15)``.

    Where the smallest number measured is large, nobody knows of fewer: ``from 16 on or fewer``.
    """
    certain = "" if threshold.certain else "_perhaps"
    first, most = f"{threshold.first:.0f}", f"{threshold.last:.0f}"
    match threshold.state:
        case "always" if threshold.first == 1:
            return say(f"pieces.count_always{certain}")
        case "always":
            return say(f"pieces.count_first{certain}", first=first)
        case "never" if not threshold.certain and math.isfinite(threshold.low) and threshold.low > 0:
            return say("pieces.count_never_before", most=most, low=about_uses(max(threshold.low, threshold.first)))
        case "never":
            return say(f"pieces.count_never{certain}", most=most)
        case "from" | "up_to":
            return say(
                f"pieces.count_{threshold.state}", value=about_uses(threshold.value), within=within_words(threshold)
            )
        case _:
            return say("pieces.cannot_tell")


def within_words(threshold: Threshold) -> str:
    """The interval of a number of pieces in brackets; nothing where it is the number itself."""
    low, high = max(threshold.low, threshold.first), min(threshold.high, threshold.last)
    first, last = about_uses(low), about_uses(high)
    return in_brackets(spanned(first, last)) if first != last else ""
