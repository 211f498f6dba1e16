"""Views of one array of CuPy are asked once what they share, and each for what is its own: on the fake driver."""

from collections.abc import Callable
from typing import Any

import pytest

# A type with the attributes and protocols that CuPy's arrays have.
PROGRAM = """
import json, sys, types
from types import SimpleNamespace
import numpy as np

cupy = sys.modules["cupy"] = types.ModuleType("cupy")

class ndarray:
    asked = []
    stream = 1

    def __init__(self, memory, base=None):
        self.base, self.dtype, self.shape, self.strides = base, memory.dtype, memory.shape, memory.strides
        self.data, self.memory = SimpleNamespace(ptr=memory.ctypes.data), memory

    def __getitem__(self, key):
        return type(self)(self.memory[key], self if self.base is None else self.base)

    @property
    def __cuda_array_interface__(self):
        self.asked.append("interface")
        data = {"data": (self.data.ptr, False), "shape": self.shape, "strides": self.strides, "version": 3}
        return data | {"typestr": self.dtype.str, "stream": self.stream}

    def __dlpack_device__(self):
        self.asked.append("device")
        return 2, 0

    def __dlpack__(self, **named):
        self.asked.append("dlpack")
        raise BufferError("not of this type")

cupy.ndarray = ndarray
class Heir(ndarray):
    pass

import isthmus
from tests.fake_driver import calls, enter, memory_of, stream

session = isthmus.Session("cuda:0")
SHAPE = (6, 5, 16)
there = session.empty(SHAPE, np.uint16)
memory = memory_of(there)
data = np.arange(there.size, dtype=np.uint16).reshape(SHAPE)
host = np.zeros(SHAPE, np.uint16)

def asked(work):
    ndarray.asked.clear()
    work()
    return list(ndarray.asked)

def moved(array, cut):
    memory[:], host[:] = data, 0
    pieces = [array[index][cut] for index in range(len(data))]
    heard = asked(lambda: session.copy_batch([row[cut] for row in host], pieces))
    expected = np.zeros_like(host)
    for index in range(len(data)):
        expected[index][cut] = data[index][cut]
    arrived = bool((host == expected).all())
    memory[:], host[:] = 0, data
    heard_back = asked(lambda: session.copy_batch(pieces, [row[cut] for row in host]))
    return heard, heard_back, arrived and bool((memory == expected).all())

array = ndarray(memory)
found = {"whole": moved(array, ...), "strided": moved(array, np.s_[::2, 3:7]), "heirs": moved(Heir(memory), ...)}
memory[:] = data
two = [array[0], ndarray(memory)[1], ndarray(memory[2]), ndarray(memory.view(np.int16), array)[3].memory]
found["two bases"] = asked(lambda: session.copy_batch(list(host[:3]), two[:3]))
found["two arrive"] = bool((host[:3] == data[:3]).all())
other = ndarray(memory.view(np.int16), array)
signed = host.view(np.int16)
found["another type"] = asked(lambda: session.copy_batch([host[0], signed[1]], [array[0], other[1]]))
ndarray.stream = None
try:
    session.copy(host[0], array[0])
except isthmus.errors.UsageError:
    pass
found["no stream"] = list(ndarray.asked)[-4:]
enter()
ndarray.stream, other = stream(), stream()
called = calls(lambda: session.copy_batch(list(host), [array[index] for index in range(6)], stream=other))
found["waits"] = called.count("cuStreamWaitEvent")
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(told: Callable[..., Any]) -> Any:
    """What was asked of the arrays in each copy, and whether all arrived."""
    return told(PROGRAM)


@pytest.mark.parametrize("kind", ["whole", "strided"])
def test_what_views_share_is_asked_once(found: Any, kind: str) -> None:
    up, down, arrived = found[kind]
    assert arrived
    assert up == down == ["device", "interface"]


def test_an_heir_is_asked_by_the_protocols_each_time(found: Any) -> None:
    up, _, arrived = found["heirs"]
    assert arrived
    assert up.count("dlpack") >= 6


def test_other_bases_and_types_are_asked_too(found: Any) -> None:
    assert found["two bases"] == ["device", "interface"] * 3
    assert found["two arrive"]
    assert found["another type"] == ["device", "interface"] * 2


def test_without_a_stream_dlpack_orders_the_copy(found: Any) -> None:
    assert "dlpack" in found["no stream"]


def test_the_copy_s_stream_waits_once_for_that_of_the_arrays(found: Any) -> None:
    assert found["waits"] == 1
