"""Checkpoints: all tensors of a state, of models and optimizers alike, gathered and moved between device and host."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import torch
from torch._utils import _flatten_dense_tensors

import isthmus
from isthmus.errors import UsageError, WrongType
from isthmus.torch.copying import Area, areas_of, copying, host_like, is_plain, torch_device
from isthmus.torch.nested import Found, mapped, tensors
from isthmus.torch.slices import JOINED, like_parts

_Pairs = list[tuple[torch.Tensor, torch.Tensor]]
# What is smaller than this is packed with others: its own copy would end before the link is full.
_SMALL_BYTES = 32 << 20
# The memory on the device that they are gathered in, twice: one is filled while the other is copied.
_BLOCK_BYTES = 256 << 20
# Where each begins in the block.
_ALIGNMENT = 64


def state_dict_to_host(state: Any, out: Any = None, *, session: isthmus.Session | None = None) -> Any:
    """A copy of a state with all tensors on the host, which shares no memory with the state.

    `state` is what ``state_dict()`` of a model or an optimizer gives, or any dicts, lists, tuples and dataclasses of
    such; anything but a tensor is passed on as it is. Tensors that share memory (tied weights, views, slices of one
    buffer) share it in the copy; others keep their strides. Small ones are slices of common blocks. Large
    ones take memory of earlier copies that are gone (`isthmus.result_memory`); torch cannot resize their storage.

    With `out`, which an earlier call returned or which has tensors of the same shapes and types in the same places, its
    tensors are filled and returned in their places: no memory is allocated, and pinned ones are filled at the rate of
    pinned memory. All copies begin after what the current streams hold, and have arrived at the return.

    Raises UsageError, before anything is copied, for an `out` that does not fit, and what `isthmus.copy` raises.
    """
    with torch.no_grad():
        if out is not None:
            return _into(state, out, torch.device("cpu"), session)
        return _fresh(state, torch.device("cpu"), session)


def state_dict_to_device(
    state: Any, device: object = "cuda", out: Any = None, *, session: isthmus.Session | None = None
) -> Any:
    """A copy of a state with all tensors on a device, in fresh memory there; the way back of `state_dict_to_host`.

    Tensors that are on the device already are passed on. With `out`, such as ``model.state_dict()`` or
    ``optimizer.state_dict()``, its tensors are filled, wherever they are, and `device` is not used: so a model takes a
    checkpoint in place, and an optimizer keeps on the host what it had there.
    """
    with torch.no_grad():
        if out is not None:
            return _into(state, out, None, session)
        target = torch_device(device)
        if target.type == "cuda" and target.index is None:
            target = torch.device("cuda", torch.cuda.current_device())
        return _fresh(state, target, session)


def _fresh(state: Any, target: torch.device, session: isthmus.Session | None) -> Any:
    made: dict[int, torch.Tensor] = {}
    plain: dict[int, torch.Tensor] = {}
    to_host = target.type == "cpu"
    for _, tensor in tensors(state):
        if not to_host and tensor.device == target:
            made[id(tensor)] = tensor
        elif is_plain(tensor) and tensor.numel():
            plain[id(tensor)] = tensor
        elif id(tensor) not in made:
            made[id(tensor)] = tensor.detach().clone() if tensor.device == target else tensor.detach().to(target)
    areas = areas_of(plain.values())
    pairs: _Pairs = []
    for area, copied in _copies_of(areas, target, pairs, session):
        for tensor, view in zip(area.tensors, area.views(copied), strict=True):
            made[id(tensor)] = view
    with copying(pairs, session):
        return mapped(state, lambda tensor: made[id(tensor)])


def _copies_of(
    areas: list[Area], target: torch.device, pairs: _Pairs, session: isthmus.Session | None
) -> Iterator[tuple[Area, torch.Tensor]]:
    """A fresh tensor for each area: filled already, or to be filled by `pairs`."""
    left = areas
    if target.type == "cpu":
        left = []
        yield from gathered_to_host(areas, left, session)
    for area in left:
        there = host_like(area.source) if target.type == "cpu" else torch.empty_like(area.source, device=target)
        pairs.append((there, area.source))
        yield area, there


def _into(state: Any, out: Any, target: torch.device | None, session: isthmus.Session | None) -> Any:
    # The host does all of this before the first copy begins.
    theirs, ours = tensors(out), tensors(state)
    are_alike = len(theirs) == len(ours) and all(one[0] == other[0] for one, other in zip(theirs, ours, strict=True))
    there = [to for _, to in theirs] if are_alike else _in_order(theirs, ours)
    pairs: _Pairs = []
    for (path, tensor), to in zip(ours, there, strict=True):
        if to is None:
            raise UsageError(
                f"out has no tensor at {_place(path)}; expected one like that of the state, {_text(tensor)}"
            )
        if to.shape != tensor.shape or to.dtype != tensor.dtype:
            raise UsageError(f"out has {_text(to)} at {_place(path)}, and the state has {_text(tensor)}")
        if target is not None and to.device != target:
            raise WrongType(f"out has a tensor on {to.device} at {_place(path)}; expected one on the host")
        pairs.append((to, tensor))
    with copying(_once(pairs), session):
        places = iter(pairs)
        return mapped(state, lambda _: next(places)[0])


def _in_order(theirs: Found, ours: Found) -> list[torch.Tensor | None]:
    remaining = dict(theirs)
    return [remaining.get(path) for path, _ in ours]


def _once(pairs: _Pairs) -> _Pairs:
    """Pairs without those that others are, too: tied weights, which a module gives as tensors of their own."""
    with suppress(RuntimeError):  # of those that have no memory of their own
        if len({to.data_ptr() for to, _ in pairs}) == len(pairs):
            return pairs
    unique: dict[object, tuple[torch.Tensor, torch.Tensor]] = {}
    for place, (to, tensor) in enumerate(pairs):
        has_memory = is_plain(to) and is_plain(tensor)
        key = (to.data_ptr(), tensor.data_ptr(), to.stride(), tensor.stride(), to.shape) if has_memory else place
        unique[key] = (to, tensor)
    return list(unique.values())


def _place(path: tuple[object, ...]) -> str:
    return "".join(f"[{key!r}]" for key in path)


def _text(tensor: torch.Tensor) -> str:
    return f"{tensor.dtype} of shape {tuple(tensor.shape)}"


class _Block:
    """Small areas of one device, joined as one type, with what fills up between them."""

    def __init__(self) -> None:
        self.areas: list[Area] = []
        self.size = 0
        self._parts: list[torch.Tensor] = []
        self._places: list[int] = []  # of the areas among the parts

    def add(self, area: Area, size: int, padding: torch.Tensor) -> None:
        """Append an area of so many bytes. `padding` is an alignment's zeros of the type."""
        source = area.source
        self.areas.append(area)
        self._places.append(len(self._parts))
        self._parts.append(source if source.dtype is padding.dtype else source.flatten().view(torch.uint8))
        self.size += size
        if missing := -size % _ALIGNMENT:
            self.size += missing
            self._parts.append(padding[: missing // padding.element_size()])

    def joined(self) -> torch.Tensor:
        """All parts in one new tensor; of a single part, its own memory."""
        block: torch.Tensor = _flatten_dense_tensors(self._parts)
        return block

    def cut(self, copied: torch.Tensor) -> Iterator[tuple[Area, torch.Tensor]]:
        """The areas again, each with its slice of a copy of what joined() makes."""
        slices = like_parts(copied, self._parts)
        for area, place in zip(self.areas, self._places, strict=True):
            part, source = slices[place], area.source
            yield area, part if part.dtype is source.dtype else part.view(source.dtype).view(source.shape)


def gathered_to_host(
    areas: list[Area], left: list[Area], session: isthmus.Session | None
) -> Iterator[tuple[Area, torch.Tensor]]:
    """Small areas of CUDA devices with their copies on the host, which are filled at the end of the iteration.

    Other areas go to `left`, and those of a block for which the device has no memory. The copies of a block's areas are
    slices of one block of the host.
    """
    small: dict[tuple[torch.device, torch.dtype], list[tuple[Area, int]]] = {}
    for area in areas:
        source = area.source
        size = source.nbytes
        if source.device.type == "cuda" and size < _SMALL_BYTES and source.is_contiguous():
            # A block has one type: torch saves none that tensors of two types share.
            small.setdefault((source.device, source.dtype), []).append((area, size))
        else:
            left.append(area)
    # A thread copies, while this one gathers the next block and cuts the last one.
    with ThreadPoolExecutor(1, "isthmus gather") as thread:
        before = _ended()
        for block in (block for kind, some in small.items() for block in _blocks(some, left, *kind)):
            try:
                gathered = block.joined()
            except torch.OutOfMemoryError:
                left += block.areas
                continue
            host = host_like(gathered)
            stream = torch.cuda.current_stream(gathered.device)
            copied = _submitted(thread, partial(_copy, host, gathered, stream, session))
            yield from block.cut(host)
            before.result()
            before = copied
        before.result()


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


def _blocks(
    areas: list[tuple[Area, int]], left: list[Area], device: torch.device, dtype: torch.dtype
) -> Iterator[_Block]:
    joined = dtype if dtype in JOINED else torch.uint8
    try:
        padding = torch.zeros(_ALIGNMENT // joined.itemsize, dtype=joined, device=device)
    except torch.OutOfMemoryError:
        left += [area for area, _ in areas]
        return
    block = _Block()
    for area, size in areas:
        if block.areas and block.size + size > _BLOCK_BYTES:
            yield block
            block = _Block()
        block.add(area, size, padding)
    yield block
