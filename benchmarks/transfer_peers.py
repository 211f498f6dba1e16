"""What users call today for one buffer: torch, CuPy, JAX and Numba, each with device memory of its own."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]


@dataclass
class Peer:
    """One way to copy whole buffers. Every call has ended when it returns; what a peer does not offer is None."""

    name: str
    # By any means, and untimed: puts these bytes into the peer's device memory, and reads what is there.
    fill: Callable[[Bytes], object]
    look: Callable[[], Bytes]
    # From this host memory to the peer's device memory, and from there to this host memory.
    send: Callable[[Bytes], object] | None = None
    receive: Callable[[Bytes], object] | None = None
    # From the device's memory into memory that is new each time; `renew` comes before it and is not timed.
    fetch: Callable[[], Bytes] | None = None
    renew: Callable[[], object] = lambda: None
    # Host memory by the number of its slot, of a peer that has its own.
    own: Callable[[int], Bytes] | None = None


def open_peers(index: int, size: int) -> Iterator[tuple[str, Callable[[], list[Peer]]]]:
    """The name of every library with what makes its peers for buffers of so many bytes on one CUDA device.

    What is made raises ImportError, or an error of the library's own, where the library is absent or does not work.
    """
    for name, make in (("torch", _torch), ("CuPy", _cupy), ("JAX", _jax), ("Numba", _numba)):
        yield name, partial(make, index, size)


def _torch(index: int, size: int) -> list[Peer]:
    torch: Any = import_module("torch")
    device = torch.empty(size, dtype=torch.uint8, device=f"cuda:{index}")

    def copy(host: Bytes) -> None:
        device.copy_(torch.from_numpy(host))
        torch.cuda.synchronize(index)

    def pin(host: Bytes) -> None:
        device.copy_(torch.from_numpy(host).pin_memory(), non_blocking=True)
        torch.cuda.synchronize(index)

    def receive(host: Bytes) -> None:
        torch.from_numpy(host).copy_(device)
        torch.cuda.synchronize(index)

    def fetch() -> Bytes:
        fetched: Bytes = device.cpu().numpy()
        return fetched

    return [
        Peer("torch copy_", copy, fetch, send=copy, receive=receive),
        Peer("torch pin_memory, copy_", copy, fetch, send=pin),
        Peer("torch .cpu()", copy, fetch, fetch=fetch),
    ]


def _cupy(index: int, size: int) -> list[Peer]:
    cupy: Any = import_module("cupy")
    target = cupy.cuda.Device(index)
    target.use()
    device = cupy.empty(size, cupy.uint8)

    def send(host: Bytes) -> None:
        device.set(host)
        target.synchronize()

    def receive(host: Bytes) -> None:
        device.get(out=host)
        target.synchronize()

    def fetch() -> Bytes:
        fetched: Bytes = device.get()
        target.synchronize()
        return fetched

    return [Peer("CuPy set, get", send, fetch, send, receive, fetch)]


def _jax(index: int, size: int) -> list[Peer]:
    # It would take most of the device's memory otherwise.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax: Any = import_module("jax")
    target = jax.devices("cuda")[index]
    held = [jax.device_put(np.zeros(size, np.uint8), target)]

    def send(host: Bytes) -> None:
        held[0] = jax.device_put(host, target).block_until_ready()

    def renew() -> None:
        # An array keeps what was fetched of it: only one that was not fetched yet is copied.
        held[0] = (held[0] + np.uint8(0)).block_until_ready()

    return [
        Peer(
            "JAX device_put, asarray", send, lambda: np.asarray(held[0]), send, None, lambda: np.asarray(held[0]), renew
        )
    ]


def _numba(index: int, size: int) -> list[Peer]:
    cuda: Any = import_module("numba.cuda")
    if not cuda.is_available():
        raise RuntimeError("Numba finds no CUDA")
    cuda.select_device(index)
    device = cuda.device_array(size, np.uint8)

    def send(host: Bytes) -> None:
        device.copy_to_device(host)
        cuda.synchronize()

    def receive(host: Bytes) -> None:
        device.copy_to_host(ary=host)
        cuda.synchronize()

    def fetch() -> Bytes:
        fetched: Bytes = device.copy_to_host()
        cuda.synchronize()
        return fetched

    return [Peer("Numba copy_to_device, copy_to_host", send, fetch, send, receive, fetch)]
