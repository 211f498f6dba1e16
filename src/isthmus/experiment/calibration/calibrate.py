"""Measures which method is fastest for which copy on this machine, for the transfer library to choose by.

Threads that fill a ring of page-locked memory while the device drains it move pageable buffers several times as fast as
the driver's own copy from some size on, and which method is best for many pieces depends on their size, number and
layout; both differ from machine to machine. The table that comes of it is text, which native/transfer/ reads.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from isthmus import __version__, _native
from isthmus.experiment.calibration.buffers import (
    DRIVER,
    BufferTimer,
    Choice,
    choose,
    session_staging,
    stores_of,
    thread_counts,
)
from isthmus.experiment.calibration.pieces import BuiltIn, PieceChoice, PieceTimer, cells, kernel_blocks, settings
from isthmus.experiment.calibration.turns import (
    BUILT_IN,
    DRIVERS,
    MEASURED,
    MOST_BYTES,
    Gain,
    TableTurns,
    check,
    choose_in_turns,
    fewest,
)
from isthmus.experiment.engine.piece_buffers import Cell, Setting
from isthmus.experiment.engine.pieces import mapped_stands_in, staging_threads
from isthmus.machine.devices import OpenDevice
from isthmus.record import KIB, MIB, Direction

TransferTable = _native.TransferTable

_SIZES = (64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB)
# Where device memory is host memory, larger buffers only show the same again.
_SHARED_BYTES, _QUICK_BYTES = 16 * MIB, 64 * MIB
_QUICK_SIZES = (256 * KIB, 4 * MIB, 64 * MIB)
# One page: what a call takes at least.
_LATENCY_BYTES = 4 * KIB
# For page-locked memory, where nothing is to be chosen; what is larger takes time in proportion.
_DIRECT_SIZES = (4 * KIB, MIB, 16 * MIB)
_DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h")
# What pieces are packed by is what was best for buffers of about their size.
_PACKED_BYTES = 16 * MIB
_APART = {(True, False): "host", (False, True): "device", (True, True): "both"}


class Calibration(NamedTuple):
    """The table, and the choices that it is made of."""

    table: TransferTable
    buffers: list[Choice]
    direct: list[Choice]
    kernels: dict[Direction, int]
    pieces: list[PieceChoice]
    gains: list[Gain]


def calibrate(device: OpenDevice, quick: bool, seed: int, progress: Callable[[int, int], None]) -> Calibration:
    """Measure the device's table. `progress` is told how many steps of how many have ended.

    Raises CallFailed for a copy that fails or moves wrong data, and OutOfMemory where buffers do not fit.
    """
    native = device.native
    built_in = _native.default_transfer_table(device.description.backend, device.description.name)
    largest = _QUICK_BYTES if quick else MOST_BYTES
    if device.description.shares_host_memory:
        largest = _SHARED_BYTES // 4 if quick else _SHARED_BYTES
    sizes = [size for size in (_QUICK_SIZES if quick else _SIZES) if size <= largest]
    kinds = ("pageable",) if mapped_stands_in(native) else ("pageable", "pinned")
    grid = [(setting, cell) for setting in settings(kinds, quick) for cell in cells(setting, quick)]
    ended, total = 0, len(_DIRECTIONS) + len(grid) + 2
    threads = thread_counts(_native.allowed_processors())
    most_threads = max(threads[-1], staging_threads())
    staging = {direction: session_staging(native, direction, most_threads) for direction in _DIRECTIONS}
    buffers: list[Choice] = []
    for direction in _DIRECTIONS:
        timer = BufferTimer(native, direction, sizes[-1], staging[direction], seed)
        latency = timer.times(_LATENCY_BYTES, [DRIVER])[DRIVER]
        buffers.append(Choice(direction, 0, DRIVER, latency, latency))
        buffers += choose(direction, sizes, threads, stores_of(direction), 1 if quick else 2, timer.times)
        ended += 1
        progress(ended, total)
        del timer
    buffers, gains = _certain(
        native, built_in, buffers, largest, quick, seed, lambda step: progress(ended + step, total)
    )
    ended += 2
    direct: list[Choice] = []
    if "pinned" in kinds:
        for direction in _DIRECTIONS:
            timer = BufferTimer(native, direction, _DIRECT_SIZES[-1], staging[direction], seed, "pinned")
            times = [(size, timer.times(size, [DRIVER])[DRIVER]) for size in _DIRECT_SIZES]
            direct += [Choice(direction, size, DRIVER, seconds, seconds) for size, seconds in times]
    kernels = kernel_blocks(device, seed)
    # Pieces as sessions will move them.
    for direction in _DIRECTIONS:
        staging[direction] = session_staging(native, direction, most_threads, kernels.get(direction, 0))
    pieces: list[PieceChoice] = []
    piece_timer = PieceTimer(native, kinds, staging, {each: _threads(buffers, each) for each in _DIRECTIONS}, seed)
    for setting, cell in grid:
        choice = piece_timer.choose(setting, cell, _built_in_for(built_in, setting, cell))
        if choice is not None:
            pieces.append(choice)
        ended += 1
        progress(ended, total)
    text = table_text(_origin(device), buffers, direct, pieces, built_in, kernels)
    return Calibration(_native.parse_transfer_table(text), buffers, direct, kernels, pieces, gains)


def _certain(
    device: _native.Device,
    built_in: TransferTable,
    choices: Sequence[Choice],
    largest: int,
    quick: bool,
    seed: int,
    progress: Callable[[int], None],
) -> tuple[list[Choice], list[Gain]]:
    """The choices for buffers that are certainly better than what is built in, and by how much they are."""
    drivers = [Choice(direction, 0, DRIVER, 1, 1) for direction in _DIRECTIONS]
    texts = {
        BUILT_IN: built_in.text(),
        MEASURED: table_text("found", choices, [], []),
        DRIVERS: table_text("driver", drivers, [], []),
    }
    turns = TableTurns(device, texts, largest, quick, seed)
    measured = _native.parse_transfer_table(texts[MEASURED])
    chosen: list[Choice] = []
    for direction in _DIRECTIONS:
        chosen += choose_in_turns(built_in, measured, direction, largest, turns.timed)
    turns.close()
    progress(1)
    texts[MEASURED] = table_text("chosen", chosen, [], [])
    turns = TableTurns(device, texts, largest, quick, seed + 1)
    kept, gains = check(chosen, built_in, largest, turns.timed)
    turns.close()
    progress(2)
    return fewest(kept), gains


def _built_in_for(table: TransferTable, setting: Setting, cell: Cell) -> BuiltIn | None:
    rule = table.piece(
        direction=setting.direction,
        pageable=setting.memory == "pageable",
        apart_on_host=setting.host_layout != "contiguous",
        apart_on_device=setting.device_layout != "contiguous",
        scattered="scattered" in setting.layouts,
        width_bytes=cell.piece_bytes,
        pieces=cell.pieces,
    )
    return None if rule is None else BuiltIn(rule["method"], min(rule["threads"], staging_threads()))


def table_path(device: OpenDevice) -> Path | None:
    """Where sessions look for the device's table; None without a home, and for what a host pretends to be."""
    path = _native.transfer_table_path(device.native)
    return Path(path) if path and not device.model else None


