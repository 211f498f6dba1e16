"""Many small tensors of a device in few copies to the host: side by side there first, at the rate of its memory."""

from collections.abc import Iterator

import torch

import isthmus
from isthmus.torch.areas import Area

# What is smaller than this goes beside others: its own copy would end before the link is full.
_SMALL_BYTES = 32 << 20
# The memory on the device that they are gathered in.
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
    for some in small.values():
        for block in _blocks(some):
            try:
                filled += _gathered(block, session)
            except torch.OutOfMemoryError:
                left += block
    return filled, left


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


def _gathered(areas: list[Area], session: isthmus.Session | None) -> list[tuple[Area, torch.Tensor]]:
    device = areas[0].tensors[0].device
    padding = torch.zeros(_ALIGNMENT, dtype=torch.uint8, device=device)
    pieces: list[torch.Tensor] = []
    places: list[int] = []
    size = 0
    for area in areas:
        source = area.source
        flat = source.reshape(-1).view(torch.uint8)
        places.append(size)
        pieces += [flat, padding[: _padded(area) - flat.nbytes]]
        size += _padded(area)
    block = torch.cat(pieces)
    host = torch.empty(size, dtype=torch.uint8)
    isthmus.copy(host, block, stream=torch.cuda.current_stream(device), session=session)
    filled = []
    for area, place in zip(areas, places, strict=True):
        source = area.source
        part = host[place : place + source.nbytes]
        filled.append((area, part.view(source.dtype).view(source.shape)))
    return filled
