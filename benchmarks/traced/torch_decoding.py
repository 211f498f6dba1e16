"""Greedy decoding by a small GPT of random weights: token by token, each of which the host waits for."""

import torch
from launches import report
from torch import nn

LAYERS, WIDTH, HEADS, WORDS, TOKENS, ANSWERS = 6, 256, 4, 1000, 32, 10


def layer() -> nn.ModuleDict:
    """A layer of a GPT."""
    return nn.ModuleDict(
        {
            "project": nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH)),
            "merge": nn.Linear(WIDTH, WIDTH),
            "think": nn.Sequential(
                nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
            ),
        }
    ).cuda()


def passed(layer: nn.ModuleDict, x: torch.Tensor, past: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What becomes of one token in a layer, and the keys and values with its own."""
    split = layer["project"](x).view(1, 3, HEADS, 1, WIDTH // HEADS)
    query, past = split[:, 0], torch.cat([past, split[:, 1:]], dim=3)
    seen = nn.functional.scaled_dot_product_attention(query, past[:, 0], past[:, 1])
    x = x + layer["merge"](seen.reshape(1, WIDTH))
    return x + layer["think"](x), past


def main() -> None:
    """Decode, and print how long a pass took."""
    torch.manual_seed(0)
    words, layers = nn.Embedding(WORDS, WIDTH).cuda(), [layer() for _ in range(LAYERS)]
    nothing = torch.empty(1, 2, HEADS, 0, WIDTH // HEADS, device="cuda")

    def decode() -> None:
        for _ in range(ANSWERS):
            token, past = 1, [nothing] * LAYERS
            for _ in range(TOKENS):
                x = words(torch.tensor([token], device="cuda"))
                for number, each in enumerate(layers):
                    x, past[number] = passed(each, x, past[number])
                token = int((x @ words.weight.T).argmax())

    with torch.no_grad():
        report(decode)


if __name__ == "__main__":
    main()
