"""Batches made ahead: all of them in each epoch, on the device, in order with the consumer's work; an end anywhere."""

import dataclasses
import gc
import textwrap
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.processes import python

torch = pytest.importorskip("torch", reason="needs torch: pip install torch")
from torch.utils.data import DataLoader, Dataset, TensorDataset  # noqa: E402 - torch may be absent

import isthmus  # noqa: E402
from isthmus.errors import UsageError, WrongType  # noqa: E402
from isthmus.torch import prefetch  # noqa: E402

CUDA = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device here")
)
everywhere = pytest.mark.parametrize("device", ["cpu", CUDA])
on_cuda = pytest.mark.parametrize("device", [CUDA])


@pytest.fixture(autouse=True)
def _nothing_left_of_other_tests() -> None:
    """Garbage with tensors of a device would be freed in a worker, where torch can record no event for them."""
    gc.collect()


class Numbers(Dataset):  # type: ignore[misc]
    """As many rows as it is long; row `wrong` fails."""

    def __init__(self, wrong: int | None = None) -> None:
        self.wrong = wrong

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> dict[str, Any]:
        if index == self.wrong:
            raise ZeroDivisionError(f"row {index}")
        return {"x": torch.full((3, 300), float(index)), "y": (index, str(index))}


def loader(**options: Any) -> Any:
    return DataLoader(Numbers(), **{"batch_size": 8, **options})


@everywhere
@pytest.mark.parametrize("context", [None, "fork", "spawn"])
@pytest.mark.parametrize("pinned", [False, True])
def test_each_epoch_has_all_batches(device: str, context: str | None, pinned: bool) -> None:
    if pinned and device == "cpu":
        pytest.skip("nothing is pinned without a GPU")
    workers = {} if context is None else {"num_workers": 2, "multiprocessing_context": context}
    batches = prefetch(loader(pin_memory=pinned, **workers), device)
    assert len(batches) == 5
    for _ in range(2 if context != "spawn" else 1):
        seen = []
        for batch in batches:
            assert batch["x"].device.type == device
            assert torch.equal(batch["x"][:, 0, 0].cpu(), batch["y"][0].float().cpu())
            seen += batch["y"][1]
        assert seen == [str(number) for number in range(40)]


@everywhere
@pytest.mark.parametrize("workers", [0, 2])
def test_a_failure_of_the_loader_is_raised_where_it_is_iterated(device: str, workers: int) -> None:
    batches = iter(prefetch(DataLoader(Numbers(wrong=17), batch_size=8, num_workers=workers), device))
    next(batches)
    next(batches)
    with pytest.raises(ZeroDivisionError, match="row 17"):
        next(batches)
    with pytest.raises(StopIteration):
        next(batches)


@everywhere
@pytest.mark.parametrize("end", ["break", "close", "raise"])
def test_leaving_early_ends_the_thread(device: str, end: str) -> None:
    before = set(threading.enumerate())
    batches = iter(prefetch(loader(), device))
    next(batches)
    if end == "close":
        batches.close()  # type: ignore[attr-defined]
    elif end == "raise":
        with pytest.raises(ZeroDivisionError):
            batches.throw(ZeroDivisionError)  # type: ignore[attr-defined]
    del batches
    assert {thread for thread in threading.enumerate() if "isthmus" in thread.name} <= before


