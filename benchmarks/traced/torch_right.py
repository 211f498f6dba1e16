"""A training loop that does everything right: pinned batches, sent ahead beside the work, a loss every 50 steps."""

import torch
from python_program import Program, bits, expect

# A batch has 32 MiB; its work takes several times as long as its copy.
ROWS, WIDTH, LAYERS = 2048, 4096, 4
# So many batches are under way.
DEPTH = 3
EVERY = 50
WARM_UP = 2 * DEPTH


def main() -> None:
    """Take the steps, and print."""
    program = Program(200, torch.cuda.synchronize)
    torch.manual_seed(0)
    weights = [torch.randn(WIDTH, WIDTH, device="cuda") / WIDTH**0.5 for _ in range(LAYERS)]
    host = [torch.randn(ROWS, WIDTH).pin_memory() for _ in range(DEPTH)]
    device = [torch.empty(ROWS, WIDTH, device="cuda") for _ in range(DEPTH)]
    arrived = [torch.cuda.Event() for _ in range(DEPTH)]
    used = [torch.cuda.Event() for _ in range(DEPTH)]
    sending = torch.cuda.Stream()
    on_device = torch.zeros((), dtype=torch.float64, device="cuda")
    seen = torch.zeros((), dtype=torch.float64).pin_memory()
    fetched = torch.cuda.Event()

    def send(number: int) -> None:
        at = number % DEPTH
        # The host writes what the copy before has read, and the device what the step before has used.
        arrived[at].synchronize()
        host[at][0, 0] = number
        sending.wait_event(used[at])
        with torch.cuda.stream(sending):
            device[at].copy_(host[at], non_blocking=True)
            arrived[at].record()
        program.count("h2d", host[at].nbytes)

    def step(number: int) -> None:
        at = number % DEPTH
        torch.cuda.current_stream().wait_event(arrived[at])
        values = device[at]
        for weight in weights:
            values = torch.relu(values @ weight)
        on_device.add_(values.sum(dtype=torch.float64))
        used[at].record()
        send(number + DEPTH)
        if number % EVERY == 0:
            fetched.synchronize()
            seen.copy_(on_device, non_blocking=True)
            fetched.record()
            program.count("d2h", 8)

    for number in range(DEPTH):
        send(number)
    for number in range(WARM_UP):
        step(number)
    with program.timed():
        for number in range(WARM_UP, WARM_UP + program.steps):
            step(number)
    sum_of_all = on_device.item()
    program.count("d2h", 8)
    expect(0 < sum_of_all < float("inf"), "the sum of all results")
    program.report(bits(sum_of_all))


if __name__ == "__main__":
    main()
