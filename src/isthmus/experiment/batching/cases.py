"""Many small pieces between host memory and the device, by every method that there is for them.

NVIDIA's guideline (M. Harris, How to Optimize Data Transfers in CUDA C/C++, 2012) is to batch many small transfers into
one. This measures from how many pieces of what size on that pays, and which way to do it is the fastest.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from isthmus import _native
from isthmus.errors import IsthmusError, OutOfMemory, Unsupported
from isthmus.experiment.batching.grid import (
    SIZES,
    Cell,
    Setting,
    alignment_cells,
    cells,
    cliff_cells,
    pairs,
    threaded_cells,
    too_many,
)
from isthmus.experiment.engine.arena import PAGE_BYTES
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import over_budget
from isthmus.experiment.engine.buffers import page_shares
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.pieces import (
    LEAST_STAGING_BYTES,
    Extent,
    Packing,
    PieceSubject,
    Place,
    Side,
    mapped_stands_in,
    packing_threads,
    staging_threads,
)
from isthmus.experiment.engine.sampling import reason_of, skipped_case
from isthmus.machine.devices import OpenDevice
from isthmus.record import Case, LayoutName

# Pieces that lie apart take every second slot, or as many of twice the slots at random.
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

    def subject(
        self, template: Case, setting: Setting, cell: Cell, staging: _native.Staging, packing: Packing | None = None
    ) -> PieceSubject:
        """The pieces of a cell, to be moved by the template's method."""
        destination, source = self._sides(setting, cell)
        return PieceSubject(template, destination, source, _extent(cell), self._reference, staging, packing)

    def why_not(self, method: str, setting: Setting, cell: Cell, staging: _native.Staging) -> str | None:
        """Why a method cannot move these pieces; None where it can."""
        destination, source = self._sides(setting, cell)
        to, from_ = (destination.buffer, *destination.place), (source.buffer, *source.place)
        try:
            _native.create_pieces(method, to, from_, _extent(cell), self._reference, staging)
        except IsthmusError as error:
            return reason_of(error)
        return None

    def placement(self) -> dict[str, dict[str, float]]:
        """Share of each kind's pages on each NUMA node."""
        return page_shares((*self._sources.values(), *self._destinations.values()))

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


NAME = "batching"
MEMORY_KINDS = ("pageable", "pinned")
DIRECTIONS = ("h2d", "d2h")
METHODS = ("waited_copies", "copies", "batch", "graph", "kernel", "device_pack", "pack", "pack_threads", "pack_kernel")
# On an H200 the least number of samples of all default cases should take some 43 s: loops, graphs and batches
# of 4096 pieces, and checks, which look at regions twice as large as the pieces. With --full, loops over 65536
# pieces take most of it.
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort(SIZES["quick"], 5.0, 0.1),
    "default": Effort(SIZES["default"], 46.0, 0.5),
    "full": Effort(SIZES["full"], 480.0, 2.0),
}
# What shows whether a method can do a setting at all.
_PROBED = Cell(64, 2)


