"""Arrays in a device's memory: what `isthmus.to_device` and `isthmus.device_empty` give."""

import functools
import importlib
import math
import operator
import sys
from collections.abc import Iterable, Sequence
from types import EllipsisType, ModuleType
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from isthmus import _native
from isthmus.errors import UsageError, WrongType
from isthmus.transfer.results import new_array

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

    @property
    def T(self) -> "DeviceArray":  # noqa: N802 - as every library of arrays names it
        """The array with its dimensions in reverse order, as a view."""
        return DeviceArray(self, 0, self.shape[::-1], self.strides[::-1])

    def to_host(self, out: npt.NDArray[Any] | None = None, stream: object = None, order: str = "K") -> npt.NDArray[Any]:
        """Copy it into an array of NumPy: a new one, or `out`, which has its shape and type."""
        return copy_to_host(self, out, stream, None, order)

    def copy(self, order: str = "K", stream: object = None) -> "DeviceArray":
        """A copy on the same device: in this one's order of elements (K), or in that of C or Fortran (F)."""
        axes = axes_of(order, self.ndim)

        def make(shape: list[int], _typestr: str, _name: str, own: list[int]) -> DeviceArray:
            return DeviceArray(self, shape, own if axes is None else axes)

        made: DeviceArray = _native.copy_new(make, self, stream=stream)
        return made

    def view(self, dtype: object) -> "DeviceArray":
        """The same memory as another type, as NumPy's arrays have it: the last dimension changes with the size."""
        element_type, name = read_type(dtype)
        try:
            part = self._pattern().view(element_type)
        except (TypeError, ValueError) as error:
            raise UsageError(f"{self!r} cannot be viewed as {dtype}: {error}") from error
        return DeviceArray(self, 0, part.shape, part.strides, element_type, name)

    def reshape(self, *shape: int | Sequence[int]) -> "DeviceArray":
        """The same elements in another shape, as a view; a length of -1 is what the others leave."""
        asked = shape[0] if len(shape) == 1 and isinstance(shape[0], Iterable) else shape
        try:
            lengths = tuple(operator.index(length) for length in asked)  # type: ignore[arg-type]
        except TypeError as error:
            raise WrongType(f"a shape is an int, or a sequence of ints, not {asked!r}") from error
        part = self._pattern()
        try:
            if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
                part = part.reshape(lengths, copy=False)
            else:
                part.shape = lengths
        except (AttributeError, ValueError) as error:
            advice = "; the array has gaps or another order: x.copy('C').reshape(...) copies it first"
            fits = -1 in lengths or math.prod(lengths) == self.size
            raise UsageError(f"{self!r} has no view of shape {lengths}: {error}{advice if fits else ''}") from error
        return DeviceArray(self, 0, part.shape, part.strides)

    def _pattern(self) -> npt.NDArray[Any]:
        """What NumPy finds out about parts by: of this shape and these strides, over memory that it must not read."""
        return np.lib.stride_tricks.as_strided(np.empty((), self.dtype), self.shape, self.strides)

    def __getitem__(self, key: _Index | tuple[_Index, ...]) -> "DeviceArray":
        """The part of the array that a key of integers, slices, ``...`` and None gives, as a view."""
        keys = key if isinstance(key, tuple) else (key,)
        for one in keys:
            known = isinstance(one, int | np.integer | slice | EllipsisType) and not isinstance(one, bool)
            if not known and one is not None:
                raise UsageError(
                    f"a {type(one).__name__} cannot index an array on a device; expected integers, slices, ... and "
                    "None: anything else would have to copy"
                )
        # With an ellipsis even a single element is a view.
        whole = self._pattern()
        part = whole[keys if any(one is Ellipsis for one in keys) else (*keys, Ellipsis)]
        offset = part.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        return DeviceArray(self, offset, part.shape, part.strides)

    def __setitem__(self, key: _Index | tuple[_Index, ...], value: object) -> None:
        """Copy an array of the part's shape and type into it; numbers and lists of them become its type."""
        part = self[key]
        if isinstance(value, bool | int | float | complex | list | tuple | np.generic):
            if self.dtype.kind == "V" and self.type_name and self.dtype == np.dtype(f"V{self.itemsize}"):
                raise UsageError(
                    f"numbers cannot be made {self.type_name} without ml_dtypes; install it, or pass an array"
                )
            try:
                value = np.broadcast_to(np.asarray(value, self.dtype), part.shape)
            except (TypeError, ValueError, OverflowError) as error:
                raise UsageError(f"{value!r} does not fit into {part!r}: {error}") from error
        _native.copy(part, value)

    def __len__(self) -> int:
        """Length of the first dimension."""
        if not self.shape:
            raise WrongType("an array without dimensions has no length")
        return self.shape[0]

    def __array__(self, *_args: object, **_options: object) -> NoReturn:
        """Refuse what would copy without saying so."""
        raise WrongType("an array on a device is not converted to NumPy's by itself; use isthmus.to_host(array)")

    def __copy__(self) -> "DeviceArray":
        """A copy on the same device."""
        return self.copy()

    def __deepcopy__(self, _memo: dict[int, object]) -> "DeviceArray":
        """A copy on the same device."""
        return self.copy()

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        """Refuse to be pickled: memory of a device means nothing to another process."""
        raise WrongType(
            "an array on a device cannot be pickled, since its memory is this process's; pickle "
            "isthmus.to_host(array), and use isthmus.to_device where it is loaded"
        )

    def __repr__(self) -> str:
        """Where it is, its shape and its type, without its contents."""
        return f"<isthmus.DeviceArray on {self.device}, shape {self.shape}, {self.type_name or self.dtype}>"


