"""A training loop of torch that launches bound: small layers, whose kernels take less time than their launches."""

import torch
from launches import report

STEPS, LAYERS, WIDTH, BATCH = 200, 16, 64, 8


def main() -> None:
    """Train, and print how long a pass took."""
    network = torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))).cuda()
    optimizer = torch.optim.SGD(network.parameters(), 1e-3)
    batch = torch.rand(BATCH, WIDTH, device="cuda")

    def train() -> None:
        for _ in range(STEPS):
            loss = network(batch).square().mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()

    report(train)


if __name__ == "__main__":
    main()
