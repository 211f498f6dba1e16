"""A training loop of torch that is bound by launches: small layers, whose kernels take less time than their launches.

Prints a line of JSON with the seconds of the median pass of 200 steps, from an idle device to an idle device.
"""

import json
import statistics
import time

import torch

STEPS, PASSES, LAYERS, WIDTH, BATCH = 200, 5, 16, 64, 8


def main() -> None:
    """Train, and print how long a pass took."""
    network = torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))).cuda()
    optimizer = torch.optim.SGD(network.parameters(), 1e-3)
    batch = torch.rand(BATCH, WIDTH, device="cuda")

    def train() -> float:
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(STEPS):
            loss = network(batch).square().mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    train()
    print(json.dumps({"seconds": statistics.median(train() for _ in range(PASSES)), "copies": {}, "checksum": 0}))


if __name__ == "__main__":
    main()
