"""Finds the fewest blocks of a kernel that fill the link, in turns: the rest of the device is left to others."""

import random
import time
from collections.abc import Mapping
from statistics import median

from isthmus import _native
from isthmus.errors import CallFailed
from isthmus.machine.devices import OpenDevice
from isthmus.record import MIB, Direction

_BYTES = 32 * MIB
_BLOCKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
# As many as fill the device.
_ALL = 0
_ROUNDS = 7
# A larger part of the device buys less than this.
_AS_GOOD = 0.97


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
    for _ in range(_ROUNDS):
        for blocks in order.sample(list(seconds), len(seconds)):
            seconds[blocks].append(timed(blocks))
    return {blocks: _BYTES / median(taken) for blocks, taken in seconds.items()}
