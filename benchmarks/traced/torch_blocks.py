"""Blocks of a cache, brought to the device one by one; fixed: packed, one copy, a kernel that puts them in place."""

import torch
from python_program import Program, expect

# Of 32 KiB, all of them pinned.
VALUES = 8192
HOST_BLOCKS, DEVICE_BLOCKS, MOVED = 8192, 4096, 2048
# Which blocks go where comes again after so many steps.
CHOICES = 8


def main() -> None:
    """Take the steps, and print."""
    program = Program(30, torch.cuda.synchronize)
    torch.manual_seed(0)
    pool = torch.empty(HOST_BLOCKS, VALUES, dtype=torch.int32, pin_memory=True)
    torch.arange(HOST_BLOCKS * VALUES, dtype=torch.int32, out=pool.view(-1))
    cache = torch.zeros(DEVICE_BLOCKS, VALUES, dtype=torch.int32, device="cuda")
    chosen = [torch.randperm(HOST_BLOCKS)[:MOVED] for _ in range(CHOICES)]
    places = [torch.randperm(DEVICE_BLOCKS)[:MOVED].pin_memory() for _ in range(CHOICES)]
    host_blocks, device_blocks = list(pool), list(cache)
    pairs = [list(zip(*each, strict=True)) for each in zip(map(_list, chosen), map(_list, places), strict=True)]
    packed = torch.empty(MOVED, VALUES, dtype=torch.int32, pin_memory=True)
    total = torch.zeros((), dtype=torch.int64, device="cuda")

    def one_by_one(turn: int) -> None:
        for source, place in pairs[turn]:
            device_blocks[place].copy_(host_blocks[source], non_blocking=True)
        program.count("h2d", 4 * VALUES, MOVED)

    def together(turn: int) -> None:
        torch.index_select(pool, 0, chosen[turn], out=packed)
        blocks = packed.to("cuda", non_blocking=True)
        cache.index_copy_(0, places[turn].to("cuda", non_blocking=True), blocks)
        program.count("h2d", 4 * VALUES * MOVED)
        program.count("h2d", 8 * MOVED)

    def step(number: int) -> None:
        (together if program.fixed else one_by_one)(number % CHOICES)
        total.add_(cache.sum())
        torch.cuda.current_stream().synchronize()

    for number in range(CHOICES):
        step(number)
    with program.timed():
        for number in range(program.steps):
            step(number)
    last_source, last_place = pairs[(program.steps - 1) % CHOICES][0]
    expect(torch.equal(device_blocks[last_place].cpu(), host_blocks[last_source]), "a block")
    program.count("d2h", 4 * VALUES)
    checksum = int(total.item())
    program.count("d2h", 8)
    program.report(checksum)


def _list(numbers: torch.Tensor) -> list[int]:
    found: list[int] = numbers.tolist()
    return found


if __name__ == "__main__":
    main()
