"""Page-locked memory for callers: new arrays of it, and arrays that are page-locked where they are."""

import math
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.transfer.arrays import read_type, type_of
from isthmus.transfer.sessions import Session, best_session, lengths_of, session_for

_Array = TypeVar("_Array")


class Pinned(_native.PinnedPlace, Generic[_Array]):
    """What `isthmus.pin` gives: keeps an array, and keeps it page-locked, until `close` or until this object goes.

    As a context manager it gives the array, and leaving the block closes it.
    """

    def __init__(self, session: Session, array: _Array) -> None:
        super().__init__(session, array)
        self._array = array

    @property
    def array(self) -> _Array:
        """The array that was passed."""
        return self._array

    def __enter__(self) -> _Array:
        """The array that was passed."""
        return self._array

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        """Whether it is closed, and the type of the array."""
        return f"<isthmus.Pinned {type(self._array).__name__}{', closed' if self.closed else ''}>"


def pinned_empty(
    shape: int | Sequence[int], dtype: object = np.float64, *, device: object = None, session: Session | None = None
) -> npt.NDArray[Any]:
    """A new array of NumPy in page-locked memory, in C order, whose contents are anything.

    Types are NumPy's or torch's.
    Devices copy from and to it at the full rate of the link, and torch and CuPy take it as pinned, on all devices of
    the kind that `device` or `session` names; None: the best present. With OpenCL it is the driver's page-locked
    memory, which the library's own copies treat as any memory of the host; with ``host`` it is huge pages.

    The array's base owns the memory, so that views, and copies of this library that are under way, keep it. It must
    outlive the copies that other libraries begin with it: its memory is used again for later arrays, until
    `Session.trim` gives it back. In the child of a fork it is a copy like other memory, and not page-locked; before
    Linux 5.9 it is not there.

    Raises UsageError for Python objects and for a shape that makes no sense, and OutOfMemory, with nothing held, where
    the process, the driver or a limit has no room for it.
    """
    # A small block takes less time than a question about it.
    if type(session) is not Session or device is not None:
        session = _session(device, session)
    element_type = dtype if isinstance(dtype, np.dtype) else read_type(dtype)[0]
    if element_type.hasobject:
        raise UsageError(
            f"Python objects ({element_type}) cannot lie in page-locked memory; convert them to a number type"
        )
    length = shape[0] if type(shape) is tuple and len(shape) == 1 else shape
    if type(length) is int and length >= 0:
        lengths, bytes_ = [length], length * element_type.itemsize
    else:
        lengths = lengths_of(shape)
        bytes_ = math.prod(lengths) * element_type.itemsize
    if bytes_ >= 1 << 63:
        raise UsageError(f"the bytes of an array of shape {lengths} and type {element_type} overflow 63 bits")
    memory: Any = _native.PinnedMemory(session, bytes_)
    made: npt.NDArray[Any] = np.ndarray(lengths, element_type, memory)
    return made


def pinned_like(array: object, *, device: object = None, session: Session | None = None) -> npt.NDArray[Any]:
    """A new array as `pinned_empty` gives it, in C order, of the shape and type of an array of any library."""
    shape, typestr, name = _native.describe(array)
    return pinned_empty(shape, type_of(array, typestr, name), device=device, session=session)


def pin(array: _Array, *, device: object = None, session: Session | None = None) -> Pinned[_Array]:
    """Page-lock an array of NumPy, torch or another library where it is, for all devices of the kind.

    It stays so until what is returned is closed, or goes, which no copy of the array may outlast::

        with isthmus.pin(array):
            ...

    All bytes from the first that an element is in to the last are page-locked, in one registration, since drivers
    refuse copies that reach from one into another. Pages that were never touched are put in place by threads first.
    What this library has page-locked already is shared, and stays until the last that shares it is closed; what
    somebody else has page-locked stays theirs. Memory that may only be read, such as a mapped file, is locked for
    reading where the driver can.

    Raises UsageError where a part only of the array is page-locked, or it is not in the host's memory; Unsupported
    with OpenCL; OutOfMemory beyond a limit. Nothing has changed then.
    """
    return Pinned(_session(device, session), array)


def _session(device: object, session: Session | None) -> Session:
    return best_session() if device is None and session is None else session_for(device, session)
