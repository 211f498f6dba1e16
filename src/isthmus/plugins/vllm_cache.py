"""vLLM's KV offload with rows moved by Isthmus: a spec for `kv_connector_extra_config`.

``{"spec_name": "IsthmusOffloadingSpec", "spec_module_path": "isthmus.plugins.vllm_cache", "cpu_bytes_to_use": ...}``.
Which blocks are kept, and for how long, is vLLM's own; each worker has pinned memory of its own for them.
"""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import vllm

import isthmus
from isthmus.errors import UsageError

try:
    from vllm.v1.kv_offload.base import OffloadingWorker, TransferResult
    from vllm.v1.kv_offload.cpu.spec import CPUOffloadingSpec

    _ = OffloadingWorker.submit_store, OffloadingWorker.submit_load, CPUOffloadingSpec.create_worker
except (ImportError, AttributeError) as error:
    raise UsageError(
        f"Isthmus {isthmus.__version__} offloads for vLLM 0.26 to 0.33; this is vLLM {vllm.__version__}: {error}"
    ) from None


class IsthmusOffloadingSpec(CPUOffloadingSpec):  # type: ignore[misc]
    """vLLM's spec for the host's memory, with a worker of Isthmus'."""

    def __init__(self, config: Any) -> None:
        if getattr(config, "canonical_layout", False):
            raise UsageError("IsthmusOffloadingSpec keeps pages as each worker has them; leave canonical_layout out")
        super().__init__(config)
        self._ours: Worker | None = None

    def _uses_shared_region(self) -> bool:
        return False

    def get_worker(self, kv_caches: Any) -> "Worker":
        """The worker that copies between these caches and memory of the host."""
        if self._ours is None:
            chunks = self.num_chunks if hasattr(self, "num_chunks") else self.num_blocks  # before 0.32
            self._ours = Worker(kv_caches, self.blocks_per_chunk, chunks)
        return self._ours


@dataclass(frozen=True)
class _Job:
    copies: list[isthmus.Future]
    bytes: int
    events: "tuple[torch.cuda.Event, torch.cuda.Event] | None"  # on its stream, before and after
    begun: float

    def has_ended(self) -> bool:
        return all(copy.done() for copy in self.copies) and (self.events is None or self.events[1].query())

    def seconds(self) -> float:
        return self.events[0].elapsed_time(self.events[1]) / 1e3 if self.events else time.perf_counter() - self.begun


class Worker(OffloadingWorker):  # type: ignore[misc]
    """Copies blocks of caches to rows of pinned memory and back, in order on a stream for each direction.

    Each begins after what the current stream holds. Raises OutOfMemory where so much memory may not be page-locked.
    """

    def __init__(self, kv_caches: Any, blocks_per_chunk: int, chunks: int) -> None:
        self._blocks_per_chunk = blocks_per_chunk
        self._caches = [each.tensor.view(torch.int8).view(-1, each.page_size_bytes) for each in kv_caches.tensors]
        self._pools = [_pool(cache, chunks * blocks_per_chunk) for cache in self._caches]
        self._groups = kv_caches.group_data_refs
        self._streams: dict[object, torch.cuda.Stream] = {}
        self._jobs: dict[int, _Job] = {}

    def submit_store(self, job_id: int, src_spec: Any, dst_spec: Any) -> bool:
        """Begin to copy blocks of the caches to chunks of the host's memory."""
        return self._submit(job_id, src_spec, dst_spec, "store")

    def submit_load(self, job_id: int, src_spec: Any, dst_spec: Any, expedited: bool = False) -> bool:
        """Begin to copy chunks of the host's memory to blocks of the caches; expedited ones wait for no others."""
        return self._submit(job_id, dst_spec, src_spec, "expedited" if expedited else "load")

    def get_finished(self) -> list[TransferResult]:
        """What has ended since the last call."""
        results = []
        for job_id in [job_id for job_id, job in self._jobs.items() if job.has_ended()]:
            job = self._jobs.pop(job_id)
            failures = [failure for copy in job.copies if (failure := copy.exception()) is not None]
            if failures:
                logging.getLogger("isthmus").error("KV offload, job %d: %s", job_id, failures[0])
            results.append(TransferResult(job_id, not failures, job.bytes, job.seconds()))
        return results

    def wait(self, job_ids: set[int]) -> None:
        """Return when these have ended, well or not."""
        for job in [self._jobs[job_id] for job_id in job_ids if job_id in self._jobs]:
            for copy in job.copies:
                copy.exception()
            if job.events:
                job.events[1].synchronize()

    def shutdown(self) -> None:
        """Wait for all, and give the memory back."""
        self.wait(set(self._jobs))
        for each in (self._jobs, self._pools, self._caches):
            each.clear()

    def _submit(self, job_id: int, blocks: Any, chunks: Any, kind: str) -> bool:
        begun, device, stream, events = time.perf_counter(), self._caches[0].device, None, None
        if device.type == "cuda":
            stream = self._streams.get(kind) or self._streams.setdefault(kind, torch.cuda.Stream(device))
            stream.wait_stream(torch.cuda.current_stream(device))
            events = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            events[0].record(stream)
        copies, size = [], 0
        for group, here, there in self._rows(blocks, chunks):
            size += len(here) * sum(ref.page_size_bytes for ref in self._groups[group])
            tensors = {ref.tensor_idx for ref in self._groups[group]}
            for width in {self._caches[at].shape[1] for at in tensors}:
                same_width = [at for at in sorted(tensors) if self._caches[at].shape[1] == width]
                caches, pools = ([each[at] for at in same_width] for each in (self._caches, self._pools))
                sides = (pools, there, caches, here) if kind == "store" else (caches, here, pools, there)
                copies.append(isthmus.copy_rows_async(*sides, stream=stream))
        if events:
            events[1].record(stream)
        self._jobs[job_id] = _Job(copies, size, events, begun)
        return True

    def _rows(self, blocks: Any, chunks: Any) -> Iterator[tuple[int, "np.ndarray", "np.ndarray"]]:
        """Each group with rows of its caches, and of the pools: several blocks make a chunk, of which some may lack."""
        block_at = chunk_at = 0
        parts = np.arange(self._blocks_per_chunk)
        for group, (count, first) in enumerate(zip(blocks.group_sizes, blocks.block_indices, strict=True)):
            skipped = first % self._blocks_per_chunk
            used = -(-(count + skipped) // self._blocks_per_chunk) if count else 0
            rows = chunks.block_ids[chunk_at : chunk_at + used, None].astype(np.int64) * self._blocks_per_chunk + parts
            here = blocks.block_ids[block_at : block_at + count].astype(np.int64)
            if count:
                yield group, here, rows.ravel()[skipped : skipped + count]
            block_at, chunk_at = block_at + count, chunk_at + used


def _pool(cache: torch.Tensor, rows: int) -> torch.Tensor:
    if cache.device.type != "cuda":
        return torch.empty((rows, cache.shape[1]), dtype=torch.int8)
    return torch.from_numpy(isthmus.pinned_empty((rows, cache.shape[1]), np.int8, device=str(cache.device)))
