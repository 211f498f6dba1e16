"""Arrays in a device's memory: what `isthmus.to_device` and `isthmus.device_empty` give."""

import math
from types import EllipsisType
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from isthmus import _native
from isthmus.errors import UsageError

_Index = int | slice | EllipsisType | None


class DeviceArray(_native.DeviceArray):
    """An array in a device's memory, which is given back when the array, its views and all copies of it have ended.

    Other libraries take it without a copy by DLPack or, of CUDA's memory, `__cuda_array_interface__`. Indexing with
    integers, slices, ``...`` and None gives views, as NumPy's does.
    """

    __slots__ = ()

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return self.size * self.itemsize

    @property
    def size(self) -> int:
        """Number of its elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self.dtype.itemsize)

    @property
    def ndim(self) -> int:
        """Number of its dimensions."""
        return len(self.shape)

    def to_host(self, out: npt.NDArray[Any] | None = None, stream: object = None) -> npt.NDArray[Any]:
        """Copy it into an array of NumPy: a new one, or `out`, which has its shape and type."""
        if out is None:
            out = np.empty(self.shape, self.dtype)
        _native.copy(out, self, stream=stream)
        return out

    def __getitem__(self, key: _Index | tuple[_Index, ...]) -> "DeviceArray":
        """The part of the array that a key of integers, slices, ``...`` and None gives, as a view."""
        keys = key if isinstance(key, tuple) else (key,)
        for one in keys:
            if not isinstance(one, int | np.integer | slice | EllipsisType) and one is not None:
                raise UsageError(
                    f"a {type(one).__name__} cannot index an array on a device; expected integers, slices, ... and "
                    "None: anything else would have to copy"
                )
        # NumPy knows what the part is; nothing is read of the memory that it believes in. With an ellipsis even a
        # single element is a view.
        whole = np.lib.stride_tricks.as_strided(np.empty((), self.dtype), self.shape, self.strides)
        part = whole[keys if any(one is Ellipsis for one in keys) else (*keys, Ellipsis)]
        offset = part.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        return DeviceArray(self, offset, list(part.shape), list(part.strides))

    def __len__(self) -> int:
        """Length of the first dimension."""
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __array__(self, *_args: object, **_options: object) -> NoReturn:
        """Refuse what would copy without saying so."""
        raise TypeError("an array on a device is not converted to NumPy's by itself; use isthmus.to_host(array)")

    def __repr__(self) -> str:
        """Where it is, its shape and its type, without its contents."""
        return f"<isthmus.DeviceArray on {self.device}, shape {self.shape}, {self.dtype}>"
