"""States of models and optimizers to the host and back: equal, apart from the state, shared as before, kept buffers."""

import contextlib
import copy
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install torch")
import isthmus  # noqa: E402
from isthmus.errors import UsageError, WrongType  # noqa: E402 - torch may be absent
from isthmus.torch import state_dict_to_device, state_dict_to_host  # noqa: E402
from isthmus.torch.copying import _apart, areas_of  # noqa: E402
from isthmus.torch.nested import tensors  # noqa: E402
from isthmus.torch.state_dicts import _blocks  # noqa: E402

CUDA = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device here")
)
everywhere = pytest.mark.parametrize("device", ["cpu", CUDA])
on_cuda = pytest.mark.parametrize("device", [CUDA])


def trained(device: str) -> tuple[Any, Any]:
    model = torch.nn.Sequential(torch.nn.Linear(40, 50), torch.nn.BatchNorm1d(50), torch.nn.Linear(50, 50)).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(8, 40, device=device)).sum().backward()
    optimizer.step()
    return model, optimizer


def state_on(device: str) -> dict[str, Any]:
    """Tensors of many kinds: large, small, tied, views of one buffer, with gaps, transposed, empty, of no dimension."""
    model, optimizer = trained(device)
    weight = torch.randn(3000, 1000, device=device)
    flat = torch.arange(1000, dtype=torch.float32, device=device)
    lone = torch.arange(24, dtype=torch.int16, device=device).reshape(4, 6)
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "tied": [weight, weight, weight.t(), weight[5:7]],
        "flat": {"a": flat[:100].view(10, 10), "b": flat[100:], "bytes": flat.view(torch.uint8)[3:17]},
        "gaps": torch.randn(50, 60, device=device)[:, ::3],
        "transposed": lone.t(),
        "picture": torch.randn(2, 3, 8, 8, device=device).to(memory_format=torch.channels_last),
        "none": (torch.empty(0, 4, device=device), torch.tensor(3.5, device=device), torch.tensor(True, device=device)),
        "half": torch.randn(33, device=device).bfloat16(),
        "conjugate": torch.randn(5, dtype=torch.complex64, device=device).conj(),
        "step": 17,
        "note": "kept",
    }


def check_equal(one: Any, other: Any) -> None:
    before, after = dict(tensors(one)), dict(tensors(other))
    assert before.keys() == after.keys()
    for path, tensor in before.items():
        found = after[path]
        assert (found.shape, found.dtype) == (tensor.shape, tensor.dtype), path
        assert torch.equal(found.cpu(), tensor.cpu()), path
        assert not found.requires_grad


def storages(value: Any) -> list[int]:
    return [tensor.untyped_storage().data_ptr() for _, tensor in tensors(value)]


@everywhere
def test_a_state_comes_whole_to_the_host(device: str) -> None:
    state = state_on(device)
    host = state_dict_to_host(state)
    check_equal(state, host)
    assert all(tensor.device.type == "cpu" for _, tensor in tensors(host))
    assert (host["step"], host["note"]) == (17, "kept")
    assert host["model"]._metadata == state["model"]._metadata
    used = set(storages(state)) - {0}
    assert not used & set(storages(host)), "the copy shares memory with the state"


@everywhere
def test_what_shared_memory_shares_it(device: str) -> None:
    host = state_dict_to_host(state_on(device))
    assert host["tied"][0] is host["tied"][1]
    host["tied"][0][5, 3] = 77
    assert host["tied"][2][3, 5] == host["tied"][3][0, 3] == 77
    host["flat"]["bytes"].zero_()
    assert host["flat"]["a"][0, 1:4].tolist() == [0, 0, 0]
    assert host["picture"].is_contiguous(memory_format=torch.channels_last)


@everywhere
def test_tied_weights_of_a_module_stay_tied_and_are_copied_once(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = torch.nn.ModuleDict({name: torch.nn.Linear(30, 30, bias=False) for name in "ab"}).to(device)
    model["b"].weight = model["a"].weight
    state = model.state_dict()
    assert state["a.weight"] is not state["b.weight"]
    host = state_dict_to_host(state)
    assert host["a.weight"].data_ptr() == host["b.weight"].data_ptr()
    copied: list[Any] = []

    def copying(pairs: Any, _session: Any) -> contextlib.AbstractContextManager[None]:
        copied.extend(pairs)
        return contextlib.nullcontext()

    monkeypatch.setattr("isthmus.torch.state_dicts.copying", copying)
    state_dict_to_host(state, out=host)
    assert len(copied) == 1


def test_packed_sequences_in_a_state_come_too() -> None:
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(3), torch.ones(2)])
    state = {"packed": packed, "after": torch.zeros(4)}
    host = state_dict_to_host(state)
    packed.data.mul_(3)
    state["after"].add_(1)
    filled = state_dict_to_host(state, out=host)
    assert torch.equal(filled["packed"].data, packed.data)
    assert torch.equal(filled["after"], torch.ones(4))


