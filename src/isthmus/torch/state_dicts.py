"""Checkpoints: all tensors of a state, of models and optimizers alike, between a device and the host."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import torch

import isthmus
from isthmus.errors import UsageError, WrongType
from isthmus.torch.areas import Area, areas_of
from isthmus.torch.copying import copying
from isthmus.torch.gathering import gathered_to_host
from isthmus.torch.nested import Found, mapped, tensors
from isthmus.torch.tensors import is_plain, torch_device

_Pairs = list[tuple[torch.Tensor, torch.Tensor]]


def state_dict_to_host(state: Any, out: Any = None, *, session: isthmus.Session | None = None) -> Any:
    """A copy of a state with all tensors on the host, which shares no memory with the state.

    `state` is what ``state_dict()`` of a model or an optimizer gives, or any dicts, lists, tuples and dataclasses of
    such; anything but a tensor is passed on as it is. Tensors that share memory (tied weights, views, slices of one
    buffer) share it in the copy; others keep their strides. Small ones are slices of common blocks.

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
    for _, tensor in tensors(state):
        if target.type != "cpu" and tensor.device == target:
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
) -> Iterable[tuple[Area, torch.Tensor]]:
    """A fresh tensor for each area: filled already, or to be filled by `pairs`."""
    left = areas
    if target.type == "cpu":
        filled, left = gathered_to_host(areas, session)
        yield from filled
    for area in left:
        there = torch.empty_like(area.source, device=target)
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
