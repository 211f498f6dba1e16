"""Batches for training: epochs of ResNet-18 from a DataLoader, and batches of one array, by prefetch or by torch.

loader.py [--images 4096] [--workers 8] [--seconds 90]
"""

import argparse
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from resnet import resnet18
from torch.utils.data import DataLoader, Dataset
from torch_turns import Way, in_turns, need_gpu, shares, table

import isthmus
from isthmus.torch import prefetch

OURS, TORCH, PLAIN = "prefetch, pin_memory=False", "pin_memory=True, non_blocking", "pin_memory=False, .to()"
OURS_PINNED = "prefetch, pin_memory=True"
OURS_ARRAY, PINNED_ARRAY, PLAIN_ARRAY = "prefetch of slices", "pinned, non_blocking", "pageable, .to()"
HELD_ARRAY = "copy_async of slices, two ahead"
BATCH = 128


class Images(Dataset):  # type: ignore[misc]
    """Pictures of 224 x 224 cut out of one larger one, each with its number."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.large = torch.rand(3, 512, 512)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        top, left = index % 288, index * 7 % 288
        return self.large[:, top : top + 224, left : left + 224].contiguous(), index


def sums_of(batches: Iterable[Any]) -> torch.Tensor:
    """What arrived, in one number, and the labels in another."""
    totals = torch.zeros(2, dtype=torch.float64, device="cuda")
    for x, y in batches:
        totals[0] += x.double().sum()
        totals[1] += y.double().sum()
    return totals


def moved(batches: Iterable[Any], non_blocking: bool) -> Iterable[Any]:
    """As a loop of torch's moves them."""
    for x, y in batches:
        yield x.to("cuda", non_blocking=non_blocking), y.to("cuda", non_blocking=non_blocking)


def held(batches: Iterable[torch.Tensor]) -> Iterator[torch.Tensor]:
    """What copies that nobody waits for would give: two of `isthmus.copy_async` on a stream of their own, always."""
    stream = torch.cuda.Stream()
    under_way: deque[tuple[torch.Tensor, isthmus.Future, torch.cuda.Event]] = deque()

    def take() -> torch.Tensor:
        there, future, event = under_way.popleft()
        torch.cuda.current_stream().wait_event(event)
        there.record_stream(torch.cuda.current_stream())
        future.wait()
        return there

    for batch in batches:
        with torch.cuda.stream(stream):
            there = torch.empty_like(batch, device="cuda")
            future = isthmus.copy_async(there, batch, stream=stream)
            under_way.append((there, future, stream.record_event()))
        del there
        if len(under_way) > 2:
            yield take()
    while under_way:
        yield take()


def epochs(images: int, workers: int, seconds: float) -> bool:
    """An epoch of training each."""
    data = Images(images)
    options: dict[str, Any] = {"batch_size": BATCH, "num_workers": workers, "persistent_workers": workers > 0}
    pageable, pinned = DataLoader(data, **options), DataLoader(data, **options, pin_memory=True)
    model = resnet18().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def train(batches: Iterable[Any]) -> None:
        for x, y in batches:
            with torch.autocast("cuda", torch.bfloat16):
                loss = torch.nn.functional.cross_entropy(model(x.to(memory_format=torch.channels_last)), y % 1000)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    expected = sums_of(moved(DataLoader(data, batch_size=BATCH), False))

    def way(name: str, batches: Callable[[], Iterable[Any]]) -> Way:
        def check() -> str:
            return "" if torch.allclose(sums_of(batches()), expected, rtol=1e-12) else "other batches arrived"

        return Way(name, lambda: train(batches()), check)

    ways = [
        way(OURS, lambda: prefetch(pageable, "cuda")),
        way(TORCH, lambda: moved(pinned, True)),
        way(OURS_PINNED, lambda: prefetch(pinned, "cuda")),
        way(PLAIN, lambda: moved(pageable, False)),
    ]
    turns = in_turns(ways, seconds)
    right = table(f"ResNet-18, {images} images, {workers} workers: one epoch", turns, {OURS: f"<= {TORCH}"})
    shares(turns, OURS, [TORCH, OURS_PINNED, PLAIN])
    return right


def in_memory(seconds: float) -> bool:
    """A pass over 32 batches of one array, each through one convolution."""
    array = torch.rand(32 * 256, 3, 128, 128)
    locked = array.pin_memory()
    layer = torch.nn.Conv2d(3, 32, 7, stride=4).cuda()
    expected = torch.stack([batch.double().sum() for batch in array.split(256)]).cuda()

    def forward(batches: Iterable[torch.Tensor]) -> None:
        with torch.no_grad():
            for batch in batches:
                layer(batch).sum()

    def way(name: str, batches: Callable[[], Iterable[torch.Tensor]]) -> Way:
        def check() -> str:
            found = torch.stack([batch.double().sum() for batch in batches()])
            return "" if torch.allclose(found, expected, rtol=1e-9) else "other batches arrived"

        return Way(name, lambda: forward(batches()), check)

    ways = [
        way(OURS_ARRAY, lambda: prefetch(array.split(256), "cuda")),
        way(HELD_ARRAY, lambda: held(array.split(256))),
        way(PINNED_ARRAY, lambda: (batch.to("cuda", non_blocking=True) for batch in locked.split(256))),
        way(PLAIN_ARRAY, lambda: (batch.to("cuda") for batch in array.split(256))),
    ]
    turns = in_turns(ways, seconds)
    bars = {OURS_ARRAY: f"within 10 % of {PINNED_ARRAY}"}
    right = table("32 batches of one array in memory: one pass", turns, bars, array.nbytes)
    shares(turns, OURS_ARRAY, [PINNED_ARRAY, HELD_ARRAY, PLAIN_ARRAY])
    return right


def main() -> int:
    """Both, in turns; 1 where a batch was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=4096)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=90.0)
    asked = parser.parse_args()
    need_gpu()
    right = in_memory(asked.seconds / 3)
    right &= epochs(asked.images, asked.workers, asked.seconds)
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
