"""Two models that share a device's memory, whose weights are sent for each request; fixed: from pinned memory."""

import torch
from python_program import Program, bits, expect

# Eight layers of 36 MiB for each of the models.
LAYERS, WIDTH, ROWS = 8, 3072, 1024


def main() -> None:
    """Serve the requests, and print."""
    program = Program(24, torch.cuda.synchronize)
    torch.manual_seed(0)
    models = [[torch.randn(WIDTH, WIDTH) * (2 / WIDTH) ** 0.5 for _ in range(LAYERS)] for _ in range(2)]
    if program.fixed:
        models = [[weight.pin_memory() for weight in model] for model in models]
    resident = [torch.empty(WIDTH, WIDTH, device="cuda") for _ in range(LAYERS)]
    given = torch.randn(ROWS, WIDTH, device="cuda")
    total = torch.zeros((), dtype=torch.float64, device="cuda")

    def serve(number: int) -> None:
        for place, weight in zip(resident, models[number % 2], strict=True):
            place.copy_(weight, non_blocking=program.fixed)
            program.count("h2d", weight.nbytes)
        values = given
        for weight in resident:
            values = torch.relu(values @ weight)
        total.add_(values.sum(dtype=torch.float64))

    serve(0)
    serve(1)
    with program.timed():
        for number in range(program.steps):
            serve(number)
    answer = total.item()
    program.count("d2h", 8)
    expect(0 < answer < float("inf"), "the sum of the answers")
    program.report(bits(answer))


if __name__ == "__main__":
    main()
