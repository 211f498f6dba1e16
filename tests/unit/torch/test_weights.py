"""Weights by `load_file`: every type, empty and odd tensors, several files, and files that are wrong."""

import concurrent.futures
import json
import os
import struct
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install torch")
import isthmus  # noqa: E402 - torch may be absent
from isthmus.errors import CopyFailed, UsageError, WeightsFileError, WrongType  # noqa: E402 - torch may be absent
from isthmus.torch import load_file  # noqa: E402
from isthmus.torch.file_reading import FileReader  # noqa: E402
from isthmus.torch.weights import _DTYPES  # noqa: E402
from isthmus.weights import BITS, Run  # noqa: E402

CUDA = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device here")
)
everywhere = pytest.mark.parametrize("device", ["cpu", CUDA])


def write(path: Path, tensors: dict[str, tuple[str, list[int]]], seed: int = 0) -> dict[str, bytes]:
    """A file with random bytes as tensors, and these."""
    random = np.random.default_rng(seed)
    header: dict[str, Any] = {}
    data: dict[str, bytes] = {}
    at = 0
    for name, (dtype, shape) in tensors.items():
        size = int(np.prod(shape)) * BITS[dtype] // 8
        data[name] = bytes(random.integers(0, 2, size, np.uint8)) if dtype == "BOOL" else random.bytes(size)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data.values()))
    return data


def bytes_of(tensor: Any) -> bytes:
    return bytes(tensor.cpu().contiguous().reshape(-1).view(torch.uint8).numpy()) if tensor.numel() else b""


@everywhere
def test_every_type_arrives_aligned(tmp_path: Path, device: str) -> None:
    known = {name: own for name, own in _DTYPES.items() if hasattr(torch, own)}
    tensors = {name: (name, [3, 7]) for name in known} | {"scalar": ("F32", []), "empty": ("F16", [0, 5])}
    tensors |= {"ones": ("C64", [1, 2, 1, 3, 1]), "long": ("I64", [2, 3, 1, 4])}
    data = write(tmp_path / "x", tensors)
    loaded = load_file(tmp_path / "x", device)
    assert list(loaded) == list(tensors)
    for name, tensor in loaded.items():
        dtype, shape = tensors[name]
        assert tensor.dtype == getattr(torch, known[dtype])
        assert list(tensor.shape) == shape
        assert tensor.stride() == torch.empty(shape, dtype=tensor.dtype).stride()
        assert tensor.device.type == device
        assert tensor.data_ptr() % 16 == 0
        assert bytes_of(tensor) == data[name]


@everywhere
def test_large_tensors_are_slices_of_one_block(tmp_path: Path, device: str) -> None:
    data = write(tmp_path / "x", {str(number): ("BF16", [500, 1024]) for number in range(12)})
    loaded = load_file(str(tmp_path / "x"), device)
    assert {name: bytes_of(tensor) for name, tensor in loaded.items()} == data
    assert len({tensor.untyped_storage().data_ptr() for tensor in loaded.values()}) == 1
    loaded["3"].add_(1)
    assert loaded["4"]._version == 0, "a change of one tensor counts as one of another"


@everywhere
def test_types_among_one_another_are_slices_of_one_block_too(tmp_path: Path, device: str) -> None:
    kinds = [("BF16", [3, 8]), ("F32", [5]), ("F32", []), ("U8", [7, 1]), ("F64", [2, 2, 2])]
    data = write(tmp_path / "x", {f"{number:03}": kinds[number % len(kinds)] for number in range(99)})
    loaded = load_file(str(tmp_path / "x"), device)
    assert list(loaded) == sorted(loaded)
    assert {name: bytes_of(tensor) for name, tensor in loaded.items()} == data
    assert {tensor.is_contiguous() for tensor in loaded.values()} == {True}
    loaded["003"].add_(1)
    assert loaded["004"]._version == 0


