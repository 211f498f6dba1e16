"""Greedy decoding that asks for each token, to look for the last one; fixed: it looks once in 16 tokens."""

import torch
from python_program import Program, expect
from torch import nn

# Launching a layer takes about as long as its kernels.
LAYERS, WIDTH, WORDS, ROWS, EVERY = 8, 2048, 8_000, 256, 16


def main() -> None:
    """Decode, and print."""
    program = Program(1200, torch.cuda.synchronize)
    torch.manual_seed(0)
    words = nn.Embedding(WORDS, WIDTH, device="cuda")
    layers = [nn.Linear(WIDTH, WIDTH, device="cuda") for _ in range(LAYERS)]
    norm = nn.LayerNorm(WIDTH, device="cuda")
    token = torch.zeros(ROWS, dtype=torch.int64, device="cuda")
    last = torch.full((), -1, device="cuda")
    decoded = torch.zeros((), dtype=torch.int64, device="cuda")

    def step(number: int) -> None:
        nonlocal token
        x = words(token)
        for layer in layers:
            x = norm(x + torch.relu(layer(x)))
        token = ((x @ words.weight.T).argmax(-1) + number) % WORDS
        decoded.add_(token.sum())
        if not program.fixed or number % EVERY == 0:
            expect(not bool((token == last).all().item()), "no end of an answer")
            program.count("d2h", 1)

    with torch.no_grad():
        for number in range(EVERY):
            step(number)
        with program.timed():
            for number in range(program.steps):
                step(number)
    sum_of_all = int(decoded.item())
    program.count("d2h", 8)
    expect(0 < sum_of_all < WORDS * ROWS * (program.steps + EVERY), "the sum of the tokens")
    program.report(sum_of_all)


if __name__ == "__main__":
    main()
