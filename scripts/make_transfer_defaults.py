"""Makes the transfer library's built-in tables from kept runs: those of backends in native/transfer/table/built_in."""

from __future__ import annotations

import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from isthmus._native import ring_plan
from isthmus.record import Case, Run, read_run

_REPOSITORY = Path(__file__).resolve().parents[1]
_RESULTS = _REPOSITORY / "results"
_OUTPUT = _REPOSITORY / "native" / "transfer" / "table" / "built_in"
# Of the library's ways as they are now: an H200, and PoCL on one CPU.
_CUDA = ("h200-batching-5", "h200-strided-2")
_OTHERS = ("pocl-pieces",)

# What one call of the library may use, simplest first: no graphs, whose recording is not timed, nothing that waits for
# each piece, and nothing that writes between the pieces.
_METHODS = ("copies", "section", "batch", "kernel", "device_pack", "pack", "pack_threads", "pack_kernel")
# A way replaces a simpler one only where it is so much faster.
_GAIN = 1.03
# Of the coarse grids: near enough to choose by.
_FINE = (
    frozenset({8, 64, 256, 4096, 65536, 1048576}),
    frozenset({16, 32, 256, 1024, 4096, 32768, 65536, 524288, 1048576}),
)
_COARSE = frozenset({256, 65536}), frozenset({16, 32, 256, 4096})
_Grid = tuple[frozenset[int], frozenset[int]]
_APART = {(True, False): "host", (False, True): "device", (True, True): "both"}

# Pageable buffers on an H200: the best of a sweep over threads, chunks and stores, with buffers that no cache held and
# threads that slept before, and the driver's own copy at sizes where it is faster; bytes, way, seconds.
_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
_STREAMING, _DEMOTED = "stores=streaming", "stores=demoted"


class _Staged(NamedTuple):
    """Threads, bytes of a chunk, and how packed bytes are stored."""

    threads: int
    chunk: int
    stores: str


_H200_BUFFERS: dict[str, list[tuple[int, _Staged | None, float]]] = {
    "h2d": [
        (0, None, 7.7e-6),
        (64 * _KIB, None, 64 * _KIB / 2.7e9),
        (512 * _KIB, None, 50e-6),
        (2 * _MIB, _Staged(8, 512 * _KIB, _STREAMING), 2 * _MIB / 14.7e9),
        (4 * _MIB, _Staged(8, 512 * _KIB, _STREAMING), 4 * _MIB / 20e9),
        (16 * _MIB, _Staged(8, 1 * _MIB, _STREAMING), 16 * _MIB / 33e9),
        (64 * _MIB, _Staged(14, 2 * _MIB, _DEMOTED), 64 * _MIB / 43e9),
        (256 * _MIB, _Staged(12, 4 * _MIB, _DEMOTED), 256 * _MIB / 49e9),
        (1024 * _MIB, _Staged(12, 4 * _MIB, _DEMOTED), 1024 * _MIB / 52.5e9),
    ],
    "d2h": [
        (0, None, 8.3e-6),
        (64 * _KIB, None, 64 * _KIB / 4.2e9),
        (1 * _MIB, _Staged(4, 256 * _KIB, _STREAMING), _MIB / 10e9),
        (4 * _MIB, _Staged(8, 512 * _KIB, _STREAMING), 4 * _MIB / 22e9),
        (16 * _MIB, _Staged(10, 2 * _MIB, _STREAMING), 16 * _MIB / 38e9),
        (64 * _MIB, _Staged(10, 3840 * _KIB, _STREAMING), 64 * _MIB / 50e9),
        (1024 * _MIB, _Staged(10, 3840 * _KIB, _STREAMING), 1024 * _MIB / 53.5e9),
    ],
}
# The driver's copy of page-locked memory there: bytes and seconds.
_H200_DIRECT = {
    "h2d": [(4 * _KIB, 8.5e-6), *((n, n / rate) for n, rate in ((_MIB, 38.2e9), (16 * _MIB, 53.7e9), (_GIB, 55.0e9)))],
    "d2h": [(4 * _KIB, 7.2e-6), *((n, n / rate) for n, rate in ((_MIB, 40.1e9), (16 * _MIB, 54.1e9), (_GIB, 55.3e9)))],
}
# What sessions took there, with caches emptied and threads asleep before, where another way than the experiments' best
# was faster: pageable pieces of 4 KiB that lie scattered on both sides, by direction and number.
_H200_SESSIONS = {("d2h", 4096): 520e-6, ("d2h", 65536): 6.0e-3, ("h2d", 4096): 582e-6, ("h2d", 65536): 6.2e-3}
# Where nothing says that threads help: the driver's copy.
_PLAIN_BUFFERS: dict[str, list[tuple[int, _Staged | None, float]]] = {
    "h2d": [(0, None, 20e-6), (_MIB, None, 120e-6)],
    "d2h": [(0, None, 20e-6), (_MIB, None, 120e-6)],
}


class _Cell(NamedTuple):
    """Pieces of one shape in one direction, in the order of the table."""

    direction: str
    memory: str
    apart: str
    layout: str
    width: int
    pieces: int


class _Way(NamedTuple):
    """What a cell may be moved by."""

    method: str
    threads: int


