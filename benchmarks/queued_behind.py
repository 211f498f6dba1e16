"""How long four bytes wait behind a large copy of another stream, whole or in chunks; what many small copies take.

    python benchmarks/queued_behind.py [GPU]

What `isthmus advise` prices `queued-behind` and `device-copies` with: that an engine lets others in between chunks that
are queued already, and that one kernel takes the place of many small copies. Prints a table; needs torch and a GPU.
"""

import sys
import time
from collections.abc import Callable
from functools import cache
from statistics import median

import torch

LARGE_BYTES, TURNS = 1 << 30, 15
CHUNKS_MIB = (0, 1, 4, 16, 64)
BLOCKS, BLOCK_BYTES = 1000, 16 << 10


def main() -> None:
    """Measure on one GPU, and print."""
    torch.cuda.set_device(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print(f"{torch.cuda.get_device_name()}, medians of {TURNS}")
    print(f"{'direction':>9} {'chunk':>8} {'large alone':>12} {'with small':>12} {'small waits':>12}")
    for direction in ("d2h", "h2d"):
        for mib in CHUNKS_MIB:
            alone = median(waits(direction, mib, small=False)[0] for _ in range(TURNS))
            pairs = [waits(direction, mib, small=True) for _ in range(TURNS)]
            both, small = (median(column) for column in zip(*pairs, strict=True))
            name = f"{mib} MiB" if mib else "whole"
            print(f"{direction:>9} {name:>8} {1e3 * alone:9.3f} ms {1e3 * both:9.3f} ms {1e3 * small:9.3f} ms")
    pool = torch.empty(4 * BLOCKS, BLOCK_BYTES, dtype=torch.uint8, device="cuda")
    order = torch.randperm(4 * BLOCKS)[:BLOCKS]
    on_device, out = order.cuda(), torch.empty(BLOCKS, BLOCK_BYTES, dtype=torch.uint8, device="cuda")
    pairs_of = list(zip(list(out), [pool[place] for place in order.tolist()], strict=True))

    def one_by_one() -> None:
        for there, here in pairs_of:
            there.copy_(here, non_blocking=True)

    for name, work in (
        ("one by one", one_by_one),
        ("one kernel", lambda: torch.index_select(pool, 0, on_device, out=out)),
    ):
        print(f"{BLOCKS} blocks of {BLOCK_BYTES >> 10} KiB, {name}: {1e6 * median(timed(work)):.1f} us")


def waits(direction: str, chunk_mib: int, *, small: bool) -> tuple[float, float]:
    """Seconds until a large copy is done, and until a small one is that was queued right after it on another stream."""
    ends = [(buffers("cuda"), buffers("pinned"))[each] for each in ((1, 0) if direction == "d2h" else (0, 1))]
    (large_to, small_to), (large_from, small_from) = ends
    step = (chunk_mib << 20) or LARGE_BYTES
    side, other = streams()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    with torch.cuda.stream(side):
        for there, here in zip(large_to.split(step), large_from.split(step), strict=True):
            there.copy_(here, non_blocking=True)
    queued = time.perf_counter()
    if small:
        with torch.cuda.stream(other):
            small_to.copy_(small_from, non_blocking=True)
        other.synchronize()
    waited = time.perf_counter() - queued
    side.synchronize()
    return time.perf_counter() - begin, waited


@cache
def buffers(where: str) -> tuple[torch.Tensor, torch.Tensor]:
    """A large and a small buffer of the device or of pinned memory."""
    made = {"device": "cuda"} if where == "cuda" else {"pin_memory": True}
    large, small = (torch.zeros(size, dtype=torch.uint8, **made) for size in (LARGE_BYTES, 4))
    return large, small


@cache
def streams() -> tuple[torch.cuda.Stream, torch.cuda.Stream]:
    """One for large copies, one for small ones."""
    return torch.cuda.Stream(), torch.cuda.Stream()


def timed(work: Callable[[], object]) -> list[float]:
    """Seconds of each turn, from an idle device to an idle device."""
    found = []
    for _ in range(TURNS):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        work()
        torch.cuda.synchronize()
        found.append(time.perf_counter() - begin)
    return found


if __name__ == "__main__":
    main()
