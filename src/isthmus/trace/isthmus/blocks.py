"""The blocks of a trace file of `isthmus trace`, checked; docs/tracing.md says how it grows."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from isthmus.errors import TraceFileError
from isthmus.files import write_whole

MAGIC = b"ISTHTRC1"
_VERSION = 1
_ALIGNMENT = 4096
# What is looked through at a time for the next block.
_CHUNK = 256 * _ALIGNMENT
_HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("kind", "<u4"),
        ("record_bytes", "<u4"),
        ("pid", "<u4"),
        ("process", "<u8"),
        ("block_bytes", "<u8"),
        ("used_bytes", "<u8"),
        ("reserved", "<u8", 2),
    ]
)
# NumPy's types know no type with places of fields.
_dtype: Callable[[Any], np.dtype[Any]] = np.dtype
Kind = str
_TIMES = "start_ns:u8 end_ns:u8"
_LAYOUTS: tuple[tuple[Kind, str], ...] = (
    ("process", "started_ns:u8 ended_ns:u8 dropped:u8 name:u4 rank:i4 flags:u4 lack:u4"),
    ("text", "byte:u1"),
    (
        "copy",
        f"{_TIMES} bytes:u8 correlation:u4 device:u4 peer:u4 stream:u4 copy_kind:u1 source:u1 destination:u1 flags:u1 "
        "count:u4",
    ),
    ("call", f"{_TIMES} correlation:u4 thread:u4 name:u4 site:u4"),
    (
        "operands",
        "source:u8 destination:u8 bytes:u8 content:u8 correlation:u4 rows:u4 device:u4 stream:u4 copy_kind:u2 "
        "waited:u2 timing:u4",
    ),
    ("kernel", f"{_TIMES} correlation:u4 device:u4 stream:u4 name:u4"),
    ("memset", f"{_TIMES} bytes:u8 correlation:u4 device:u4 stream:u4 padding:u4"),
    ("migration", f"{_TIMES} bytes:u8 address:u8 counter:u4 source:u4 destination:u4 cause:u4"),
    ("fault", f"{_TIMES} address:u8 count:u8 counter:u4 device:u4"),
    ("allocation", f"{_TIMES} address:u8 bytes:u8 correlation:u4 memory:u2 release:u2"),
    ("device", "index:u4 name:u4"),
    ("note", "text:u4 padding:u4"),
    ("window", f"{_TIMES} launched_ns:u8"),
    ("host_work", "system_ns:u8 running_ns:u8 correlation:u4 faults:u4"),
)
# Every kind of record by its number, from 1 on.
RECORDS: dict[int, tuple[Kind, np.dtype[Any]]] = {
    number: (kind, _dtype([(name, f"<{form}") for name, _, form in (each.partition(":") for each in layout.split())]))
    for number, (kind, layout) in enumerate(_LAYOUTS, 1)
}
_TEXT_HEADER_BYTES = 8


class Block(NamedTuple):
    """Records of one kind, which one process wrote."""

    kind: Kind
    process: int
    pid: int
    # For text records: the UTF-8 bytes.
    records: npt.NDArray[Any]


def blocks(path: Path, notes: list[str]) -> Iterator[Block]:
    """All blocks of a file in their order; what is left out is said in `notes`.

    Raises TraceFileError for a file that cannot be read, begins otherwise, or is of a newer format.
    """
    damaged = 0
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < _HEADER.itemsize:
                raise TraceFileError(f"{path}: no trace: {size} bytes are too few for one")
            if os.pread(file.fileno(), len(MAGIC), 0) != MAGIC:
                raise TraceFileError(f"{path}: no file of isthmus trace: it does not begin with {MAGIC.decode()}")
            place = 0
            while 0 <= place <= size - _HEADER.itemsize:
                # Before the records that it says are valid, for the program may still write.
                read = os.pread(file.fileno(), _HEADER.itemsize, place)
                if len(read) < _HEADER.itemsize:
                    break
                header = np.frombuffer(read, _HEADER, 1)[0]
                if header["magic"] == MAGIC and header["version"] > _VERSION:
                    raise TraceFileError(
                        f"{path}: a trace of format {header['version']}; this version of isthmus reads {_VERSION}: "
                        "update it"
                    )
                whole = _whole(header, size - place)
                if whole is None:
                    # Zeros that were never claimed, or damage: on to what next looks like a block.
                    damaged += bool(header["magic"] == MAGIC)
                    place = _next(file.fileno(), place)
                    continue
                if not _fits(header):
                    damaged += 1
                elif block := _block(file.fileno(), place, header):
                    yield block
                place += whole
    except OSError as error:
        raise TraceFileError(f"{path}: cannot be read: {error.strerror}") from error
    if damaged:
        notes.append(f"Blocks of the trace file that are damaged or cut off, and were left out: {damaged}.")


def _whole(header: Any, left: int) -> int | None:
    """The bytes of a block with this header, if it can be one and is in the file."""
    total, used = int(header["block_bytes"]), int(header["used_bytes"])
    sound = header["magic"] == MAGIC and total % _ALIGNMENT == 0 and _ALIGNMENT <= total <= left
    return total if sound and used <= total - _HEADER.itemsize else None


def _next(file: int, place: int) -> int:
    """Where the next block may begin; -1 behind the last. Holes of a sparse file are not read."""
    place = (place // _ALIGNMENT + 1) * _ALIGNMENT
    while True:
        try:
            place = os.lseek(file, place, os.SEEK_DATA) // _ALIGNMENT * _ALIGNMENT
        except OSError:
            return -1
        chunk = os.pread(file, _CHUNK, place)
        starts = [at for at in range(0, len(chunk), _ALIGNMENT) if chunk.startswith(MAGIC, at)][:1]
        if starts or len(chunk) < _CHUNK:
            return place + starts[0] if starts else -1
        place += _CHUNK


def _fits(header: Any) -> bool:
    """Whether records, if of a kind that is known here, have all that is known of it."""
    _, fields = RECORDS.get(int(header["kind"]), ("", None))
    return fields is None or fields.itemsize <= int(header["record_bytes"]) <= _ALIGNMENT


def _block(file: int, place: int, header: Any) -> Block | None:
    """The records of a block; None of a kind that is not known here."""
    kind, fields = RECORDS.get(int(header["kind"]), ("", None))
    if fields is None:
        return None
    record_bytes = int(header["record_bytes"])
    # Newer versions may append fields to a record.
    places = {name: fields.fields[name][1] for name in fields.names} if fields.fields and fields.names else {}
    layout = _dtype(
        {
            "names": list(places),
            "formats": [fields[name] for name in places],
            "offsets": list(places.values()),
            "itemsize": record_bytes,
        }
    )
    read = os.pread(file, int(header["used_bytes"]), place + _HEADER.itemsize)
    count = len(read) // record_bytes
    records = np.frombuffer(read, layout, count)
    return Block(kind, int(header["process"]), int(header["pid"]), records) if count else None


def texts(block: Block) -> Iterator[tuple[int, str]]:
    """The texts of a block with their indices."""
    content = block.records["byte"].tobytes()
    place = 0
    while place + _TEXT_HEADER_BYTES <= len(content):
        index, length = (int.from_bytes(content[at : at + 4], "little") for at in (place, place + 4))
        place += _TEXT_HEADER_BYTES
        if length > len(content) - place:
            return
        yield index, content[place : place + length].decode("utf-8", "replace")
        place += (length + 7) // 8 * 8


def join_parts(parts: Sequence[Path], out: Path) -> None:
    """Write the parts that the processes of a program left as one trace file, without what they reserved in vain.

    Raises TraceFileError for a part that is none, and OSError where the file cannot be written.
    """
    with write_whole(out) as file:
        for part in parts:
            with part.open("rb") as begin:
                if not any(begin.read(len(MAGIC))):
                    continue  # The process was killed before it wrote anything.
            for block in blocks(part, []):
                _write(block, file)


def _write(block: Block, file: BinaryIO) -> None:
    number = next(number for number, (kind, _) in RECORDS.items() if kind == block.kind)
    records = block.records.tobytes()
    padded = (_HEADER.itemsize + len(records) + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
    header = np.zeros((), _HEADER)
    for name, value in {
        "magic": MAGIC,
        "version": _VERSION,
        "kind": number,
        "record_bytes": block.records.dtype.itemsize,
        "pid": block.pid,
        "process": block.process,
        "block_bytes": padded,
        "used_bytes": len(records),
    }.items():
        header[name] = value
    file.write(header.tobytes() + records + bytes(padded - _HEADER.itemsize - len(records)))
