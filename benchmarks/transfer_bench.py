"""What the cases of benchmarks/transfer.py share: memory of both sides, the library, and what a case found."""

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from finding import Finding, shown
from transfer_driver import CudaDriver, open_driver
from transfer_native import Native
from transfer_peers import Bytes, Peer, open_peers
from transfer_turns import Turns

import isthmus
from isthmus.errors import IsthmusError, Unsupported
from isthmus.machine.devices import OpenDevice
from isthmus.record import MIB, format_bytes

OURS = "isthmus"
POISON = 0x5A
# Buffers of less take turns over so many bytes, so that no cache holds what is copied.
ROTATED_BYTES = 512 * MIB


class Case(NamedTuple):
    """One that --only can name: its bar as the table words it, and what measures it."""

    bar: str
    measure: Callable[["Bench"], Finding]


class Bench:
    """One device with a session of the library, the driver beside it, and arenas that all cases use.

    `source` holds bytes that cannot be compressed; `sink` is warm, and what it holds does not matter.
    """

    def __init__(self, device: OpenDevice, largest: int, seconds: float, seed: int, scratch: Path) -> None:
        self.device = device
        self.spec = device.description.spec
        self.largest, self.seconds = largest, seconds
        self.order = random.Random(seed)
        self.session = isthmus.Session(self.spec)
        self.driver = open_driver(device)
        arena = min(max(largest, ROTATED_BYTES), 4 * largest)
        self.source: Bytes = np.random.default_rng(seed).integers(0, 256, arena, np.uint8)
        self.sink: Bytes = np.full(arena, POISON, np.uint8)
        self.pinned = self.driver.pinned(arena)
        self._scratch = scratch
        self._native: Native | IsthmusError | None = None

    @property
    def meaningless(self) -> str:
        """Why figures of this device meet or miss no bar; empty where they do."""
        shares = self.device.description.shares_host_memory
        return "device memory is host memory here, so that figures mean nothing" if shares else ""

    @property
    def native(self) -> Native:
        """The C interface. Raises LibraryAbsent or CallFailed where there is none, and Unsupported with OpenCL."""
        if self._native is None:
            try:
                if self.spec.startswith("opencl"):
                    raise Unsupported("the C program knows memory with addresses; with OpenCL there is none")
                self._native = Native(self.spec, self._scratch)
            except IsthmusError as error:
                self._native = error
        if isinstance(self._native, IsthmusError):
            raise self._native
        return self._native

    def within(self, size: int) -> int:
        """A size as it is measured: never beyond the largest."""
        return min(size, self.largest)

    def slots(self, size: int) -> int:
        """How many buffers of this size take turns."""
        return max(min(ROTATED_BYTES, self.source.size) // size, 1)

    def slot(self, arena: Bytes, size: int, number: int) -> Bytes:
        """The buffer of this number."""
        begin = number % self.slots(size) * size
        return arena[begin : begin + size]

    def device_bytes(self, size: int) -> Any:
        """Device memory that isthmus.copy takes."""
        if isinstance(self.driver, CudaDriver):
            return self.driver.device(size)
        return self.session.empty(size, np.uint8)

    def ours(self, size: int) -> Peer:
        """Isthmus as one of the peers; what it sent is read by the driver where that is a library of its own."""
        device = self.device_bytes(size)

        def fetch() -> Bytes:
            fetched: Bytes = self.session.to_host(device)
            return fetched

        def look() -> Bytes:
            if isinstance(self.driver, CudaDriver):
                return self.driver.receive(np.empty(size, np.uint8), device)
            return fetch()

        def send(host: Bytes) -> None:
            self.session.copy(device, host)

        return Peer(OURS, send, look, send, lambda host: self.session.copy(host, device), fetch)

    def peers(self, size: int) -> tuple[list[Peer], dict[str, str]]:
        """Everything that copies a buffer of this size; and what does not, with why."""
        self.pinned[:] = self.source
        peers = [self.ours(size), *self.driver.peers(size, self.pinned, self.slots(size))]
        absent: dict[str, str] = {}
        if not isinstance(self.driver, CudaDriver):
            return peers, {"torch, CuPy, JAX, Numba": "measured on CUDA devices alone"}
        for name, make in open_peers(self.device.description.index, size):
            try:
                peers += make()
            except Exception as error:
                absent[name] = f"{type(error).__name__}: {error}".partition("\n")[0]
        return peers, absent

    def free(self) -> None:
        """Give device memory of one case back."""
        if isinstance(self.driver, CudaDriver):
            self.driver.free()


def best_of(turns: Turns, names: Iterable[str], size: int = 0) -> str:
    """The fastest of these contenders, with its rate, or its time without a size."""
    measured = {name: seconds for name in names if (seconds := turns.seconds(name)) is not None}
    if not measured:
        return "none"
    name = min(measured, key=lambda each: measured[each])
    return f"{name} {shown(measured[name], size)}"


def difference(found: npt.NDArray[np.uint8], expected: npt.NDArray[np.uint8]) -> str:
    """What is wrong with bytes that arrived; nothing where all are as they should be."""
    if np.array_equal(found, expected):
        return ""
    wrong = np.flatnonzero(found != expected)
    return f"{wrong.size} of {format_bytes(expected.size)} differ, the first at {wrong[0]}"


def names_of(turns: Turns, but: Sequence[str] = ()) -> list[str]:
    """The contenders that ran, but for some."""
    return [name for name in turns.samples if name not in but]
