"""Copies over a device's own link and over its neighbours' links, too, in turns, against their bars.

python benchmarks/links.py [--device cuda:0] [--only pinned,pageable,queued,busy,product,weights] [--turns 12] [-o FILE]

Pinned and pageable memory by size, each way, by a session of the own link and one of all ways; the same while a process
copies from or to the neighbour at its full rate, and while one multiplies matrices there, with what either costs that
process. Every destination is poisoned before and compared afterwards. Needs two devices that reach each other's memory;
without, it says so and measures nothing. Exit code 1: a bar was missed or data was wrong.
"""

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import isthmus
from isthmus.machine.devices import neighbours, open_device
from isthmus.record import median_interval

MIB = 1 << 20
BARS = {1024: 1.85, 256: 1.8, 64: 1.7, 16: 1.3}
PAGEABLE_BAR, WEIGHTS_BAR = 1.6, 1.5
CASES = ("pinned", "pageable", "queued", "busy", "product", "weights")
SIDE = 8192


class Bench:
    """Both sessions, buffers for the largest copy, and what was found."""

    def __init__(self, device: str, turns: int) -> None:
        self.sessions = {"own": isthmus.Session(device, paths="own"), "all": isthmus.Session(device, paths="all")}
        self.turns, self.missed, self.found = turns, 0, []  # type: int, int, list[dict[str, Any]]
        most = max(BARS) * MIB
        self.there = self.sessions["own"].empty(most, np.uint8)
        self.data = np.random.default_rng(1).integers(0, 256, most, np.uint8)
        self.pinned = isthmus.pinned_empty(most, np.uint8, session=self.sessions["own"])
        self.back = isthmus.pinned_empty(most, np.uint8, session=self.sessions["own"])
        self.pinned[:] = self.data
        self.pageable = np.zeros(most, np.uint8)

    def compare(self, name: str, size: int, copy: Callable[[isthmus.Session], object], bar: float | None) -> float:
        """Both sessions in turns: seconds of each, and the ratio against a bar."""
        samples: dict[str, list[float]] = {each: [] for each in self.sessions}
        for session in self.sessions.values():
            copy(session)
        for turn in range(self.turns):
            for each in sorted(self.sessions, reverse=bool(turn % 2)):
                begin = time.perf_counter()
                copy(self.sessions[each])
                samples[each].append(time.perf_counter() - begin)
        middles = {each: median_interval(of).median for each, of in samples.items()}
        ratio = middles["own"] / middles["all"]
        verdict = "" if bar is None else f"  bar {bar}x {'met' if ratio >= bar else 'MISSED'}"
        self.missed += bar is not None and ratio < bar
        rates = ", ".join(f"{each} {size / seconds / 1e9:6.1f}" for each, seconds in middles.items())
        print(f"{name:<44} {rates} GB/s  {ratio:5.2f}x{verdict}", flush=True)
        self.found.append({"case": name, "bytes": size, "seconds": samples, "bar": bar})
        return ratio

    def verify(self, name: str, to: Any, expected: Any) -> None:
        """Count what did not arrive."""
        if not np.array_equal(to, expected):
            self.missed += 1
            print(f"{name}: WRONG DATA")

    def both_ways(self, name: str, size: int, host: Any, back: Any, bar: float | None) -> None:
        """To the device and back, verified."""
        there = self.there[:size]
        host[:size] = self.data[:size]
        self.compare(f"{name} H2D", size, lambda session: isthmus.copy(there, host[:size], session=session), bar)
        for session in self.sessions.values():
            back[:size] = 0
            isthmus.copy(back[:size], there, session=session)
            self.verify(f"{name} D2H", back[:size], self.data[:size])
        self.compare(f"{name} D2H", size, lambda session: isthmus.copy(back[:size], there, session=session), bar)


def pinned(bench: Bench) -> None:
    """Page-locked memory by size."""
    for size, bar in BARS.items():
        bench.both_ways(f"pinned {size} MiB", size * MIB, bench.pinned, bench.back, bar)


def pageable(bench: Bench) -> None:
    """Memory that threads pack, which has been touched; and what the host's memory does without a device."""
    other = np.zeros(len(bench.data), np.uint8)
    for size, bar in ((1024, PAGEABLE_BAR), (256, None)):
        bench.both_ways(f"pageable {size} MiB", size * MIB, bench.pageable, other, bar)


def queued(bench: Bench) -> None:
    """In the order of a stream, begun and awaited."""

    def copy(to: Any, source: Any, session: isthmus.Session) -> None:
        isthmus.copy_async(to, source, session=session).wait()

    for size in (1024, 64):
        there, host, back = bench.there[: size * MIB], bench.pinned[: size * MIB], bench.back[: size * MIB]
        bench.compare(f"queued {size} MiB H2D", size * MIB, partial(copy, there, host), None)
        for session in bench.sessions.values():
            back[:] = 0
            copy(back, there, session)
            bench.verify(f"queued {size} MiB D2H", back, host)
        bench.compare(f"queued {size} MiB D2H", size * MIB, partial(copy, back, there), None)


def _copying(device: str, to_device: bool, count: Any, stop: Any) -> None:
    session = isthmus.Session(device, paths="own")
    size = 256 * MIB
    host, there = isthmus.pinned_empty(size, np.uint8, session=session), session.empty(size, np.uint8)
    host[:] = 1
    while not stop.value:
        isthmus.copy(there, host, session=session) if to_device else isthmus.copy(host, there, session=session)
        count.value += 1


