"""Sessions: what copies for a device share, those that are kept for all callers, and how all of them end."""

import atexit
import functools
import operator
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from isthmus import _native
from isthmus.errors import RunFileError, UsageError, WrongType
from isthmus.files import read_bounded
from isthmus.machine.devices import choose_device, open_device, open_native
from isthmus.record import parse_bytes
from isthmus.transfer.arrays import DeviceArray, axes_of, begin_to_host, copy_to_host, read_type, type_of
from isthmus.transfer.explanation import Explanation


class Session(_native.Session):
    """What copies for one device share: page-locked memory, threads, and a table to choose methods by.

    `device` is a name such as ``cuda:0``, ``opencl:0`` or ``host``, an index, or a torch.device; None for the best that
    is present. `pinned_budget` bounds the page-locked memory that it may hold: bytes, or a text such as ``64MiB``,
    which is the default (128 MiB for several links). `threads` bounds the threads that pack, and `kernel_blocks` the
    blocks, of 1,024 threads, of a kernel that copies: without it as many as fill the link, so that others have the rest
    of the device. `table` is a file that `isthmus calibrate` wrote, else this machine's, if there is one, else the
    built-in one. Neither memory nor threads are allocated before a copy needs them. Any number of threads may use it.

    `paths` are the links that large copies may take: ``own``, the device's; ``all``, those of all other devices that
    reach its memory, too; or a list of such devices. Copies are divided between them while they run, through at most
    64 MiB of memory on each neighbour. None is what the variable ISTHMUS_PATHS says, or own.

    Raises DeviceAbsent without such a device, and UsageError for what makes no sense.
    """

    def __init__(
        self,
        device: object = None,
        pinned_budget: str | int | None = None,
        threads: int | None = None,
        table: str | os.PathLike[str] | None = None,
        kernel_blocks: int | None = None,
        paths: str | Sequence[object] | None = None,
    ) -> None:
        budget = parse_bytes(pinned_budget) if isinstance(pinned_budget, str) else pinned_budget
        if budget is not None:
            budget = _whole("pinned_budget", budget, 0, "bytes as an int, a text such as '64MiB', or None")
        if threads is not None:
            threads = _whole("threads", threads, 1, "an int of at least 1, or None for as many as pay")
        if kernel_blocks is not None:
            expected = "an int of at least 1, or None for as many as fill the link"
            kernel_blocks = _whole("kernel_blocks", kernel_blocks, 1, expected, 1 << 32)
        native = device if isinstance(device, _native.Device) else open_device(_name(device)).native
        text = None if table is None else _read_table(table)
        super().__init__(native, budget, threads or 0, text, kernel_blocks or 0, _read_paths(paths))

    def to_device(self, array: object, stream: object = None, order: str = "K") -> DeviceArray:
        """Copy an array of any library into a new one on the session's device.

        In the array's own order of elements (K), or in that of C or Fortran (F).
        """
        make = functools.partial(self._device_array, array, order)
        made: DeviceArray = _native.copy_new(make, array, stream=stream, session=self)
        return made

    def to_device_async(self, array: object, stream: object = None, order: str = "K") -> _native.Future:
        """As `to_device`, without waiting: the new array is the future's result."""
        return _native.copy_new_async(
            functools.partial(self._device_array, array, order), array, stream=stream, session=self
        )

    def _device_array(
        self, array: object, order: str, shape: list[int], typestr: str, name: str, own: list[int]
    ) -> DeviceArray:
        axes = axes_of(order, len(shape))
        return DeviceArray(self, shape, type_of(array, typestr, name), name, own if axes is None else axes)

    def to_host(
        self, x: object, out: npt.NDArray[Any] | None = None, stream: object = None, order: str = "K"
    ) -> npt.NDArray[Any]:
        """Copy an array of any library into a new one of NumPy, or into `out`, which has its shape and type."""
        return copy_to_host(x, out, stream, self, order)

    def to_host_async(
        self, x: object, out: npt.NDArray[Any] | None = None, stream: object = None, order: str = "K"
    ) -> _native.Future:
        """As `to_host`, without waiting: the array is the future's result."""
        return begin_to_host(x, out, stream, self, order)

    def empty(self, shape: int | Sequence[int], dtype: object = np.float64, order: str = "C") -> DeviceArray:
        """A new array on the session's device, whose contents are anything. Types are NumPy's or torch's."""
        lengths = lengths_of(shape)
        return DeviceArray(self, lengths, *read_type(dtype), axes_of(order, len(lengths)) or [])

    def explain(self, dst: object, src: object) -> Explanation:
        """How `copy` would copy between them, and why. Moves nothing."""
        return Explanation(**_native.explain(dst, src, session=self))

    def explain_batch(self, dsts: Iterable[object], srcs: Iterable[object]) -> Explanation:
        """How `copy_batch` would copy between them, and why. Moves nothing."""
        return Explanation(**_native.explain_batch(dsts, srcs, session=self))

    def explain_rows(self, dst: object, dst_rows: object, src: object, src_rows: object) -> Explanation:
        """How `copy_rows` would copy, and why. Moves nothing."""
        return Explanation(**_native.explain_rows(dst, dst_rows, src, src_rows, session=self))

    def __enter__(self) -> "Session":
        """The session itself; leaving the block closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        """Its device, and the page-locked memory that it holds."""
        return f"<isthmus.Session on {self.device}, {self.pinned_bytes} of {self.pinned_budget_bytes} bytes pinned>"


_defaults: dict[tuple[str, int], Session] = {}
_best: Session | None = None
_lock = threading.Lock()


def session_of(backend: str, index: int) -> Session:
    """The session that is kept for a device, opened when it is first asked for, and anew where it was closed."""
    session = _defaults.get((backend, index))
    if session is not None and not session.closed:
        return session
    with _lock:
        session = _defaults.get((backend, index))
        if session is None or session.closed:
            session = _defaults[backend, index] = Session(open_native(backend, index))
        return session


def default_session(device: object = None) -> Session:
    """The session that functions without one use for a device; None: the best device that is present.

    It is kept until the process ends, and its page-locked memory too, unless `trim` is called.
    """
    chosen = choose_device(_name(device))
    return session_of(chosen.backend, chosen.index)


def best_session() -> Session:
    """The session that is kept for the best device present, which is looked for once: that takes 0.3 ms."""
    global _best  # noqa: PLW0603 - guarded by nothing: a second thread finds the same session
    session = _best
    if session is None or session.closed:
        session = _best = default_session()
    return session


def to_device(
    array: object, device: object = None, stream: object = None, session: Session | None = None, order: str = "K"
) -> DeviceArray:
    """Copy an array of any library into a new one on a device: ``cuda:0``, ``opencl:0``, ``host``; None: the best.

    An int is the index of one of the best kind, and a torch.device the same device. With a session, on its device. In
    the array's own order of elements (K), or in that of C or Fortran (F).
    """
    return session_for(device, session).to_device(array, stream, order)


def to_host(
    x: object,
    out: npt.NDArray[Any] | None = None,
    stream: object = None,
    session: Session | None = None,
    order: str = "K",
) -> npt.NDArray[Any]:
    """Copy an array of any library into a new one of NumPy, or into `out`, which has its shape and type.

    In the array's own order of elements (K), or in that of C or Fortran (F).
    """
    return copy_to_host(x, out, stream, session, order)


def to_device_async(
    array: object, device: object = None, stream: object = None, session: Session | None = None, order: str = "K"
) -> _native.Future:
    """As `to_device`, without waiting: the new array is the future's result.

    `stream` waits for the copy; others do with `future.wait_on`. The source is kept until then, and not to be changed.
    """
    return session_for(device, session).to_device_async(array, stream, order)


def to_host_async(
    x: object,
    out: npt.NDArray[Any] | None = None,
    stream: object = None,
    session: Session | None = None,
    order: str = "K",
) -> _native.Future:
    """As `to_host`, without waiting: the array is the future's result, and has its contents when the copy has ended."""
    return begin_to_host(x, out, stream, session, order)


