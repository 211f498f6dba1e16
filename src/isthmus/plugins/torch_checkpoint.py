"""A stager for torch.distributed.checkpoint: checkpoints reach pinned memory while the program computes on.

`dcp.async_save(state, ..., async_stager=Stager())`, and `stager.synchronize_staging()` before whatever writes to the
state, such as ``optimizer.step()``. The structure of the copy is torch's own (torch.distributed.checkpoint's
StateDictStager), so that DTensors and their kin stay what they are; memory and copies are Isthmus'.
"""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import numpy as np
import torch
from torch.distributed.checkpoint import staging

import isthmus
from isthmus.errors import OutOfMemory, UsageError
from isthmus.torch.copying import Pair, copying

try:
    from torch.distributed.checkpoint._state_dict_stager import StateDictStager

    _ = StateDictStager._stage_untyped_storage
except (ImportError, AttributeError):
    raise UsageError(
        f"isthmus.plugins.torch_checkpoint is for torch 2.9 to 2.15, which stage storages one by one; this is torch "
        f"{torch.__version__}"
    ) from None

# Smaller ones are packed with others on their way, and arrive in ordinary memory as fast.
_LEAST_PINNED_BYTES = 1 << 20


class _Storages(StateDictStager):  # type: ignore[misc, unused-ignore]
    """torch's copy of a state's structure, whose storages are made here, kept, and filled all together."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: dict[int, Pair] = {}  # each storage once, also where torch 2.9 names it for each tensor

    def _stage_untyped_storage(self, storage: torch.UntypedStorage, *_: object, **__: object) -> torch.UntypedStorage:
        kept: torch.UntypedStorage | None = self._cached_storage_mapping.get(storage)
        if kept is None or kept.nbytes() != storage.nbytes():
            kept = _host_storage(storage)
            self._cached_storage_mapping[storage] = kept
        if storage.nbytes():
            self.pairs[kept.data_ptr()] = _bytes_of(kept), _bytes_of(storage)
        return kept


class Stager(staging.AsyncStager):  # type: ignore[misc, unused-ignore]
    """Stages on a thread and streams of its own; `stage` returns at once, with a future of the copy on the host.

    Each copy begins after what the current streams hold when `stage` is called. Memory of the host is kept for the
    next checkpoint of the same tensors, which therefore must not begin to be staged before the last one was written.
    `prepare` gets it beforehand. `close` gives all of it back. Not to be used by several threads at once.
    """

    _synchronize_after_execute = False

    def __init__(self) -> None:
        self._storages = _Storages()
        self._thread = ThreadPoolExecutor(1, "isthmus stage")
        self._streams: dict[torch.device, torch.cuda.Stream] = {}
        self._staging: Future[Any] | None = None

    def prepare(self, state_dict: Mapping[str, Any]) -> None:
        """Get the memory that a checkpoint of such a state takes, so that the first one takes no longer than later."""
        self.synchronize_staging()
        self._storages.stage(state_dict)
        self._storages.pairs.clear()

    def stage(self, state_dict: Mapping[str, Any], **_: object) -> "Future[Any]":
        """Begin; the future has the copy, or raises what a copy raises. Waits for an earlier one that has not ended."""
        self.synchronize_staging()
        current = {}
        for at in range(torch.cuda.device_count() if torch.cuda.is_initialized() else 0):
            if torch._C._cuda_hasPrimaryContext(at):  # an event makes one, of hundreds of MB, where there is none
                device = torch.device("cuda", at)
                current[device] = torch.cuda.current_stream(device).record_event()
        self._staging = self._thread.submit(self._staged, state_dict, current)
        return self._staging

    def synchronize_staging(self) -> None:
        """Wait until the state has been copied and may be written to; raises what a copy raised."""
        pending, self._staging = self._staging, None
        if pending is not None:
            pending.result()

    def close(self) -> None:
        """Wait for a checkpoint under way, and give memory and thread back."""
        self._thread.shutdown(wait=True)
        self._storages._cached_storage_mapping.clear()

    def __enter__(self) -> "Stager":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _staged(self, state: Mapping[str, Any], current: "dict[torch.device, torch.cuda.Event]") -> Any:
        try:
            copy = self._storages.stage(state)
            with ExitStack() as streams, torch.no_grad():
                for device in {source.device for _, source in self._storages.pairs.values()} & current.keys():
                    if device not in self._streams:
                        self._streams[device] = torch.cuda.Stream(device)
                    stream = self._streams[device]
                    stream.wait_event(current[device])
                    streams.enter_context(torch.cuda.stream(stream))
                with copying(self._storages.pairs.values(), None):
                    return copy
        finally:
            self._storages.pairs.clear()


def _bytes_of(storage: torch.UntypedStorage) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def _host_storage(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    if storage.device.type != "cuda" or storage.nbytes() < _LEAST_PINNED_BYTES:
        return torch.UntypedStorage(storage.nbytes(), device="cpu")
    try:
        pinned = isthmus.pinned_empty(storage.nbytes(), np.uint8, device=str(storage.device))
    except OutOfMemory:  # of what may be page-locked; ordinary memory is filled more slowly
        return torch.UntypedStorage(storage.nbytes(), device="cpu")
    return torch.from_numpy(pinned).untyped_storage()
