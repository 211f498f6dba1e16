"""The buffers of sections of arrays: allocated once, filled once, shared by all sections, methods and directions."""

from collections.abc import Sequence

from isthmus import _native
from isthmus.experiment.engine.arena import PAGE_BYTES
from isthmus.experiment.engine.buffers import page_shares
from isthmus.experiment.engine.pieces import LEAST_STAGING_BYTES, PieceSubject, Side
from isthmus.experiment.strided.sections import Point
from isthmus.record import Case

_ENDS = ("source", "destination")


class SectionBuffers:
    """Per kind of memory an array that is read and one that is written, and memory to pack through, for all points.

    All that is read holds one pattern: what is written is overwritten before, so that nothing there can pass for it.
    """

    def __init__(self, points: Sequence[Point], device: _native.Device, threads: int, seed: int) -> None:
        """Allocate and fill. Raises an IsthmusError when the device or the machine lacks the memory."""
        sizes = _sizes(points)
        # Sources are compared with it, and pageable memory is one.
        self._reference = device.allocate("pageable", max(size for (_, end), size in sizes.items() if end == "source"))
        self._buffers = {
            (kind, end): device.allocate(kind, size)
            for (kind, end), size in sizes.items()
            if (kind, end) != ("pageable", "source")
        }
        self._buffers["pageable", "source"] = self._reference
        for (_, end), buffer in self._buffers.items():
            if end == "source":
                buffer.fill_pattern(0, buffer.bytes, seed)
        most = max(points, key=lambda point: point.section.bytes).section
        self._staging = _native.create_staging(device, most.bytes, threads, 1)

    def subject(self, template: Case, point: Point) -> PieceSubject:
        """The point's section, to be moved by the template's method."""
        source, destination = (
            Side(self._buffers[kind, end], point.section.device if kind == "device" else point.section.host)
            for end in _ENDS
            for kind in [_kind(point, end)]
        )
        return PieceSubject(template, destination, source, point.section.extent, self._reference, self._staging)

    def placement(self) -> dict[str, dict[str, float]]:
        """Share of each kind's pages on each NUMA node."""
        return page_shares(self._buffers.values())


def bytes_needed(points: Sequence[Point], shares_host_memory: bool) -> int:
    """Host memory for the buffers of all points; with the device's where device memory is host memory."""
    sizes = _sizes(points)
    read = max((size for (_, end), size in sizes.items() if end == "source"), default=0)
    held = sum(
        size
        for (kind, end), size in sizes.items()
        if (kind, end) != ("pageable", "source") and (kind != "device" or shares_host_memory)
    )
    # What was written is read back to be checked.
    checked = max((size for (_, end), size in sizes.items() if end == "destination"), default=0)
    packed = max((point.section.bytes for point in points), default=0)
    staging = max(packed, LEAST_STAGING_BYTES) if points else 0
    return read + held + checked + staging * (2 if shares_host_memory else 1)


def _sizes(points: Sequence[Point]) -> dict[tuple[str, str], int]:
    """Bytes of the largest array of each kind that is read, and that is written."""
    found: dict[tuple[str, str], int] = {}
    for point in points:
        for end in _ENDS:
            key = (_kind(point, end), end)
            found[key] = max(found.get(key, 0), _size(point, end))
    return found


def _kind(point: Point, end: str) -> str:
    return "device" if (end == "destination") == (point.direction == "h2d") else point.memory


def _size(point: Point, end: str) -> int:
    """Whole pages, with one after the last piece for what might be written beyond it."""
    place = point.section.device if _kind(point, end) == "device" else point.section.host
    last = place.offset + place.span_bytes(point.section.extent)
    return (-(-last // PAGE_BYTES) + 1) * PAGE_BYTES
