"""Tensors that are slices of one block, thousands of them by one call of torch."""

import contextlib
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch._utils import _unflatten_dense_tensors

# What torch joins in one call, as the type that it is; others are joined as bytes.
JOINED = {
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128),
}
# Within it slices are tensors of their own: else each counts the changes of all others as its own, by which autograd
# knows what it may not use any more, and takes half as long again to make.
_apart: Any = getattr(torch._C, "_AutoDispatchBelowADInplaceOrView", contextlib.nullcontext)


def like_parts(block: torch.Tensor, parts: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """Slices of a block of one dimension, one after the other, each of the shape of a part."""
    with _apart():
        slices: Sequence[torch.Tensor] = _unflatten_dense_tensors(block, parts)
    return slices


def at_places(
    block: torch.Tensor, dtypes: Sequence[torch.dtype], shapes: Sequence[tuple[int, ...]], places: Sequence[int]
) -> Sequence[torch.Tensor]:
    """Slices of a block of bytes in C order, each with the type, the shape and the place of its first byte.

    They ascend, do not overlap, and hold at least one element each; each type can be where it begins.
    """
    sizes = {dtype: dtype.itemsize for dtype in set(dtypes)}
    typed, begins = _typed(block, dtypes, shapes, places)
    kinds = {shape: math.prod(shape) for shape in set(shapes)}
    if len(typed) == 1 and sum(map(kinds.__getitem__, shapes)) * next(iter(sizes.values())) == len(block):
        # Nothing is between them.
        likes = {shape: block.new_empty(shape, device="meta") for shape in kinds}
        return like_parts(next(iter(typed.values())), list(map(likes.__getitem__, shapes)))
    strides = {shape: _strides(shape) for shape in kinds}
    with _apart():
        return list(
            map(
                torch.as_strided,
                map(typed.__getitem__, dtypes),
                shapes,
                map(strides.__getitem__, shapes),
                [(place - begins[dtype]) // sizes[dtype] for place, dtype in zip(places, dtypes, strict=True)],
            )
        )


def _typed(
    block: torch.Tensor, dtypes: Sequence[torch.dtype], shapes: Sequence[tuple[int, ...]], places: Sequence[int]
) -> tuple[dict[torch.dtype, torch.Tensor], dict[torch.dtype, int]]:
    """The block as each type, and at which byte that begins: of several types each has a storage of its own.

    torch saves no storage that tensors of two types share.
    """
    if len(set(dtypes)) == 1:
        dtype = dtypes[0]
        return {dtype: block[: len(block) - len(block) % dtype.itemsize].view(dtype)}, {dtype: 0}
    begins = dict(zip(reversed(dtypes), reversed(places), strict=True))
    last = dict(zip(dtypes, zip(places, shapes, strict=True), strict=True))
    ends = {dtype: place + math.prod(shape) * dtype.itemsize for dtype, (place, shape) in last.items()}
    return {dtype: torch.from_dlpack(block[begins[dtype] : end]).view(dtype) for dtype, end in ends.items()}, begins


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Elements from one to the next of each dimension, in C order without gaps."""
    strides = [1] * len(shape)
    for dimension in range(len(shape) - 1, 0, -1):
        strides[dimension - 1] = strides[dimension] * shape[dimension]
    return tuple(strides)
