"""A stager for torch.distributed.checkpoint: checkpoints reach pinned memory while the program computes on.

`dcp.async_save(state, ..., async_stager=Stager())`, and `stager.synchronize_staging()` before whatever writes to the
state, such as ``optimizer.step()``. The structure of the copy is torch's own (torch.distributed.checkpoint's
StateDictStager), so that DTensors and their kin stay what they are; memory and copies are Isthmus'.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import torch
from torch.distributed.checkpoint import staging

from isthmus.errors import UsageError
from isthmus.torch.copying import Pair, copying
from isthmus.torch.host_storages import LEAST_PINNED_BYTES, HostStorages, bytes_of, storages_in

try:
    from torch.distributed.checkpoint._state_dict_stager import StateDictStager

    _ = StateDictStager._stage_untyped_storage
except (ImportError, AttributeError):
    raise UsageError(
        f"isthmus.plugins.torch_checkpoint is for torch 2.9 to 2.15, which stage storages one by one; this is torch "
        f"{torch.__version__}"
    ) from None

# So much is filled while memory for the next is got.
_BEGUN_BYTES = 256 << 20
_Begin = Callable[[list[Pair]], None]


class _Storages(StateDictStager):  # type: ignore[misc, unused-ignore]
    """torch's copy of a state's structure, whose storages are made here, kept, and filled many at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[int] = set()  # torch 2.9 names a storage for each tensor
        self._pairs: list[Pair] = []
        self._bytes = 0  # of `_pairs`
        self._small: list[Pair] = []  # come last: they are waited for
        self._begin: _Begin | None = None
        self._made: HostStorages | None = None

    def copy_of(self, state: Mapping[str, Any], begin: _Begin) -> Any:
        """The structure; `begin` is called with what to fill, again and again while memory is got."""
        new = (storage for storage in storages_in(state) if self._kept(storage) is None)
        try:
            with HostStorages(new) as self._made:
                self._begin = begin
                copy = self.stage(state)
                begin(self._pairs + self._small)
                return copy
        finally:
            self._seen, self._pairs, self._bytes, self._small = set(), [], 0, []
            self._begin = self._made = None

    def _kept(self, storage: torch.UntypedStorage) -> torch.UntypedStorage | None:
        kept: torch.UntypedStorage | None = self._cached_storage_mapping.get(storage)
        return kept if kept is not None and kept.nbytes() == storage.nbytes() else None

    def _stage_untyped_storage(self, storage: torch.UntypedStorage, *_: object, **__: object) -> torch.UntypedStorage:
        assert self._begin is not None
        assert self._made is not None
        kept = self._kept(storage)
        if kept is None:
            kept = self._cached_storage_mapping[storage] = self._made.take(storage)
        if storage.nbytes() and kept.data_ptr() not in self._seen:
            self._seen.add(kept.data_ptr())
            pair = bytes_of(kept), bytes_of(storage)
            if storage.nbytes() < LEAST_PINNED_BYTES:
                self._small.append(pair)
                return kept
            self._pairs.append(pair)
            self._bytes += storage.nbytes()
            if self._bytes >= _BEGUN_BYTES:
                self._begin(self._pairs)
                self._pairs, self._bytes = [], 0
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
        self._storages.copy_of(state_dict, lambda _: None)

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
        entered: set[torch.device] = set()
        with ExitStack() as under_way, torch.no_grad():

            def begin(pairs: list[Pair]) -> None:
                for device in ({source.device for _, source in pairs} & current.keys()) - entered:
                    if device not in self._streams:
                        self._streams[device] = torch.cuda.Stream(device)
                    stream = self._streams[device]
                    stream.wait_event(current[device])
                    under_way.enter_context(torch.cuda.stream(stream))
                    entered.add(device)
                under_way.enter_context(copying(pairs, None))

            return self._storages.copy_of(state, begin)