def main() -> int:
    """Write the files and say what they hold."""
    cuda = _runs(_CUDA)
    others = _runs(_OTHERS)
    device = cuda[0].fingerprint.device
    texts = {
        "cuda": _table(
            f"built in: {device.name}, PCIe 5.0 x16, driver {device.driver_version}",
            _H200_BUFFERS,
            [*_direct(_H200_DIRECT), *_pieces(cuda, _FINE, _of_sessions())],
        ),
        "others": _table("built in: PoCL on two processors", _PLAIN_BUFFERS, list(_pieces(others, _COARSE, {}))),
    }
    for name, text in texts.items():
        (_OUTPUT / f"{name}.table").write_text(text, encoding="utf-8")
        print(f"{name}: {len(text.splitlines())} lines")
    return 0


def _runs(names: Iterable[str]) -> list[Run]:
    return [read_run(_RESULTS / f"{name}.json.gz") for name in names]


def _table(origin: str, buffers: dict[str, list[tuple[int, _Staged | None, float]]], pieces: list[str]) -> str:
    lines = ["isthmus transfer table 1", f"origin {origin}"]
    for direction, rules in buffers.items():
        for size, staged, seconds in rules:
            if staged is not None and ring_plan(direction, staged.chunk)["chunk_bytes"] != staged.chunk:
                raise SystemExit(f"{direction}: no session of the usual budget runs chunks of {staged.chunk} bytes")
            way = (
                "driver" if staged is None else f"staged threads={staged.threads} chunk={staged.chunk} {staged.stores}"
            )
            lines.append(f"buffer direction={direction} from={size} method={way} seconds={seconds:.3g}")
    return "\n".join([*lines, *pieces, "end", ""])


def _direct(times: dict[str, list[tuple[int, float]]]) -> Iterator[str]:
    for direction, points in times.items():
        for size, seconds in points:
            yield f"direct direction={direction} bytes={size} seconds={seconds:.3g}"


def _of_sessions() -> dict[_Cell, tuple[_Way, float]]:
    return {
        _Cell(direction, "pageable", "both", "scattered", 4 * _KIB, count): (_Way("pack_kernel", 10), seconds)
        for (direction, count), seconds in _H200_SESSIONS.items()
    }


def _pieces(runs: list[Run], grid: _Grid, known: dict[_Cell, tuple[_Way, float]]) -> Iterator[str]:
    # Of each cell, of each place where all its ways were measured (a run and a pitch), the seconds of each way.
    measured: dict[_Cell, dict[tuple[object, ...], dict[_Way, float]]] = defaultdict(lambda: defaultdict(dict))
    for run in runs:
        for case in run.cases:
            cell = _cell(case, grid)
            samples = case.samples("host_seconds")
            if cell is not None and samples and case.method in _METHODS:
                shape = case.slices, case.pitch_bytes, case.device_pitch_bytes, case.host_layout, case.device_layout
                place = (run.run, case.experiment, *shape)
                way = _Way(case.method, case.threads or 0)
                measured[cell][place][way] = statistics.median(samples)
    for cell, places in sorted(measured.items()):
        way, seconds = known.get(cell) or _best(list(places.values()))
        threads = f" threads={way.threads}" if way.method in {"pack_threads", "pack_kernel"} else ""
        yield (
            f"pieces direction={cell.direction} memory={cell.memory} apart={cell.apart} layout={cell.layout}"
            f" width={cell.width} count={cell.pieces} method={way.method}{threads} seconds={seconds:.3g}"
        )


def _cell(case: Case, grid: _Grid) -> _Cell | None:
    """The cell of a case; None for cases that say nothing about single calls on pieces that lie apart."""
    if case.skipped or case.experiment not in {"batching", "strided"} or case.host_memory not in {"pageable", "pinned"}:
        return None
    # A piece of any width is `bytes` of all divided by their number, which sections give as rows and slices.
    count = case.pieces or (case.rows or 1) * (case.slices or 1)
    width = case.width_bytes or case.bytes // count
    apart = _APART.get((case.host_layout != "contiguous", case.device_layout != "contiguous"))
    if apart is None or width not in grid[0] or count not in grid[1] or case.direction not in {"h2d", "d2h"}:
        return None
    layout = "scattered" if "scattered" in (case.host_layout, case.device_layout) else "regular"
    return _Cell(case.direction, case.host_memory, apart, layout, width, count)


def _best(places: list[dict[_Way, float]]) -> tuple[_Way, float]:
    """The simplest way that none beats by more than the gain, over all places where at least half of them had it."""
    losses: dict[_Way, list[float]] = defaultdict(list)
    for place in places:
        for way, seconds in place.items():
            losses[way].append(math.log(seconds / min(place.values())))
    common = {way: statistics.fmean(values) for way, values in losses.items() if 2 * len(values) >= len(places)}
    least = min(common.values())
    simplest = min(
        (way for way, loss in common.items() if loss <= least + math.log(_GAIN)),
        key=lambda way: _METHODS.index(way.method),
    )
    return simplest, statistics.median(place[simplest] for place in places if simplest in place)


if __name__ == "__main__":
    sys.exit(main())
