"""Copies within a device and between two, in turns with the driver's own calls, and what awaiting a copy costs.

python benchmarks/device_copies.py [--turns 30]

Prints a line a size: GB/s of the driver (cuMemcpyDtoDAsync or cuMemcpyPeerAsync, and waiting for the stream) and of
`isthmus.copy`, medians, and their ratio, which is to be at least 0.97 from 1 MiB on. With one device the lines of two
are left out. Exit code 1: data was wrong.
"""

import argparse
import asyncio
import ctypes
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

import isthmus
from isthmus.machine.devices import probe

SIZES = [4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20]
_driver = ctypes.CDLL("libcuda.so.1")


def must(code: int) -> None:
    """End where the driver fails."""
    if code != 0:
        raise SystemExit(f"the driver failed with {code}")


def address(array: isthmus.DeviceArray) -> ctypes.c_uint64:
    """Where an array begins."""
    return ctypes.c_uint64(array.__cuda_array_interface__["data"][0])


def context(index: int) -> ctypes.c_void_p:
    """The primary context of a device, made current."""
    found = ctypes.c_void_p()
    must(_driver.cuDevicePrimaryCtxRetain(ctypes.byref(found), index))
    must(_driver.cuCtxSetCurrent(found))
    return found


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def compare(name: str, target: int, turns: int) -> bool:
    """One table; whether all data arrived."""
    there = context(target)
    here = context(0)
    right = True
    for size in SIZES:
        data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
        source = isthmus.to_device(data, "cuda:0")
        destination = isthmus.device_empty(size, "u1", f"cuda:{target}")
        to, from_, count = address(destination), address(source), ctypes.c_size_t(size)

        def by_driver(to=to, from_=from_, count=count) -> None:  # type: ignore[no-untyped-def]
            if target == 0:
                must(_driver.cuMemcpyDtoDAsync_v2(to, from_, count, None))
            else:
                must(_driver.cuMemcpyPeerAsync(to, there, from_, here, count, None))
            must(_driver.cuStreamSynchronize(None))

        def by_isthmus(to=destination, from_=source) -> None:  # type: ignore[no-untyped-def]
            isthmus.copy(to, from_)

        ways = (by_isthmus, by_driver)
        taken: dict[Callable[[], None], list[float]] = {way: [] for way in ways}
        for turn in range(turns + 3):
            for way in ways if turn % 2 else ways[::-1]:
                one = seconds(way)
                if turn >= 3:
                    taken[way].append(one)
        destination[:] = np.zeros(size, np.uint8)
        isthmus.copy(destination, source)
        right = right and bool((isthmus.to_host(destination) == data).all())
        ours, theirs = (size / statistics.median(taken[way]) / 1e9 for way in ways)
        print(f"{name:16} {size:>10} bytes  driver {theirs:8.2f}  isthmus {ours:8.2f} GB/s  ratio {ours / theirs:.2f}")
    return right


async def awaited(turns: int) -> None:
    """What `await` adds to waiting on the calling thread."""
    for size in SIZES:
        data = np.ones(size, np.uint8)
        there = isthmus.device_empty(size, "u1", "cuda:0")
        waited, slept = [], []
        for _ in range(turns):
            begin = time.perf_counter()
            isthmus.copy_async(there, data).wait()
            waited.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            await isthmus.copy_async(there, data)
            slept.append(time.perf_counter() - begin)
        print(
            f"{'await, H2D':16} {size:>10} bytes  wait {1e6 * statistics.median(waited):10.1f}  "
            f"await {1e6 * statistics.median(slept):10.1f} us"
        )


def main() -> int:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=30)
    turns = parser.parse_args().turns
    devices = sum(len(backend.devices) for backend in probe() if backend.name == "cuda")
    must(_driver.cuInit(0))
    right = compare("within a device", 0, turns)
    if devices > 1:
        right = compare("between two", 1, turns) and right
    asyncio.run(awaited(turns))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
