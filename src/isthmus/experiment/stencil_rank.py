"""One rank's part of the stencil: its arrays, its ways, samples of them and checksums, step by step as rank 0 tells."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.devices import OpenDevice
from isthmus.experiment.doubles import Doubles, doubles
from isthmus.experiment.ranks import Ranks
from isthmus.experiment.reasons import reason_of
from isthmus.experiment.stencil_points import Point
from isthmus.experiment.stencil_tile import ITERATIONS, Tile
from isthmus.experiment.stencil_ways import (
    CpuColumns,
    CpuWhole,
    GpuPack,
    GpuPackMapped,
    ManagedColumns,
    ManagedPack,
    ManagedWhole,
    Stopwatch,
    Way,
    Workplace,
)
from isthmus.record import MIB, Metric

__all__ = ["Checksum", "Room", "StencilRank", "iterate", "reference"]

_WORD = (1 << 64) - 1
_CHECKED_AT_ONCE_BYTES = 64 * MIB
_Pair = tuple[_native.Buffer, _native.Buffer]


class Room(NamedTuple):
    """Where a rank computes, and the memory that is free there; ranks of the same `device` on a host share it."""

    host: str
    device: str
    free_bytes: int


class Checksum(NamedTuple):
    """Sums of 64-bit words modulo 2**64: of a rank's own points, and of its halos less what it sent for others'.

    What comes in was sent by somebody, so that over all ranks the second makes 0.
    """

    points: int
    halos: int


class StencilRank:
    """What a rank holds between steps; every step takes place on all ranks at once.

    `result` is the array that the last sample ended in.
    """

    def __init__(self, device: OpenDevice, ranks: Ranks) -> None:
        self._device = device
        self._native = device.native
        self._ranks = ranks
        self._stream = _native.Stream(device.native)
        self._arrays: dict[str, _Pair] = {}
        self._mirrors: dict[str, _native.Buffer] = {}
        self._ways: dict[Point, Way] = {}
        self.result: _native.Buffer | None = None

    def room(self) -> Room:
        """Where this rank computes."""
        # Where a launcher shows each rank a device of its own, all of them are the first one.
        description = self._device.description
        return Room(self._ranks.host, description.pci_address or description.spec, self._native.free_bytes())

    def release(self) -> None:
        """Give all memory back."""
        self.result = None
        self._ways, self._mirrors, self._arrays = {}, {}, {}

    def prepare(self, points: Sequence[Point]) -> dict[Point, str]:
        """Allocate what points of one side and halo need; gives the reasons of those that cannot be had."""
        self.release()
        refused = {}
        for point in points:
            try:
                self._ways[point] = self._way(point)
            except IsthmusError as error:
                refused[point] = reason_of(error)
        return refused

    def drop(self, points: Sequence[Point]) -> None:
        """Forget the points that another rank could not prepare."""
        for point in points:
            self._ways.pop(point, None)

    def sample(self, point: Point, poisoned: bool) -> dict[Metric, float]:
        """Seconds of each phase, summed over the iterations; with `poisoned`, no old halo can pass for a new one."""
        way, arrays, tile = self._ways[point], self._pair(point), self._tile(point)
        if poisoned:
            way.poison()
        self._bring_back(arrays, tile)
        self._fill(arrays[0], tile)
        self._ranks.barrier()
        watch = Stopwatch()
        self.result = iterate(self._stream, arrays, tile, watch, lambda array: way.exchange(array, watch))
        return watch.seconds

    def checksum(self, point: Point) -> "Checksum":
        """Of this rank's points after the last sample, which was one of `point`, and of its halos."""
        assert self.result is not None
        tile = self._tile(point)
        if self.result.kind != "managed":
            return _device_checksum(self._native, self._stream, self.result, tile)
        self.result.begin_host_access()
        found = _sums(doubles(self.result), tile)
        self.result.end_host_access()
        return found

    def _tile(self, point: Point) -> Tile:
        return Tile(point.side, point.halo, self._ranks.rank, self._ranks.count)

    def _pair(self, point: Point) -> _Pair:
        kind = "managed" if point.memory == "managed" else "device"
        if kind not in self._arrays:
            size = self._tile(point).bytes
            self._arrays[kind] = self._native.allocate(kind, size), self._native.allocate(kind, size)
        return self._arrays[kind]

    def _mirror(self, point: Point) -> _native.Buffer:
        if point.memory not in self._mirrors:
            self._mirrors[point.memory] = self._native.allocate(point.memory, self._tile(point).bytes)
        return self._mirrors[point.memory]

    def _way(self, point: Point) -> Way:
        self._pair(point)
        at = Workplace(self._native, self._stream, self._ranks, self._tile(point))
        made: Mapping[tuple[str, bool], Callable[[], Way]] = {
            ("cpu_whole", False): lambda: CpuWhole(at, self._mirror(point)),
            ("cpu_whole", True): lambda: ManagedWhole(at),
            ("cpu_columns", False): lambda: CpuColumns(at, self._mirror(point)),
            ("cpu_columns", True): lambda: ManagedColumns(at),
            ("gpu_pack", False): lambda: GpuPack(at, point.memory),
            ("gpu_pack", True): lambda: ManagedPack(at),
            ("gpu_pack_mapped", False): lambda: GpuPackMapped(at),
            ("gpu_pack_mapped", True): lambda: GpuPackMapped(at),
        }
        return made[point.method, point.memory == "managed"]()

    def _bring_back(self, arrays: _Pair, tile: Tile) -> None:
        """Every sample of managed memory begins with all of it on the device, where it can be brought there."""
        if arrays[0].kind == "managed" and self._native.why_no_prefetch() is None:
            for array in arrays:
                self._stream.prefetch(array, 0, tile.bytes, "device")

    def _fill(self, array: _native.Buffer, tile: Tile) -> None:
        self._stream.fill_ramp(array, tile.side, tile.width, tile.first_column, tile.side)
        self._stream.synchronize()


