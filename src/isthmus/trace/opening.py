"""Opens a trace of whatever maker, by what the file begins with."""

import glob
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from isthmus.errors import RunFileError, TraceFileError
from isthmus.files import read_begin
from isthmus.own_files import mixed_up, own_file
from isthmus.trace.columns import UNKNOWN
from isthmus.trace.isthmus.blocks import MAGIC
from isthmus.trace.isthmus.file import read_isthmus
from isthmus.trace.kineto.reader import read_kineto
from isthmus.trace.nsys.reader import read_nsys
from isthmus.trace.others import what_folder_it_is, what_it_is
from isthmus.trace.rocprofv3 import TOOL, read_rocprofv3
from isthmus.trace.trace import Trace

_SQLITE = b"SQLite format 3\0"
_GZIP = b"\x1f\x8b"
_JSON = (b"{", b"[")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Clocks of devices are set by the host's to microseconds; torch's traces are of older ones, to a millisecond or so.
_MOST_AHEAD_NS = 10_000_000


def open_trace(path: Path) -> Trace:
    """The trace in a file of `isthmus trace`, an SQLite export of nsys, or JSON of torch, XLA, rocprof or unitrace.

    Raises TraceFileError for a file that is unreadable, damaged or none of these.
    """
    return _with_clock_checked(_read(path))


def _read(path: Path) -> Trace:
    if path.is_dir():
        raise TraceFileError(f"{path}: no trace: {what_folder_it_is(path)}")
    try:
        begin = read_begin(path, 4096)
    except RunFileError as error:
        raise TraceFileError(str(error)) from error
    if begin.startswith(MAGIC):
        return read_isthmus(path)
    if begin.startswith(_SQLITE):
        return read_nsys(path)
    unpacked = _unpacked(begin)
    if mixed := mixed_up(path, unpacked, "trace", "trace"):
        is_run = (own := own_file(unpacked)) and own.kind == "run"
        raise TraceFileError(f"{mixed}, or price advice with it: --run {path}" if is_run else mixed)
    if known := what_it_is(path, unpacked):
        raise TraceFileError(f"{path}: no trace: {known}")
    if TOOL in unpacked:
        return read_rocprofv3(path)
    if begin.startswith(_GZIP) or begin.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(_JSON):
        return read_kineto(path)
    content = "an empty file" if not begin else "something else"
    if not begin and (parts := sorted(path.parent.glob(f"{glob.escape(path.name)}.*.parts"))):
        # The recorder's own: `isthmus trace` is still at it, or was killed.
        raise TraceFileError(
            f"{path}: empty until the traced program ends; isthmus trace, if it was killed, has left what it recorded "
            f"in {parts[-1]}, part by part for --open"
        )
    raise TraceFileError(
        f"{path}: no trace: expected a file of isthmus trace, an SQLite export of nsys, or JSON of the profiler of "
        f"torch, XLA, ROCm or Level Zero, found {content}"
    )


def _unpacked(begin: bytes) -> bytes:
    if not begin.startswith(_GZIP):
        return begin
    try:
        return zlib.decompressobj(31).decompress(begin)
    except zlib.error:
        return begin


def _with_clock_checked(trace: Trace) -> Trace:
    """With a remark where devices began copies long before they were called for: a clock that was set meanwhile."""
    copies = trace.copies
    called = np.flatnonzero(copies.call != UNKNOWN)
    ahead = trace.calls.start_ns[copies.call[called]] - copies.start_ns[called]
    early = int((ahead > _MOST_AHEAD_NS).sum())
    if not early:
        return trace
    remark = (
        f"The clock jumped: {early} of {called.size} copies begin before the calls that made them, by up to "
        f"{1e-9 * int(ahead.max()):.3g} s. Times and gains that rest on when things were cannot be trusted."
    )
    return replace(trace, notes=(*trace.notes, remark), lost=(*trace.lost, remark))
