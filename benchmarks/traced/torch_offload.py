"""Layers whose weights are sent from ordinary memory before each runs; fixed: from pinned memory, without a wait."""

import torch
from python_program import Program, bits, expect

# Weights of 64 MiB a layer.
LAYERS, WIDTH, ROWS = 8, 4096, 2048


def main() -> None:
    """Take the steps, and print."""
    program = Program(16, torch.cuda.synchronize)
    torch.manual_seed(0)
    weights = [torch.randn(WIDTH, WIDTH) * (2 / WIDTH) ** 0.5 for _ in range(LAYERS)]
    if program.fixed:
        weights = [each.pin_memory() for each in weights]
    given = torch.randn(ROWS, WIDTH, device="cuda")
    total = torch.zeros((), dtype=torch.float64, device="cuda")

    def step() -> None:
        values = given
        for weight in weights:
            values = torch.relu(values @ weight.to("cuda", non_blocking=program.fixed))
            program.count("h2d", weight.nbytes)
        total.add_(values.sum(dtype=torch.float64))

    step()
    with program.timed():
        for _ in range(program.steps):
            step()
    sum_of_all = total.item()
    program.count("d2h", 8)
    expect(0 < sum_of_all < float("inf"), "the sum of all results")
    program.report(bits(sum_of_all))


if __name__ == "__main__":
    main()
