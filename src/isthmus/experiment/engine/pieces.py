"""Transfers of many pieces of one size that can be visited again and again, whatever method moves them."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from isthmus import _native
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected
from isthmus.record import KIB, MIB, Case

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
# How much staging memory there is, on the host and on the device: native/transfer/staging/staging.cpp.
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


class PieceSubject:
    """Pieces that one method moves from `source` to `destination`; `template.method` names it.

    `reference` is ordinary memory with the contents of the source's buffer. A case that the device or the layouts rule
    out is skipped with the reason.
    """

    def __init__(
        self,
        template: Case,
        destination: Side,
        source: Side,
        extent: Extent,
        reference: _native.Buffer,
        staging: _native.Staging,
        packing: Packing | None = None,
    ) -> None:
        self.template = template
        self._destination = destination
        self._source = source
        self._extent = extent
        self._reference = reference
        self._staging = staging
        self._packing = packing or Packing()
        self._kept: _native.PieceTransfer | None = None

    def visit(self, quota: Quota, collected: Collected) -> None:
        """Take samples; the first visit, and each of short spans, checks every byte in and around the pieces."""
        transfer = self._kept or self._create()
        # Not what is asked for decides how long a check takes, but what lies between the pieces too.
        checked = not collected.count or self._destination.place.span_bytes(self._extent) <= _ALWAYS_CHECKED_BYTES
        if checked:
            transfer.poison()
        collected.begin()
        collected.samples.setdefault("host_seconds", []).extend(transfer.run(*quota))
        collected.verified = True
        if checked:
            wrong, first, outside = transfer.verify()
            if wrong and not collected.wrong:
                pieces = self._extent.rows * self._extent.slices
                collected.wrong = f"wrong data: {wrong} of {pieces} pieces differ, the first is piece {first}"
            elif outside and not collected.wrong:
                collected.wrong = f"wrong data: {outside} bytes outside the pieces were overwritten"

    def _create(self) -> _native.PieceTransfer:
        transfer = _native.create_pieces(
            self.template.method,
            (self._destination.buffer, *self._destination.place),
            (self._source.buffer, *self._source.place),
            self._extent,
            self._reference,
            self._staging,
            *self._packing,
        )
        if self._extent.rows * self._extent.slices <= _MOST_KEPT_PIECES:
            self._kept = transfer
        return transfer
