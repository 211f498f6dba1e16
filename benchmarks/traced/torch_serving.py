"""Requests of 24 MiB served by a CUDA graph, out of ordinary memory; fixed: the request is in pinned memory."""

import torch
from python_program import Program, bits, expect
from torch import nn

ROWS, WIDTH, LAYERS = 1536, 4096, 6
REQUESTS = 4


def main() -> None:
    """Serve the requests, and print."""
    program = Program(150, torch.cuda.synchronize)
    torch.manual_seed(0)
    parts = (each for _ in range(LAYERS) for each in (nn.Linear(WIDTH, 512), nn.ReLU(), nn.Linear(512, WIDTH)))
    network = nn.Sequential(*parts).cuda().eval()
    requests = [torch.randn(ROWS, WIDTH) for _ in range(REQUESTS)]
    if program.fixed:
        requests = [each.pin_memory() for each in requests]
    given = torch.zeros(ROWS, WIDTH, device="cuda")
    total = torch.zeros((), dtype=torch.float64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad():
        # What torch and its libraries make ready at first cannot be captured.
        with torch.cuda.stream(torch.cuda.Stream()):
            network(given)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            total.add_(network(given).square().sum(dtype=torch.float64))

    def serve(number: int) -> None:
        request = requests[number % REQUESTS]
        given.copy_(request, non_blocking=program.fixed)
        program.count("h2d", request.nbytes)
        graph.replay()

    for number in range(3):
        serve(number)
    with program.timed():
        for number in range(program.steps):
            serve(number)
    answer = total.item()
    program.count("d2h", 8)
    expect(0 < answer < float("inf"), "the sum of the answers")
    program.report(bits(answer))


if __name__ == "__main__":
    main()