@everywhere
def test_torch_saves_the_copy_whatever_its_types(tmp_path: Path, device: str) -> None:
    dtypes = [*(torch.uint8, torch.bool, torch.int64, torch.float32, torch.bfloat16), torch.float8_e4m3fn, torch.uint32]
    state = {str(dtype): torch.zeros(9, dtype=dtype, device=device) for dtype in dtypes for _ in range(2)}
    torch.save(state_dict_to_host(state), tmp_path / "saved")
    assert {str(tensor.dtype) for tensor in torch.load(tmp_path / "saved").values()} == set(state)


@everywhere
def test_the_way_back_gives_the_same(device: str) -> None:
    state = state_on(device)
    host = state_dict_to_host(state)
    back = state_dict_to_device(host, device)
    check_equal(state, back)
    assert all(tensor.device.type == device for _, tensor in tensors(back))
    assert back["tied"][0] is back["tied"][1]
    model, optimizer = trained(device)
    model.load_state_dict(back["model"])
    optimizer.load_state_dict(back["optimizer"])
    check_equal(model.state_dict(), state["model"])


@everywhere
def test_a_state_is_taken_in_place(device: str) -> None:
    model, optimizer = trained(device)
    kept = state_dict_to_host({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    other, others = trained(device)
    before = storages(other.state_dict())
    live = {"model": other.state_dict(), "optimizer": others.state_dict()}
    devices = [tensor.device for _, tensor in tensors(live)]
    filled = state_dict_to_device(kept, out=live)
    assert storages(other.state_dict()) == before
    assert [tensor.device for _, tensor in tensors(filled)] == devices
    check_equal(other.state_dict(), model.state_dict())
    check_equal(others.state_dict(), kept["optimizer"])


@everywhere
@pytest.mark.parametrize("pinned", [False, True])
def test_kept_buffers_are_filled_anew(device: str, pinned: bool) -> None:
    if pinned and device == "cpu":
        pytest.skip("nothing is pinned without a GPU")
    state = state_on(device)
    host = state_dict_to_host(state)
    if pinned:
        host = copy.copy(host) | {"half": host["half"].pin_memory(), "gaps": host["gaps"].pin_memory()}
    before = storages(host)
    with torch.no_grad():
        for name in ("tied", "half", "gaps", "transposed", "flat", "none", "picture"):
            for _, tensor in tensors(state[name]):
                if tensor.dtype.is_floating_point:
                    tensor.mul_(2)
    state["step"] = 18
    filled = state_dict_to_host(state, out=host)
    check_equal(state, filled)
    assert storages(filled) == before
    assert filled["step"] == 18


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (
            {},
            UsageError,
            r"out has no tensor at \['a'\]\[0\]; expected one like that of the state, torch.float32 of shape",
        ),
        (
            {"a": [torch.ones(3)]},
            UsageError,
            r"out has torch.float32 of shape \(3,\) at \['a'\]\[0\], and the state has",
        ),
        ({"a": [torch.ones(2).double()]}, UsageError, "out has torch.float64"),
        ({"a": [torch.ones(2, device="meta")]}, WrongType, "a tensor on meta .* expected one on the host"),
    ],
)
def test_buffers_that_do_not_fit_are_refused(out: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        state_dict_to_host({"a": [torch.ones(2)]}, out=out)


@pytest.mark.parametrize("state", [None, 5, {}, {"a": [1, "b"]}], ids=repr)
def test_a_state_without_tensors_is_what_it_was(state: Any) -> None:
    assert state_dict_to_host(state) == state
    assert state_dict_to_device(state, "cpu") == state


def test_tensors_that_are_more_than_their_elements_come_too() -> None:
    parameter = torch.nn.Parameter(torch.ones(3))
    tracked = torch.ones(3, requires_grad=True)
    sparse = torch.eye(3).to_sparse()
    host = state_dict_to_host({"p": parameter, "t": tracked, "s": sparse})
    assert torch.equal(host["p"], torch.ones(3))
    assert torch.equal(host["t"], torch.ones(3))
    assert torch.equal(host["s"].to_dense(), torch.eye(3))
    assert host["p"].data_ptr() != parameter.data_ptr()


@on_cuda
def test_copies_begin_after_what_the_current_stream_holds(device: str) -> None:
    weights = [torch.zeros(1 << 20, device=device) for _ in range(5)]
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(50_000_000)
        for weight in weights:
            weight.fill_(5)
        host = state_dict_to_host(weights)
    assert all(bool((tensor == 5).all()) for tensor in host)


@on_cuda
def test_what_fits_no_block_on_the_device_is_copied_by_itself(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: Any) -> Any:
        raise torch.OutOfMemoryError("none left")

    monkeypatch.setattr("isthmus.torch.state_dicts._flatten_dense_tensors", full)
    state = [torch.full((1000,), float(number), device=device) for number in range(9)]
    check_equal(state, state_dict_to_host(state))


def test_areas_of_a_device_that_is_full_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def zeros(*_: object, **__: object) -> Any:
        raise torch.OutOfMemoryError("full")

    areas, left = areas_of([torch.ones(3)]), []  # type: ignore[var-annotated]
    monkeypatch.setattr(torch, "zeros", zeros)
    assert not list(_blocks([(area, 12) for area in areas], left, torch.device("cpu"), torch.float32))
    assert left == areas


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.bool, torch.complex128, torch.float8_e4m3fn, torch.uint16], ids=str
)
def test_small_areas_are_joined_and_cut_as_they_were(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isthmus.torch.state_dicts._BLOCK_BYTES", 512)
    shapes: list[tuple[int, ...]] = [(), (3,), (8, 4), (16, 16, 2), (1, 1), (700,), (64,), (5, 0, 2), (2, 9)]
    given = [torch.randint(0, 2, shape).to(dtype) for shape in shapes if 0 not in shape]
    areas, left = [(area, area.source.nbytes) for area in areas_of(given)], []  # type: ignore[var-annotated]
    blocks = list(_blocks(areas, left, torch.device("cpu"), dtype))
    assert not left
    assert len(blocks) > 1
    cut = [one for block in blocks for one in block.cut(block.joined().clone())]
    assert [area.source.data_ptr() for area, _ in cut] == [tensor.data_ptr() for tensor in given]
    for (_, slice_), tensor in zip(cut, given, strict=True):
        assert (slice_.dtype, slice_.shape) == (dtype, tensor.shape)
        assert slice_.data_ptr() % 64 == cut[0][1].data_ptr() % 64
        assert slice_.is_contiguous()
        assert bytes(slice_.flatten().view(torch.uint8)) == bytes(tensor.flatten().view(torch.uint8))


@everywhere
def test_parameters_are_filled_in_place_and_keep_their_gradients(device: str) -> None:
    model, kept = torch.nn.Linear(4, 4, device=device), torch.nn.Linear(4, 4)
    state_dict_to_host(dict(model.named_parameters()), out=dict(kept.named_parameters()))
    assert torch.equal(kept.weight, model.weight.cpu())
    assert kept.weight.requires_grad


@on_cuda
def test_a_state_on_a_stream_of_its_own_does_not_wait_for_the_default_stream(device: str) -> None:
    state = {str(number): torch.full((1 << 20,), float(number), device=device) for number in range(4)}
    expected = {name: tensor.cpu() for name, tensor in state.items()}
    ended = torch.cuda.Event()
    torch.cuda._sleep(4_000_000_000)
    ended.record()
    with torch.cuda.stream(torch.cuda.Stream()):
        host = state_dict_to_host(state)
    assert not ended.query()
    assert all(torch.equal(host[name], tensor) for name, tensor in expected.items())
    torch.cuda.synchronize()


def test_destinations_over_the_same_bytes_are_filled_one_after_the_other() -> None:
    """By storages of their own, as of views that NumPy made."""
    bytes_ = np.zeros(1 << 20, np.uint8)
    pairs = [(torch.from_numpy(bytes_[at:]), torch.zeros((1 << 20) - at, dtype=torch.uint8)) for at in (0, 64)]
    batch, others = _apart(pairs)
    assert (len(batch), len(others)) == (1, 1)


def test_copies_are_in_the_memory_of_earlier_ones_that_are_gone() -> None:
    before = isthmus.result_memory()
    isthmus.result_memory("64MiB", trim=True)
    try:
        state = {
            "a": torch.randn(3, 1 << 19),
            "b": torch.randn(64, 3, 64, 64, dtype=torch.float64).to(memory_format=torch.channels_last),
            "c": torch.arange(2 << 20).reshape(2, -1).T.to(torch.bfloat16),
        }
        first = state_dict_to_host(state)
        check_equal(state, first)
        assert [each.stride() for each in first.values()] == [each.stride() for each in state.values()]
        kept, places = first["b"][1:], set(storages(first))
        before_fill = kept.clone()
        del first
        assert isthmus.result_memory().unused > 0
        state["b"] *= 2
        second = state_dict_to_host(state)
        check_equal(state, second)
        assert torch.equal(kept, before_fill)
        assert len(places & set(storages(second))) == 2
        # As any other tensor: to NumPy, pickled, shared, made another, on another thread.
        assert (second["a"].numpy() == state["a"].numpy()).all()
        second["a"].share_memory_()
        check_equal(state, second)
        second["b"].resize_(5)
        thread = threading.Thread(target=second.clear)
        thread.start()
        thread.join()
        del kept
        assert 0 < isthmus.result_memory().unused <= 64 << 20
        isthmus.result_memory(0)
        state_dict_to_host(state)["a"].resize_(5 << 20)  # torch's own memory
    finally:
        isthmus.result_memory(before.budget, trim=True)