def table_in_use(device: OpenDevice) -> TransferTable:
    """What a session that is opened now chooses by."""
    return _native.machine_transfer_table(device.native)


def table_text(
    origin: str,
    buffers: Sequence[Choice],
    direct: Sequence[Choice],
    pieces: Sequence[PieceChoice],
    built_in: TransferTable | None = None,
    kernels: Mapping[Direction, int] | None = None,
) -> str:
    """What native/transfer/table/transfer_table_text.cpp reads; choices for buffers by direction, then ascending.

    Pieces of other shapes are moved as the table that is built in has it.
    """
    lines = ["isthmus transfer table 1", f"origin {' '.join(origin.split())}"]
    for choice in buffers:
        method = "driver"
        if choice.method != DRIVER:
            threads, chunk_bytes, stores = choice.method
            method = f"staged threads={threads} chunk={chunk_bytes} stores={stores}"
        lines.append(
            f"buffer direction={choice.direction} from={choice.bytes} method={method} seconds={choice.seconds:.4g}"
        )
    lines += [f"direct direction={each.direction} bytes={each.bytes} seconds={each.seconds:.4g}" for each in direct]
    lines += [f"kernel direction={direction} blocks={blocks}" for direction, blocks in (kernels or {}).items()]
    rules = [line for line in built_in.text().splitlines() if line.startswith("pieces ")] if built_in else []
    by_shape = {line.partition(" method=")[0]: line for line in [*rules, *map(_piece_line, pieces)]}
    lines += by_shape.values()
    return "\n".join([*lines, "end", ""])


def _piece_line(choice: PieceChoice) -> str:
    setting, cell = choice.setting, choice.cell
    apart = _APART[setting.host_layout != "contiguous", setting.device_layout != "contiguous"]
    threads = f" threads={choice.threads}" if choice.method in {"pack_threads", "pack_kernel"} else ""
    return (
        f"pieces direction={setting.direction} memory={setting.memory} apart={apart}"
        f" layout={'scattered' if 'scattered' in setting.layouts else 'regular'} width={cell.piece_bytes}"
        f" count={cell.pieces} method={choice.method}{threads} seconds={choice.seconds:.4g}"
    )


def _threads(buffers: Sequence[Choice], direction: Direction) -> int:
    """How many pack: as many as were best for buffers that threads moved, of the size nearest to those of pieces."""
    staged = [choice for choice in buffers if choice.direction == direction and choice.method != DRIVER]
    if not staged:
        return staging_threads()
    return min(staged, key=lambda choice: abs(choice.bytes - _PACKED_BYTES)).method.threads


def _origin(device: OpenDevice) -> str:
    description = device.description
    driver = f", driver {description.driver_version}" if description.driver_version else ""
    pretends = f", which pretends {device.model}" if device.model else ""
    return (
        f"{description.name}{driver}{pretends}, {_native.allowed_processors()} processors; isthmus {__version__} on "
        f"{datetime.now(timezone.utc):%Y-%m-%d}"
    )
