"""Finds, for pieces of some shapes, the fastest method in one call, and the fewest blocks of kernels for a link."""

import random
import time
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from isthmus import _native
from isthmus.errors import CallFailed, Unsupported
from isthmus.experiment.calibration.buffers import GAIN
from isthmus.experiment.calibration.turns import certainly_better, gain
from isthmus.experiment.engine.piece_buffers import Cell, PieceBuffers, Setting
from isthmus.experiment.engine.pieces import Packing
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected
from isthmus.experiment.engine.sweep import TimedSubject
from isthmus.machine.devices import OpenDevice
from isthmus.record import KIB, MIB, Case, Direction

# What one call may use, the simplest first: nothing that pays only when pieces are copied again and again, nothing that
# waits for each, and nothing that writes between them.
METHODS = ("copies", "section", "batch", "kernel", "device_pack", "pack", "pack_threads", "pack_kernel")
# These take a microsecond for a piece, or more: hopeless, and slow to find out, with more pieces.
_CALL_A_PIECE = ("copies", "batch")
_MOST_CALLS = 1024
_WIDTHS = (8, 256, 4 * KIB, 64 * KIB)
# Besides the most that there may be.
_COUNTS = (32, KIB)
_MOST_COUNT = 32 * KIB
# Bytes of all pieces: where every method has something to do, and in other layouts. Checks of what arrives take most
# of the time.
_MAIN = ("scattered", "scattered")
_MAIN_BYTES = 16 * MIB
_OTHER_BYTES = 4 * MIB
# All methods are timed once, and those that are not far behind the best then so many times more.
_ROUNDS = 2
_FAR = 1.3
_VISIT = Quota(1, 2, 8, 0.0006)
# Visits by which what was found is held against what is built in.
_TURNS = 9
_BYTES = 32 * MIB
_BLOCKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
# As many as fill the device.
_ALL = 0
_KERNEL_ROUNDS = 7
# A larger part of the device buys less than this.
_AS_GOOD = 0.97


class PieceChoice(NamedTuple):
    """The method for pieces of one shape, the threads that it has, and what it took."""

    setting: Setting
    cell: Cell
    method: str
    threads: int
    seconds: float


class BuiltIn(NamedTuple):
    """What the built-in table has for pieces of one shape."""

    method: str
    threads: int


def settings(kinds: Sequence[str], quick: bool) -> list[Setting]:
    """Every direction, memory and layout in which pieces lie apart."""
    pairs = [_MAIN, ("strided", "contiguous"), ("contiguous", "strided")]
    if not quick:
        pairs += [("scattered", "contiguous"), ("contiguous", "scattered"), ("strided", "strided")]
    directions: tuple[Direction, ...] = ("h2d", "d2h")
    return [Setting(each, kind, *pair) for pair in pairs for kind in kinds for each in directions]  # type: ignore[arg-type]


