"""What copies cost a large matrix product beside them: the copy engine, and kernels of more and more blocks.

python benchmarks/neighbours.py [--device cuda:0] [--rounds 9] [--blocks 1,2,4,8,0] [--row-bytes 4096]

Half the rows of page-locked memory, drawn at random, go to rows of the device and back by kernels of the library
(`copy_rows`, as caches are moved); the same bytes in one piece go by torch's non-blocking copy. Each round is a turn:
a bf16 product of 8192 x 8192 x 8192 alone, beside copies, alone. The first line of each direction is what sessions do
by themselves, which the bars are for: 12 % to the device and 15 % from it, 5 % by the copy engine. 0 blocks stand for
the whole device. Exit code 1: a bar was missed or data was wrong. Without torch, or a device of CUDA, it says so and
measures nothing.
"""

import argparse
import importlib.util
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import isthmus

_SIDE = 8192
_BYTES = 256 << 20
_PRODUCTS = 12
_BARS = {"h2d": 12.0, "d2h": 15.0}
_ENGINE_BAR = 5.0
_WHOLE = 65536
_SETTLE_SECONDS = 0.02


class _Way(NamedTuple):
    name: str
    direction: str
    copy: Callable[[], None]  # returns when all has arrived
    clear: Callable[[], None]  # of where it arrives
    verify: Callable[[], bool]
    bar: float | None


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where a bar was missed."""
    given = _parse(arguments)
    if importlib.util.find_spec("torch") is None:
        print("skipped: torch is not installed")
        return 0
    import torch

    if not torch.cuda.is_available():
        print("skipped: torch sees no device of CUDA")
        return 0
    torch.cuda.set_device(torch.device(given.device))
    product = _Product(torch)
    print(f"{torch.cuda.get_device_name()}: bf16 product of {_SIDE}^3, {1e3 * product.seconds():.2f} ms alone")
    print(f"{'way':<44} {'GB/s alone':>10} {'beside':>8} {'product':>16} {'bar':>8}")
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for way in _ways(torch, given, Path(folder)):
            missed += _measured(way, product, given.rounds)
    print("all bars are met" if not missed else f"{missed} bars were missed")
    return 1 if missed else 0


class _Product:
    """Products on a stream of their own, timed by events."""

    def __init__(self, torch: Any) -> None:
        self._torch, self._stream = torch, torch.cuda.Stream()
        self._left = torch.randn(_SIDE, _SIDE, device="cuda").bfloat16()
        self._right = torch.randn(_SIDE, _SIDE, device="cuda").bfloat16()
        self._out = torch.empty_like(self._left)
        torch.cuda.synchronize()
        for _ in range(3):
            self.seconds()

    def seconds(self) -> float:
        """Of one product, in the mean of several, one after another."""
        begin, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        with self._torch.cuda.stream(self._stream):
            begin.record()
            for _ in range(_PRODUCTS):
                self._torch.mm(self._left, self._right, out=self._out)
            end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3 / _PRODUCTS


def _ways(torch: Any, given: argparse.Namespace, folder: Path) -> Iterator[_Way]:
    rows = _BYTES // given.row_bytes
    host = torch.empty((2 * rows, given.row_bytes), dtype=torch.uint8, pin_memory=True)
    there = torch.empty((2 * rows, given.row_bytes), dtype=torch.uint8, device="cuda")
    expected = torch.randint(0, 256, (rows, given.row_bytes), dtype=torch.uint8)
    here, arrived = (torch.randperm(2 * rows)[:rows] for _ in range(2))
    side = torch.cuda.Stream()
    for direction in ("h2d", "d2h"):
        source, to = (host, there) if direction == "h2d" else (there, host)
        source[here.to(source.device)] = expected.to(source.device)
        torch.cuda.synchronize()

        def clear(to: Any = to) -> None:
            to.zero_()
            torch.cuda.synchronize()

        def verify(to: Any = to) -> bool:
            return bool(torch.equal(to.cpu()[arrived], expected))

        def verify_engine(source: Any = source, to: Any = to) -> bool:
            return bool(torch.equal(to[:rows].cpu(), source[:rows].cpu()))

        def engine(source: Any = source, to: Any = to) -> None:
            with torch.cuda.stream(side):
                to[:rows].copy_(source[:rows], non_blocking=True)
            side.synchronize()

        for blocks in (None, *given.blocks):
            session = isthmus.Session(given.device, table=None if blocks is None else _table(given, folder, blocks))
            how = session.explain_rows(to, arrived, source, here)
            few = 0 < how.kernel_blocks < _WHOLE
            size = f"{how.kernel_blocks} blocks" if few else "whole device"
            name = f"{how.method}, {size}{', as sessions do' if blocks is None else ''}"

            def copy(session: Any = session, source: Any = source, to: Any = to) -> None:
                session.copy_rows(to, arrived, source, here, stream=side.cuda_stream)

            yield _Way(name, direction, copy, clear, verify, _BARS[direction] if blocks is None else None)
            session.close()
        yield _Way("copy engine (torch, non_blocking)", direction, engine, clear, verify_engine, _ENGINE_BAR)


def _table(given: argparse.Namespace, folder: Path, blocks: int) -> Path:
    """This machine's table, with so many blocks for kernels."""
    with isthmus.Session(given.device) as session:
        lines = [line for line in session.table.splitlines() if not line.startswith("kernel ")]
    kernels = [f"kernel direction={direction} blocks={blocks or _WHOLE}" for direction in ("h2d", "d2h")]
    path = folder / f"{blocks}.table"
    path.write_text("\n".join([*lines[:-1], *kernels, lines[-1], ""]))
    return path