@everywhere
@pytest.mark.parametrize("error", [KeyboardInterrupt, WeightsFileError])
def test_what_is_under_way_ends_where_loading_ends(
    tmp_path: Path, device: str, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """Nothing writes to the memory afterwards, and no descriptor or thread is left."""
    write(tmp_path / "x", {"a": ("U8", [50_000_000])})
    load_file(tmp_path / "x", device)
    before = sorted(Path("/proc/self/fd").iterdir())
    threads = threading.active_count()

    def interrupted(*_: object) -> None:
        raise error

    monkeypatch.setattr("isthmus.torch.weights.parse_header", interrupted)
    with pytest.raises(error):
        load_file(tmp_path / "x", device)
    assert sorted(Path("/proc/self/fd").iterdir()) == before
    assert threading.active_count() == threads
    monkeypatch.undo()
    assert len(load_file(tmp_path / "x", device)["a"]) == 50_000_000


def test_a_read_that_is_stopped_ends_with_its_next_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is read in its place is right."""
    (tmp_path / "x").write_bytes(np.random.default_rng(0).bytes(4 << 20))
    data = torch.from_numpy(np.fromfile(tmp_path / "x", np.uint8))
    replaced = threading.Event()
    failures: list[CopyFailed] = []
    dup2, plain = os.dup2, isthmus.copy_from_file

    def late(*arguments: Any, **options: Any) -> None:
        replaced.wait()
        try:
            plain(*arguments, **options)
        except CopyFailed as error:
            failures.append(error)
            raise

    def replace(*arguments: Any, **options: Any) -> None:
        dup2(*arguments, **options)
        replaced.set()

    monkeypatch.setattr(isthmus, "copy_from_file", late)
    monkeypatch.setattr(os, "dup2", replace)
    with (tmp_path / "x").open("rb") as file, FileReader(file, 5, torch.device("cpu"), None) as reader:
        reader.block(1 << 20, (Run(0, 0, 1 << 20),))
        block = reader.block(3000, (Run(0, 0, 1000), Run(5000, 1000, 2000)))
        assert block is reader.block(3000, (Run(0, 0, 1000), Run(5000, 1000, 2000)))
        reader.wait()
    assert torch.equal(block, torch.cat([data[5:1005], data[5005:7005]]))
    assert ["the file ends at byte 0" in str(failure) for failure in failures] == [True]


@everywhere
def test_an_index_gives_the_tensors_of_all_files(tmp_path: Path, device: str) -> None:
    first = write(tmp_path / "1.safetensors", {"a": ("F32", [50, 3]), "unnamed": ("U8", [5]), "b": ("I64", [9])})
    second = write(tmp_path / "2.safetensors", {"c": ("BF16", [999])}, 1)
    index = tmp_path / "model.safetensors.index.json"
    names = {"a": "1.safetensors", "c": "2.safetensors", "b": "1.safetensors"}
    index.write_text(json.dumps({"weight_map": names}))
    loaded = load_file(index, device)
    del first["unnamed"]
    assert {name: bytes_of(tensor) for name, tensor in loaded.items()} == first | second
    index.write_text(json.dumps({"weight_map": names | {"d": "2.safetensors"}}))
    with pytest.raises(WeightsFileError, match=r"2\.safetensors: has no tensor 'd', which the index says is there"):
        load_file(index, device)
    index.write_text(json.dumps({"weight_map": {"a": "../1.safetensors"}}))
    with pytest.raises(WeightsFileError, match="beside the index"):
        load_file(index, device)


@everywhere
def test_a_file_cut_off_while_it_is_read_is_an_error(
    tmp_path: Path, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    write(path, {"a": ("F32", [1_000_000])})
    empty = torch.empty

    def cut(*arguments: Any, **options: Any) -> Any:
        """What happens between the check of the header and the first read."""
        path.write_bytes(path.read_bytes()[:1_000_000])
        return empty(*arguments, **options)

    monkeypatch.setattr(torch, "empty", cut)
    with pytest.raises(CopyFailed, match="the file ends at byte 1000000,"):
        load_file(path, device)


def test_types_that_torch_has_not_are_named(tmp_path: Path) -> None:
    write(tmp_path / "x", {"a": ("F6_E2M3", [8])})
    with pytest.raises(WeightsFileError, match=r"'a' is of the type F6_E2M3, which torch .* has no type for"):
        load_file(tmp_path / "x", "cpu")


def test_what_is_no_file_of_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_file(tmp_path / "absent", "cpu")
    with pytest.raises(FileNotFoundError):
        load_file(tmp_path / "absent.index.json", "cpu")
    with pytest.raises(UsageError, match="expected a plain file"):
        load_file("/dev/null", "cpu")
    with pytest.raises(WrongType, match="the path is of type int"):
        load_file(5, "cpu")  # type: ignore[arg-type]
    (tmp_path / "x").write_bytes(b"{}")
    with pytest.raises(WeightsFileError, match="2 bytes, and a safetensors file begins with 8"):
        load_file(tmp_path / "x", "cpu")


def test_files_of_the_library_itself_are_read(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.torch", reason="needs safetensors: pip install safetensors")
    tensors = {"w": torch.randn(33, 5).bfloat16(), "b": torch.randn(7), "one": torch.tensor(3)}
    library.save_file(tensors, tmp_path / "x", metadata={"format": "pt"})
    loaded = load_file(tmp_path / "x", "cpu")
    assert loaded.keys() == tensors.keys()
    assert all(torch.equal(loaded[name], tensor) for name, tensor in tensors.items())


@everywhere
@pytest.mark.parametrize("dimension", [0, 1, 2])
def test_the_parts_of_ranks_are_the_whole(tmp_path: Path, device: str, dimension: int) -> None:
    """Odd shapes and types, rows that are read whole and alone, and several blocks of rows."""
    shapes = {"short": ("BF16", [7, 5, 3]), "odd": ("U8", [3, 7, 11]), "long": ("F32", [3, 2, 150_001])}
    shapes["many"] = ("F16", [9, 3, 5001])
    write(tmp_path / "x", shapes)
    whole = load_file(tmp_path / "x", device)

    def loaded(rank: int) -> Any:
        def part(_: str, shape: tuple[int, ...]) -> tuple[int, int, int]:
            length = shape[dimension]
            return dimension, rank * length // 3, (rank + 1) * length // 3

        return load_file(tmp_path / "x", device, part=part)

    ranks = [loaded(rank) for rank in range(3)]
    for name, tensor in whole.items():
        joined = torch.cat([rank[name].cpu() for rank in ranks], dimension)
        assert joined.shape == tensor.shape
        assert bytes_of(joined) == bytes_of(tensor)
        assert all(rank[name].is_contiguous() and rank[name].data_ptr() % 16 == 0 for rank in ranks)


@everywhere
def test_rows_are_read_in_several_blocks(tmp_path: Path, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isthmus.torch.weights._ROWS_BYTES", 1000)
    write(tmp_path / "x", {"a": ("I16", [101, 70]), "wide": ("I16", [3, 900]), "rest": ("F32", [5])})
    parts = {"a": (1, 3, 64), "wide": (1, 0, 899)}
    whole = load_file(tmp_path / "x", device)
    cut = load_file(tmp_path / "x", device, part=lambda name, _: parts.get(name))
    assert torch.equal(cut["a"], whole["a"][:, 3:64])
    assert torch.equal(cut["wide"], whole["wide"][:, :899])
    assert bytes_of(cut["rest"]) == bytes_of(whole["rest"])


def test_only_the_part_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "x", {"a": ("U8", [8, 1000]), "rows": ("U8", [4, 600_000])})
    sizes: list[int] = []
    plain = isthmus.copy_from_file

    def counted(dst: Any, *arguments: Any, **options: Any) -> None:
        sizes.append(dst.nbytes)
        plain(dst, *arguments, **options)

    monkeypatch.setattr(isthmus, "copy_from_file", counted)
    cut = load_file(tmp_path / "x", "cpu", part=lambda name, _: (0, 2, 4) if name == "a" else (1, 0, 300_000))
    assert {name: tuple(tensor.shape) for name, tensor in cut.items()} == {"a": (2, 1000), "rows": (4, 300_000)}
    assert sizes == [2000] + [300_000] * 4


@everywhere
@pytest.mark.parametrize("part", [(0, 2, 2), (1, 5, 5), (1, 0, 0)])
def test_empty_parts(tmp_path: Path, device: str, part: tuple[int, int, int]) -> None:
    write(tmp_path / "x", {"a": ("F32", [4, 5]), "b": ("F32", [6, 5])})
    shape = [4, 5]
    shape[part[0]] = 0
    cut = load_file(tmp_path / "x", device, part=lambda name, _: part if name == "a" else None)
    assert list(cut["a"].shape) == shape
    assert list(cut["b"].shape) == [6, 5]


@pytest.mark.parametrize(
    ("part", "error", "message"),
    [
        ((2, 0, 1), UsageError, r"the part of 'a' is dimension 2 from 0 to 1, and its shape is \[4, 5\]"),
        ((-1, 0, 1), UsageError, "dimension -1"),
        ((0, 0, 5), UsageError, "from 0 to 5"),
        ((0, -1, 2), UsageError, "from -1 to 2"),
        ((0, 3, 2), UsageError, "from 3 to 2"),
        ((0, 1), WrongType, r"is \(0, 1\); expected None, or three ints"),
        ((0, 0.5, 2), WrongType, "three ints"),
        (7, WrongType, "the part of 'a' is 7"),
    ],
)
def test_parts_that_make_no_sense(tmp_path: Path, part: Any, error: type[Exception], message: str) -> None:
    write(tmp_path / "x", {"a": ("F32", [4, 5])})
    with pytest.raises(error, match=message):
        load_file(tmp_path / "x", "cpu", part=lambda *_: part)


@everywhere
def test_a_file_cut_off_within_a_part(tmp_path: Path, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    write(path, {"a": ("F32", [1000, 1000])})
    empty = torch.empty

    def cut(*arguments: Any, **options: Any) -> Any:
        path.write_bytes(path.read_bytes()[:1_000_000])
        return empty(*arguments, **options)

    monkeypatch.setattr(torch, "empty", cut)
    with pytest.raises(CopyFailed, match="the file ends at byte 1000000,"):
        load_file(path, device, part=lambda *_: (1, 0, 500))


@pytest.mark.parametrize("what", ["thread", "descriptor"])
def test_without_a_further_thread_or_descriptor_the_bytes_arrive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    path = tmp_path / "weights.safetensors"
    expected = write(path, {"a": ("F32", [1000, 10]), "b": ("U8", [3])})

    def fail(*_: object) -> None:
        raise RuntimeError("can't start new thread") if what == "thread" else OSError("too many open files")

    if what == "thread":
        monkeypatch.setattr(concurrent.futures.ThreadPoolExecutor, "submit", fail)
    else:
        monkeypatch.setattr(os, "dup", fail)
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert {name: bytes_of(tensor) for name, tensor in load_file(path, "cpu").items()} == expected
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_parts_do_not_follow_the_default_device(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    write(path, {"a": ("F32", [40, 30])})
    whole = load_file(path, "cpu")["a"]
    with torch.device("meta"):
        part = load_file(path, "cpu", part=lambda name, shape: (1, 10, 20))["a"]
    assert torch.equal(part.view(torch.int32), whole[:, 10:20].contiguous().view(torch.int32))