def device_empty(
    shape: int | Sequence[int],
    dtype: object = np.float64,
    device: object = None,
    session: Session | None = None,
    order: str = "C",
) -> DeviceArray:
    """A new array on a device, or on that of the session, whose contents are anything. Types are NumPy's or torch's."""
    return session_for(device, session).empty(shape, dtype, order)


def explain(dst: object, src: object, session: Session | None = None) -> Explanation:
    """How `copy` would copy between them, and why. Moves nothing."""
    return Explanation(**_native.explain(dst, src, session=session))


def explain_batch(dsts: Iterable[object], srcs: Iterable[object], session: Session | None = None) -> Explanation:
    """How `copy_batch` would copy between them, and why. Moves nothing."""
    return Explanation(**_native.explain_batch(dsts, srcs, session=session))


def explain_rows(
    dst: object, dst_rows: object, src: object, src_rows: object, session: Session | None = None
) -> Explanation:
    """How `copy_rows` would copy, and why. Moves nothing."""
    return Explanation(**_native.explain_rows(dst, dst_rows, src, src_rows, session=session))


def session_for(device: object, session: Session | None) -> Session:
    """The session that was passed, or the one that is kept for the device. Raises UsageError where both were passed."""
    if session is None:
        return default_session(device)
    if not isinstance(session, Session):
        raise WrongType(f"the session is of type {type(session).__name__}; expected None or an isthmus.Session")
    if device is not None:
        raise UsageError("both a device and a session were passed; a session has its own device, so pass one of them")
    return session


