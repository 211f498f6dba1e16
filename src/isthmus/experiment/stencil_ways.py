"""Ways to exchange the halos of one rank's array: who packs columns, and how they come to the host and back."""

import time
from collections.abc import Callable
from typing import Protocol

import numpy as np

from isthmus import _native
from isthmus.experiment.doubles import Doubles, doubles
from isthmus.experiment.ranks import Ranks
from isthmus.experiment.stencil_tile import DOUBLE, Tile
from isthmus.record import Metric

__all__ = ["CpuColumns", "CpuWhole", "GpuPack", "GpuPackMapped", "ManagedColumns", "ManagedPack", "ManagedWhole"]
__all__ += ["Stopwatch", "Way", "Workplace"]


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


class Way(Protocol):
    """One way; its buffers live as long as it does."""

    def exchange(self, array: _native.Buffer, watch: Stopwatch) -> None:
        """Send the edge columns of `array` to the neighbours, and fill its halos with theirs."""

    def poison(self) -> None:
        """Overwrite where the neighbours' columns arrive with what is no result."""


class Workplace:
    """What all ways of a rank share: the device's stream, the shape of the array and the neighbours."""

    def __init__(self, device: _native.Device, stream: _native.Stream, ranks: Ranks, tile: Tile) -> None:
        self.device = device
        self.stream = stream
        self.ranks = ranks
        self.tile = tile

    def parts(self) -> Doubles:
        """Ordinary memory for the columns to the left and to the right."""
        return np.empty((2, self.tile.side, self.tile.halo))

    def allocate_parts(self, kind: str) -> _native.Buffer:
        """The same of another kind."""
        return self.device.allocate(kind, 2 * self.tile.halo_bytes)

    def as_parts(self, buffer: _native.Buffer) -> Doubles:
        """Columns to the left and to the right in a buffer that the host may access now."""
        return doubles(buffer)[: 2 * self.tile.side * self.tile.halo].reshape(2, self.tile.side, self.tile.halo)

    def pack_on_host(self, array: _native.Buffer, to: Doubles) -> None:
        """Copy the edge columns of an array that the host may access now."""
        grid = self._grid(array)
        for part, first in zip(to, self.tile.edges, strict=True):
            part[:] = grid[:, first : first + self.tile.halo]

    def unpack_on_host(self, array: _native.Buffer, parts: Doubles) -> None:
        """Fill the halos of an array that the host may access now."""
        grid = self._grid(array)
        for part, first in zip(parts, self.tile.halos, strict=True):
            grid[:, first : first + self.tile.halo] = part

    def pack_on_device(self, array: _native.Buffer, to: _native.Buffer) -> None:
        """Copy the edge columns by a kernel, and wait for it."""
        tile, width = self.tile, self.tile.halo * DOUBLE
        for part, first in enumerate(tile.edges):
            self.stream.copy_section_by_kernel(
                to, part * tile.halo_bytes, width, array, first * DOUBLE, tile.pitch_bytes, width, tile.side
            )
        self.stream.synchronize()

    def unpack_on_device(self, array: _native.Buffer, parts: _native.Buffer) -> None:
        """Fill the halos by a kernel, and wait for it."""
        tile, width = self.tile, self.tile.halo * DOUBLE
        for part, first in enumerate(tile.halos):
            self.stream.copy_section_by_kernel(
                array, first * DOUBLE, tile.pitch_bytes, parts, part * tile.halo_bytes, width, width, tile.side
            )
        self.stream.synchronize()

    def copy(self, to: _native.Buffer, from_: _native.Buffer) -> None:
        """Copy as much as both hold, and wait for it."""
        self.stream.copy(to, 0, from_, 0, min(to.bytes, from_.bytes))
        self.stream.synchronize()

    def _grid(self, array: _native.Buffer) -> Doubles:
        return doubles(array)[: self.tile.side * self.tile.width].reshape(self.tile.side, self.tile.width)


class _HostWay:
    """Columns are packed by the host's processor, in an array that it may access in between."""

    def __init__(self, at: Workplace) -> None:
        self._at = at
        self._outgoing, self._incoming = at.parts(), at.parts()

    def poison(self) -> None:
        self._incoming.fill(np.nan)

    def _exchange_on_host(self, array: _native.Buffer, watch: Stopwatch) -> None:
        array.begin_host_access()
        self._at.pack_on_host(array, self._outgoing)
        watch.lap("pack_seconds")
        self._at.ranks.exchange(self._outgoing, self._incoming)
        watch.lap("mpi_seconds")
        self._at.unpack_on_host(array, self._incoming)
        array.end_host_access()
        watch.lap("unpack_seconds")


class CpuWhole(_HostWay):
    """The whole array goes to the host, is packed and unpacked there, and goes back: what the paper does by hand."""

    def __init__(self, at: Workplace, mirror: _native.Buffer) -> None:
        super().__init__(at)
        self._mirror = mirror

    def exchange(self, array: _native.Buffer, watch: Stopwatch) -> None:
        """Copy there, pack, send, unpack, copy back."""
        self._at.copy(self._mirror, array)
        watch.lap("copy_seconds")
        self._exchange_on_host(self._mirror, watch)
        self._at.copy(array, self._mirror)
        watch.lap("copy_seconds")


