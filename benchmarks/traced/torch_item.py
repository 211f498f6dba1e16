"""A training loop that its launches bound, and that asks for the loss in each step; fixed: every 50 steps."""

import torch
from python_program import Program, bits, expect
from torch import nn

# Layers so small that launching them takes longer than they do, and then one kernel as long as that, which the host
# waits for.
LAYERS, WIDTH, BATCH = 8, 256, 64
TABLE = 384 << 20
EVERY = 50
WARM_UP = 20


def main() -> None:
    """Take the steps, and print."""
    program = Program(500, torch.cuda.synchronize)
    torch.manual_seed(0)
    layers = [each for _ in range(LAYERS) for each in (nn.Linear(WIDTH, WIDTH, device="cuda"), nn.ReLU())]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    given, wanted = torch.randn(2, BATCH, WIDTH, device="cuda")
    table = torch.ones(TABLE, device="cuda")
    average = torch.zeros(TABLE, device="cuda")
    on_device = torch.zeros((), dtype=torch.float64, device="cuda")
    total = 0.0

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(given), wanted)
        loss.backward()
        optimizer.step()
        average.lerp_(table, 0.01)
        return loss.detach()

    for _ in range(WARM_UP):
        step()
    with program.timed():
        for number in range(1, program.steps + 1):
            loss = step()
            if not program.fixed:
                total += loss.item()
                program.count("d2h", 4)
                continue
            on_device.add_(loss)
            if number % EVERY == 0 or number == program.steps:
                total = on_device.item()
                program.count("d2h", 8)
    expect(0 < total < float("inf"), "the sum of the losses")
    program.report(bits(total))


if __name__ == "__main__":
    main()
