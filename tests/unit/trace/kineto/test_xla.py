"""Traces of XLA's profiler: devices and streams are processes and threads, and a text has the details of a copy."""

import json
from pathlib import Path
from typing import Any

import pytest

from isthmus.trace.columns import DIRECTIONS, MEMORY_KINDS, UNKNOWN
from isthmus.trace.kineto.reader import read_kineto
from isthmus.trace.trace import Trace

DEVICE, HOST = 1, 701
DETAILS = "kind_src:pinned kind_dst:device size:16777216 dest:0 async:1"


def named(pid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}


def event(pid: int, thread: int, name: str, ts: float, duration: float, **arguments: Any) -> dict[str, Any]:
    return {"ph": "X", "pid": pid, "tid": thread, "name": name, "ts": ts, "dur": duration, "args": arguments}


def read(tmp_path: Path, *events: dict[str, Any]) -> Trace:
    path = tmp_path / "vm.trace.json"
    names = [named(DEVICE, "/device:GPU:3"), named(HOST, "/host:CPU")]
    path.write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": [*names, *events]}), "utf-8")
    return read_kineto(path)


def test_copies_kernels_and_calls_are_read(tmp_path: Path) -> None:
    unknown = DETAILS.replace("pinned", "unknown").replace("device", "unknown")
    trace = read(
        tmp_path,
        event(HOST, 77, "MemcpyH2D", 100, 60, correlation_id="1", memcpy_details=unknown),
        event(HOST, 77, "Transpose::Execute", 90, 5),
        event(DEVICE, 15, "MemcpyH2D", 110, 300, correlation_id="1", memcpy_details=DETAILS),
        event(DEVICE, 14, "gemm", 420, 50, correlation_id="2", kernel_details="regs:168"),
        event(DEVICE, 16, "MemcpyD2H", 480, 300, correlation_id="3", memcpy_details="kind_src:device size:64"),
    )
    assert trace.maker == "xla"
    assert {"calls", "kernels"} <= trace.knows
    copies = trace.copies
    assert [DIRECTIONS[each] for each in copies.direction] == ["h2d", "d2h"]
    assert [MEMORY_KINDS[each] for each in copies.source] == ["pinned", "device"]
    assert copies.destination.tolist() == [MEMORY_KINDS.index("device"), UNKNOWN]
    assert copies.bytes.tolist() == [16_777_216, 64]
    assert (copies.device.tolist(), copies.stream.tolist()) == ([3, 3], [15, 16])
    assert copies.call.tolist() == [0, UNKNOWN]
    assert [trace.names[name] for name in trace.kernels.name] == ["gemm"]
    assert [trace.names[name] for name in trace.calls.name] == ["MemcpyH2D"]
    assert not trace.notes


@pytest.mark.parametrize("details", ["", "size:", "size:-4", "size:1e9", "size:" + "9" * 40, 7, None])
def test_a_copy_whose_size_is_not_told_is_counted(tmp_path: Path, details: Any) -> None:
    trace = read(tmp_path, event(DEVICE, 15, "MemcpyH2D", 1, 2, correlation_id="1", memcpy_details=details))
    # What has no details at all is no copy that anybody can tell from a kernel.
    assert trace.copies.bytes.tolist() == ([UNKNOWN] if isinstance(details, str) else [])
    assert bool(trace.notes) == isinstance(details, str)


@pytest.mark.parametrize(("operation", "side"), [("MemcpyH2D", "source"), ("MemcpyD2H", "destination")])
def test_one_kind_of_memory_is_the_hosts(tmp_path: Path, operation: str, side: str) -> None:
    details = "kind:pageable size:64000000 dest:0 async:1"
    copies = read(tmp_path, event(DEVICE, 15, operation, 1, 2, correlation_id="1", memcpy_details=details)).copies
    assert [MEMORY_KINDS[kind] for kind in getattr(copies, side)] == ["pageable"]


def test_a_machine_may_be_named_before_its_processes(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    names = [named(1, "worker-0 /device:GPU:2"), named(2, "worker-0 /host:CPU")]
    events = [event(pid, 1, "MemcpyH2D", 1, 2, correlation_id="1", memcpy_details=DETAILS) for pid in (1, 2)]
    step = event(2, 1, "train", 0, 9, step_num="7")
    path.write_text(json.dumps({"traceEvents": [*names, *events, step]}), "utf-8")
    trace = read_kineto(path)
    assert trace.copies.device.tolist() == [2]
    assert trace.copies.call.tolist() == [0]
    assert trace.range_names == ("train",)


def test_names_of_devices_may_be_anything(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    odd = [named(1, "/device:GPU:" + "9" * 50), named(2, "/device:"), named(3, "/device:TPU:0 SparseCore")]
    events = [event(pid, 1, "MemcpyH2D", 1, 2, correlation_id="1", memcpy_details=DETAILS) for pid in (1, 2, 3)]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [*odd, *events]}), "utf-8")
    assert len(read_kineto(path).copies) == 0