def cells(setting: Setting, quick: bool) -> list[Cell]:
    """Widths times numbers, coarse: what lies between is nearest to one of them."""
    most_bytes = _MAIN_BYTES if setting.layouts == _MAIN and not quick else _OTHER_BYTES
    all_cells = []
    for width in _WIDTHS:
        most = min(_MOST_COUNT, most_bytes // width)
        counts = {*_COUNTS[: 1 if quick else 2], most}
        all_cells += [Cell(width, count) for count in sorted(counts) if count <= most]
    return all_cells


def simplest(seconds: Mapping[str, float]) -> str:
    """The simplest of the methods that no other beats by more than the gain."""
    least = min(seconds.values())
    return next(method for method in METHODS if method in seconds and seconds[method] <= GAIN * least)


class PieceTimer:
    """Times the methods that a device has for the pieces of a cell, all in turn, and checks what arrives."""

    def __init__(
        self,
        device: _native.Device,
        kinds: Sequence[str],
        staging: Mapping[Direction, _native.Staging],
        threads: Mapping[Direction, int],
        seed: int,
    ) -> None:
        """Allocate and fill; `threads` are as many as pack. Raises an IsthmusError where memory is lacking."""
        self._buffers = PieceBuffers(device, kinds, _MAIN_BYTES, seed)
        self._staging = staging
        self._threads = threads
        self._random = random.Random(seed)

    def choose(self, setting: Setting, cell: Cell, built_in: BuiltIn | None = None) -> PieceChoice | None:
        """The best method; None where there is none, or none that is certainly better in turns than what is built in.

        Raises CallFailed where something else arrives than was sent.
        """
        subjects = {method: self._subject(setting, cell, method) for method in METHODS if self._pays(method, cell)}
        collected = {method: Collected(subject.template) for method, subject in subjects.items()}
        self._visit(subjects, collected)
        for _ in range(_ROUNDS):
            seconds = _medians(collected)
            near = [method for method in seconds if seconds[method] <= _FAR * min(seconds.values())]
            if len(near) > 1:
                self._visit({method: subjects[method] for method in near}, collected)
        if not collected:
            return None
        seconds = _medians(collected)
        method = simplest(seconds)
        if built_in is not None and (method == built_in.method or not self._gains(setting, cell, method, built_in)):
            return None
        return PieceChoice(setting, cell, method, self._threads[setting.direction], seconds[method])

    def _gains(self, setting: Setting, cell: Cell, method: str, built_in: BuiltIn) -> bool:
        """Whether a method certainly beats what is built in, or that cannot be."""
        if built_in.method not in METHODS or not self._pays(built_in.method, cell):
            return True
        both = {
            "before": self._subject(setting, cell, built_in.method, built_in.threads),
            "after": self._subject(setting, cell, method),
        }
        rounds = []
        for _ in range(_TURNS):
            collected = {name: Collected(subject.template) for name, subject in both.items()}
            self._visit(both, collected)
            if "before" not in collected:
                return True
            rounds.append(_medians(collected))
        return certainly_better([gain([each["before"] for each in rounds], [each["after"] for each in rounds])])

    def _visit(self, subjects: Mapping[str, TimedSubject], collected: dict[str, Collected]) -> None:
        """All in turn; those that cannot be are no longer among what is collected."""
        for method in self._random.sample(list(subjects), len(subjects)):
            try:
                subjects[method].visit(_VISIT, collected[method])
            except Unsupported:
                del collected[method]
                continue
            if collected[method].wrong:
                case = subjects[method].template
                raise CallFailed(f"{case.bytes} bytes by {case.method}: {collected[method].wrong}")

    @staticmethod
    def _pays(method: str, cell: Cell) -> bool:
        return method not in _CALL_A_PIECE or cell.pieces <= _MOST_CALLS

    def _subject(self, setting: Setting, cell: Cell, method: str, threads: int = 0) -> TimedSubject:
        template = Case(
            experiment="calibrate",
            method=method,
            host_memory=setting.memory,
            bytes=cell.bytes,
            direction=setting.direction,
        )
        packing = Packing(threads=threads or self._threads[setting.direction])
        start = self._buffers.moving(method, setting, cell, self._staging[setting.direction], packing)
        return TimedSubject(template, start)


def _medians(collected: Mapping[str, Collected]) -> dict[str, float]:
    return {method: median(each.samples["host_seconds"]) for method, each in collected.items()}


def kernel_blocks(device: OpenDevice, seed: int) -> dict[Direction, int]:
    """The blocks that kernels of sessions get, by direction; none where kernels and the host share their memory.

    Raises CallFailed for wrong data, and OutOfMemory where buffers do not fit.
    """
    native = device.native
    if device.description.shares_host_memory or not native.kernels_reach("pinned"):
        return {}
    host, there = native.allocate("pinned", _BYTES), native.allocate("device", _BYTES)
    host.fill_pattern(0, _BYTES, seed)
    return {"h2d": fewest(_rates(native, there, host, seed)), "d2h": fewest(_rates(native, host, there, seed))}


def fewest(rates: Mapping[int, float]) -> int:
    """The fewest blocks at whose rate a kernel is as good as at that of any number; 0 stands for all."""
    best = max(rates.values())
    enough = [blocks for blocks, rate in rates.items() if blocks != _ALL and rate >= _AS_GOOD * best]
    return min(enough, default=max(rates))


def _rates(device: _native.Device, to: _native.Buffer, source: _native.Buffer, seed: int) -> dict[int, float]:
    """Bytes a second with each number of blocks: the median of rounds, each of which visits all in another order."""
    stream, order = _native.Stream(device), random.Random(seed)
    seconds: dict[int, list[float]] = {blocks: [] for blocks in (*_BLOCKS, _ALL)}

    def timed(blocks: int) -> float:
        begin = time.perf_counter()
        stream.copy_by_kernel(to, 0, source, 0, _BYTES, blocks)
        stream.synchronize()
        return time.perf_counter() - begin

    for blocks in seconds:
        to.set_bytes(0, _BYTES, 0)
        timed(blocks)
        if to.verify_pattern(0, _BYTES, seed, "device" if to.kind == "device" else "host")[0]:
            raise CallFailed(f"a kernel of {blocks or 'all'} blocks copied 32 MiB over the link: wrong data arrived")
    for _ in range(_KERNEL_ROUNDS):
        for blocks in order.sample(list(seconds), len(seconds)):
            seconds[blocks].append(timed(blocks))
    return {blocks: _BYTES / median(taken) for blocks, taken in seconds.items()}