def _name(device: object) -> str | None:
    if device is None or isinstance(device, str):
        return device
    if hasattr(device, "__index__") and not isinstance(device, bool):
        best = choose_device(None).backend
        return best if best == "host" and operator.index(device) == 0 else f"{best}:{operator.index(device)}"
    if type(device).__module__ == "torch" and (kind := getattr(device, "type", "")) in ("cuda", "cpu"):
        index = getattr(device, "index", None)
        if kind == "cuda" and index is None:
            index = sys.modules["torch"].cuda.current_device()
        return "host" if kind == "cpu" else f"cuda:{index}"
    expected = "a name such as 'cuda:0', an index, torch.device of cuda or cpu, or None for the best one present"
    raise _wrong("device", device, expected)


def _whole(name: str, value: int, least: int, expected: str, beyond: int = 1 << 63) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise _wrong(name, value, expected)
    if not least <= (whole := operator.index(value)) < beyond:
        raise UsageError(f"{name} is {whole}; expected {least} or more, and less than 2**{beyond.bit_length() - 1}")
    return whole


def lengths_of(shape: int | Sequence[int]) -> list[int]:
    """The lengths of an array's dimensions. Raises WrongType and UsageError for what are none."""
    expected = "an int, or a sequence of ints"
    if isinstance(shape, str):
        raise _wrong("shape", shape, expected)
    lengths = shape if isinstance(shape, Iterable) else [shape]
    return [_whole("shape", length, 0, expected) for length in lengths]


def _wrong(name: str, value: object, expected: str) -> WrongType:
    return WrongType(f"{name} is of type {type(value).__name__}, {value!r}; expected {expected}")


def _read_paths(paths: object) -> str:
    if paths is None:
        return ""
    if isinstance(paths, str):
        return paths or "own"
    if not isinstance(paths, Sequence):
        raise _wrong("paths", paths, "'own', 'all', or a list of devices such as ['cuda:1']")
    return ",".join(_name(each) or "" for each in paths) or "own"


def _read_table(table: str | os.PathLike[str]) -> str:
    try:
        path = Path(table)
    except TypeError:
        raise _wrong("table", table, "a path, or None for this machine's") from None
    try:
        return read_bounded(path).decode()
    except (RunFileError, UnicodeDecodeError) as error:
        advice = f"`isthmus calibrate -o {path}` writes one"
        raise UsageError(f"the table {path} cannot be read: {error}; {advice}") from None


def _close() -> None:
    """At exit: copies that are under way end while all that they need is still there."""
    # What daemon threads and the program's own variables hold is never given back. Our tests have it said.
    if threading.active_count() > 1 or "ISTHMUS_REPORT_LEAKS" not in os.environ:
        _native.tolerate_leaks()
    _native.close_sessions()


def _forget() -> None:
    """In the child of a fork: sessions of the parent work no more, and are not waited for."""
    global _best, _lock
    _best, _lock = None, threading.Lock()  # the parent may have held the lock
    _defaults.clear()
    _native.forget_sessions()
    # What copies of the parent keep, and callbacks that wait for them, are never let go of here.
    _native.tolerate_leaks()


atexit.register(_close)
os.register_at_fork(after_in_child=_forget)