def _multiplying(device: str, count: Any, stop: Any) -> None:
    import torch

    torch.cuda.set_device(torch.device(device))
    left, right = (torch.randn(SIDE, SIDE, device="cuda").bfloat16() for _ in range(2))
    out = torch.empty_like(left)
    while not stop.value:
        for _ in range(4):
            torch.mm(left, right, out=out)
        torch.cuda.synchronize()
        count.value += 4


@contextmanager
def beside(work: Callable[..., None], *arguments: Any) -> Iterator[Callable[[], int]]:
    """A process at work; gives what counts its steps."""
    context = multiprocessing.get_context("spawn")
    count, stop = context.Value("q", 0, lock=False), context.Value("b", 0, lock=False)
    process = context.Process(target=work, args=(*arguments, count, stop))
    process.start()
    while count.value < 8 and process.is_alive():
        time.sleep(0.05)
    try:
        yield lambda: count.value
    finally:
        stop.value = 1
        process.join(20)


def steps_a_second(steps: Callable[[], int], work: Callable[[], object], seconds: float) -> float:
    """How fast a process beside goes on while something is done again and again."""
    begin, before = time.perf_counter(), steps()
    while time.perf_counter() - begin < seconds:
        work()
    return (steps() - before) / (time.perf_counter() - begin)


def beside_neighbour(bench: Bench, name: str, work: Callable[..., None], *arguments: Any, most_loss: float) -> None:
    """Both sessions while the neighbour works, and what its work loses by the ways over it."""
    there = bench.there
    for direction, copy in (
        ("H2D", lambda session: isthmus.copy(there, bench.pinned, session=session)),
        ("D2H", lambda session: isthmus.copy(bench.back, there, session=session)),
    ):
        with beside(work, *arguments) as steps:
            bench.compare(f"{name}, {direction}", there.nbytes, copy, 0.98 if work is _copying else None)
            rates: dict[str, list[float]] = {"own": [], "all": []}
            for turn in range(24):
                # What it does becomes slower while the device grows warm.
                for each in sorted(bench.sessions, reverse=bool(turn % 2)):
                    rates[each].append(steps_a_second(steps, partial(copy, bench.sessions[each]), 0.25))
        # Two turns have both sessions in either order.
        pairs = zip(*[iter(zip(rates["own"], rates["all"], strict=True))] * 2, strict=True)
        loss = median_interval([1 - (one[1] + other[1]) / (one[0] + other[0]) for one, other in pairs])
        lost = loss.median
        met = lost <= most_loss
        bench.missed += not met
        verdict = f"bar {most_loss:.0%} {'met' if met else 'MISSED'}"
        print(f"  the neighbour loses {lost:.1%} ({loss.low:.1%} to {loss.high:.1%})  {verdict}", flush=True)
        bench.found.append({"case": f"{name}, {direction}, neighbour", "steps a second": rates})


def busy(bench: Bench, other: str) -> None:
    """While another process copies from or to the neighbour."""
    for to_device in (True, False):
        name = f"neighbour copies {'H2D' if to_device else 'D2H'}"
        beside_neighbour(bench, name, _copying, other, to_device, most_loss=0.1)


def product(bench: Bench, other: str) -> None:
    """While another process multiplies matrices on the neighbour."""
    beside_neighbour(bench, "neighbour multiplies", _multiplying, other, most_loss=0.05)


def weights(bench: Bench) -> None:
    """A file of weights, 8 GB, from the page cache."""
    import torch

    import isthmus.torch

    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path, rows = Path(folder) / "weights.safetensors", 256
        shape = [rows, 15625, 1000]
        size = 2 * rows * 15625 * 1000
        header = json.dumps({"w": {"dtype": "BF16", "shape": shape, "data_offsets": [0, size]}}).encode()
        with path.open("wb") as file:
            file.write(len(header).to_bytes(8, "little") + header)
            for _ in range(rows):
                file.write(bench.data[: size // rows].tobytes())
        first = isthmus.torch.load_file(path, "cuda:0", session=bench.sessions["all"])["w"]
        bench.verify("weights", first[3].view(torch.uint8).cpu().numpy().ravel(), bench.data[: size // rows])
        del first
        bench.compare(
            "load_file of 8 GB",
            size,
            lambda session: isthmus.torch.load_file(path, "cuda:0", session=session) and None,
            WEIGHTS_BAR,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where a bar was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args(arguments)
    own = open_device(given.device)
    others = [each.spec for each in neighbours(own.description) if each.spec != given.device]
    if not others:
        print(f"skipped: {given.device} has no neighbour here")
        return 0
    bench = Bench(given.device, given.turns)
    print(bench.sessions["all"].explain(bench.there, bench.pinned))
    run: dict[str, Callable[[], None]] = {
        "pinned": lambda: pinned(bench),
        "pageable": lambda: pageable(bench),
        "queued": lambda: queued(bench),
        "busy": lambda: busy(bench, others[0]),
        "product": lambda: product(bench, others[0]),
        "weights": lambda: weights(bench),
    }
    for case in given.only.split(","):
        run[case]()
    if given.output:
        given.output.write_text(json.dumps(bench.found))
    print("all bars are met" if not bench.missed else f"{bench.missed} bars were missed")
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