class _Point(NamedTuple):
    """One method at one point of one surface."""

    method: str
    setting: Setting
    cell: Cell


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Every method at every point, measured interleaved; what a device or a layout rules out is skipped as a whole."""
    settings = _settings(device.native, options)
    refused = _refusals(device.native, settings)
    shared = device.description.shares_host_memory
    points: list[_Point] = []
    skipped = [
        skipped_case(template(_Point(method, setting, Cell(0, 0))), reason)
        for (method, setting), reason in refused.items()
    ]
    kinds = {setting.memory for setting in settings}
    chosen = [(method, setting) for setting in settings for method in _methods(setting)]
    for method, setting in (each for each in chosen if each not in refused):
        grid = cells(setting.layouts, options.mode, options.sizes, shared)
        if method == "batch":
            grid += cliff_cells(setting.layouts, options.mode, options.sizes, shared)
        grid += threaded_cells(setting, options.mode, options.sizes, shared)
        grid += alignment_cells(method, setting, options.mode, options.sizes)
        for cell in grid:
            if method == "waited_copies" and cell.pieces == 1:
                continue  # One copy is waited for in any case.
            point = _Point(method, setting, cell)
            reason = too_many(method, setting, cell, options.mode)
            if bytes_needed(cell.bytes, len(kinds), shared) > memory_bytes:
                reason = over_budget(memory_bytes)
            if reason is None:
                points.append(point)
            else:
                skipped.append(skipped_case(template(point), reason))
    batches = [Batch(len(points), 1.0, partial(_prepare, device.native, points, options.seed))] if points else []
    return Planned(batches, skipped)


def template(point: _Point) -> Case:
    """The case of a point, without results; without a size for what holds for all of them."""
    method, setting, cell = point
    strides = [2 * cell.piece_bytes if layout == "strided" and cell.pieces else None for layout in setting.layouts]
    return Case(
        experiment=NAME,
        method=method,
        direction=setting.direction,
        host_memory=setting.memory,
        bytes=cell.bytes,
        threads=packing_threads(method),
        pieces=cell.pieces or None,
        width_bytes=cell.piece_bytes or None,
        stride_bytes=strides[0],
        device_pitch_bytes=strides[1],
        host_layout=setting.host_layout,
        device_layout=setting.device_layout,
    )


def _settings(device: _native.Device, options: Options) -> list[Setting]:
    kinds = options.chosen(MEMORY_KINDS, options.memory)
    if "pinned" in kinds and mapped_stands_in(device):
        kinds.append("mapped")
    return [
        Setting(direction, kind, *layouts)  # type: ignore[arg-type]
        for layouts in pairs(options.mode)
        for kind in kinds
        for direction in options.chosen(DIRECTIONS, options.directions)
    ]


def _methods(setting: Setting) -> Sequence[str]:
    return ("kernel",) if setting.memory == "mapped" else METHODS


def _refusals(device: _native.Device, settings: Sequence[Setting]) -> dict[tuple[str, Setting], str]:
    """What the device or the layouts rule out whatever the pieces are, with the reasons that the core gives for two."""
    found: dict[tuple[str, Setting], str] = {}
    buffers: dict[str, PieceBuffers | str] = {}
    try:
        staging: _native.Staging | str = _native.create_staging(device, _PROBED.bytes, 1, _PROBED.pieces)
    except IsthmusError as error:
        staging = reason_of(error)
    for setting in settings:
        if setting.memory not in buffers:
            buffers[setting.memory] = _try_buffers(device, setting.memory)
        memory = buffers[setting.memory]
        for method in _methods(setting):
            if isinstance(memory, str) or isinstance(staging, str):
                reason: str | None = memory if isinstance(memory, str) else str(staging)
            else:
                reason = memory.why_not(method, setting, _PROBED, staging)
            if reason:
                found[method, setting] = reason
    return found


def _try_buffers(device: _native.Device, kind: str) -> PieceBuffers | str:
    if reason := device.why_not(kind):
        return reason
    try:
        return PieceBuffers(device, [kind], _PROBED.bytes, 0)
    except IsthmusError as error:
        return reason_of(error)


def _prepare(device: _native.Device, points: Sequence[_Point], seed: int) -> Prepared:
    """Allocate for the largest cells for which there is memory; the others have ended with the reason.

    Raises CallFailed when the device fails at more than the lack of memory.
    """
    ended: list[list[Case]] = []
    kinds = list(dict.fromkeys(point.setting.memory for point in points))
    for most in sorted({point.cell.bytes for point in points}, reverse=True):
        fitting = [point for point in points if point.cell.bytes <= most]
        try:
            buffers = PieceBuffers(device, kinds, most, seed)
            staging = _native.create_staging(
                device, most, staging_threads(), max(point.cell.pieces for point in fitting)
            )
        except (OutOfMemory, Unsupported) as error:
            ended += [[skipped_case(template(point), reason_of(error))] for point in points if point.cell.bytes == most]
            continue
        subjects = [buffers.subject(template(point), *point[1:], staging) for point in fitting]
        return Prepared(subjects, ended, buffers.placement())
    return Prepared([], ended)
