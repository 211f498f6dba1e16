"""Events as the torch profiler writes them, and files of them."""

import json
from pathlib import Path
from typing import Any

from isthmus.trace.kineto.reader import read_kineto
from isthmus.trace.trace import Trace

PID, THREAD = 2869224, 2869300


def event(category: str, name: str, ts: Any, arguments: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 0,
        "tid": 7,
        "ts": ts,
        "dur": 5,
        "args": arguments,
        **fields,
    }


def copy(
    ts: Any = 110, name: str = "Memcpy HtoD (Pageable -> Device)", correlation: int = 1, **arguments: Any
) -> dict[str, Any]:
    stated = {"device": 0, "context": 1, "stream": 7, "correlation": correlation, "bytes": 4096, **arguments}
    return event("gpu_memcpy", name, ts, {key: value for key, value in stated.items() if value is not None})


def call(ts: Any = 100, name: str = "cudaMemcpyAsync", correlation: int = 1, pid: int = PID) -> dict[str, Any]:
    return event("cuda_runtime", name, ts, {"cbid": 41, "correlation": correlation}, pid=pid, tid=THREAD)


def on_device(category: str, name: str, ts: Any = 110, **arguments: Any) -> dict[str, Any]:
    return event(category, name, ts, {"device": 0, "context": 1, "stream": 7, "correlation": 1, **arguments})


def labels(pid: int, label: str) -> list[dict[str, Any]]:
    return [
        {"name": "process_name", "ph": "M", "ts": 1, "pid": pid, "tid": 0, "args": {"name": "python3.10"}},
        {"name": "process_labels", "ph": "M", "ts": 1, "pid": pid, "tid": 0, "args": {"labels": label}},
    ]


def document(*events: Any, **around: Any) -> dict[str, Any]:
    return {"schemaVersion": 1, **around, "traceEvents": list(events), "traceName": "trace.json"}


def read(path: Path, *events: Any, **around: Any) -> Trace:
    path.write_text(json.dumps(document(*events, **around), indent=2), "utf-8")
    return read_kineto(path)
