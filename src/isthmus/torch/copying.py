"""Copies of many pairs of tensors of any kind, each pair by what is fastest for it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch

import isthmus
from isthmus.torch.areas import extent_of
from isthmus.torch.tensors import is_plain

# A tensor with gaps from here on is copied by itself: a batch is of runs of memory, of which it has too many.
_LARGE_BYTES = 1 << 20

Pair = tuple[torch.Tensor, torch.Tensor]


@contextmanager
def copying(pairs: Iterable[Pair], session: isthmus.Session | None) -> Iterator[None]:
    """Copy to the first of each pair from the second, on any devices. All have arrived at the end of the block.

    Each begins after what the current stream of its device holds.
    """
    waited_for: set[torch.device] = set()
    try:
        _begin(pairs, session, waited_for)
        yield
    finally:
        for device in waited_for:
            torch.cuda.current_stream(device).synchronize()


def _begin(pairs: Iterable[Pair], session: isthmus.Session | None, waited_for: set[torch.device]) -> None:
    pageable: dict[tuple[torch.device, torch.device], list[Pair]] = {}
    for to, source in pairs:
        if to.device.type == source.device.type:
            to.copy_(source)
            waited_for |= {to.device, source.device} if to.device.type == "cuda" else set()
            continue
        host, device = (to, source.device) if to.device.type == "cpu" else (source, to.device)
        if is_plain(to) and is_plain(source) and not host.is_pinned():
            pageable.setdefault((to.device, source.device), []).append((to.detach(), source.detach()))
        else:
            to.copy_(source, non_blocking=True)
            if device.type == "cuda":
                waited_for.add(device)
    for (to_device, source_device), some in pageable.items():
        device = to_device if to_device.type != "cpu" else source_device
        stream = torch.cuda.current_stream(device) if device.type == "cuda" else None
        copy_pageable(some, stream, session)


def copy_pageable(pairs: Iterable[Pair], stream: object, session: isthmus.Session | None) -> None:
    """The same of pairs that all go in one direction between pageable memory and one device."""
    alone: list[Pair] = []
    together: list[Pair] = []
    for pair in pairs:
        has_gaps = not all(tensor.is_contiguous() for tensor in pair)
        if pair[1].numel():
            (alone if has_gaps and pair[1].nbytes >= _LARGE_BYTES else together).append(pair)
    batch, others = _apart(together)
    if len(batch) == 1:
        others += batch
        batch = []
    for to, source in alone + others:
        isthmus.copy(to, source, stream=stream, session=session)
    if batch:
        isthmus.copy_batch([to for to, _ in batch], [source for _, source in batch], stream=stream, session=session)


def _apart(pairs: list[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Pairs whose destinations do not overlap, as those of a batch must not, and the others."""
    placed = []
    for at, (to, _) in enumerate(pairs):
        # By addresses: storages of one array's views may be several.
        storage, (begin, end) = to.untyped_storage().data_ptr(), extent_of(to)
        placed.append((storage + begin, storage + end, at))
    apart: list[Pair] = []
    others: list[Pair] = []
    reached = 0
    for begin, end, at in sorted(placed):
        overlaps = begin < reached
        (others if overlaps else apart).append(pairs[at])
        if not overlaps:
            reached = end
    return apart, others