@everywhere
def test_the_process_ends_with_workers_and_batches_under_way(device: str) -> None:
    program = f"""
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    from isthmus.torch import prefetch
    if __name__ == "__main__":
        data = TensorDataset(torch.arange(1_000_000.).reshape(1000, 1000))
        batches = iter(prefetch(DataLoader(data, batch_size=10, num_workers=2), {device!r}))
        print(next(batches)[0].sum().item())
    """
    ran = python(textwrap.dedent(program))
    assert (ran.returncode, ran.stdout) == (0, "49995000.0\n"), ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_loader_of_any_kind_will_do() -> None:
    assert list(prefetch([1, "two", None], "cpu")) == [1, "two", None]
    assert list(prefetch(range(5), torch.device("cpu"), depth=9)) == [0, 1, 2, 3, 4]
    with pytest.raises(WrongType, match="a loader of type generator has no length"):
        len(prefetch((x for x in [1]), "cpu"))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((5, "cpu"), WrongType, "the loader is of type int, which cannot be iterated"),
        (([], "cpu", 0), UsageError, "depth is 0; expected 1 or more"),
        (([], "cpu", 1.5), WrongType, r"depth is 1\.5"),
        (([], "cpu", True), WrongType, "depth is True"),
        (([], "meta"), UsageError, "the device is meta"),
        (([], "nowhere"), WrongType, "the device is 'nowhere'"),
        (([], 3.5), WrongType, r"the device is 3\.5"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        prefetch(*arguments)


@dataclasses.dataclass
class Batch:
    pageable: Any
    pinned: Any
    there: Any
    strided: Any
    empty: Any
    note: str


@on_cuda
def test_every_kind_of_tensor_arrives(device: str) -> None:
    def batches() -> Iterator[Batch]:
        for number in range(6):
            base = torch.full((2000, 700), number, dtype=torch.int32)
            there = torch.full((5,), number, device=device)
            yield Batch(base, base.pin_memory(), there, base.t()[::2], torch.empty(0, 3), str(number))

    for number, batch in enumerate(prefetch(batches(), device)):
        assert batch.note == str(number)
        assert batch.there.device.type == "cuda"
        assert batch.empty.shape == (0, 3)
        assert batch.strided.shape == (350, 2000)
        for tensor in (batch.pageable, batch.pinned, batch.strided):
            assert tensor.device.type == "cuda"
            assert bool((tensor == number).all())


@on_cuda
def test_a_tensor_that_comes_twice_is_moved_once(device: str) -> None:
    tensor = torch.ones(10)
    ((first, second),) = prefetch([(tensor, tensor)], device)
    assert first is second


@on_cuda
@pytest.mark.parametrize("pinned", [False, True])
def test_memory_is_not_used_anew_while_the_consumers_work_is_under_way(device: str, pinned: bool) -> None:
    """Each batch is dropped as soon as its work, which takes long, is enqueued."""
    shape = (1 << 20,)
    sources = [torch.full(shape, float(number)) for number in range(40)]
    if pinned:
        sources = [source.pin_memory() for source in sources]
    sums = []
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for batch in prefetch(sources, device, depth=3):
            torch.cuda._sleep(20_000_000)
            sums.append(batch.double().sum())
            del batch
    torch.cuda.synchronize()
    assert [total.item() for total in sums] == [number * float(shape[0]) for number in range(40)]


@on_cuda
def test_a_batch_that_cannot_be_moved_raises_where_it_is_iterated(device: str) -> None:
    closed = isthmus.Session("cuda:0")
    closed.close()
    batches = iter(prefetch([torch.ones(5)], device, session=closed))
    with pytest.raises(UsageError, match="closed"):
        next(batches)


def test_batches_are_made_while_one_is_used() -> None:
    begun: list[int] = []

    def slow() -> Iterator[int]:
        for number in range(4):
            begun.append(number)
            yield number

    batches = iter(prefetch(slow(), "cpu", depth=2))
    assert next(batches) == 0
    begin = time.monotonic()
    while begun != [0, 1, 2]:
        assert time.monotonic() - begin < 30
        time.sleep(0.001)
    assert list(batches) == [1, 2, 3]


def test_a_dataset_in_memory_is_seen_whole() -> None:
    data = TensorDataset(torch.arange(100))
    assert torch.equal(torch.cat([x for (x,) in prefetch(DataLoader(data, batch_size=9), "cpu")]), torch.arange(100))


@on_cuda
def test_a_loader_that_writes_each_batch_to_the_same_memory(device: str) -> None:
    """It is asked for the next one only when that has been copied."""

    def batches() -> Iterator[Any]:
        buffer = torch.empty(1 << 20)
        for number in range(6):
            yield buffer.fill_(float(number))

    assert [batch[[0, -1]].tolist() for batch in prefetch(batches(), device)] == [[n, n] for n in range(6)]


@on_cuda
@pytest.mark.parametrize("kept", [False, True], ids=["generator", "list"])
def test_copies_do_not_wait_for_the_consumers_work(device: str, kept: bool) -> None:
    given = [torch.full((1 << 20,), float(number)) for number in range(4)]
    batches = iter(prefetch(given if kept else (each for each in given), device, depth=1))
    next(batches)
    ended = torch.cuda.Event()
    torch.cuda._sleep(4_000_000_000)  # seconds of the consumer's work
    ended.record()
    next(batches)
    next(batches)
    assert not ended.query()
    torch.cuda.synchronize()
