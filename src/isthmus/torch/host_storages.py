"""Memory of the host for storages of a device: page-locked from 1 MiB on, and several at a time."""

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Any

import numpy as np
import torch

import isthmus
from isthmus.errors import OutOfMemory
from isthmus.torch.nested import tensors

# Smaller ones are packed with others on their way, and arrive in ordinary memory as fast.
LEAST_PINNED_BYTES = 1 << 20
# While one has its pages cleared, the driver locks those of another.
_THREADS = 4


class HostStorages:
    """Gets storages, in the order in which they are asked for, ahead of their use; those not used are let go."""

    def __init__(self, wanted: Iterable[torch.UntypedStorage]) -> None:
        by_address = {storage.data_ptr(): storage for storage in wanted if is_pinned_for(storage)}
        self._threads = ThreadPoolExecutor(_THREADS, "isthmus pin")
        self._coming: dict[int, Future[torch.UntypedStorage]] = {
            address: self._threads.submit(_made, storage) for address, storage in by_address.items()
        }

    def take(self, storage: torch.UntypedStorage) -> torch.UntypedStorage:
        """One as large as `storage`, whether it was wanted before or not."""
        coming = self._coming.pop(storage.data_ptr(), None) if is_pinned_for(storage) else None
        return _made(storage) if coming is None else coming.result()

    def __enter__(self) -> "HostStorages":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(cancel_futures=True)


def storages_in(state: Any) -> Iterator[torch.UntypedStorage]:
    """What tensors anywhere in dicts, lists and dataclasses lie in, in their order, each as often as it is met."""
    for _, tensor in tensors(state):
        with suppress(NotImplementedError, RuntimeError):  # of those without memory of their own, such as wrappers
            storage = getattr(tensor, "_local_tensor", tensor).untyped_storage()  # a DTensor's lies in another tensor
            if storage.data_ptr():
                yield storage


def bytes_of(storage: torch.UntypedStorage) -> torch.Tensor:
    """All of a storage, as a tensor of its bytes."""
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def is_pinned_for(storage: torch.UntypedStorage) -> bool:
    """Whether what is copied from there is to lie in page-locked memory."""
    return bool(storage.device.type == "cuda" and storage.nbytes() >= LEAST_PINNED_BYTES)


def _made(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    if not is_pinned_for(storage):
        return torch.UntypedStorage(storage.nbytes(), device="cpu")
    try:
        pinned = isthmus.pinned_empty(storage.nbytes(), np.uint8, device=str(storage.device))
    except OutOfMemory:  # of what may be page-locked; ordinary memory is filled more slowly
        return torch.UntypedStorage(storage.nbytes(), device="cpu")
    return torch.from_numpy(pinned).untyped_storage()
