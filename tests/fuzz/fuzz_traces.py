"""Gives the readers of traces files that atheris makes up, guided by which lines they reach.

    python tests/fuzz/fuzz_traces.py isthmus|nsys|kineto [options of libFuzzer]

A file ends in a trace or in TraceFileError, within the memory that -rss_limit_mb allows; anything else is a finding,
and the file is kept. The first files are traces of each maker, from what the tests write.
"""

import gzip
import json
import os
import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from isthmus.errors import TraceFileError
from isthmus.trace.isthmus.file import read_isthmus
from isthmus.trace.kineto.reader import read_kineto
from isthmus.trace.nsys.reader import read_nsys
from tests.synthetic.nsys import COPIES, copy, write_export
from tests.synthetic.trace_file import whole

READERS = {"isthmus": read_isthmus, "nsys": read_nsys, "kineto": read_kineto}
# In memory where the machine has such a place.
_SCRATCH = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def seeds(maker: str, folder: Path) -> None:
    """Files to begin with."""
    if maker == "isthmus":
        (folder / "whole").write_bytes(whole())
        (folder / "parts").write_bytes(whole() + bytes(8192) + whole())
    elif maker == "nsys":
        write_export(folder / "export", {COPIES: [copy()]})
    else:
        on_device = {"device": 0, "stream": 7, "correlation": 1, "bytes": 4096, "memory bandwidth (GB/s)": 1.5}
        event = {"ph": "X", "pid": 0, "tid": 7, "ts": 110.5, "dur": 5}
        events = [
            {**event, "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "args": on_device},
            {**event, "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "args": {"correlation": 1}},
            {**event, "cat": "kernel", "name": "saxpy", "args": on_device},
            {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}},
        ]
        text = json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()
        (folder / "plain").write_bytes(text)
        (folder / "packed").write_bytes(gzip.compress(text, mtime=0))


def main() -> None:
    maker = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if maker not in READERS:
        sys.exit(f"fuzz_traces: expected one of {', '.join(READERS)} first")
    read = READERS[maker]
    with tempfile.TemporaryDirectory(dir=_SCRATCH) as folder:
        first = Path(folder) / "seeds"
        first.mkdir()
        seeds(maker, first)
        for path in first.iterdir():
            read(path)  # A seed that is refused would lead nowhere.
        path = Path(folder) / "trace"

        def once(content: bytes) -> None:
            path.write_bytes(content)
            try:
                read(path)
            except TraceFileError:
                return

        atheris.instrument_all()  # Imports that are instrumented one by one report nothing behind custom loaders.
        atheris.Setup([*sys.argv, str(first)], once)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
