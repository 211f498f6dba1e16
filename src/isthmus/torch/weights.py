"""Weights from safetensors files: from the page cache or the disk to the device, without an array on the host."""

import contextlib
import dataclasses
import math
import operator
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec
import torch

import isthmus
from isthmus.errors import RunFileError, UsageError, WeightsFileError, WrongType
from isthmus.torch.copying import torch_device
from isthmus.torch.file_reading import FileReader
from isthmus.torch.slices import at_places
from isthmus.transfer.file_copies import open_source
from isthmus.weights import BITS, Header, Tensor, parse_header, place, read_header_text, read_index, whole_file

_DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "I16": "int16",
    "U16": "uint16",
    "F16": "float16",
    "BF16": "bfloat16",
    "I32": "int32",
    "U32": "uint32",
    "F32": "float32",
    "C64": "complex64",
    "F64": "float64",
    "I64": "int64",
    "U64": "uint64",
}
# Parts of rows from here on are read one by one; shorter ones with their rows, so many bytes of them at once.
_LONG_PART_BYTES = 256 << 10
_ROWS_BYTES = 64 << 20

#: From a tensor's name and shape: the dimension that is cut, where the part begins and where it ends; None: all of it.
Part = Callable[[str, tuple[int, ...]], tuple[int, int, int] | None]


