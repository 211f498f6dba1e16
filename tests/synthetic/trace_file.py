"""Files of `isthmus trace` with records that tests choose."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from isthmus.trace.isthmus.blocks import MAGIC, RECORDS

Rows = list[dict[str, Any]]


def block(kind: str, rows: Rows, process: int = 9, pid: int = 77, spare: int = 0) -> bytes:
    """A block of these records, missing fields zero."""
    number, fields = next((number, fields) for number, (name, fields) in RECORDS.items() if name == kind)
    records = np.zeros(len(rows), fields)
    for place, row in enumerate(rows):
        for name, value in row.items():
            records[place][name] = value
    return raw_block(number, fields.itemsize, records.tobytes(), process, pid, spare)


def raw_block(number: int, record_bytes: int, content: bytes, process: int = 9, pid: int = 77, spare: int = 0) -> bytes:
    total = (64 + len(content) + spare + 4095) // 4096 * 4096
    header = MAGIC + np.array([1, number, record_bytes, pid], "<u4").tobytes()
    header += np.array([process, total, len(content), 0, 0], "<u8").tobytes()
    return (header + content).ljust(total, b"\0")


def text_block(texts: Mapping[int, str], process: int = 9) -> bytes:
    content = b""
    for index, text in texts.items():
        encoded = text.encode()
        content += np.array([index, len(encoded)], "<u4").tobytes() + encoded.ljust((len(encoded) + 7) // 8 * 8, b"\0")
    return raw_block(2, 1, content, process)


TEXTS = {1: "app", 2: "cudaMemcpyAsync_v3020", 3: "saxpy(float*)", 4: "train.py:4 step\ntrain.py:9 <module>", 5: "H200"}
PROCESS = {"started_ns": 1, "ended_ns": 9, "name": 1, "rank": 2, "flags": 7}
CALL = {"start_ns": 100, "end_ns": 150, "correlation": 5, "thread": 3, "name": 2, "site": 4}
COPY = {
    "start_ns": 120,
    "end_ns": 180,
    "bytes": 4096,
    "correlation": 5,
    "device": 1,
    "stream": 7,
    "copy_kind": 1,
    "source": 2,
    "destination": 3,
}
OPERANDS = {"source": 10, "destination": 20, "bytes": 4096, "content": 99, "correlation": 5, "rows": 1, "copy_kind": 1}
WHOLE = {
    "process": [PROCESS],
    "copy": [COPY],
    "call": [CALL],
    "operands": [OPERANDS],
    "kernel": [{"start_ns": 200, "end_ns": 300, "correlation": 6, "device": 1, "stream": 7, "name": 3}],
    "memset": [{"start_ns": 20, "end_ns": 30, "bytes": 8, "correlation": 6}],
    "migration": [
        {"start_ns": 50, "end_ns": 60, "bytes": 65536, "address": 4096, "counter": 1, "destination": 1, "cause": 2}
    ],
    "fault": [{"start_ns": 55, "address": 4096, "count": 1, "counter": 3}],
    "allocation": [
        {"start_ns": 5, "end_ns": 6, "address": 10, "bytes": 8192, "memory": 2},
        {"start_ns": 500, "end_ns": 600, "address": 10, "memory": 2, "release": 1},
    ],
    "device": [{"index": 1, "name": 5}],
}


def whole(**changed: Rows) -> bytes:
    return b"".join(block(kind, rows) for kind, rows in {**WHOLE, **changed}.items()) + text_block(TEXTS)
