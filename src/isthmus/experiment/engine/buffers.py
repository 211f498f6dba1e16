"""The buffers of transfers that are compared: allocated once, filled once, shared by all sizes and directions."""

from collections import Counter
from collections.abc import Iterable, Sequence

from isthmus import _native
from isthmus.experiment.engine.arena import Arena, allocate_largest
from isthmus.experiment.engine.blocks import TransferPoint

# A way, the host's side of it (or the managed memory that moves) and the device's (None for managed memory).
TransferLane = tuple[str, _native.Buffer, _native.Buffer | None]

# Spread evenly over each buffer; a policy that did not hold shows in far fewer.
_PAGES_CHECKED = 64


class TransferBuffers:
    """Per kind one buffer that h2d starts from and one that d2h ends in; on the device the counterparts, for all."""

    def __init__(self, points: Sequence[TransferPoint], device: _native.Device, offset: int, seed: int) -> None:
        """Allocate and fill; what cannot be had is left out. Raises CallFailed when the device fails at more."""
        self._offset = offset
        self._arenas: dict[tuple[str, str], Arena] = {}
        # Where kernels reach what the driver pinned, it serves for both, and for a fair comparison.
        self._stands_in = {"mapped": "pinned"} if device.kernels_reach("pinned") else {}
        for name in dict.fromkeys(self._name(point) for point in points):
            self._allocate(device, name, [point for point in points if self._name(point) == name], "h2d", seed)
        self._allocate(device, "device", [point for point in points if point.memory != "managed"], "d2h", seed)

    def _allocate(
        self, device: _native.Device, name: str, points: Sequence[TransferPoint], source_way: str, seed: int
    ) -> None:
        sizes = {way: {point.bytes for point in points if way in point.ways()} for way in ("h2d", "d2h")}
        wanted = {way: of_way for way, of_way in sizes.items() if of_way}
        kind = "pageable" if name.startswith("untouched") else name
        for way, arena in allocate_largest(device, kind, wanted, self._offset).items():
            # Managed memory is filled for every case anew, being source and destination in one.
            if way == source_way and arena.buffer is not None and kind != "managed":
                arena.buffer.fill_pattern(self._offset, arena.usable(self._offset), seed + (way == "d2h"))
            self._arenas[name, way] = arena

    def _name(self, point: TransferPoint) -> str:
        return self._stands_in.get(point.memory, point.buffers)

    def _of(self, point: TransferPoint, way: str) -> Iterable[Arena]:
        yield self._arenas[self._name(point), way]
        if point.memory != "managed":
            yield self._arenas["device", way]

    def why_not(self, point: TransferPoint) -> str | None:
        """Why there is no memory for a point; None where there is."""
        reasons = (arena.too_large.get(point.bytes) for way in point.ways() for arena in self._of(point, way))
        return next((reason for reason in reasons if reason), None)

    def placement(self) -> dict[str, dict[str, float]]:
        """Share of each kind's pages on each NUMA node."""
        return page_shares(arena.buffer for arena in self._arenas.values() if arena.buffer is not None)

    def lanes(self, point: TransferPoint) -> list[TransferLane]:
        """The buffers of a point, way by way. Precondition: why_not is None."""
        lanes: list[TransferLane] = []
        for way in point.ways():
            memory, *on_device = (arena.buffer for arena in self._of(point, way))
            assert memory is not None, "why_not finds what could not be allocated"
            lanes.append((way, memory, on_device[0] if on_device else None))
        return lanes


def page_shares(buffers: Iterable[_native.Buffer]) -> dict[str, dict[str, float]]:
    """Share of the pages of each kind of host memory on each NUMA node, device memory left out."""
    nodes: dict[str, list[int]] = {}
    for buffer in buffers:
        if buffer.kind != "device":
            nodes.setdefault(buffer.kind, []).extend(buffer.nodes(_PAGES_CHECKED))
    return {kind: _shares(of_kind) for kind, of_kind in nodes.items()}


def _shares(nodes: Sequence[int]) -> dict[str, float]:
    return {"unknown" if node < 0 else str(node): count / len(nodes) for node, count in Counter(nodes).items()}


def wrong_data(way: str, words: int, first: int, size: int) -> str:
    """What a check found: how many 8-byte words of `size` bytes differ, and the place of the first."""
    return f"wrong data {way}: {words} of {-(-size // 8)} 8-byte words differ, the first at byte {8 * first}"


def first_wrong(names: Iterable[str], mismatches: Iterable[tuple[int, int]], size: int) -> str:
    """`wrong_data` of the first of several copies of `size` bytes that differs; empty where all are right."""
    pairs = zip(names, mismatches, strict=False)
    return next((wrong_data(name, words, first, size) for name, (words, first) in pairs if words), "")
