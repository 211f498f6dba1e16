"""The header of a safetensors file (8 bytes of length, JSON, then the tensors), and the index of several files.

Files of weights come from strangers, so that each number is checked before anything is done by it. The format:
https://github.com/huggingface/safetensors#format
"""

import json
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import msgspec

from isthmus.errors import WeightsFileError
from isthmus.files import open_plain

MOST_HEADER_BYTES = 100_000_000
_LENGTH_BYTES = 8
_MOST_BYTES = (1 << 63) - 1
_METADATA = "__metadata__"
# No more than tensors of torch and NumPy have: products of so many lengths are soon made.
_USUAL_DIMENSIONS = 64

# Bits of one element by the names of the format.
BITS = {
    "BOOL": 8,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "C64": 64,
    "F64": 64,
    "I64": 64,
    "U64": 64,
}
SUFFIX = ".index.json"


# Files have thousands: what the garbage collector does not look at does not set it off.
class Tensor(msgspec.Struct, frozen=True, gc=False):
    """One tensor: the name of its type, its shape, and where its bytes are, counted from the end of the header."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class Header:
    """What a file holds: tensors in the order of their bytes, and where in the file these begin."""

    tensors: tuple[Tensor, ...]
    metadata: dict[str, str]
    data_begin: int


@dataclass(frozen=True)
class HeaderText:
    """A header as it is written, and how many bytes of tensors the file has behind it, from `data_begin` on."""

    text: bytes
    data_bytes: int

    @property
    def data_begin(self) -> int:
        """Bytes from the beginning of the file."""
        return _LENGTH_BYTES + len(self.text)


def read_header_text(file: BinaryIO, name: str) -> HeaderText:
    """The header of an open file, which is called `name` in messages, before it is read as JSON.

    Raises WeightsFileError where the file is no longer than its header; OSError where it cannot be read.
    """
    size = os.fstat(file.fileno()).st_size
    length_bytes = os.pread(file.fileno(), _LENGTH_BYTES, 0)
    if len(length_bytes) < _LENGTH_BYTES:
        raise WeightsFileError(f"{name}: {size} bytes, and a safetensors file begins with {_LENGTH_BYTES} of length")
    length = int.from_bytes(length_bytes, "little")
    if length > MOST_HEADER_BYTES:
        raise WeightsFileError(
            f"{name}: the header is said to have {length} bytes, and the format allows {MOST_HEADER_BYTES}; is it a "
            "safetensors file?"
        )
    if length > size - _LENGTH_BYTES:
        raise WeightsFileError(
            f"{name}: the header is said to have {length} bytes, and {size - _LENGTH_BYTES} are left of the file: it "
            "was cut off; get it again"
        )
    pieces = []
    at = 0
    while at < length and (piece := os.pread(file.fileno(), length - at, _LENGTH_BYTES + at)):
        pieces.append(piece)
        at += len(piece)
    text = b"".join(pieces)
    if len(text) < length:
        raise WeightsFileError(f"{name}: the file was cut off while its header was read; get it again")
    return HeaderText(text, size - _LENGTH_BYTES - length)


def parse_header(header: HeaderText, name: str) -> Header:
    """What a header says. Raises WeightsFileError unless it is all that the format asks for.

    That is tensors that fill the rest of the file without gaps, each as long as its shape and type say.
    """
    return _usual(header.text, header.data_bytes) or _checked(header.text, header.data_bytes, name)


class _Offsets(msgspec.Struct, gc=False, array_like=True):
    begin: int
    end: int


class _Entry(msgspec.Struct, gc=False):
    """A tensor as headers have it."""

    dtype: str
    shape: tuple[int, ...]
    data_offsets: _Offsets


_decoder = msgspec.json.Decoder(dict[str, _Entry])
_encoder = msgspec.json.Encoder()
# Where the metadata are first, and tensors follow.
_FIRST_METADATA = re.compile(rb'\{ *"__metadata__" *: *(\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}) *, *(?=")', re.DOTALL)
# Longer metadata are left to the slower look, since each character is a step to go back to.
_MOST_METADATA_BYTES = 1 << 18


class _Sizes(dict[tuple[str, tuple[int, ...]], int]):
    """Bytes by type and shape, of which files with thousands of tensors have few. Raises KeyError for what has none."""

    def __missing__(self, kind: tuple[str, tuple[int, ...]]) -> int:
        dtype, shape = kind
        if len(shape) > _USUAL_DIMENSIONS:
            raise KeyError(kind)
        bits = math.prod(shape) * BITS[dtype]
        if bits % 8 or min(shape, default=0) < 0:
            raise KeyError(kind)
        self[kind] = bits // 8
        return bits // 8


def _usual(text: bytes, data_bytes: int) -> Header | None:
    """What _checked() makes of the header of nearly every file, in a tenth of the time; None where it is to look."""
    try:
        metadata: dict[str, str] = {}
        rest = text
        if not text.startswith(b"{"):
            return None
        if first := _FIRST_METADATA.match(text, 0, _MOST_METADATA_BYTES):
            metadata = _metadata(parse_object(first[1], ""), "")
            rest = b"{" + text[first.end() :]
        entries = _decoder.decode(rest)
        # What was read is all there was, if it gives the same text but for spaces: no name came twice, nothing was
        # passed over, and no number was written as another.
        if _METADATA in entries or _encoder.encode(entries).replace(b" ", b"") != rest.replace(b" ", b""):
            return None
        sizes = _Sizes()
        tensors = []
        at = 0
        for name, entry in entries.items():
            begin, end = entry.data_offsets.begin, entry.data_offsets.end
            if begin != at or end - begin != sizes[entry.dtype, entry.shape]:
                return None
            tensors.append(Tensor(name, entry.dtype, entry.shape, begin, end))
            at = end
    except (WeightsFileError, msgspec.MsgspecError, ValueError, KeyError, OverflowError, RecursionError):
        return None
    return Header(tuple(tensors), metadata, _LENGTH_BYTES + len(text)) if at == data_bytes else None


def _checked(text: bytes, data_bytes: int, name: str) -> Header:
    if not text.startswith(b"{"):
        raise WeightsFileError(f"{name}: the header begins with {text[:8]!r}; expected '{{' of a JSON object")
    entries = parse_object(text, f"{name}: the header")
    metadata = _metadata(entries.pop(_METADATA, {}), name)
    tensors = sorted(
        (_tensor(key, value, name) for key, value in entries.items()), key=lambda one: (one.begin, one.end)
    )
    at = 0
    for tensor in tensors:
        if tensor.begin != at:
            what = "a gap before" if tensor.begin > at else "an overlap with"
            raise WeightsFileError(
                f"{name}: {what} {_short(tensor.name)}, whose bytes begin at {tensor.begin}; expected {at}, the end of "
                "those before it"
            )
        at = tensor.end
    if at != data_bytes:
        advice = "it was cut off; get it again" if at > data_bytes else "what follows is none of the tensors'"
        raise WeightsFileError(
            f"{name}: the tensors have {at} bytes, and the file has {data_bytes} after the header: {advice}"
        )
    return Header(tuple(tensors), metadata, _LENGTH_BYTES + len(text))


def _metadata(metadata: object, name: str) -> dict[str, str]:
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise WeightsFileError(f"{name}: {_METADATA} is {_short(metadata)}; expected an object of texts")
    return metadata


def _tensor(key: str, value: object, name: str) -> Tensor:
    try:
        return _read_tensor(key, value)
    except _Unlike as error:  # a file has thousands of tensors, and most messages are of none
        raise WeightsFileError(f"{name}: the tensor {_short(key)}{error}") from None


class _Unlike(Exception):
    """What is wrong with a tensor, which follows its name."""


def _read_tensor(key: str, value: object) -> Tensor:
    if not isinstance(value, dict) or not {"dtype", "shape", "data_offsets"} <= value.keys():
        raise _Unlike(f" is {_short(value)}; expected an object with dtype, shape and data_offsets")
    dtype = value["dtype"]
    if not isinstance(dtype, str) or dtype not in BITS:
        raise _Unlike(f" is of the type {_short(dtype)}; known are {', '.join(BITS)}")
    shape = _wholes(value["shape"])
    if shape is None:
        raise _Unlike(f" has the shape {_short(value['shape'])}; expected a list of whole numbers")
    offsets = _wholes(value["data_offsets"])
    if offsets is None or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise _Unlike(f" has the data_offsets {_short(value['data_offsets'])}; expected where its bytes begin and end")
    bits = _product(shape) * BITS[dtype]
    if bits // 8 > _MOST_BYTES:
        raise _Unlike(f" of shape {_short(list(shape))} is larger than any memory")
    if bits % 8 != 0 or bits // 8 != offsets[1] - offsets[0]:
        raise _Unlike(
            f", {dtype} of shape {_short(list(shape))}, takes {bits / 8:.16g} bytes, and the file gives it "
            f"{offsets[1] - offsets[0]}"
        )
    return Tensor(key, dtype, shape, *offsets)


def _product(shape: tuple[int, ...]) -> int:
    """How many elements; of hostile shapes no more than shows that they are too many."""
    if 0 in shape:
        return 0
    elements = 1
    for length in shape:
        elements *= length
        if elements > _MOST_BYTES:
            break
    return elements


def _wholes(value: object) -> tuple[int, ...] | None:
    """Whole numbers of at least 0, or None for anything else."""
    if not isinstance(value, list):
        return None
    for one in value:  # a generator takes three times as long, twice a tensor
        if type(one) is not int or one < 0:
            return None
    return tuple(value)


def _short(value: object) -> str:
    """What was found, not longer than a line."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def parse_object(text: bytes, what: str) -> dict[str, Any]:
    """The object that a text is. Raises WeightsFileError, which begins with `what`, for anything else."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise WeightsFileError(f"{what} names {twice[:80]!r} twice")

    def no_number(constant: str) -> NoReturn:
        raise WeightsFileError(f"{what} holds {constant}, which is no number of JSON")

    try:
        parsed = json.loads(text.decode(), object_pairs_hook=unique, parse_constant=no_number)
    except RecursionError:
        raise WeightsFileError(f"{what} nests its brackets more deeply than any file does") from None
    except WeightsFileError:
        raise
    except ValueError as error:  # of UTF-8, of JSON, and of integers with thousands of digits
        raise WeightsFileError(f"{what} is no JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise WeightsFileError(f"{what} is a {type(parsed).__name__}; expected a JSON object")
    return parsed


def read_index(path: Path) -> dict[Path, set[str]]:
    """The files that an index (``*.safetensors.index.json``) names, and which tensors are in each.

    Files are next to the index: a name that leads anywhere else is refused. Raises WeightsFileError for what is no
    index, and OSError where it cannot be read.
    """
    with open_plain(path) as file:
        text = file.read(MOST_HEADER_BYTES + 1)
    if len(text) > MOST_HEADER_BYTES:
        raise WeightsFileError(f"{path}: more than {MOST_HEADER_BYTES} bytes; is it an index of safetensors files?")
    weight_map = parse_object(text, f"{path}: the index").get("weight_map")
    if not isinstance(weight_map, dict):
        raise WeightsFileError(f"{path}: no object weight_map, which says the file of each tensor")
    files: dict[Path, set[str]] = {}
    for tensor, name in weight_map.items():
        if not (isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set("/\\\0")):
            raise WeightsFileError(
                f"{path}: the tensor {tensor[:80]!r} is said to be in {str(name)[:200]!r}; expected the name of a file "
                "beside the index"
            )
        files.setdefault(path.parent / name, set()).add(tensor)
    return files
