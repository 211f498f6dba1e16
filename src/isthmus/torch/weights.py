"""Weights from safetensors files: from the page cache or the disk to the device, without an array on the host."""

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any, BinaryIO

import torch

import isthmus
from isthmus.errors import RunFileError, UsageError, WeightsFileError, WrongType
from isthmus.torch.copying import torch_device
from isthmus.transfer.file_copies import open_source
from isthmus.weights import Header, Tensor, place, read_header, read_index

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
# Between so many bytes Ctrl-C is looked for.
_READ_BYTES = 1 << 30


def load_file(
    path: str | os.PathLike[str], device: object = "cuda", *, session: isthmus.Session | None = None
) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file by their names, on a device.

    An index (``*.safetensors.index.json``) gives those of all files that it names. Threads read each file into
    page-locked chunks that cross the link meanwhile, after what the current stream holds. The tensors of a file are
    views of one allocation, each aligned to 16 bytes: it is given back when the last of them has gone, and
    ``tensor.clone()`` has memory of its own.

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
        return _load(source, None, target, session)
    loaded: dict[str, torch.Tensor] = {}
    for shard, names in _index(source).items():
        loaded |= _load(shard, names, target, session)
    return loaded


def _index(path: Path) -> dict[Path, set[str]]:
    try:
        return read_index(path)
    except RunFileError as error:
        raise UsageError(str(error)) from None


def _load(
    path: Path, names: Collection[str] | None, device: torch.device, session: isthmus.Session | None
) -> dict[str, torch.Tensor]:
    with open_source(path) as file:
        header = read_header(file, str(path))
        wanted = _wanted(header, names, path)
        dtypes = {tensor.name: _dtype(tensor, path) for tensor in wanted}
        return _read(file, header, wanted, dtypes, device, session)


def _read(
    file: BinaryIO,
    header: Header,
    wanted: list[Tensor],
    dtypes: dict[str, torch.dtype],
    device: torch.device,
    session: isthmus.Session | None,
) -> dict[str, torch.Tensor]:
    placement = place(wanted)
    block = torch.empty(placement.size, dtype=torch.uint8, device=device)
    stream = torch.cuda.current_stream(device) if device.type == "cuda" else None
    for run in placement.runs:
        for at in range(0, run.size, _READ_BYTES):
            size = min(_READ_BYTES, run.size - at)
            part: Any = block[run.place + at : run.place + at + size]
            offset = header.data_begin + run.begin + at
            isthmus.copy_from_file(part, file, offset=offset, stream=stream, session=session)
    loaded = {}
    for tensor in wanted:
        dtype = dtypes[tensor.name]
        if tensor.name in placement.places:
            begin = placement.places[tensor.name]
            loaded[tensor.name] = block[begin : begin + tensor.end - tensor.begin].view(dtype).view(tensor.shape)
        else:
            loaded[tensor.name] = torch.empty(tensor.shape, dtype=dtype, device=device)
    return loaded


def _wanted(header: Header, names: Collection[str] | None, path: Path) -> list[Tensor]:
    if names is None:
        return list(header.tensors)
    wanted = [tensor for tensor in header.tensors if tensor.name in names]
    if len(wanted) < len(names):
        absent = sorted(set(names) - {tensor.name for tensor in wanted})[0]
        raise WeightsFileError(f"{path}: has no tensor {absent!r}, which the index says is there")
    return wanted


def _dtype(tensor: Tensor, path: Path) -> torch.dtype:
    name = _DTYPES.get(tensor.dtype, "")
    dtype = getattr(torch, name, None) if name else None
    if not isinstance(dtype, torch.dtype):
        raise WeightsFileError(
            f"{path}: the tensor {tensor.name!r} is of the type {tensor.dtype}, which torch {torch.__version__} has "
            "no type for"
        )
    return dtype