class CpuColumns(_HostWay):
    """As `CpuWhole`, but the driver's 2-D copy moves the columns that are needed alone, each to its own place."""

    def __init__(self, at: Workplace, mirror: _native.Buffer) -> None:
        super().__init__(at)
        self._mirror = mirror

    def exchange(self, array: _native.Buffer, watch: Stopwatch) -> None:
        """Copy columns there, pack, send, unpack, copy columns back."""
        self._copy(self._mirror, array, self._at.tile.edges)
        watch.lap("copy_seconds")
        self._exchange_on_host(self._mirror, watch)
        self._copy(array, self._mirror, self._at.tile.halos)
        watch.lap("copy_seconds")

    def _copy(self, to: _native.Buffer, from_: _native.Buffer, columns: tuple[int, int]) -> None:
        tile, stream = self._at.tile, self._at.stream
        for first in columns:
            place = first * DOUBLE
            pitch = tile.pitch_bytes
            stream.copy_section(to, place, pitch, from_, place, pitch, tile.halo * DOUBLE, tile.side)
        stream.synchronize()


class ManagedWhole(_HostWay):
    """As `CpuWhole` in managed memory: all of it is prefetched to the host and back."""

    def exchange(self, array: _native.Buffer, watch: Stopwatch) -> None:
        """Prefetch, pack, send, unpack, prefetch back."""
        self._prefetch(array, "host")
        watch.lap("copy_seconds")
        self._exchange_on_host(array, watch)
        self._prefetch(array, "device")
        watch.lap("copy_seconds")

    def _prefetch(self, array: _native.Buffer, side: str) -> None:
        self._at.stream.prefetch(array, 0, self._at.tile.bytes, side)
        self._at.stream.synchronize()


class ManagedColumns(_HostWay):
    """The processor touches the columns in managed memory, whose pages follow: the paper's automatic way.

    What the pages cost is part of packing and unpacking, and of the computing that comes next.
    """

    def exchange(self, array: _native.Buffer, watch: Stopwatch) -> None:
        """Pack, send, unpack."""
        self._exchange_on_host(array, watch)


class GpuPack:
    """A kernel packs columns into device memory, and copies bring those to the host and back."""

    def __init__(self, at: Workplace, kind: str) -> None:
        self._at = at
        self._packed, self._received = at.allocate_parts("device"), at.allocate_parts("device")
        self._outgoing, self._incoming = at.allocate_parts(kind), at.allocate_parts(kind)

    def poison(self) -> None:
        """Not a number everywhere."""
        self._incoming.set_bytes(0, self._incoming.bytes, 0xFF)

    def exchange(self, array: _native.Buffer, watch: Stopwatch) -> None:
        """Pack, copy, send, copy, unpack."""
        at = self._at
        at.pack_on_device(array, self._packed)
        watch.lap("pack_seconds")
        at.copy(self._outgoing, self._packed)
        _send(at, self._outgoing, self._incoming, watch)
        at.copy(self._received, self._incoming)
        watch.lap("copy_seconds")
        at.unpack_on_device(array, self._received)
        watch.lap("unpack_seconds")


class GpuPackMapped:
    """A kernel packs columns into mapped host memory, and another takes the neighbours' from there."""

    def __init__(self, at: Workplace) -> None:
        self._at = at
        self._outgoing, self._incoming = at.allocate_parts("mapped"), at.allocate_parts("mapped")

    def poison(self) -> None:
        """Not a number everywhere."""
        self._incoming.set_bytes(0, self._incoming.bytes, 0xFF)

    def exchange(self, array: _native.Buffer, watch: Stopwatch) -> None:
        """Pack, send, unpack."""
        self._at.pack_on_device(array, self._outgoing)
        watch.lap("pack_seconds")
        _send(self._at, self._outgoing, self._incoming, watch)
        self._at.unpack_on_device(array, self._incoming)
        watch.lap("unpack_seconds")


class ManagedPack:
    """As the paper: a kernel packs into managed memory, which the processor copies to ordinary memory for MPI."""

    def __init__(self, at: Workplace) -> None:
        self._at = at
        self._packed, self._received = at.allocate_parts("managed"), at.allocate_parts("managed")
        self._outgoing, self._incoming = at.parts(), at.parts()

    def poison(self) -> None:
        """Not a number everywhere."""
        self._incoming.fill(np.nan)

    def exchange(self, array: _native.Buffer, watch: Stopwatch) -> None:
        """Pack, copy by the processor, send, copy by the processor, unpack."""
        at = self._at
        at.pack_on_device(array, self._packed)
        watch.lap("pack_seconds")
        self._packed.begin_host_access()
        self._outgoing[:] = at.as_parts(self._packed)
        self._packed.end_host_access()
        watch.lap("copy_seconds")
        at.ranks.exchange(self._outgoing, self._incoming)
        watch.lap("mpi_seconds")
        self._received.begin_host_access()
        at.as_parts(self._received)[:] = self._incoming
        self._received.end_host_access()
        watch.lap("copy_seconds")
        at.unpack_on_device(array, self._received)
        watch.lap("unpack_seconds")


def _send(at: Workplace, outgoing: _native.Buffer, incoming: _native.Buffer, watch: Stopwatch) -> None:
    """Exchange what lies in host memory of the driver's; making it accessible counts as copying."""
    outgoing.begin_host_access()
    incoming.begin_host_access()
    watch.lap("copy_seconds")
    at.ranks.exchange(at.as_parts(outgoing), at.as_parts(incoming))
    watch.lap("mpi_seconds")
    outgoing.end_host_access()
    incoming.end_host_access()
    watch.lap("copy_seconds")
