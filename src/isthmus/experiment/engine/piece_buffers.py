"""Buffers for many pieces in every layout, on the host and on the device: what `batching` and calibrations move."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.buffers import PAGE_BYTES
from isthmus.experiment.engine.pieces import LEAST_STAGING_BYTES, Extent, Packing, Place, Side, moving
from isthmus.experiment.engine.sampling import reason_of
from isthmus.experiment.engine.sweep import Start
from isthmus.record import Direction, LayoutName


class Cell(NamedTuple):
    """So many pieces of so many bytes."""

    piece_bytes: int
    pieces: int

    @property
    def bytes(self) -> int:
        """All of them."""
        return self.piece_bytes * self.pieces


class Setting(NamedTuple):
    """The direction, the host's memory, and the layouts of the pieces on either side."""

    direction: Direction
    memory: str
    host_layout: LayoutName
    device_layout: LayoutName

    @property
    def layouts(self) -> tuple[LayoutName, LayoutName]:
        """The layouts on the host and on the device."""
        return self.host_layout, self.device_layout


# Pieces that are apart take every second slot, or as many of twice the slots at random.
_SLOTS_A_PIECE = 2
# Around all pieces, so that what a method writes outside them is seen.
_GUARD_BYTES = PAGE_BYTES


def bytes_needed(most_bytes: int, kinds: int, shares_host_memory: bool) -> int:
    """Host memory that cells of up to `most_bytes` take with so many `kinds` of it, staging memory included.

    The device's buffers count where device memory is host memory.
    """
    # The reference, and what a check reads a destination back into; a source and a destination of each kind and of the
    # device.
    regions = 2 + 2 * kinds + (2 if shares_host_memory else 0)
    staging = (2 if shares_host_memory else 1) * max(most_bytes, LEAST_STAGING_BYTES)
    return regions * (_SLOTS_A_PIECE * most_bytes + 2 * _GUARD_BYTES) + staging


class PieceBuffers:
    """Per kind a buffer that h2d starts from and one that d2h ends in, and the device's counterparts, for all cells."""

    def __init__(self, device: _native.Device, kinds: Sequence[str], most_bytes: int, seed: int) -> None:
        """Allocate and fill. Raises an IsthmusError when the device or the machine lacks the memory."""
        region = -(-_SLOTS_A_PIECE * most_bytes // PAGE_BYTES) * PAGE_BYTES + 2 * _GUARD_BYTES
        self._seed = seed
        self._reference = device.allocate("pageable", region)
        self._reference.fill_pattern(0, region, seed)
        self._sources = {kind: device.allocate(kind, region) for kind in (*kinds, "device") if kind != "pageable"}
        for buffer in self._sources.values():
            buffer.fill_pattern(0, region, seed)
        self._sources["pageable"] = self._reference
        self._destinations = {kind: device.allocate(kind, region) for kind in (*kinds, "device")}
        self._places: dict[tuple[LayoutName, Cell, int], Place] = {}

    def moving(
        self, method: str, setting: Setting, cell: Cell, staging: _native.Staging, packing: Packing | None = None
    ) -> Start:
        """Times the pieces of a cell, moved by a method."""
        destination, source = self._sides(setting, cell)
        return moving(method, destination, source, _extent(cell), self._reference, staging, packing)

    def why_not(self, method: str, setting: Setting, cell: Cell, staging: _native.Staging) -> str | None:
        """Why a method cannot move these pieces; None where it can."""
        try:
            self.moving(method, setting, cell, staging)()
        except IsthmusError as error:
            return reason_of(error)
        return None

    def host_buffers(self) -> Sequence[_native.Buffer]:
        """All of them, the device's too."""
        return (*self._sources.values(), *self._destinations.values())

    def _sides(self, setting: Setting, cell: Cell) -> tuple[Side, Side]:
        """Destination and source."""
        host, device = (self._place(layout, cell, side) for side, layout in enumerate(setting.layouts))
        if setting.direction == "h2d":
            return Side(self._destinations["device"], device), Side(self._sources[setting.memory], host)
        return Side(self._destinations[setting.memory], host), Side(self._sources["device"], device)

    def _place(self, layout: LayoutName, cell: Cell, side: int) -> Place:
        """The same one for all methods, which are compared; each side has a draw of its own."""
        key = (layout, cell, side)
        if key not in self._places:
            self._places[key] = _place(layout, cell, np.random.default_rng([self._seed, *cell, side]))
        return self._places[key]


def _extent(cell: Cell) -> Extent:
    return Extent(cell.piece_bytes, cell.pieces)


def _place(layout: LayoutName, cell: Cell, random: np.random.Generator) -> Place:
    if layout == "contiguous":
        return Place(_GUARD_BYTES, cell.piece_bytes)
    if layout == "strided":
        return Place(_GUARD_BYTES, _SLOTS_A_PIECE * cell.piece_bytes)
    slots = random.permutation(_SLOTS_A_PIECE * cell.pieces)[: cell.pieces]
    return Place(_GUARD_BYTES, offsets=slots.astype(np.uint64) * np.uint64(cell.piece_bytes))
