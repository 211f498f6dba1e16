"""Values with tensors anywhere in them: dicts, lists, tuples, named tuples, dataclasses, one within another."""

import copy
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence

Found = list[tuple[tuple[object, ...], torch.Tensor]]


def mapped(value: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    """The same with each tensor changed. Containers keep their types; what holds nothing that changed is itself.

    Other objects are passed on as they are. Of a PackedSequence the sizes of the batches stay on the host, as torch
    wants them.
    """
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, PackedSequence):
        parts = [part if at == 1 else mapped(part, change) for at, part in enumerate(value)]
        return type(value)._make(parts)
    if isinstance(value, Mapping):
        return _mapping(value, {key: mapped(one, change) for key, one in value.items()})
    if isinstance(value, list | tuple):
        return _sequence(value, [mapped(one, change) for one in value])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _dataclass(value, {name: mapped(one, change) for name, one in _fields(value)})
    return value


def tensors(value: Any) -> Found:
    """Each tensor that `mapped` changes, in its order, with the keys, indices and names of fields that lead to it."""
    leaves: Found = []
    _collect(value, (), leaves)
    return leaves


def _collect(value: Any, path: tuple[object, ...], leaves: Found) -> None:
    if isinstance(value, torch.Tensor):
        leaves.append((path, value))
        return
    parts: Iterable[tuple[object, Any]]
    if isinstance(value, (dict, Mapping)):  # most are the first, which is asked in a tenth of the time
        parts = value.items()
    elif isinstance(value, list | tuple):
        sizes = 1 if isinstance(value, PackedSequence) else None
        parts = ((at, one) for at, one in enumerate(value) if at != sizes)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = _fields(value)
    else:
        return
    for key, one in parts:
        if isinstance(one, torch.Tensor):  # as most are: a call for each would take as long as all else here
            leaves.append(((*path, key), one))
        else:
            _collect(one, (*path, key), leaves)


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(value):
        if hasattr(value, field.name):
            yield field.name, getattr(value, field.name)


def _mapping(value: Mapping[Any, Any], parts: dict[Any, Any]) -> Any:
    if all(one is value[key] for key, one in parts.items()):
        return value
    if type(value) is dict:
        return parts
    if not isinstance(value, MutableMapping):
        return type(value)(parts)  # type: ignore[call-arg]
    made = copy.copy(value)
    for key, one in parts.items():
        made[key] = one
    return made


def _sequence(value: list[Any] | tuple[Any, ...], parts: list[Any]) -> Any:
    if all(one is other for one, other in zip(value, parts, strict=True)):
        return value
    if isinstance(value, list):
        if type(value) is list:
            return parts
        made = copy.copy(value)
        made[:] = parts
        return made
    if type(value) is tuple:
        return tuple(parts)
    make = getattr(type(value), "_make", type(value))
    return make(parts)


def _dataclass(value: Any, parts: dict[str, Any]) -> Any:
    if all(one is getattr(value, name) for name, one in parts.items()):
        return value
    made = copy.copy(value)
    for name, one in parts.items():
        # Frozen ones, too, which are not to run their checks again.
        object.__setattr__(made, name, one)
    return made
