"""The driver's own memory and copies: what every other figure of benchmarks/transfer.py is held against.

Those of CUDA are called by ctypes and share no code with Isthmus. OpenCL and the host backend are reached through the
seam that experiments use, so that the script runs everywhere.
"""

import ctypes
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from transfer_peers import Bytes, Peer

from isthmus import _native
from isthmus.errors import CallFailed, LibraryAbsent
from isthmus.machine.devices import OpenDevice

_PORTABLE = 1  # CU_MEMHOSTALLOC_PORTABLE
_LEGACY_STREAM = 1  # The default stream, as the CUDA array interface names it.


class DeviceArray:
    """Device memory with the attribute by which libraries know each other's arrays."""

    def __init__(
        self, address: int, shape: tuple[int, ...], typestr: str = "|u1", strides: tuple[int, ...] | None = None
    ) -> None:
        self.address = address
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": typestr,
            "strides": strides,
            "data": (address, False),
            "stream": _LEGACY_STREAM,
        }


class Driver(Protocol):
    """What a driver offers for buffers, on one device."""

    def pinned(self, size: int) -> Bytes:
        """Page-locked memory."""

    def peers(self, size: int, pinned: Bytes, slots: int) -> list[Peer]:
        """Its copies of so many bytes, from pageable memory and from slots of pinned memory."""


class CudaDriver:
    """libcuda, with the device's primary context current for this thread."""

    def __init__(self, index: int) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise LibraryAbsent(str(error)) from error
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._call("cuInit", 0)
        self._call("cuDeviceGet", ctypes.byref(device), index)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxSetCurrent", context)
        self._held: list[ctypes.c_uint64] = []

    def pinned(self, size: int) -> Bytes:
        """Page-locked memory, until the process ends."""
        address = ctypes.c_void_p()
        self._call("cuMemHostAlloc", ctypes.byref(address), ctypes.c_size_t(size), _PORTABLE)
        memory: Bytes = np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8)), (size,))
        return memory

    def device(self, size: int) -> DeviceArray:
        """Device memory, until free()."""
        address = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self._held.append(address)
        return DeviceArray(address.value, (size,))

    def free(self) -> None:
        """Give back what device() gave."""
        while self._held:
            self._call("cuMemFree_v2", self._held.pop())

    def send(self, device: DeviceArray, host: Bytes) -> None:
        """Copy to device memory."""
        self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(device.address), ctypes.c_void_p(host.ctypes.data), _size(host))

    def receive(self, host: Bytes, device: DeviceArray) -> Bytes:
        """Copy from device memory."""
        self._call("cuMemcpyDtoH_v2", ctypes.c_void_p(host.ctypes.data), ctypes.c_uint64(device.address), _size(host))
        return host

    def peers(self, size: int, pinned: Bytes, slots: int) -> list[Peer]:
        """Its copies of so many bytes, from pageable memory and from slots of pinned memory."""
        device = self.device(size)

        def peer(name: str) -> Peer:
            return Peer(
                name,
                fill=lambda host: self.send(device, host),
                look=lambda: self.receive(np.empty(size, np.uint8), device),
                send=lambda host: self.send(device, host),
                receive=lambda host: self.receive(host, device),
            )

        pageable, locked = peer("driver"), peer("pinned")
        pageable.fetch = pageable.look
        locked.own = lambda number: pinned[(number % slots) * size :][:size]
        return [locked, pageable]

    def _call(self, function: str, *arguments: object) -> None:
        code = self._library[function](*arguments)
        if code:
            raise CallFailed(f"{function} failed with CUDA error {code}")


class SeamDriver:
    """Any other device, by commands on a stream of its own."""

    def __init__(self, device: OpenDevice) -> None:
        self._device = device.native
        self._stream = _native.Stream(device.native)
        self._buffers: dict[int, _native.Buffer] = {}

    def pinned(self, size: int) -> Bytes:
        """Page-locked memory, as long as the driver."""
        buffer = self._device.allocate("pinned", size)
        buffer.begin_host_access()
        array: Bytes = buffer.host_array().view(np.uint8)
        self._buffers[array.ctypes.data] = buffer
        return array

    def peers(self, size: int, pinned: Bytes, slots: int) -> list[Peer]:
        """Its copies of so many bytes from slots of pinned memory, beside which it has no other here."""
        device = self._device.allocate("device", size)
        memory, spare = self._buffers[pinned.ctypes.data], self.pinned(size)

        def send(host: Bytes) -> None:
            self._stream.copy(device, 0, memory, host.ctypes.data - pinned.ctypes.data, size)
            self._stream.synchronize()

        def receive(host: Bytes) -> None:
            self._stream.copy(memory, host.ctypes.data - pinned.ctypes.data, device, 0, size)
            self._stream.synchronize()

        def fill(host: Bytes) -> None:
            spare[:] = host
            self._stream.copy(device, 0, self._buffers[spare.ctypes.data], 0, size)
            self._stream.synchronize()

        def look() -> Bytes:
            self._stream.copy(self._buffers[spare.ctypes.data], 0, device, 0, size)
            self._stream.synchronize()
            return spare

        return [
            Peer(
                "pinned",
                fill=fill,
                look=look,
                send=send,
                receive=receive,
                own=lambda number: pinned[(number % slots) * size :][:size],
            )
        ]


def open_driver(device: OpenDevice) -> CudaDriver | SeamDriver:
    """The driver of a device."""
    description = device.description
    return CudaDriver(description.index) if description.backend == "cuda" else SeamDriver(device)


def _size(host: npt.NDArray[Any]) -> ctypes.c_size_t:
    return ctypes.c_size_t(host.nbytes)
