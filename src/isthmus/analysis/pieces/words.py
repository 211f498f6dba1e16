"""Words that conclusions, tables and plans about pieces share: methods, layouts, sections."""

from isthmus.analysis.labels import Source
from isthmus.analysis.phrases import direction_name, memory_label
from isthmus.analysis.pieces.cell import BATCHING, Cell, Kind, Shape
from isthmus.analysis.pieces.model import Surface
from isthmus.analysis.statistics.curve import Point
from isthmus.document.chart import Look, numbered_look
from isthmus.language import can_say, say
from isthmus.record import LayoutName, format_bytes, format_rate, format_seconds

_DOUBLE = 8


def method_name(method: str, threads: int = 0) -> str:
    """The method, with the threads that packed where they are known; an unknown one keeps its field name."""
    counted, plain = f"pieces.counted_{method}", f"pieces.method_{method}"
    if threads and can_say(counted):
        return say(counted, count=threads)
    return say(plain) if can_say(plain) else method.replace("_", " ")


def method_look(kind: Kind, method: str) -> Look:
    """Its colour and shape; a kernel looks the same whichever memory it reaches."""
    known = [each for each in kind.methods if each != "mapped_kernel"]
    name = "kernel" if method == "mapped_kernel" else method
    return numbered_look(known.index(name) if name in known else len(known))


def way_words(each: Cell | Surface) -> str:
    """``H2D, pinned``."""
    return say("pieces.way", direction=direction_name(each.direction), memory=memory_label(each.host_memory))


def layout_words(host: LayoutName, device: LayoutName) -> str:
    """``scattered on both sides``, ``contiguous on the host, strided on the device``."""
    if host == device:
        return say("pieces.layout_both", layout=_layout(host))
    return say("pieces.layout_apart", host=_layout(host), device=_layout(device))


def _layout(name: LayoutName) -> str:
    return say(f"pieces.layout_{name}") if name else ""


def surface_title(source: Source[Surface]) -> str:
    """``H2D, pinned, scattered on both sides``, with a pitch and the run where there are several."""
    surface = source.value
    layouts = layout_words(*surface.layouts)
    if surface.pitch_bytes is not None:
        layouts = say("pieces.pitch", layouts=layouts, pitch=format_bytes(surface.pitch_bytes))
    named = {"direction": direction_name(surface.direction), "memory": memory_label(surface.host_memory)}
    return source.titled(say("pieces.title", **named, layouts=layouts))


def section_kind(shape: Shape) -> str:
    """``column``, ``halo``, ``box`` or ``face`` for a section that programs know, ``rows`` for any other."""
    if shape.width_bytes % _DOUBLE or not shape.is_known:
        return "rows"
    narrow = shape.width_bytes == _DOUBLE
    if shape.slices > 1:
        return "face" if narrow else "box"
    if shape.rows * _DOUBLE == shape.strided_pitch_bytes:
        return "halo"
    return "column" if narrow else "rows"


def shape_words(cell: Cell) -> str:
    """``4096 pieces of 4 KiB``, ``a column of 30720 doubles``, ``1024 rows of 64 B``."""
    width, rows, slices = cell.shape[:3]
    kind = "pieces" if cell.kind is BATCHING else section_kind(cell.shape)
    sides = {"columns": width // _DOUBLE, "rows": rows, "slices": slices}
    return say(f"pieces.shape_{kind}", count=cell.pieces, size=format_bytes(width), **sides)


def figure_words(kind: Kind, point: Point) -> str:
    """The rate or the time, whichever the experiment shows."""
    return format_rate(point.rate.median) if kind.shows == "rate" else format_seconds(point.seconds.median)
