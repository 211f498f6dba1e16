"""Frames of a video, decoded by the host into ordinary memory and sent one by one; fixed: into pinned memory."""

import numpy as np
import torch
from python_program import Program, expect

# 4K, three colours of a byte: 25 MB.
HEIGHT, WIDTH, COLOURS = 2160, 3840, 3
DECODED = 6


def main() -> None:
    """Take the frames, and print."""
    program = Program(120, torch.cuda.synchronize)
    rng = np.random.default_rng(0)
    frames = [rng.integers(0, 256, (HEIGHT, WIDTH, COLOURS), dtype=np.uint8) for _ in range(DECODED)]
    ready = [torch.from_numpy(each) for each in frames]
    if program.fixed:
        ready = [each.pin_memory() for each in ready]
    total = torch.zeros((), dtype=torch.int64, device="cuda")

    def step(number: int) -> None:
        frame = ready[number % DECODED].to("cuda", non_blocking=program.fixed)
        program.count("h2d", frame.nbytes)
        small = frame.view(HEIGHT // 2, 2, WIDTH // 2, 2, COLOURS).to(torch.int32).sum((1, 3))
        total.add_(small.sum())

    for number in range(3):
        step(number)
    with program.timed():
        for number in range(program.steps):
            step(number)
    sum_of_all = int(total.item())
    program.count("d2h", 8)
    sums = [int(each.sum(dtype=np.int64)) for each in frames]
    seen = [*range(3), *range(program.steps)]
    expect(sum_of_all == sum(sums[number % DECODED] for number in seen), "the sum of all pixels")
    program.report(sum_of_all)


if __name__ == "__main__":
    main()
