"""Batches of a DataLoader in ordinary memory, each sent before its step; fixed: pinned, sent during the one before."""

import torch
from python_program import Program, bits, expect
from torch.utils.data import DataLoader

# A batch has 64 MiB; its work lasts somewhat longer than a thread needs to put one into pinned memory.
ROWS, WIDTH, LAYERS = 4096, 4096, 3
BATCHES = 4
WARM_UP = BATCHES
# A step begins when the one so many before it has ended, so that no more pinned memory is under way.
AHEAD = 2


class Batches:
    """Batches that lie ready in memory, again and again."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._batches = [torch.randn(ROWS, WIDTH) for _ in range(BATCHES)]

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> torch.Tensor:
        return self._batches[index % BATCHES]


def main() -> None:
    """Take the steps, and print."""
    program = Program(60, torch.cuda.synchronize)
    torch.manual_seed(0)
    weights = [torch.randn(WIDTH, WIDTH, device="cuda") / WIDTH**0.5 for _ in range(LAYERS)]
    total = torch.zeros((), dtype=torch.float64, device="cuda")
    # One more than there are steps: the last is sent ahead, too.
    loader = DataLoader(Batches(WARM_UP + program.steps + 1), batch_size=None, pin_memory=program.fixed)
    batches = iter(loader)
    ended: list[torch.cuda.Event] = []
    computing = torch.cuda.current_stream()
    sending = torch.cuda.Stream() if program.fixed else computing
    sent: list[tuple[torch.Tensor, torch.cuda.Event]] = []

    def send() -> None:
        with torch.cuda.stream(sending):
            batch = next(batches).to("cuda", non_blocking=program.fixed)
            arrived = torch.cuda.Event()
            arrived.record()
        program.count("h2d", batch.nbytes)
        sent.append((batch, arrived))

    def step() -> None:
        if len(ended) >= AHEAD:
            ended[-AHEAD].synchronize()
        if not program.fixed or not sent:
            send()
        batch, arrived = sent.pop()
        if program.fixed:
            send()
            computing.wait_event(arrived)
            batch.record_stream(computing)
        for weight in weights:
            batch = torch.relu(batch @ weight)
        total.add_(batch.sum(dtype=torch.float64))
        ended.append(torch.cuda.Event())
        ended[-1].record()

    for _ in range(WARM_UP):
        step()
    with program.timed():
        for _ in range(program.steps):
            step()
    sum_of_all = total.item()
    program.count("d2h", 8)
    expect(0 < sum_of_all < float("inf"), "the sum of all results")
    program.report(bits(sum_of_all))


if __name__ == "__main__":
    main()
