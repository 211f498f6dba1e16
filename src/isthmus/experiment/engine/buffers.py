"""The buffers of transfers that are compared: allocated once, filled once, shared by all sizes and directions."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from isthmus import _native
from isthmus.errors import CallFailed, OutOfMemory, Unsupported
from isthmus.experiment.engine.blocks import buffers_of, directions_of
from isthmus.record import Case

# A direction, the host's side of it (or the managed memory that moves) and the device's (None for managed memory).
TransferLane = tuple[str, _native.Buffer, _native.Buffer | None]

# Spread evenly over each buffer; a policy that did not hold shows in far fewer.
_PAGES_CHECKED = 64
PAGE_BYTES = 4096


class Arena(NamedTuple):
    """A buffer, and the sizes of transfers that it is too small for, each with the reason; all sizes are bytes."""

    buffer: _native.Buffer | None
    too_large: Mapping[int, str]

    def usable(self, offset: int) -> int:
        """Bytes from `offset` on."""
        return 0 if self.buffer is None else self.buffer.bytes - offset


def allocate_largest(
    device: _native.Device, kind: str, sizes: Mapping[str, Collection[int]], offset: int = 0
) -> dict[str, Arena]:
    """By name, a buffer for the largest of its sizes that can be had for all names, with room for `offset`.

    A size that memory does not suffice for is noted with the reason, and the next smaller one is tried for all names
    at once, lest the first takes all and the others get nothing.
    """
    too_large: dict[int, str] = {}
    for limit in sorted({size for of_name in sizes.values() for size in of_name}, reverse=True):
        try:
            buffers = {name: _allocate(device, kind, of_name, limit, offset) for name, of_name in sizes.items()}
        except (OutOfMemory, Unsupported) as error:
            too_large[limit] = str(error)
            continue
        except CallFailed as error:
            if kind == "device":
                raise
            # A kind that the driver refuses, as sandboxes make it do, is no reason to give up the others.
            return {name: Arena(None, dict.fromkeys(of_name, f"failed: {error}")) for name, of_name in sizes.items()}
        return {name: Arena(buffer, too_large) for name, buffer in buffers.items()}
    return {name: Arena(None, too_large) for name in sizes}


def _allocate(
    device: _native.Device, kind: str, sizes: Collection[int], limit: int, offset: int
) -> _native.Buffer | None:
    largest = max((size for size in sizes if size <= limit), default=None)
    return None if largest is None else device.allocate(kind, -(-(largest + offset) // PAGE_BYTES) * PAGE_BYTES)


class TransferBuffers:
    """Per kind one buffer that h2d starts from and one that d2h ends in; on the device the counterparts, for all."""

    def __init__(self, cases: Sequence[Case], device: _native.Device, offset: int, seed: int) -> None:
        """Allocate and fill; what cannot be had is left out. Raises CallFailed when the device fails at more."""
        self._offset = offset
        self._arenas: dict[tuple[str, str], Arena] = {}
        # Where kernels reach what the driver pinned, it serves for both, and for a fair comparison.
        self._stands_in = {"mapped": "pinned"} if device.kernels_reach("pinned") else {}
        for name in dict.fromkeys(map(self._name, cases)):
            self._allocate(device, name, [case for case in cases if self._name(case) == name], "h2d", seed)
        self._allocate(device, "device", [case for case in cases if case.host_memory != "managed"], "d2h", seed)

    def _allocate(
        self, device: _native.Device, name: str, cases: Sequence[Case], source_direction: str, seed: int
    ) -> None:
        sizes = {each: {case.bytes for case in cases if each in directions_of(case)} for each in ("h2d", "d2h")}
        wanted = {direction: of_direction for direction, of_direction in sizes.items() if of_direction}
        kind = "pageable" if name.startswith("untouched") else name
        for direction, arena in allocate_largest(device, kind, wanted, self._offset).items():
            # Managed memory is filled for every case anew, being source and destination in one.
            if direction == source_direction and arena.buffer is not None and kind != "managed":
                arena.buffer.fill_pattern(self._offset, arena.usable(self._offset), seed + (direction == "d2h"))
            self._arenas[name, direction] = arena

    def _name(self, case: Case) -> str:
        return self._stands_in.get(case.host_memory, buffers_of(case))

    def _of(self, case: Case, direction: str) -> Iterable[Arena]:
        yield self._arenas[self._name(case), direction]
        if case.host_memory != "managed":
            yield self._arenas["device", direction]

    def why_not(self, case: Case) -> str | None:
        """Why there is no memory for a case; None where there is."""
        reasons = (arena.too_large.get(case.bytes) for each in directions_of(case) for arena in self._of(case, each))
        return next((reason for reason in reasons if reason), None)

    def host_buffers(self) -> list[_native.Buffer]:
        """All that could be allocated, the device's too."""
        return [arena.buffer for arena in self._arenas.values() if arena.buffer is not None]

    def lanes(self, case: Case) -> list[TransferLane]:
        """The buffers of a case, direction by direction. Precondition: why_not is None."""
        lanes: list[TransferLane] = []
        for direction in directions_of(case):
            memory, *on_device = (arena.buffer for arena in self._of(case, direction))
            assert memory is not None, "why_not says what could not be allocated"
            lanes.append((direction, memory, on_device[0] if on_device else None))
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


def wrong_data(where: str, words: int, first: int, size: int) -> str:
    """The note of a case with wrong data: how many 8-byte words of `size` bytes differ, and the first one's place."""
    return f"wrong data {where}: {words} of {-(-size // 8)} 8-byte words differ, the first at byte {8 * first}"


def first_wrong(names: Iterable[str], mismatches: Iterable[tuple[int, int]], size: int) -> str:
    """`wrong_data` of the first of several copies of `size` bytes that differs; empty where all are right."""
    pairs = zip(names, mismatches, strict=False)
    return next((wrong_data(name, words, first, size) for name, (words, first) in pairs if words), "")
