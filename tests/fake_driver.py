"""The fake CUDA driver as programs of tests call it: memory and streams of its own, and a record of its calls."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

driver = ctypes.CDLL("libcuda.so.1")
driver.fake_recorded_calls.restype = ctypes.c_char_p


def enter() -> None:
    """Have this thread work with the primary context of the first device."""
    context = ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxSetCurrent(context) == 0


def stream() -> int:
    """The handle of a new stream of the current context."""
    made = ctypes.c_void_p()
    assert driver.cuStreamCreate(ctypes.byref(made), 1) == 0
    return made.value or 0


def pinned(*shape: int) -> npt.NDArray[np.uint8]:
    """Page-locked bytes."""
    address, size = ctypes.c_void_p(), int(np.prod(shape))
    assert driver.cuMemHostAlloc(ctypes.byref(address), ctypes.c_size_t(size), 0) == 0
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address.value or 0)).reshape(shape)


def memory_of(array: Any) -> npt.NDArray[Any]:
    """The memory of an array on the fake device, which is the host's."""
    address = array.__cuda_array_interface__["data"][0]
    content = np.ctypeslib.as_array((ctypes.c_uint8 * array.nbytes).from_address(address))
    typed: npt.NDArray[Any] = content.view(array.dtype).reshape(array.shape)
    return typed


def calls(work: Callable[[], object]) -> list[str]:
    """The names of the driver's functions that this calls."""
    driver.fake_record_calls()
    work()
    recorded: bytes = driver.fake_recorded_calls()
    return recorded.decode().split()