def load_file(
    path: str | os.PathLike[str],
    device: object = "cuda",
    *,
    part: Part | None = None,
    session: isthmus.Session | None = None,
) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file by their names, on a device.

    An index (``*.safetensors.index.json``) gives those of all files that it names. Threads read each file into
    page-locked chunks that cross the link meanwhile, after what the current stream holds. The tensors of a file are
    views of one allocation, each aligned to 16 bytes: it is given back when the last of them has gone, and
    ``tensor.clone()`` has memory of its own.

    With `part` only a part of each tensor is loaded, as for one rank of several::

        def part(name, shape):
            return (0, rank * shape[0] // ranks, (rank + 1) * shape[0] // ranks) if shape else None

        load_file(path, part=part)

    The rest takes no memory on the device and does not cross the link. It is not read either, except where another
    dimension than the first is cut into parts of less than 256 KiB a row: such rows are read whole. Tensors that are
    cut in another dimension have memory of their own.

    Raises WeightsFileError for a file that is not as its format says, or of a type that this torch has not; OSError
    where it cannot be opened; CopyFailed where it is cut off while it is read; torch.OutOfMemoryError.
    """
    if not isinstance(path, str | os.PathLike):
        raise WrongType(f"the path is of type {type(path).__name__}; expected a path of a safetensors file")
    source = Path(path)
    target = torch_device(device)
    if target.type == "cuda" and target.index is None:
        target = torch.device("cuda", torch.cuda.current_device())
    if not source.name.endswith(".index.json"):
        return _load(source, None, target, part, session)
    loaded: dict[str, torch.Tensor] = {}
    for shard, names in _index(source).items():
        loaded |= _load(shard, names, target, part, session)
    return loaded


def _index(path: Path) -> dict[Path, set[str]]:
    try:
        return read_index(path)
    except RunFileError as error:
        raise UsageError(str(error)) from None


@dataclasses.dataclass(frozen=True)
class _Cut:
    """The same part of each of several rows: what remains of a tensor that is cut in another dimension than the first.

    Bytes; `part_begin` is counted from a row's begin.
    """

    rows: int
    row_bytes: int
    part_begin: int
    part_bytes: int


def _load(
    path: Path, names: Collection[str] | None, device: torch.device, part: Part | None, session: isthmus.Session | None
) -> dict[str, torch.Tensor]:
    with open_source(path) as file:
        text = read_header_text(file, str(path))
        with FileReader(file, text.data_begin, device, session) as reader:
            if part is None:
                # Nearly every file comes as it is, each tensor aligned. Where there is no room, the header may say why.
                with contextlib.suppress(RuntimeError):
                    reader.block(text.data_bytes, whole_file(text.data_bytes))
            header = parse_header(text, str(path))
            wanted = _wanted(header, names, path)
            dtypes = _dtypes(wanted, path)
            cuts: dict[str, _Cut] = {}
            if part is not None:
                wanted = [_cut(tensor, part(tensor.name, tensor.shape), cuts) for tensor in wanted]
            return _read(reader, wanted, cuts, dtypes, device)


def _cut(tensor: Tensor, part: tuple[int, int, int] | None, cuts: dict[str, _Cut]) -> Tensor:
    """The tensor with the part's shape, and its bytes where these follow one another; else they are in `cuts`."""
    if part is None:
        return tensor
    try:
        dimension, begin, end = (operator.index(number) for number in part)
    except (TypeError, ValueError):
        raise WrongType(
            f"the part of {tensor.name!r} is {part!r}; expected None, or three ints: dimension, begin, end"
        ) from None
    if not (0 <= dimension < len(tensor.shape) and 0 <= begin <= end <= tensor.shape[dimension]):
        raise UsageError(
            f"the part of {tensor.name!r} is dimension {dimension} from {begin} to {end}, and its shape is "
            f"{list(tensor.shape)}; expected a dimension that it has, and a begin and an end within its length"
        )
    shape = (*tensor.shape[:dimension], end - begin, *tensor.shape[dimension + 1 :])
    rows = math.prod(tensor.shape[:dimension])
    step = math.prod(tensor.shape[dimension + 1 :]) * BITS[tensor.dtype] // 8
    cut = _Cut(rows, tensor.shape[dimension] * step, begin * step, (end - begin) * step)
    if rows * cut.part_bytes == 0:
        return msgspec.structs.replace(tensor, shape=shape, end=tensor.begin)
    if rows == 1 or cut.part_bytes == cut.row_bytes:
        first = tensor.begin + cut.part_begin
        return msgspec.structs.replace(tensor, shape=shape, begin=first, end=first + rows * cut.part_bytes)
    cuts[tensor.name] = cut
    return msgspec.structs.replace(tensor, shape=shape)


def _read(
    reader: FileReader,
    wanted: Sequence[Tensor],
    cuts: dict[str, _Cut],
    dtypes: dict[str, torch.dtype],
    device: torch.device,
) -> dict[str, torch.Tensor]:
    whole = [tensor for tensor in wanted if tensor.begin < tensor.end and tensor.name not in cuts]
    placement = place(whole)
    block = reader.block(placement.size, placement.runs)
    # Thousands of tensors take about as long as reading: they are made meanwhile.
    names = [tensor.name for tensor in whole]
    shapes = [tensor.shape for tensor in whole]
    slices = at_places(block, [dtypes[tensor.dtype] for tensor in whole], shapes, placement.places)
    loaded: dict[str, torch.Tensor] = dict(zip(names, slices, strict=True))
    if len(whole) < len(wanted):
        for tensor in wanted:
            if tensor.name not in loaded:
                loaded[tensor.name] = torch.empty(tensor.shape, dtype=dtypes[tensor.dtype], device=device)
        loaded = {tensor.name: loaded[tensor.name] for tensor in wanted}  # in the order of the file
    reader.wait()
    for tensor in wanted if cuts else ():
        if cut := cuts.get(tensor.name):
            there = loaded[tensor.name].view(-1).view(torch.uint8).view(cut.rows, cut.part_bytes)
            _read_cut(there, reader, tensor.begin, cut)
    return loaded


def _read_cut(there: torch.Tensor, reader: FileReader, begin: int, cut: _Cut) -> None:
    if cut.part_bytes >= _LONG_PART_BYTES:
        for row in range(cut.rows):
            reader.read(there[row], begin + row * cut.row_bytes + cut.part_begin)
        return
    at_once = min(max(_ROWS_BYTES // cut.row_bytes, 1), cut.rows)
    rows = torch.empty((at_once, cut.row_bytes), dtype=torch.uint8, device="cpu")
    for first in range(0, cut.rows, at_once):
        some = rows[: min(at_once, cut.rows - first)]
        reader.read(some, begin + first * cut.row_bytes)
        there_now, here = there[first : first + len(some)], some[:, cut.part_begin : cut.part_begin + cut.part_bytes]
        reader.copy(there_now, here)


def _wanted(header: Header, names: Collection[str] | None, path: Path) -> Sequence[Tensor]:
    if names is None:
        return header.tensors
    wanted = [tensor for tensor in header.tensors if tensor.name in names]
    if len(wanted) < len(names):
        absent = sorted(set(names) - {tensor.name for tensor in wanted})[0]
        raise WeightsFileError(f"{path}: has no tensor {absent!r}, which the index says is there")
    return wanted


def _dtypes(tensors: Sequence[Tensor], path: Path) -> dict[str, torch.dtype]:
    """Torch's types by the names of the format."""
    dtypes = {}
    for name in dict.fromkeys(tensor.dtype for tensor in tensors):
        dtype = getattr(torch, _DTYPES.get(name, ""), None)
        if not isinstance(dtype, torch.dtype):
            first = next(tensor for tensor in tensors if tensor.dtype == name)
            raise WeightsFileError(
                f"{path}: the tensor {first.name!r} is of the type {name}, which torch {torch.__version__} has no type "
                "for"
            )
        dtypes[name] = dtype
    return dtypes
