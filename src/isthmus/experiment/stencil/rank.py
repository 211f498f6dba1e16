"""One rank's part of the stencil: arrays, methods, samples of them and checksums, step by step as rank 0 tells."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.doubles import RAMP_PERIOD
from isthmus.experiment.engine.sampling import reason_of
from isthmus.experiment.mpi.ranks import Ranks
from isthmus.experiment.stencil.exchange import Exchange, Stopwatch, Workplace, exchange_of
from isthmus.experiment.stencil.points import Cut, HaloPoint, Tile
from isthmus.experiment.stencil.sums import Checksum, checksum, reference
from isthmus.machine.devices import OpenDevice
from isthmus.record import Metric

_Pair = tuple[_native.Buffer, _native.Buffer]


class Room(NamedTuple):
    """Where a rank computes, and the memory that is free there; ranks of the same `device` on a host share it."""

    host: str
    device: str
    free_bytes: int


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
        self._methods: dict[HaloPoint, Exchange] = {}
        self.result: _native.Buffer | None = None

    def room(self) -> Room:
        """Where this rank computes."""
        # Where a launcher shows each rank a device of its own, all of them are the first one.
        description = self._device.description
        return Room(self._ranks.host, description.pci_address or description.spec, self._native.free_bytes())

    def release(self) -> None:
        """Give all memory back."""
        self.result = None
        self._methods, self._mirrors, self._arrays = {}, {}, {}

    def prepare(self, points: Sequence[HaloPoint]) -> dict[HaloPoint, str]:
        """Allocate what points of one cut need; gives the reasons of those that cannot be had."""
        self.release()
        refused = {}
        for point in points:
            try:
                self._pair(point)
                at = Workplace(self._native, self._stream, self._ranks, self._tile(point))
                self._methods[point] = exchange_of(at, point, partial(self._mirror, point))
            except IsthmusError as error:
                refused[point] = reason_of(error)
        return refused

    def drop(self, points: Sequence[HaloPoint]) -> None:
        """Forget the points that another rank could not prepare."""
        for point in points:
            self._methods.pop(point, None)

    def sample(self, point: HaloPoint, poisoned: bool) -> dict[Metric, float]:
        """Seconds of each phase, summed over the iterations; with `poisoned`, no old halo can pass for a new one."""
        method, arrays, tile = self._methods[point], self._pair(point), self._tile(point)
        if poisoned:
            method.poison()
        self._bring_back(arrays, tile)
        self._fill(arrays[0], tile)
        if tile.row_halo:
            method.exchange(arrays[0], Stopwatch())
            self._bring_back(arrays, tile)
            self._stream.synchronize()
        self._ranks.barrier()
        watch = Stopwatch()
        self.result = iterate(self._stream, arrays, tile, watch, lambda array: method.exchange(array, watch))
        return watch.seconds

    def checksum(self, point: HaloPoint) -> Checksum:
        """The sums of this rank's points after the last sample, which was one of `point`, and of its halos."""
        assert self.result is not None
        return checksum(self._native, self._stream, self.result, self._tile(point))

    def reference(self, cut: Cut, most_bytes: int) -> int:
        """This rank's share of the sum of a field's points, computed without exchanges."""
        return reference(self._native, cut, self._ranks.rank, self._ranks.count, most_bytes)

    def _tile(self, point: HaloPoint) -> Tile:
        return point.cut.tile(self._ranks.rank)

    def _pair(self, point: HaloPoint) -> _Pair:
        kind = "managed" if point.memory == "managed" else "device"
        if kind not in self._arrays:
            size = self._tile(point).bytes
            self._arrays[kind] = self._native.allocate(kind, size), self._native.allocate(kind, size)
        return self._arrays[kind]

    def _mirror(self, point: HaloPoint) -> _native.Buffer:
        if point.memory not in self._mirrors:
            self._mirrors[point.memory] = self._native.allocate(point.memory, self._tile(point).bytes)
        return self._mirrors[point.memory]

    def _bring_back(self, arrays: _Pair, tile: Tile) -> None:
        """Every sample of managed memory begins with all of it on the device, where it can be brought there."""
        if arrays[0].kind == "managed" and self._native.why_no_prefetch() is None:
            for array in arrays:
                self._stream.prefetch(array, 0, tile.bytes, "device")

    def _fill(self, array: _native.Buffer, tile: Tile) -> None:
        """Set the field at first; where rows are cut the halos are left to an exchange."""
        if tile.row_halo:
            # The ramp knows no first row; on a period, it may be moved along columns instead.
            first = (tile.first_row + tile.first_column) % RAMP_PERIOD
            self._stream.fill_ramp(array, tile.height, tile.width, first, RAMP_PERIOD)
        else:
            columns = tile.cut.columns
            self._stream.fill_ramp(array, tile.height, tile.width, tile.first_column % columns, columns)
        self._stream.synchronize()


def iterate(
    stream: _native.Stream, arrays: _Pair, tile: Tile, watch: Stopwatch, exchange: Callable[[_native.Buffer], object]
) -> _native.Buffer:
    """Compute from one array into the other and exchange halos, again and again; gives the array that came last."""
    from_, to = arrays
    height, width, halo = tile.height, tile.width, tile.cut.halo
    for _ in range(tile.cut.iterations):
        stream.laplacian(to, from_, height, width, halo)
        stream.synchronize()
        watch.lap("compute_seconds")
        exchange(to)
        from_, to = to, from_
    return from_
