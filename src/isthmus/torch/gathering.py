"""Many small tensors of a device in few copies to the host: side by side there first, at the rate of its memory."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import torch

import isthmus
from isthmus.torch.areas import Area

# What is smaller than this is packed with others: its own copy would end before the link is full.
_SMALL_BYTES = 32 << 20
# The memory on the device that they are gathered in, twice: one is filled while the other is copied.
_BLOCK_BYTES = 256 << 20
# Where each begins in the block.
_ALIGNMENT = 64


def gathered_to_host(
    areas: list[Area], session: isthmus.Session | None
) -> tuple[list[tuple[Area, torch.Tensor]], list[Area]]:
    """Small areas of CUDA devices with their copies on the host, and the areas that are left.

    The copies of a block's areas are slices of one block of the host. An area is left, too, where the device has no
    memory for the block.
    """
    small: dict[torch.device, list[Area]] = {}
    left: list[Area] = []
    for area in areas:
        source = area.source
        gathers = source.device.type == "cuda" and source.nbytes < _SMALL_BYTES and source.is_contiguous()
        (small.setdefault(source.device, []) if gathers else left).append(area)
    filled: list[tuple[Area, torch.Tensor]] = []
    # A thread copies, while this one gathers the next block and cuts the last one.
    with ThreadPoolExecutor(1, "isthmus gather") as thread:
        before = _ended()
        for block in [block for some in small.values() for block in _blocks(some)]:
            try:
                gathered, sizes = _gathered(block)
            except torch.OutOfMemoryError:
                left += block
                continue
            host = torch.empty_like(gathered, device="cpu")
            stream = torch.cuda.current_stream(gathered.device)
            copied = _submitted(thread, partial(_copy, host, gathered, stream, session))
            filled += _parts(block, host, sizes)
            before.result()
            before = copied
        before.result()
    return filled, left


def _copy(
    host: torch.Tensor, block: torch.Tensor, stream: "torch.cuda.Stream", session: isthmus.Session | None
) -> None:
    # A thread has a current stream of its own, which the copy would come after, too.
    with torch.cuda.stream(stream):
        isthmus.copy(host, block, stream=stream, session=session)


def _submitted(thread: ThreadPoolExecutor, copy: Callable[[], None]) -> "Future[None]":
    try:
        return thread.submit(copy)
    except RuntimeError:  # no thread begins while the interpreter exits
        copy()
        return _ended()


def _ended() -> "Future[None]":
    ended: Future[None] = Future()
    ended.set_result(None)
    return ended


def _blocks(areas: list[Area]) -> Iterator[list[Area]]:
    block: list[Area] = []
    size = 0
    for area in areas:
        if block and size + _padded(area) > _BLOCK_BYTES:
            yield block
            block, size = [], 0
        block.append(area)
        size += _padded(area)
    if block:
        yield block


def _padded(area: Area) -> int:
    return -(-int(area.source.nbytes) // _ALIGNMENT) * _ALIGNMENT


# As few calls of torch a tensor as there can be: before the first block of a state, no byte moves meanwhile.
def _gathered(areas: list[Area]) -> tuple[torch.Tensor, list[int]]:
    """A block on the device, and the bytes of its parts: areas, and what fills up between them."""
    padding = torch.zeros(_ALIGNMENT, dtype=torch.uint8, device=areas[0].source.device)
    parts: list[torch.Tensor] = []
    sizes: list[int] = []
    for area in areas:
        size = int(area.source.nbytes)
        parts.append(area.source.flatten().view(torch.uint8))
        sizes.append(size)
        if padded := _padded(area) - size:
            parts.append(padding[:padded])
            sizes.append(padded)
    return torch.cat(parts), sizes


def _parts(areas: list[Area], block: torch.Tensor, sizes: list[int]) -> Iterator[tuple[Area, torch.Tensor]]:
    parts = iter(block.split(sizes))
    for area in areas:
        yield area, next(parts).view(area.source.dtype).view(area.source.shape)
        if _padded(area) != area.source.nbytes:
            next(parts)
