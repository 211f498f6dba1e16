"""Serving by a CUDA graph of some 300 small kernels, which also sends the request and fetches the answer."""

import torch
from launches import report
from torch import nn

LAYERS, WIDTH, BATCH, REQUESTS = 100, 128, 8, 300


def main() -> None:
    """Serve, and print how long a pass took."""
    layers = (each for _ in range(LAYERS) for each in (nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.LayerNorm(WIDTH)))
    network = nn.Sequential(*layers).cuda().eval()
    request, answer = (torch.zeros(BATCH, WIDTH).pin_memory() for _ in range(2))
    given = torch.zeros(BATCH, WIDTH, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad():
        # What torch and its libraries make ready at first cannot be captured.
        with torch.cuda.stream(torch.cuda.Stream()):
            network(given)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            given.copy_(request, non_blocking=True)
            answer.copy_(network(given), non_blocking=True)

    def serve() -> None:
        for number in range(REQUESTS):
            request[0, 0] = number
            graph.replay()
            torch.cuda.current_stream().synchronize()

    report(serve)


if __name__ == "__main__":
    main()
