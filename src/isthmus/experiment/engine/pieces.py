"""Transfers of many pieces of one size, whatever method moves them."""

from functools import cache, partial
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from isthmus import _native
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sweep import Samples, Start, Timed, checks_of
from isthmus.record import KIB, MIB

# The methods of native/transfer/pieces/piece_copy.hpp, which says what each does.
METHODS = (
    "waited_copies",
    "copies",
    "batch",
    "graph",
    "section",
    "whole",
    "kernel",
    "device_pack",
    "pack",
    "pack_threads",
    "pack_kernel",
)
# On 16 CPUs with an H200, 16 MiB to 256 MiB of pieces move no faster with twelve, nor with eight H2D; D2H ten gain a
# tenth over eight.
_MOST_THREADS = 10
_ALWAYS_CHECKED_BYTES = 4 * MIB
# How much staging memory there is, on the host and on the device: native/transfer/pieces/staging.cpp.
LEAST_STAGING_BYTES = 2 * MIB
# What a transfer of so many pieces prepares takes megabytes, which hundreds of cases would hold for nothing.
_MOST_KEPT_PIECES = 4 * KIB


def staging_threads() -> int:
    """How many threads pack: as many as this process may use, as far as more of them move more."""
    return min(_MOST_THREADS, _native.allowed_processors())


def packing_threads(method: str) -> int | None:
    """How many threads pack with this method; None where none does."""
    if method == "pack":
        return 1
    return staging_threads() if method in ("pack_threads", "pack_kernel") else None


def mapped_stands_in(device: _native.Device) -> bool:
    """Whether kernels reach mapped memory in place of pinned: what programs keep their pieces in then."""
    return not device.kernels_reach("pinned") and device.kernels_reach("mapped") and device.why_not("mapped") is None


class Extent(NamedTuple):
    """`slices` times `rows` pieces of `width_bytes` each."""

    width_bytes: int
    rows: int
    slices: int = 1


class Place(NamedTuple):
    """Where the pieces lie in a buffer: at pitches in bytes, or (uint64, one for each piece, in bytes) at `offsets`."""

    offset: int = 0
    pitch_bytes: int = 0
    slice_pitch_bytes: int = 0
    offsets: npt.NDArray[np.uint64] | None = None

    def span_bytes(self, extent: Extent) -> int:
        """From the first byte of the first piece to the last of the last."""
        if self.offsets is not None:
            return int(np.ptp(self.offsets)) + extent.width_bytes
        return (extent.slices - 1) * self.slice_pitch_bytes + (extent.rows - 1) * self.pitch_bytes + extent.width_bytes


class Side(NamedTuple):
    """One side of a transfer."""

    buffer: _native.Buffer
    place: Place


class Packing(NamedTuple):
    """How threads pack; what is left out (0, or no stores) suits the size. `stores` are ``ordinary``, ``streaming``
    or ``demoted``.

    With `from_caches`, what the CPU copies may be in its caches, where it is emptied out of them otherwise.
    """

    threads: int = 0
    chunk_bytes: int = 0
    stores: str = ""
    from_caches: bool = False


def moving(
    method: str,
    destination: Side,
    source: Side,
    extent: Extent,
    reference: _native.Buffer,
    staging: _native.Staging,
    packing: Packing | None = None,
) -> Start:
    """Times pieces that one of METHODS moves from `source` to `destination`.

    `reference` is ordinary memory with the contents of the source's buffer. What the device or the layouts rule out
    raises Unsupported when it starts.
    """
    make = partial(_Pieces, method, destination, source, extent, reference, staging, packing or Packing())
    return cache(make) if extent.rows * extent.slices <= _MOST_KEPT_PIECES else make


class _Pieces(Timed):
    """The first visit, and each of short spans, checks every byte in and around the pieces."""

    def __init__(
        self,
        method: str,
        destination: Side,
        source: Side,
        extent: Extent,
        reference: _native.Buffer,
        staging: _native.Staging,
        packing: Packing,
    ) -> None:
        self._pieces = extent.rows * extent.slices
        # Not what is asked for decides how long a check takes, but the bytes between the pieces too.
        self.checks = checks_of(destination.place.span_bytes(extent), _ALWAYS_CHECKED_BYTES)
        to, from_ = (destination.buffer, *destination.place), (source.buffer, *source.place)
        self._transfer = _native.create_pieces(method, to, from_, extent, reference, staging, *packing)

    def poison(self) -> None:
        self._transfer.poison()

    def run(self, quota: Quota) -> Samples:
        return cast(Samples, self._transfer.run(*quota))

    def verify(self) -> str:
        (wrong, first), (outside, _) = self._transfer.verify()
        if wrong:
            return f"wrong data: {wrong} of {self._pieces} pieces differ, the first is piece {first}"
        return f"wrong data: {outside} bytes outside the pieces were overwritten" if outside else ""
