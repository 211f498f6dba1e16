"""libisthmus.so as ctypes sees it: the structures and functions of isthmus.h, written a second time."""

import ctypes
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int, c_size_t, c_ssize_t, c_void_p
from pathlib import Path
from typing import Any

OK, CALL_FAILED, UNSUPPORTED, INVALID = 0, 4, 7, 8
ABSENT = (1, 2, 3)
INFER, HOST, DEVICE = 0, 1, 2
BY_ADDRESS, H2D, D2H, D2D, H2H = range(5)
GUARD = 64


class Status(ctypes.Structure):
    _fields_ = (("code", c_int), ("bytes_completed", c_size_t), ("operation", c_char * 64), ("message", c_char * 960))


class Options(ctypes.Structure):
    _fields_ = (
        ("struct_bytes", c_size_t),
        ("budget", c_size_t),
        ("threads", c_size_t),
        ("table", c_char_p),
        ("kernel_blocks", c_size_t),
        ("paths", c_char_p),
    )


class LaterOptions(ctypes.Structure):
    """Of a header newer than the library."""

    _fields_ = (("known", Options), ("unknown", c_size_t))


class Array(ctypes.Structure):
    _fields_ = (
        ("address", c_void_p),
        ("offset_bytes", c_size_t),
        ("element_bytes", c_size_t),
        ("dimensions", c_size_t),
        ("shape", POINTER(c_size_t)),
        ("strides_bytes", POINTER(c_ssize_t)),
        ("side", c_int),
    )


class Rows(ctypes.Structure):
    _fields_ = (("indices", c_void_p), ("count", c_size_t), ("index_bytes", c_size_t), ("side", c_int))


class Explanation(ctypes.Structure):
    _fields_ = (
        ("struct_bytes", c_size_t),
        ("method", c_char * 32),
        ("direction", c_char * 8),
        ("host_memory", c_char * 16),
        ("bytes", c_size_t),
        ("pieces", c_size_t),
        ("width_bytes", c_size_t),
        ("chunk_bytes", c_size_t),
        ("threads", c_size_t),
        ("stores", c_int),
        ("seconds", c_double),
        ("why", c_char * 256),
        ("kernel_blocks", c_size_t),
    )


class Library:
    """libisthmus, with arguments of the widths that C gives them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._functions = ctypes.CDLL(str(path))
        plain = {
            "isthmus_version": (c_char_p,),
            "isthmus_code_name": (c_char_p, c_int),
            "isthmus_done": (c_int, c_void_p),
            "isthmus_context": (c_void_p, c_void_p),
            "isthmus_pinned_bytes": (c_size_t, c_void_p),
            "isthmus_pinned_budget_bytes": (c_size_t, c_void_p),
        }
        checked = {
            "isthmus_open": (c_char_p, c_void_p, c_void_p),
            "isthmus_close": (c_void_p,),
            "isthmus_allocate": (c_void_p, c_int, c_size_t, c_void_p),
            "isthmus_free": (c_void_p, c_void_p),
            "isthmus_pinned_alloc": (c_void_p, c_size_t, c_void_p),
            "isthmus_pinned_free": (c_void_p, c_void_p),
            "isthmus_copy": (c_void_p, c_void_p, c_void_p, c_size_t, c_int, c_void_p),
            "isthmus_copy_array": (c_void_p, c_void_p, c_void_p, c_void_p),
            "isthmus_copy_batch": (c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_int, c_void_p),
            "isthmus_copy_async": (c_void_p, c_void_p, c_void_p, c_size_t, c_int, c_void_p, c_void_p),
            "isthmus_copy_array_async": (c_void_p, c_void_p, c_void_p, c_void_p, c_void_p),
            "isthmus_copy_batch_async": (c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_int, c_void_p, c_void_p),
            "isthmus_copy_rows": (c_void_p, c_size_t, *(c_void_p,) * 5),
            "isthmus_copy_rows_async": (c_void_p, c_size_t, *(c_void_p,) * 6),
            "isthmus_wait": (c_void_p,),
            "isthmus_hold_stream": (c_void_p, c_void_p),
            "isthmus_finish": (c_void_p,),
            "isthmus_explain": (c_void_p, c_void_p, c_void_p, c_void_p),
            "isthmus_explain_batch": (c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_int, c_void_p),
            "isthmus_trim": (c_void_p,),
        }
        for name, (result, *arguments) in plain.items():
            self[name].restype, self[name].argtypes = result, arguments
        for name, rest in checked.items():
            self[name].restype, self[name].argtypes = c_int, (*rest, c_void_p)
        self.checked = checked

    def __getitem__(self, name: str) -> Any:
        return getattr(self._functions, name)

    def call(self, name: str, *arguments: Any) -> Status:
        """Call a function that fills a status, which must agree with what it returns."""
        status = Status(code=-1, operation=b"?" * 63, message=b"?" * 959)
        code = self[f"isthmus_{name}"](*arguments, byref(status))
        assert status.code == code
        assert status.operation == name.encode()
        assert (status.message == b"") == (code == OK)
        return status

    def must(self, name: str, *arguments: Any) -> Status:
        """The same, and it must succeed."""
        status = self.call(name, *arguments)
        assert status.code == OK, status.message
        return status

    def allocate(self, session: c_void_p, size: int, side: int = DEVICE) -> c_void_p:
        """Memory of the session, which it frees itself at the latest."""
        memory = c_void_p()
        self.must("allocate", session, side, size, byref(memory))
        assert memory
        return memory


def array(
    memory: Any, shape: tuple[int, ...], element: int = 1, strides: tuple[int, ...] | None = None, side: int = INFER
) -> Array:
    return Array(
        address=ctypes.cast(memory, c_void_p),
        element_bytes=element,
        dimensions=len(shape),
        shape=(c_size_t * len(shape))(*shape),
        strides_bytes=(c_ssize_t * len(strides))(*strides) if strides else None,
        side=side,
    )


def guarded(size: int) -> tuple[Any, c_void_p]:
    """Memory of the host between zones that nothing may write, and its address."""
    block = ctypes.create_string_buffer(b"\xa5" * (size + 2 * GUARD), size + 2 * GUARD)
    return block, c_void_p(ctypes.addressof(block) + GUARD)
