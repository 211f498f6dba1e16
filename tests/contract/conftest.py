"""The devices that the contract suite runs on, and what its tests share.

To enrol a backend, give `isthmus.machine.devices.probe` its devices: each of them becomes a parameter here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from ctypes import byref, c_void_p
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus import _native
from isthmus.machine.devices import open_device, probe
from isthmus.record import Backend
from tests import c_library

# Before the driver starts: with its 8 queues, other streams may share one with a stream that a test holds.
os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")

# The host backend once more, with a link that takes its time: commands then overlap, and copies one way queue up.
_MODELLED = "host:rate=50GB/s,latency=2us"

_BACKENDS = probe()
_PRESENT = [device.spec for backend in _BACKENDS for device in backend.devices]

Pattern = Callable[[int, int], bytes]
Allocate = Callable[..., _native.Buffer]
Contents = Callable[[_native.Buffer], bytes]


@pytest.fixture(scope="session", params=_BACKENDS, ids=lambda backend: backend.name)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each backend in turn, those without a device too."""
    found: Backend = request.param
    return found


# The model is the host backend in all but time.
@pytest.fixture(scope="session", params=[*_PRESENT, pytest.param(_MODELLED, marks=pytest.mark.thorough)])
def spec(request: pytest.FixtureRequest) -> str:
    """The name of each device in turn."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def device(spec: str) -> _native.Device:
    """Each device in turn, open."""
    return open_device(spec).native


@pytest.fixture
def stream(device: _native.Device) -> _native.Stream:
    return _native.Stream(device)


@pytest.fixture
def allocate(device: _native.Device) -> Allocate:
    """Memory of a kind, filled with a byte if one is given; skips where the device has no such memory."""

    def allocate(kind: str, size: int, fill: int | None = None) -> _native.Buffer:
        if reason := device.why_not(kind):
            pytest.skip(reason)
        buffer = device.allocate(kind, size)
        if fill is not None:
            buffer.set_bytes(0, size, fill)
        return buffer

    return allocate


@pytest.fixture
def contents(device: _native.Device, stream: _native.Stream) -> Contents:
    """All bytes of a buffer, those of device memory by way of pinned memory."""

    def read(buffer: _native.Buffer) -> bytes:
        if buffer.kind != "device":
            return buffer.read(0, buffer.bytes)
        pinned = device.allocate("pinned", buffer.bytes)
        stream.copy(pinned, 0, buffer, 0, buffer.bytes)
        stream.synchronize()
        return pinned.read(0, buffer.bytes)

    return read


@pytest.fixture(scope="session")
def pattern() -> Pattern:
    """The pattern of a seed as its definition gives it: native/base/pattern.hpp, written a second time."""

    def words(seed: int, count: int) -> bytes:
        index = np.arange(1, -(-count // 8) + 1, dtype=np.uint64)
        z = np.full_like(index, seed) + index * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        filled: bytes = z.astype("<u8").tobytes()
        return filled[:count]

    return words


@pytest.fixture(scope="session")
def c() -> ModuleType:
    """What isthmus.h declares."""
    return c_library


@pytest.fixture(scope="session")
def library(c: Any) -> Any:
    """libisthmus.so as it is installed."""
    try:
        folder = Path(isthmus.get_library_dir())
    except FileNotFoundError as error:
        pytest.skip(str(error))
    return c.Library(folder / "libisthmus.so.0")


@pytest.fixture
def opened(c: Any, library: Any) -> Iterator[Callable[..., c_void_p]]:
    """Opens sessions of the C interface, which are closed after the test."""
    sessions: list[c_void_p] = []

    def opened(name: str | None, options: Any = None) -> c_void_p:
        found = c_void_p()
        status = library.call(
            "open", name.encode() if name else None, byref(options) if options else None, byref(found)
        )
        if status.code in c.ABSENT:
            pytest.skip(f"from C there is no {name}: {status.message.decode()}")
        assert status.code == c.OK, status.message
        sessions.append(found)
        return found

    yield opened
    for each in sessions:
        library.must("close", each)
