"""Copies of torch that only CUDA has: pinned memory, streams, events, graphs, threads, and the errors it names."""

import threading
from collections.abc import Callable, Iterator

import torch

Case = tuple[str, torch.Tensor, torch.Tensor]


def made(elements: int, seed: int) -> torch.Tensor:
    return torch.randn(elements, generator=torch.Generator().manual_seed(seed))


def asynchronous(device: str) -> Iterator[Case]:
    """`non_blocking`: what pageable memory held at the call is copied, and the host's is there after a wait."""
    for elements in (5, 40_000, 300_000, 5_000_000):
        for pinned in (False, True):
            host = made(elements, 1)
            source = host.clone().pin_memory() if pinned else host.clone()
            there = source.to(device, non_blocking=True)
            if not pinned:
                source.zero_()
            yield f"there {elements} {pinned}", there.cpu(), host
            target = torch.zeros(elements, pin_memory=pinned)
            target.copy_(there, non_blocking=True)
            torch.cuda.synchronize()
            yield f"back {elements} {pinned}", target, host


def streams(device: str) -> Iterator[Case]:
    """Copies stay between the work before and after them, on streams of their own and beside others."""
    host = made(3_000_000, 2)
    for number, priority in enumerate((0, -1)):
        stream = torch.cuda.Stream(priority=priority)
        with torch.cuda.stream(stream):
            there = torch.empty(host.shape, device=device)
            for _ in range(20):
                there.normal_()
            there.copy_(host, non_blocking=True)
            doubled = there * 2
            back = doubled.to("cpu", non_blocking=True)
            there.fill_(-1)
        stream.synchronize()
        yield f"in order {number}", back, host * 2
        yield f"behind it {number}", there.cpu(), torch.full_like(host, -1)
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(first):
        there = host.to(device, non_blocking=True)
        event = first.record_event()
    second.wait_event(event)
    with torch.cuda.stream(second):
        back = (there + 1).to("cpu", non_blocking=True)
    second.synchronize()
    yield "by an event", back, host + 1
    torch.cuda.current_stream().wait_stream(second)
    yield "after another stream", there.cpu(), host


def graphs(device: str) -> Iterator[Case]:
    """Copies of page-locked memory are recorded and repeated; beside a recording others are made at once."""
    pinned = made(500_000, 3).pin_memory()
    there = torch.zeros(500_000, device=device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        there.copy_(pinned, non_blocking=True)
        there.mul_(3)
    yield "not made while recorded", there.cpu(), torch.zeros(500_000)
    for seed in (4, 5):
        pinned.copy_(made(500_000, seed))
        graph.replay()
        torch.cuda.synchronize()
        yield f"repeated {seed}", there.cpu(), made(500_000, seed) * 3


def threads(device: str) -> Iterator[Case]:
    """Each of several threads with a stream and data of its own."""
    found: list[torch.Tensor | None] = [None] * 6

    def trips(number: int) -> None:
        host = made(1_500_000 + number, number)
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(10):
                host = host.to(device, non_blocking=True).cpu()
        found[number] = host

    started = [threading.Thread(target=trips, args=(number,)) for number in range(len(found))]
    for thread in started:
        thread.start()
    for number, thread in enumerate(started):
        thread.join()
        result = found[number]
        yield f"thread {number}", torch.empty(0) if result is None else result, made(1_500_000 + number, number)


def errors(device: str) -> Iterator[Case]:
    """What torch refuses it refuses in the same words, and works on."""
    refused: dict[str, Callable[[], object]] = {
        "shapes": lambda: torch.zeros(3, device=device).copy_(torch.zeros(1 << 20)),
        "no such device": lambda: torch.zeros(1 << 20).to("cuda:99"),
        "another's data": lambda: torch.zeros(1 << 20, device=device).numpy(),
        "too large": lambda: torch.empty(1 << 50, dtype=torch.uint8, device=device),
    }
    for name, call in refused.items():
        try:
            call()
            said = "nothing"
        except (RuntimeError, TypeError, ValueError) as error:
            said = f"{type(error).__name__}: {str(error).splitlines()[0][:40]}"
        yield f"{name}: {said}", made(600_000, 6).to(device).cpu(), made(600_000, 6)


def loaders(device: str) -> Iterator[Case]:
    """Batches of worker processes, from pageable and from page-locked memory."""
    data = torch.utils.data.TensorDataset(made(4_000_000, 7).reshape(100, 40_000))
    for pinned in (False, True):
        loader = torch.utils.data.DataLoader(data, batch_size=25, num_workers=2, pin_memory=pinned)
        arrived = torch.cat([batch.to(device, non_blocking=True) for (batch,) in loader])
        yield f"batches {pinned}", arrived.cpu(), data.tensors[0]


CUDA_CASES = [asynchronous, streams, graphs, threads, errors, loaders]