def iterate(
    stream: _native.Stream,
    arrays: _Pair,
    tile: Tile,
    watch: Stopwatch,
    exchange: Callable[[_native.Buffer], object],
) -> _native.Buffer:
    """Compute from one array into the other and exchange halos, again and again; gives the array that came last."""
    from_, to = arrays
    for _ in range(ITERATIONS):
        stream.laplacian(to, from_, tile.side, tile.width, tile.halo)
        stream.synchronize()
        watch.lap("compute_seconds")
        exchange(to)
        from_, to = to, from_
    return from_


def reference(device: _native.Device, side: int, keep_alive: Callable[[], object]) -> int:
    """The checksum that one rank alone comes to, whose halos never leave the device."""
    tile = Tile(side, 1, 0, 1)
    stream = _native.Stream(device)
    arrays = device.allocate("device", tile.bytes), device.allocate("device", tile.bytes)
    at = Workplace(device, stream, Ranks(), tile)
    parts = at.allocate_parts("device")
    turned = at.allocate_parts("device")

    def wrap(array: _native.Buffer) -> None:
        """What leaves to the left comes in from the right."""
        keep_alive()
        at.pack_on_device(array, parts)
        half = tile.halo_bytes
        stream.copy_by_kernel(turned, half, parts, 0, half)
        stream.copy_by_kernel(turned, 0, parts, half, half)
        at.unpack_on_device(array, turned)

    stream.fill_ramp(arrays[0], side, tile.width, tile.first_column, side)
    stream.synchronize()
    result = iterate(stream, arrays, tile, Stopwatch(), wrap)
    return _device_checksum(device, stream, result, tile).points


def _device_checksum(device: _native.Device, stream: _native.Stream, array: _native.Buffer, tile: Tile) -> Checksum:
    """Rows come to the host in parts, lest it need room for all."""
    rows = max(1, min(tile.side, _CHECKED_AT_ONCE_BYTES // tile.pitch_bytes))
    part = device.allocate("pageable", rows * tile.pitch_bytes)
    points, halos = 0, 0
    for first in range(0, tile.side, rows):
        count = min(rows, tile.side - first)
        stream.copy(part, 0, array, first * tile.pitch_bytes, count * tile.pitch_bytes)
        stream.synchronize()
        part.begin_host_access()
        found = _sums(doubles(part)[: count * tile.width], tile)
        part.end_host_access()
        points, halos = points + found.points, halos + found.halos
    return Checksum(points & _WORD, halos & _WORD)


def _sums(values: Doubles, tile: Tile) -> Checksum:
    """Of whole rows; any order gives the same."""
    words = values[: values.size // tile.width * tile.width].view(np.uint64).reshape(-1, tile.width)

    def of(first: int, count: int) -> int:
        return int(words[:, first : first + count].sum(dtype=np.uint64))

    received = sum(of(first, tile.halo) for first in tile.halos)
    sent = sum(of(first, tile.halo) for first in tile.edges)
    return Checksum(of(tile.halo, tile.columns), (received - sent) & _WORD)
