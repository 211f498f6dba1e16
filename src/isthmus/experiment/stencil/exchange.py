"""Methods to exchange the halos of one rank's array: who packs them, and how they come to the host and back."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from isthmus import _native
from isthmus.experiment.engine.doubles import Doubles, doubles
from isthmus.experiment.mpi.ranks import Ranks
from isthmus.experiment.stencil.points import DOUBLE, HaloPoint, Section, Tile
from isthmus.record import Metric

# To a buffer from another of the same shape.
_Move = Callable[[_native.Buffer, _native.Buffer], None]


class Stopwatch:
    """Seconds of each phase; whatever was started must have ended at the end of a lap."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._began = clock()
        self.seconds: dict[Metric, float] = {}

    def lap(self, phase: Metric) -> None:
        """Add the time since the last lap to a phase."""
        now = self._clock()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._began
        self._began = now


class Exchange(Protocol):
    """One method on one rank; its buffers live as long as it does."""

    def exchange(self, array: _native.Buffer, watch: Stopwatch) -> None:
        """Send the edges of `array` to the neighbours, and fill its halos with theirs."""

    def poison(self) -> None:
        """Fill the receive buffers with NaN, so that stale data cannot pass."""


class Workplace:
    """What all methods of a rank share: the device's stream, the shape of the array and the neighbours.

    The parts that go out and come in lie one after the other in the order of the tile's borders.
    """

    def __init__(self, device: _native.Device, stream: _native.Stream, ranks: Ranks, tile: Tile) -> None:
        self.device = device
        self.stream = stream
        self.tile = tile
        self.edges = [border.edge for border in tile.borders]
        self.halos = [border.halo for border in tile.borders]
        self._ranks = ranks
        self._neighbours = [border.neighbour for border in tile.borders]
        self._pitch, self._bytes = tile.pitch_bytes, tile.border_bytes
        self._shape = tile.height, tile.width

    def allocate_parts(self, kind: str) -> _native.Buffer:
        """Memory for one part on each side."""
        return self.device.allocate(kind, self._bytes)

    def parts(self) -> list[Doubles]:
        """The same of ordinary memory."""
        return self._split(np.empty(self._bytes // DOUBLE))

    def as_parts(self, buffer: _native.Buffer) -> list[Doubles]:
        """The parts in a buffer that the host may access now."""
        return self._split(doubles(buffer))

    def send(self, outgoing: Sequence[Doubles], incoming: Sequence[Doubles]) -> None:
        """Exchange parts with the neighbours."""
        self._ranks.exchange(outgoing, incoming, self._neighbours)

    def pack_on_host(self, array: _native.Buffer, to: Sequence[Doubles]) -> None:
        """Copy the edges of an array that the host may access now."""
        grid = self._grid(array)
        for part, edge in zip(to, self.edges, strict=True):
            part[:] = _within(grid, edge)

    def unpack_on_host(self, array: _native.Buffer, parts: Sequence[Doubles]) -> None:
        """Fill the halos of an array that the host may access now."""
        grid = self._grid(array)
        for part, halo in zip(parts, self.halos, strict=True):
            _within(grid, halo)[:] = part

    def pack_on_device(self, array: _native.Buffer, to: _native.Buffer) -> None:
        """Copy the edges by a kernel, and wait for it."""
        place = 0
        for edge in self.edges:
            offset, width = self._offset(edge), edge.columns * DOUBLE
            self.stream.copy_section_by_kernel(to, place, width, array, offset, self._pitch, width, edge.rows)
            place += edge.points * DOUBLE
        self.stream.synchronize()

    def unpack_on_device(self, array: _native.Buffer, parts: _native.Buffer) -> None:
        """Fill the halos by a kernel, and wait for it."""
        place = 0
        for halo in self.halos:
            offset, width = self._offset(halo), halo.columns * DOUBLE
            self.stream.copy_section_by_kernel(array, offset, self._pitch, parts, place, width, width, halo.rows)
            place += halo.points * DOUBLE
        self.stream.synchronize()

    def copy(self, to: _native.Buffer, from_: _native.Buffer) -> None:
        """Copy as much as both hold, and wait for it."""
        self.stream.copy(to, 0, from_, 0, min(to.bytes, from_.bytes))
        self.stream.synchronize()

    def copy_rows(self, to: _native.Buffer, from_: _native.Buffer) -> None:
        """Copy an array of the same shape row by row, and wait for it."""
        for offset in range(0, self.tile.bytes, self._pitch):
            self.stream.copy(to, offset, from_, offset, self._pitch)
        self.stream.synchronize()

    def copy_sections(self, sections: Sequence[Section], to: _native.Buffer, from_: _native.Buffer) -> None:
        """Copy each to its own place in an array of the same shape, and wait for it."""
        for section in sections:
            offset, width = self._offset(section), section.columns * DOUBLE
            self.stream.copy_section(to, offset, self._pitch, from_, offset, self._pitch, width, section.rows)
        self.stream.synchronize()

    def prefetch(self, array: _native.Buffer, side: str) -> None:
        """Bring all of a managed array to one side, and wait for it."""
        self.stream.prefetch(array, 0, self.tile.bytes, side)
        self.stream.synchronize()

    def _offset(self, section: Section) -> int:
        return section.row * self._pitch + section.column * DOUBLE

    def _grid(self, array: _native.Buffer) -> Doubles:
        rows, columns = self._shape
        return doubles(array)[: rows * columns].reshape(rows, columns)

    def _split(self, values: Doubles) -> list[Doubles]:
        parts: list[Doubles] = []
        place = 0
        for edge in self.edges:
            parts.append(values[place : place + edge.points].reshape(edge.rows, edge.columns))
            place += edge.points
        return parts


def _within(grid: Doubles, section: Section) -> Doubles:
    return grid[section.row : section.row + section.rows, section.column : section.column + section.columns]


class HostPack:
    """The processor packs and unpacks columns, which lie in ordinary memory while they are sent.

    It does so in the `mirror`: `fetch` brings there what is needed of the array, and `put` brings it back. Without a
    mirror it does so in the array itself, which is managed.
    """

    def __init__(
        self, at: Workplace, mirror: _native.Buffer | None = None, fetch: _Move | None = None, put: _Move | None = None
    ) -> None:
        self._at, self._mirror, self._fetch, self._put = at, mirror, fetch, put
        self._outgoing, self._incoming = at.parts(), at.parts()

    def exchange(self, array: _native.Buffer, watch: Stopwatch) -> None:
        """Fetch, pack, send, unpack, put back."""
        on_host = array if self._mirror is None else self._mirror
        if self._fetch:
            self._fetch(on_host, array)
            watch.lap("copy_seconds")
        on_host.begin_host_access()
        self._at.pack_on_host(on_host, self._outgoing)
        watch.lap("pack_seconds")
        self._at.send(self._outgoing, self._incoming)
        watch.lap("mpi_seconds")
        self._at.unpack_on_host(on_host, self._incoming)
        on_host.end_host_access()
        watch.lap("unpack_seconds")
        if self._put:
            self._put(array, on_host)
            watch.lap("copy_seconds")

    def poison(self) -> None:
        """Not a number everywhere."""
        for part in self._incoming:
            part.fill(np.nan)


class KernelPack:
    """Kernels pack and unpack columns, which lie in memory of the driver's on the host while they are sent.

    Where they are `staged`, kernels use device memory, and copies bring that to the host and back.
    """

    def __init__(self, at: Workplace, kind: str, *, staged: bool) -> None:
        self._at, self._staged = at, staged
        self._outgoing, self._incoming = at.allocate_parts(kind), at.allocate_parts(kind)
        self._packed = at.allocate_parts("device") if staged else self._outgoing
        self._received = at.allocate_parts("device") if staged else self._incoming

    def exchange(self, array: _native.Buffer, watch: Stopwatch) -> None:
        """Pack, copy, send, copy, unpack; making memory of the driver's accessible counts as copying."""
        at, outgoing, incoming = self._at, self._outgoing, self._incoming
        at.pack_on_device(array, self._packed)
        watch.lap("pack_seconds")
        if self._staged:
            at.copy(outgoing, self._packed)
        outgoing.begin_host_access()
        incoming.begin_host_access()
        watch.lap("copy_seconds")
        at.send(at.as_parts(outgoing), at.as_parts(incoming))
        watch.lap("mpi_seconds")
        outgoing.end_host_access()
        incoming.end_host_access()
        if self._staged:
            at.copy(self._received, incoming)
        watch.lap("copy_seconds")
        at.unpack_on_device(array, self._received)
        watch.lap("unpack_seconds")

    def poison(self) -> None:
        """Not a number everywhere."""
        self._incoming.set_bytes(0, self._incoming.bytes, 0xFF)


class ManagedPack(HostPack):
    """As the paper: a kernel packs into managed memory, which the processor copies to ordinary memory for MPI."""

    def __init__(self, at: Workplace) -> None:
        super().__init__(at)
        self._packed, self._received = at.allocate_parts("managed"), at.allocate_parts("managed")

    def exchange(self, array: _native.Buffer, watch: Stopwatch) -> None:
        """Pack, copy by the processor, send, copy by the processor, unpack."""
        at = self._at
        at.pack_on_device(array, self._packed)
        watch.lap("pack_seconds")
        self._packed.begin_host_access()
        for part, packed in zip(self._outgoing, at.as_parts(self._packed), strict=True):
            part[:] = packed
        self._packed.end_host_access()
        watch.lap("copy_seconds")
        at.send(self._outgoing, self._incoming)
        watch.lap("mpi_seconds")
        self._received.begin_host_access()
        for received, part in zip(at.as_parts(self._received), self._incoming, strict=True):
            received[:] = part
        self._received.end_host_access()
        watch.lap("copy_seconds")
        at.unpack_on_device(array, self._received)
        watch.lap("unpack_seconds")


def exchange_of(at: Workplace, point: HaloPoint, mirror: Callable[[], _native.Buffer]) -> Exchange:
    """The method of a point; `mirror` gives memory of the host's in the array's shape."""
    managed = point.memory == "managed"
    if point.method == "gpu_pack":
        return ManagedPack(at) if managed else KernelPack(at, point.memory, staged=True)
    if point.method == "gpu_pack_mapped":
        return KernelPack(at, "mapped", staged=False)
    moves: Mapping[tuple[str, bool], Sequence[_Move]] = {
        # What the paper does by hand.
        ("cpu_whole", False): (at.copy, at.copy),
        ("cpu_whole", True): (lambda _, it: at.prefetch(it, "host"), lambda it, _: at.prefetch(it, "device")),
        # Each row is a copy, as of the paper's list 4: a ``double **`` leads to its rows.
        ("cpu_rows", False): (at.copy_rows, at.copy_rows),
        # The driver's 2-D copy moves alone what is needed, each to its own place.
        ("cpu_columns", False): (partial(at.copy_sections, at.edges), partial(at.copy_sections, at.halos)),
        # The processor touches the columns, whose pages follow: the paper's automatic method. What the pages cost is
        # part of packing and unpacking, and of the computing that comes next.
        ("cpu_columns", True): (),
    }
    return HostPack(at, None if managed else mirror(), *moves[point.method, managed])
