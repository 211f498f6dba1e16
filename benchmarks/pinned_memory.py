"""What page-locked memory costs, in turns: isthmus.pinned_empty, cuMemHostAlloc, and torch (pin_memory=True).

    python benchmarks/pinned_memory.py [--sizes 64MiB,1GiB] [--rounds 6] [--device 0] [--without-torch]

In one process: small blocks once there is a slab, whether torch takes the array as pinned, and the rate of the driver's
copies through either memory. Then processes of their own, in which the device's context and, of Isthmus, the session
are there already: the first call, to which the system gives pages that this process never had, and later ones, before
which all was given back.
"""

import argparse
import ctypes
import importlib.util
import json
import random
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

import isthmus
from isthmus.record import LEAST_SAMPLES, median_interval, parse_bytes

KIB, MIB = 1 << 10, 1 << 20
SIZES = (4 * KIB, 64 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 129_500_000, 256 * MIB, 1 << 30)
WAYS = ("isthmus", "driver", "torch")
COPIED = 256 * MIB
SMALL_CALLS, COPIES, CALLS = 20_000, 20, 5


class Cuda:
    """The driver's own calls, in the primary context of one device."""

    def __init__(self, device: int) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function that has to succeed."""
        code = getattr(self.library, name)(*arguments)
        if code:
            raise SystemExit(f"{name} failed: {code}")

    def host_alloc(self, size: int) -> int:
        """Page-locked memory that the driver gets."""
        found = ctypes.c_void_p()
        self.call("cuMemHostAlloc", ctypes.byref(found), ctypes.c_size_t(size), 0)
        self.last = found
        return found.value or 0

    def host_free(self) -> None:
        """Give back what it got last."""
        self.call("cuMemFreeHost", self.last)

    def device_alloc(self, size: int) -> int:
        """Memory of the device."""
        found = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(found), ctypes.c_size_t(size))
        return found.value

    def rate(self, to_device: bool, device: int, host: int, size: int) -> float:
        """GB/s of one synchronous copy."""
        function = "cuMemcpyHtoD_v2" if to_device else "cuMemcpyDtoH_v2"
        there, here = ctypes.c_uint64(device), ctypes.c_void_p(host)
        pair = (there, here) if to_device else (here, there)
        return size / timed(lambda: self.call(function, *pair, ctypes.c_size_t(size))) / 1e9


def timed(work: Callable[[], object], give_back: Callable[[], object] = lambda: None) -> float:
    """Seconds that a call takes; what it returns is let go of afterwards, and then given back."""
    begin = time.perf_counter()
    kept = work()
    seconds = time.perf_counter() - begin
    del kept
    give_back()
    return seconds


def calls_of(way: str, size: int, device: int) -> list[float]:
    """Seconds of each call of this process, before which what the one before it got was given back to the system."""
    if way == "torch":
        import torch

        torch.zeros(1, device=f"cuda:{device}")
        torch.cuda.synchronize()
        return [
            timed(lambda: torch.empty(size, dtype=torch.uint8, pin_memory=True), torch._C._host_emptyCache)
            for _ in range(CALLS)
        ]
    cuda = Cuda(device)
    if way == "driver":
        return [timed(lambda: cuda.host_alloc(size), cuda.host_free) for _ in range(CALLS)]
    session = isthmus.default_session(f"cuda:{device}")
    return [timed(lambda: isthmus.pinned_empty(size, np.uint8, session=session), session.trim) for _ in range(CALLS)]


def in_own_process(way: str, size: int, device: int) -> list[float]:
    """The same of a process that is started for it."""
    command = [sys.executable, __file__, "--device", str(device), "--calls-of", way, str(size)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds: list[float] = json.loads(done.stdout)
    return seconds


def words(samples: list[float], unit: float) -> str:
    """The median with its 95 % interval, or with the least and the largest of few."""
    if len(samples) >= LEAST_SAMPLES:
        found = median_interval(samples)
        middle, low, high = found.median, found.low, found.high
    else:
        middle, low, high = statistics.median(samples), min(samples), max(samples)
    return f"{middle / unit:9.3f} [{low / unit:.3f}, {high / unit:.3f}]"


def show_first_calls(ways: tuple[str, ...], sizes: list[int], rounds: int, device: int) -> None:
    """The table of calls, two rows a size once it is measured: in each round every way, in an order drawn anew."""
    print("\nms (median [interval]) of calls that find nothing kept, and how many times as fast Isthmus is")
    print(f"{'bytes':>18}  " + "  ".join(f"{way:>32}" for way in ways) + "".join(f"  {way:>8}" for way in ways[1:]))
    for size in sizes:
        samples: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in ("first", "later")}
        for number in range(rounds):
            for way in random.Random(number).sample(ways, len(ways)):
                first, *later = in_own_process(way, size, device)
                samples["first"][way].append(first)
                samples["later"][way] += later
        for name, of in samples.items():
            medians = {way: statistics.median(of[way]) for way in ways}
            times = "  ".join(f"{words(of[way], 1e-3):>32}" for way in ways)
            ratios = "".join(f"  {medians[way] / medians['isthmus']:7.1f}x" for way in ways[1:])
            print(f"{size:11}, {name:>5}  {times}{ratios}", flush=True)


def show_small_blocks(session: isthmus.Session) -> None:
    """Microseconds a block, once there is a slab: got and freed in turn, and many that are held."""
    dtype = np.dtype(np.uint8)
    print("small blocks, us each: got and freed in turn; got while 64 are held")
    for size in (256, 4 * KIB, 64 * KIB, MIB):
        alone, among = [], []
        for _ in range(7):
            begin = time.perf_counter()
            for _ in range(SMALL_CALLS):
                isthmus.pinned_empty(size, dtype, session=session)
            alone.append((time.perf_counter() - begin) / SMALL_CALLS)
            isthmus.pinned_empty(size, dtype, session=session)
            begin = time.perf_counter()
            held = [isthmus.pinned_empty(size, dtype, session=session) for _ in range(64)]
            among.append((time.perf_counter() - begin) / 64)
            del held
        print(f"{size:11}  {words(alone, 1e-6)}  {words(among, 1e-6)}")


def show_copies(session: isthmus.Session, device: int) -> None:
    """GB/s of the driver's copies through memory of either way, in turns, and whether the bytes arrive."""
    cuda = Cuda(device)
    array = isthmus.pinned_empty(COPIED, np.uint8, session=session)
    back = isthmus.pinned_empty(COPIED, np.uint8, session=session)
    array[:] = np.frombuffer(np.random.default_rng(0).bytes(COPIED), np.uint8)
    there = cuda.device_alloc(COPIED)
    hosts = {"isthmus": array.ctypes.data, "driver": cuda.host_alloc(COPIED)}
    cuda.rate(True, there, hosts["isthmus"], COPIED)
    cuda.rate(False, there, back.ctypes.data, COPIED)
    print(f"\nwhat arrived is {'right' if (array == back).all() else 'WRONG'}; GB/s of the driver's copies of 256 MiB")
    for to_device in (True, False):
        rates: dict[str, list[float]] = defaultdict(list)
        for number in range(COPIES):
            order = list(hosts)
            random.Random(number).shuffle(order)
            for way in order:
                rates[way].append(cuda.rate(to_device, there, hosts[way], COPIED))
        found = ", ".join(f"{way} {words(rates[way], 1.0).strip()}" for way in hosts)
        print(f"{'H2D' if to_device else 'D2H'}: {found}", flush=True)
    if importlib.util.find_spec("torch"):
        import torch

        torch.cuda.init()  # Before that it takes nothing as pinned.
        small = isthmus.pinned_empty(100, np.uint8, session=session)
        print("torch: is_pinned", torch.from_numpy(array).is_pinned(), torch.from_numpy(small).is_pinned())
        plain = np.zeros(COPIED, np.uint8)
        with isthmus.pin(plain, session=session):
            inside = torch.from_numpy(plain).is_pinned()
        print("torch: is_pinned within isthmus.pin and after it", inside, torch.from_numpy(plain).is_pinned())


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument(
        "--sizes", type=lambda text: [parse_bytes(each) for each in text.split(",")], default=list(SIZES)
    )
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--without-torch", action="store_true")
    parser.add_argument("--calls-of", nargs=2, metavar=("WAY", "BYTES"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.calls_of:
        print(json.dumps(calls_of(asked.calls_of[0], int(asked.calls_of[1]), asked.device)))
        return
    has_torch = importlib.util.find_spec("torch") is not None and not asked.without_torch
    session = isthmus.default_session(f"cuda:{asked.device}")
    show_small_blocks(session)
    show_copies(session, asked.device)
    show_first_calls(WAYS if has_torch else WAYS[:2], asked.sizes, asked.rounds, asked.device)


if __name__ == "__main__":
    main()
