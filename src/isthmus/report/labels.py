"""Names that every reporter gives to the same things: runs, directions, methods and memory kinds."""

from collections.abc import Sequence

from isthmus.model import MEMORY_NAMES, Curve, describe_device
from isthmus.record import Run

__all__ = [
    "DIRECTIONS",
    "curve_name",
    "direction_title",
    "heading",
    "kind_heading",
    "kind_label",
    "kind_rank",
    "run_label",
    "run_title",
]

DIRECTIONS = ("h2d", "d2h", "both", "peer")

_DIRECTION_TITLES = {
    "h2d": "Host to device (H2D)",
    "d2h": "Device to host (D2H)",
    "both": "Both ways at once (rates are sums)",
    "peer": "Device to device",
}
# Up to three short lines each, so that a column is no wider than its figures.
_HEADINGS = {
    "pageable": "page-\nable",
    "pageable_huge": "pageable\nhuge",
    "pinned_portable": "pinned\nportable",
    "write_combined": "write-\ncombined",
    "registered": "regis-\ntered",
    "registered_huge": "regis-\ntered\nhuge",
    "touched_registered": "touched\nregis-\ntered",
    "touched_registered_huge": "touched\nreg.\nhuge",
    "managed_prefetch": "managed\nprefetch",
    "device_pitched": "device\npitched",
    "device_array": "device\narray",
    "device_pool": "device\npool",
    "device_pool_cold": "device\npool\ncold",
}
_NAMES = {
    "pageable_huge": "pageable, huge pages",
    "pinned_portable": "pinned, portable",
    "write_combined": "write-combined",
    "registered_huge": "registered, huge pages",
    "touched_registered": "touched, registered",
    "touched_registered_huge": "touched, registered, huge",
    "staging": "staging buffer",
    "staged": "staged pageable",
    "managed_prefetch": "managed, prefetched",
    "device_pitched": "device, pitched",
    "device_array": "device array",
    "device_pool": "device pool, warm",
    "device_pool_cold": "device pool, cold",
}
# How the bandwidth experiment moves these kinds, where nothing else is said.
_USUAL_METHODS = {"mapped": "kernel", "managed": "prefetch"}
_MOVED_HEADINGS = {"mapped": "mapped\nkernel", "managed": "managed\nprefetch"}
_MOVED_NAMES = {"mapped": "mapped, by kernel", "managed": "managed, prefetched"}


def kind_heading(kind: str) -> str:
    """A memory kind as a column heading of up to three short lines."""
    return _HEADINGS.get(kind, kind.replace("_", "\n", 1))


def kind_label(kind: str) -> str:
    """A memory kind in a legend or a cell of a table."""
    return _NAMES.get(kind, kind.replace("_", " "))


def direction_title(direction: str) -> str:
    """The direction as a heading; for both ways it says that rates are sums."""
    return _DIRECTION_TITLES.get(direction, direction)


def kind_rank(kind: str) -> int:
    """Place of a memory kind in tables and charts."""
    order = list(MEMORY_NAMES)
    return order.index(kind) if kind in order else len(order)


def heading(curve: Curve) -> str:
    """The curve as a column heading of up to three lines; the method is said where the kind does not imply it."""
    text = _MOVED_HEADINGS.get(curve.host_memory) or kind_heading(curve.host_memory)
    if curve.method == "duplex":
        return f"{text}\n{curve.direction.upper()}"
    if curve.method != _USUAL_METHODS.get(curve.host_memory, "copy"):
        text += f"\n{curve.method}"
    return text if curve.alignment_bytes is None else f"{text}\nat {curve.alignment_bytes} B"


def curve_name(curve: Curve) -> str:
    """The curve in a legend or a cell of a table."""
    text = _MOVED_NAMES.get(curve.host_memory) or kind_label(curve.host_memory)
    if curve.method == "duplex":
        return f"{text}, {curve.direction.upper()}"
    if curve.method != _USUAL_METHODS.get(curve.host_memory, "copy"):
        text += f", {curve.method}"
    return text if curve.alignment_bytes is None else f"{text}, at {curve.alignment_bytes} B"


def run_label(runs: Sequence[Run], index: int) -> str:
    """A letter for one of several runs, nothing for a single one."""
    if len(runs) == 1:
        return ""
    return chr(ord("A") + index) if index < 26 else str(index + 1)


def run_title(runs: Sequence[Run], index: int) -> str:
    """Run and device in words, led by the letter that stands for them where there are several."""
    run = runs[index]
    letter = run_label(runs, index)
    return f"{letter + ': ' if letter else ''}{describe_device(run)}, run {run.run}"
