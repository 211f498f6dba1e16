"""Rows of a table on the host, gathered into ordinary memory and sent; fixed: gathered into pinned memory."""

import torch
from python_program import Program, bits, expect

# A table of 1 GiB, of whose rows of 2 KiB a step takes 64 MiB.
ROWS, WIDTH, TAKEN, LAYERS = 512 << 10, 512, 32 << 10, 4


def main() -> None:
    """Take the steps, and print."""
    program = Program(40, torch.cuda.synchronize)
    torch.manual_seed(0)
    table = torch.arange(ROWS, dtype=torch.float32)[:, None].expand(ROWS, WIDTH).contiguous()
    chosen = [torch.randperm(ROWS)[:TAKEN] for _ in range(8)]
    pinned = torch.empty(TAKEN, WIDTH, pin_memory=True) if program.fixed else None
    weights = [torch.randn(WIDTH, WIDTH, device="cuda") / WIDTH**0.5 for _ in range(LAYERS)]
    total = torch.zeros((), dtype=torch.float64, device="cuda")

    def step(number: int) -> None:
        rows = chosen[number % len(chosen)]
        if pinned is None:
            values = table.index_select(0, rows).to("cuda")
        else:
            torch.cuda.current_stream().synchronize()
            values = torch.index_select(table, 0, rows, out=pinned).to("cuda", non_blocking=True)
        program.count("h2d", values.nbytes)
        for weight in weights:
            values = torch.relu(values @ weight)
        total.add_(values.sum(dtype=torch.float64))

    for number in range(2):
        step(number)
    with program.timed():
        for number in range(program.steps):
            step(number)
    sum_of_all = total.item()
    program.count("d2h", 8)
    expect(0 < sum_of_all < float("inf"), "the sum of all results")
    program.report(bits(sum_of_all))


if __name__ == "__main__":
    main()