def axes_of(order: str, dimensions: int) -> list[int] | None:
    """The dimensions from the outermost to the innermost in memory; none where the source says: order K."""
    if order == "K":
        return None
    if order not in ("C", "F"):
        raise UsageError(f"order is {order!r}; expected 'K' (as the array has it), 'C' or 'F'")
    return list(range(dimensions) if order == "C" else reversed(range(dimensions)))


def copy_to_host(
    array: object, out: npt.NDArray[Any] | None, stream: object, session: _native.Session | None, order: str
) -> npt.NDArray[Any]:
    """Copy an array of any library into a new one of NumPy, or into `out`, which has its shape and type."""
    if out is not None:
        _native.copy(out, array, stream=stream, session=session)
        return out
    make = functools.partial(_host_array, array, order)
    made: npt.NDArray[Any] = _native.copy_new(make, array, stream=stream, session=session)
    return made


def begin_to_host(
    array: object, out: npt.NDArray[Any] | None, stream: object, session: _native.Session | None, order: str
) -> _native.Future:
    """As `copy_to_host` without waiting: the array is the future's result."""
    make = functools.partial(_host_array, array, order) if out is None else lambda *_: out
    return _native.copy_new_async(make, array, stream=stream, session=session)


# At the module's level, since the annotations of a function within another are worked out at each call.
def _host_array(
    array: object, order: str, shape: list[int], typestr: str, name: str, own: list[int]
) -> npt.NDArray[Any]:
    dtype = type_of(array, typestr, name)
    axes = own if order == "K" else axes_of(order, len(shape)) or []
    if not axes:
        return new_array(shape, dtype)
    new: npt.NDArray[Any] = new_array([shape[axis] for axis in axes], dtype).transpose(np.argsort(axes))
    return new


_OWN_TYPED = np.ndarray | np.generic | DeviceArray


def type_of(array: object, typestr: str, name: str) -> np.dtype[Any]:
    """The array's own type where that is NumPy's, else the one that was read of it."""
    if isinstance(array, _OWN_TYPED):
        own: np.dtype[Any] = array.dtype
        return own
    return named_type(typestr, name)


def named_type(typestr: str, name: str) -> np.dtype[Any]:
    """NumPy's type; of those that it lacks ml_dtypes' where that is installed, else raw bytes of the size."""
    module = (sys.modules.get("ml_dtypes") or _ml_dtypes()) if name else None
    return np.dtype(getattr(module, name, typestr))


def read_type(dtype: object) -> tuple[np.dtype[Any], str]:
    """What a caller passes as a type: anything of NumPy's, torch's types, and names; with the name of one NumPy lacks.

    Raises WrongType for what is none.
    """
    if type(dtype).__module__ == "torch" or isinstance(dtype, str):
        dtype = str(dtype).removeprefix("torch.")
        if size := _native.named_type_bytes(dtype):
            return named_type(f"|V{size}", dtype), dtype
    try:
        return np.dtype(dtype), ""  # type: ignore[call-overload]
    except (TypeError, ValueError) as error:
        expected = "expected one of NumPy's, torch's or ml_dtypes', or a name such as 'float32' or 'bfloat16'"
        raise WrongType(f"{dtype!r} is no type of elements: {error}; {expected}") from error


@functools.cache
def _ml_dtypes() -> ModuleType | None:
    try:
        return importlib.import_module("ml_dtypes")
    except ImportError:
        return None
