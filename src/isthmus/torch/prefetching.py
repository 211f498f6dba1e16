"""Batches on a device while the next ones are on their way there, in place of threads that pin memory."""

import functools
import operator
from collections.abc import Iterable, Iterator, Sized
from typing import Any, NamedTuple

import torch
from torch.utils.data import DataLoader

import isthmus
from isthmus.errors import UsageError, WrongType
from isthmus.torch.copying import Pair, copy_pageable, is_plain, torch_device
from isthmus.torch.nested import mapped
from isthmus.transfer.ahead import Ahead


class _Made(NamedTuple):
    """A batch on its device, the tensors that were made there, and those that are still to be filled."""

    batch: Any
    tensors: list[torch.Tensor]
    pageable: list[Pair]


class _Moved(NamedTuple):
    """A batch on its device, the tensors that were made there, and the event after their copies."""

    batch: Any
    tensors: list[torch.Tensor]
    event: "torch.cuda.Event"


class Prefetched(Iterable[Any]):
    """What `prefetch` gives: the loader's batches, each time it is iterated."""

    def __init__(
        self, loader: Iterable[Any], device: torch.device, depth: int, session: isthmus.Session | None
    ) -> None:
        self._loader = loader
        self._device = device
        self._depth = depth
        self._session = session

    def __len__(self) -> int:
        if not isinstance(self._loader, Sized):
            raise WrongType(f"a loader of type {type(self._loader).__name__} has no length")
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        if self._device.type == "cuda":
            return self._on_cuda()
        return self._on_host()

    def _on_host(self) -> Iterator[Any]:
        ahead = Ahead(iter(self._loader), lambda batch: batch, self._depth)
        try:
            yield from ahead
        finally:
            ahead.close()

    def _on_cuda(self) -> Iterator[Any]:
        device = self._device
        if device.index is None:
            device = torch.device("cuda", torch.cuda.current_device())
        stream = _stream_of(device)
        make = functools.partial(_make, device=device, stream=stream)
        move = functools.partial(_move, device=device, stream=stream, session=self._session)
        # Asked for by this thread, which workers of the loader are forked from.
        source = iter(self._loader)
        if _keeps_batches(self._loader):
            # One thread gets the next batch and memory for it, while another one copies.
            ahead = Ahead(Ahead(source, make, 1), move, self._depth)
        else:
            ahead = Ahead(source, lambda batch: move(make(batch)), self._depth)
        try:
            for moved in ahead:
                consumer = torch.cuda.current_stream(device)
                consumer.wait_event(moved.event)
                for tensor in moved.tensors:
                    # Its memory is the copies' stream's, and is used anew only after what the consumer does with it.
                    tensor.record_stream(consumer)
                batch = moved.batch
                del moved
                yield batch
                del batch
        finally:
            ahead.close()


def prefetch(
    loader: Iterable[Any], device: object = "cuda", depth: int = 2, *, session: isthmus.Session | None = None
) -> Prefetched:
    """The loader's batches with their tensors on a device, moved there by threads while earlier ones are used.

    `loader` is a DataLoader, best with ``pin_memory=False``, or anything that can be iterated. Tensors are found in
    dicts, lists, tuples, named tuples and dataclasses, one within another; those on a device already and other objects
    are passed on. Up to `depth` batches wait on the device besides the one in use. Of lists, tuples and DataLoaders
    with workers, which do not write the next batch to the last one's memory, one more is fetched while one is copied.

    Pageable tensors cross the link through the page-locked memory of `session` (that of the device by default), pinned
    ones by themselves; all on a stream of their own, which the stream that is current where the loader is iterated
    waits for. What is done with a batch on other streams has to be waited for, as with any tensor of torch.

    What the loader or a copy raises is raised where this is iterated, after the batches before it. The threads begin
    with the first batch of an epoch, and end with the last one, when the iterator is closed or dropped, and with the
    process. On ``cpu`` the batches are as the loader gives them, still made ahead.
    """
    if isinstance(depth, bool) or not hasattr(depth, "__index__"):
        raise WrongType(f"depth is {depth!r}; expected how many batches wait on the device, as an int")
    if (ahead := operator.index(depth)) < 1:
        raise UsageError(f"depth is {ahead}; expected 1 or more batches")
    if not hasattr(loader, "__iter__") and not hasattr(loader, "__getitem__"):
        raise WrongType(f"the loader is of type {type(loader).__name__}, which cannot be iterated")
    return Prefetched(loader, torch_device(device), ahead, session)


@functools.cache
def _stream_of(device: torch.device) -> "torch.cuda.Stream":
    """One for all loaders and epochs of a device: torch keeps memory by streams, and another one would get it anew."""
    return torch.cuda.Stream(device)


def _keeps_batches(loader: Iterable[Any]) -> bool:
    """Whether a batch is surely left as it is when the next one is asked for: others may write that to its memory."""
    if isinstance(loader, DataLoader):
        return loader.num_workers > 0 and type(loader).__iter__ is DataLoader.__iter__
    return type(loader) in (list, tuple)


def _make(batch: Any, device: torch.device, stream: "torch.cuda.Stream") -> _Made:
    made: dict[int, torch.Tensor] = {}
    pageable: list[Pair] = []

    def moved(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.device.type != "cpu":
            return tensor
        if id(tensor) not in made:
            if is_plain(tensor) and not tensor.requires_grad and not tensor.is_pinned():
                made[id(tensor)] = there = torch.empty_like(tensor, device=device)
                pageable.append((there, tensor))
            else:
                made[id(tensor)] = tensor.to(device, non_blocking=True).requires_grad_(tensor.requires_grad)
        return made[id(tensor)]

    with torch.no_grad(), torch.cuda.device(device), torch.cuda.stream(stream):
        return _Made(mapped(batch, moved), list(made.values()), pageable)


def _move(made: _Made, device: torch.device, stream: "torch.cuda.Stream", session: isthmus.Session | None) -> _Moved:
    # A thread has a current stream of its own, which copies would come after, too.
    with torch.no_grad(), torch.cuda.device(device), torch.cuda.stream(stream):
        copy_pageable(made.pageable, stream, session)
        return _Moved(made.batch, made.tensors, stream.record_event())