def _measured(way: _Way, product: _Product, rounds: int) -> int:
    """Print the line of a way; 1 where it missed its bar or moved wrong data."""
    way.clear()
    way.copy()
    if not way.verify():
        print(f"{way.direction} {way.name:<40} wrong data")
        return 1
    alone_rate = _BYTES / min(_timed(way.copy) for _ in range(5)) / 1e9
    slowdowns, rates = [], []
    for _ in range(rounds):
        before = product.seconds()
        with _beside(way.copy) as copies:
            beside = product.seconds()
        slowdowns.append(100 * (2 * beside / (before + product.seconds()) - 1))
        rates.append(_BYTES / statistics.median(copies) / 1e9)
    slowdown, low, high = statistics.median(slowdowns), min(slowdowns), max(slowdowns)
    met = way.bar is None or slowdown <= way.bar
    bar = "" if way.bar is None else f"{way.bar:.0f} %{'' if met else ' !'}"
    cost = f"{slowdown:+.1f} % ({low:+.0f}..{high:+.0f})"
    print(f"{way.direction} {way.name:<40} {alone_rate:>10.1f} {statistics.median(rates):>8.1f} {cost:>16} {bar:>8}")
    return 0 if met else 1


@contextmanager
def _beside(copy: Callable[[], None]) -> Iterator[list[float]]:
    """Copies one after another while the block runs; the seconds of each are there afterwards."""
    enough, seconds, failure = threading.Event(), [], []

    def go_on() -> None:
        try:
            while not enough.is_set():
                seconds.append(_timed(copy))
        except Exception as error:
            # For the thread that waits.
            failure.append(error)

    thread = threading.Thread(target=go_on)
    thread.start()
    time.sleep(_SETTLE_SECONDS)
    try:
        yield seconds
    finally:
        enough.set()
        thread.join()
    if failure:
        raise failure[0]


def _timed(copy: Callable[[], None]) -> float:
    begin = time.perf_counter()
    copy()
    return time.perf_counter() - begin


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--blocks", type=lambda text: [int(each) for each in text.split(",")], default=[1, 2, 4, 8, 0])
    parser.add_argument("--row-bytes", type=int, default=4096)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
