"""The stager in torch's own checkpoints: what is saved is what the state was, whatever becomes of it afterwards."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the stager is for programs of torch")

import torch.distributed.checkpoint as dcp  # noqa: E402
from torch.distributed.checkpoint import staging  # noqa: E402

from isthmus.plugins import torch_checkpoint  # noqa: E402
from isthmus.plugins.torch_checkpoint import Stager  # noqa: E402
from isthmus.torch.copying import copying as copying_of_pairs  # noqa: E402

# torch warns of what single processes lack.
pytestmark = pytest.mark.filterwarnings("ignore")
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.fixture(params=DEVICES)
def state(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A model with tied weights, its optimizer after a step, views of one buffer, and what is no tensor."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(600, 700), torch.nn.Linear(700, 600, bias=False)).to(request.param)
    model.register_parameter("tied", model[1].weight)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(3, 600, device=request.param)).sum().backward()
    optimizer.step()
    flat = torch.arange(3 << 20, dtype=torch.float32, device=request.param)
    others = {
        "half": torch.arange(1000, device=request.param).to(torch.bfloat16),
        "column": flat.view(-1, 4)[:, 1],
        "end": flat[-5:],
        "empty": torch.empty(0, 3, device=request.param),
        "step": 7,
        "names": ("a", ["b"]),
    }
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "others": others}


@pytest.fixture
def stager() -> Iterator[Stager]:
    with Stager() as made:
        yield made


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for each in value.values():
            yield from leaves(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def same(one: Any, other: Any) -> bool:
    pairs = list(zip(leaves(one), leaves(other), strict=True))
    assert len(pairs) > 10
    return all(
        torch.equal(a.cpu(), b.cpu()) and a.dtype == b.dtype if isinstance(a, torch.Tensor) else a == b
        for a, b in pairs
    )


def filled(state: dict[str, Any], value: float) -> dict[str, Any]:
    with torch.no_grad():
        for leaf in leaves(state):
            if isinstance(leaf, torch.Tensor):
                leaf.fill_(value)
    return state


def test_it_is_what_torch_calls_a_stager(stager: Stager) -> None:
    assert isinstance(stager, staging.AsyncStager)
    assert not stager.should_synchronize_after_execute
    for name in ("stage", "synchronize_staging", "close"):
        theirs, ours = (inspect.signature(getattr(each, name)).parameters for each in (staging.DefaultStager, Stager))
        assert list(ours)[:2] == list(theirs)[:2], name


def test_a_checkpoint_has_the_state_as_it_was(stager: Stager, state: dict[str, Any], tmp_path: Path) -> None:
    before = [leaf.clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves(state)]
    for at in range(2):
        saved = dcp.async_save(state, checkpoint_id=tmp_path / str(at), async_stager=stager, no_dist=True)
        stager.synchronize_staging()
        filled(state, at + 3.0)
        saved.upload_completion.result()
    loaded = filled({key: value for key, value in state.items() if key != "others"}, 0.0)
    dcp.load(loaded, checkpoint_id=tmp_path / "0", no_dist=True)
    count = len(list(leaves(loaded)))
    assert same(list(leaves(loaded)), before[:count])
    dcp.load(loaded, checkpoint_id=tmp_path / "1", no_dist=True)
    assert all((leaf == 3).all() for leaf in leaves(loaded) if isinstance(leaf, torch.Tensor))


def test_memory_is_filled_while_more_is_got(
    stager: Stager, state: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []

    @contextmanager
    def copying(pairs: list[Any], session: None) -> Iterator[None]:
        with copying_of_pairs(pairs, session):
            events.append("begun")
            yield
        events.append("waited for")

    monkeypatch.setattr(torch_checkpoint, "copying", copying)
    monkeypatch.setattr(torch_checkpoint, "_BEGUN_BYTES", 4 << 20)
    for _ in range(2):
        assert same(stager.stage(state).result(), state)
        parts = len(events) // 2
        assert parts > 2
        assert events == ["begun"] * parts + ["waited for"] * parts
        filled(state, 5.0)
        events.clear()


def test_structure_and_shared_memory_are_kept(stager: Stager, state: dict[str, Any]) -> None:
    staged = stager.stage(state).result()
    assert same(staged, state)
    model, others = staged["model"], staged["others"]
    assert model["tied"].data_ptr() == model["1.weight"].data_ptr()
    assert others["end"].untyped_storage().data_ptr() == others["column"].untyped_storage().data_ptr()
    assert others["column"].stride() == (4,)
    assert all(leaf.device.type == "cpu" for leaf in leaves(staged) if isinstance(leaf, torch.Tensor))
    filled(state, 9.0)
    assert not (model["1.weight"] == 9).any()


def test_memory_is_had_beforehand_and_kept(stager: Stager, state: dict[str, Any]) -> None:
    def places(staged: Any) -> set[int]:
        return {leaf.untyped_storage().data_ptr() for leaf in leaves(staged) if isinstance(leaf, torch.Tensor)}

    stager.prepare(state)
    first = places(stager.stage(state).result())
    filled(state, 5.0)
    again = stager.stage(state).result()
    assert places(again) == first
    assert same(again, state)


def test_what_fails_is_said_where_it_is_waited_for(
    stager: Stager, state: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("the link is gone")

    with monkeypatch.context() as patched:
        patched.setattr(torch_checkpoint, "copying", fails)
        stager.stage(state)
        with pytest.raises(RuntimeError, match="the link is gone"):
            stager.synchronize_staging()
    assert same(stager.stage(state).result(), state)


def test_tensors_of_several_ranks_stay_what_they_are(stager: Stager) -> None:
    from torch import distributed
    from torch.distributed.tensor import DTensor, Shard, distribute_tensor

    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        mesh = distributed.init_device_mesh("cpu", (1,))
        whole = torch.arange(12.0).view(3, 4)
        staged = stager.stage({"weight": distribute_tensor(whole.clone(), mesh, [Shard(0)])}).result()["weight"]
        assert isinstance(staged, DTensor)
        assert staged.placements == (Shard(0),)
        assert torch.equal(staged.to_local(), whole)
    finally:
        distributed.destroy_process_group()


@pytest.mark.skipif("cuda" not in DEVICES, reason="needs a GPU that torch sees")
def test_a_copy_begins_after_what_the_stream_holds(stager: Stager) -> None:
    there = torch.zeros(64 << 20, dtype=torch.uint8, device="cuda")
    stager.prepare({"there": there})
    torch.cuda._sleep(200_000_000)
    there.fill_(7)
    staged = stager.stage({"there": there})
    assert (staged.result()["there"] == 7).all()
    assert staged.result()["there"].is_pinned()
