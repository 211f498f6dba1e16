"""The JSON of rocprofv3: counts, bytes, times and who called."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from isthmus.errors import TraceFileError
from isthmus.trace import open_trace
from isthmus.trace.columns import DIRECTIONS, UNKNOWN
from isthmus.trace.trace import Process

CPU, FIRST, SECOND = 1, 20, 30


def copy(begin: int, end: int, operation: int, agents: tuple[int, int], **more: Any) -> dict[str, Any]:
    source, destination = ({"handle": agent} for agent in agents)
    where = {"src_agent_id": source, "dst_agent_id": destination}
    record = {"kind": 13, "operation": operation, "correlation_id": {"internal": begin, "external": 0}, **where}
    return {**record, "start_timestamp": begin, "end_timestamp": end, "bytes": 4096, **more}


def document(*copies: dict[str, Any]) -> dict[str, Any]:
    call = {"kind": 1, "operation": 1, "thread_id": 71, "correlation_id": {"internal": 100}}
    kernel = {
        "kind": 11,
        "correlation_id": {"internal": 100},
        "start_timestamp": 500,
        "end_timestamp": 700,
        "dispatch_info": {"agent_id": {"handle": FIRST}, "queue_id": {"handle": 4}, "kernel_id": 9},
    }
    process = {
        "metadata": {"pid": 4711, "command": ["./app", "-n"]},
        "agents": [
            {"id": {"handle": CPU}, "type": 1, "product_name": "EPYC"},
            {"id": {"handle": FIRST}, "type": 2, "product_name": "AMD Instinct MI300X"},
            {"id": {"handle": SECOND}, "type": 2, "name": "gfx942"},
        ],
        "strings": {"buffer_records": [{"kind": "NONE"}, {"kind": "HIP", "operations": ["none", "hipMemcpyAsync"]}]},
        "kernel_symbols": [{"kernel_id": 9, "formatted_kernel_name": "gemm"}],
        "buffer_records": {
            "memory_copy": copies,
            "hip_api": [{**call, "start_timestamp": 90, "end_timestamp": 99}],
            "kernel_dispatch": [kernel],
            "hsa_api": [{"odd": 1}],
        },
    }
    return {"rocprofiler-sdk-tool": [process]}


def test_copies_calls_and_kernels_are_read(tmp_path: Path) -> None:
    copies = [
        copy(100, 200, 2, (CPU, FIRST)),
        copy(300, 400, 3, (SECOND, CPU), bytes=8),
        copy(410, 420, 4, (FIRST, SECOND)),
        copy(430, 440, 4, (FIRST, FIRST)),
        copy(450, 440, 1, (CPU, CPU)),
    ]
    path = tmp_path / "out_results.json"
    path.write_bytes(gzip.compress(json.dumps(document(*copies)).encode()))
    trace = open_trace(path)
    assert trace.maker == "rocprof"
    assert trace.processes == (Process(4711, "./app"),)
    assert trace.devices == {0: "AMD Instinct MI300X", 1: "gfx942"}
    assert [DIRECTIONS[each] for each in trace.copies.direction] == ["h2d", "d2h", "peer", "d2d"]
    assert trace.copies.bytes.tolist() == [4096, 8, 4096, 4096]
    assert trace.copies.lasted_ns.tolist() == [100, 100, 10, 10]
    assert trace.copies.device.tolist() == [0, 1, 0, 0]
    assert trace.copies.call.tolist() == [0, UNKNOWN, UNKNOWN, UNKNOWN]
    assert [trace.names[name] for name in trace.calls.name] == ["hipMemcpyAsync"]
    assert [trace.names[name] for name in trace.kernels.name] == ["gemm"]
    assert trace.kernels.call.tolist() == [0]
    assert trace.notes == ("memory_copy: left out 1 of 5 records, whose times cannot be right.",)


def test_the_least_that_such_a_file_holds_is_read(tmp_path: Path) -> None:
    path = tmp_path / "out_results.json"
    record = {"operation": 2, "start_timestamp": 100, "end_timestamp": 200}
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [{"buffer_records": {"memory_copy": [record]}}]}))
    copies = open_trace(path).copies
    assert copies.bytes.tolist() == copies.device.tolist() == [UNKNOWN]


def test_numbers_beyond_64_bits_cost_their_record_at_most(tmp_path: Path) -> None:
    path = tmp_path / "out_results.json"
    kept = copy(300, 400, 2, (CPU, FIRST), correlation_id={"internal": (1 << 64) - 1}, bytes=1 << 70)
    lost = [copy((1 << 64) - 1, 500, 2, (CPU, FIRST)), copy(-(1 << 70), 500, 2, (CPU, FIRST))]
    whole = document(kept, *lost)
    (process,) = whole["rocprofiler-sdk-tool"]
    process["buffer_records"]["kernel_dispatch"][0]["dispatch_info"]["queue_id"]["handle"] = 1 << 63
    path.write_text(json.dumps(whole))
    trace = open_trace(path)
    assert trace.copies.bytes.tolist() == [UNKNOWN]
    assert trace.kernels.stream.tolist() == [UNKNOWN]
    assert trace.lost == ("memory_copy: left out 2 of 3 records, whose times cannot be right.",)


@pytest.mark.parametrize("content", ['{"rocprofiler-sdk-tool": [{"buffer', '{"rocprofiler-sdk-tool": 7}'])
def test_damage_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "out_results.json"
    path.write_text(content)
    with pytest.raises(TraceFileError, match="--memory-copy-trace --output-format json"):
        open_trace(path)
