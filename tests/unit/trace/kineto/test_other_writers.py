"""Writers of the same format that number nothing as torch does: rocprof and unitrace."""

import json
from pathlib import Path
from typing import Any

import pytest

from isthmus.trace import open_trace
from isthmus.trace.columns import DIRECTIONS, MEMORY_KINDS, UNKNOWN
from isthmus.trace.trace import Trace

BYTES = 64_000_000


def read(tmp_path: Path, *events: dict[str, Any]) -> Trace:
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"traceEvents": [{}, *events]}), "utf-8")
    return open_trace(path)


def rocprof(pid: int, thread: int, name: str, ts: int, dur: int, **more: str) -> dict[str, Any]:
    """All numbers as text, as it writes them."""
    arguments = {"BeginNs": f"{ts}000", "EndNs": f"{ts + dur}000", "pid": "77", "Name": name, **more}
    texts = {"pid": str(pid), "tid": str(thread), "ts": str(ts), "dur": str(dur)}
    return {"ph": "X", "name": name, **texts, "args": arguments}


def arrow(number: int, begin: tuple[int, int, int], end: tuple[int, int, int], category: str) -> list[dict[str, Any]]:
    return [
        {"ph": phase, "cat": category, "id": number, "pid": pid, "tid": thread, "ts": ts, "name": "dep"}
        for phase, (pid, thread, ts) in (("s", begin), ("t", end))
    ]


@pytest.mark.parametrize(
    ("kind", "operation", "direction"),
    [(1, "CopyHostToDevice", "h2d"), (2, "CopyDeviceToHost", "d2h"), (3, "CopyDeviceToDevice", "d2d")],
)
def test_rocprof_is_read(tmp_path: Path, kind: int, operation: str, direction: str) -> None:
    text = f"( dst(0x7f00) src(0x5500) sizeBytes({BYTES}) kind({kind}))"
    events = []
    for number, ts in enumerate((1000, 20_000)):
        events += [
            rocprof(2, 77, "hipMemcpy", ts, 6100, args=text),
            rocprof(1, 0, operation, ts + 50, 6000, **{"dev-id": "3", "queue-id": "0"}),
            rocprof(6, 1, "gemm", ts + 6200, 3000, **{"dev-id": "3"}),
            *arrow(number, (2, 77, ts), (1, 0, ts + 50), "DataFlow"),
        ]
    trace = read(tmp_path, *events)
    copies = trace.copies
    assert trace.maker == "rocprof"
    assert copies.bytes.tolist() == [BYTES] * 2
    assert [DIRECTIONS[each] for each in copies.direction] == [direction] * 2
    assert copies.lasted_ns.tolist() == [6_000_000] * 2
    assert copies.device.tolist() == trace.kernels.device.tolist() == [3, 3]
    assert [trace.names[trace.calls.name[call]] for call in copies.call] == ["hipMemcpy"] * 2
    assert copies.source_address.tolist() == [0x5500] * 2
    assert not trace.notes


def test_without_arrows_copies_of_rocprof_are_there_without_their_sizes(tmp_path: Path) -> None:
    trace = read(tmp_path, rocprof(1, 0, "CopyHostToDevice", 50, 6000, **{"dev-id": "0"}))
    assert trace.copies.bytes.tolist() == [UNKNOWN]
    assert "do not tell their size" in trace.notes[0]


def test_unitrace_is_read(tmp_path: Path) -> None:
    host, device = {"pid": 50, "tid": 51}, {"pid": 4_294_967_295, "tid": 4_294_967_290}

    def event(name: str, category: str, where: dict[str, int], ts: float, dur: float, **more: Any) -> dict[str, Any]:
        return {"ph": "X", "name": name, "cat": category, **where, "ts": ts, "dur": dur, **more}

    trace = read(
        tmp_path,
        event("zeCommandListAppendMemoryCopy", "cpu_op", host, 100.5, 9.25),
        event("zeCommandListAppendMemoryCopy(M2D)[67108864 bytes]", "gpu_op", device, 110.25, 3.5, args={"id": "5"}),
        event("zeCommandListAppendMemoryCopy(D2H)[4096 bytes]", "gpu_op", device, 120, 3.5, args={"id": "6"}),
        event("gemm", "gpu_op", device, 130, 3.5, args={"id": "7"}),
        *arrow(5, (50, 51, 101), (4_294_967_295, 4_294_967_290, 110), "Flow_H2D_5_0"),
    )
    copies = trace.copies
    assert copies.bytes.tolist() == [67_108_864, 4096]
    assert [DIRECTIONS[each] for each in copies.direction] == ["h2d", "d2h"]
    # What the driver does not know is the program's own memory; the other is from Level Zero.
    assert copies.source.tolist()[0] == UNKNOWN
    assert MEMORY_KINDS[copies.destination[1]] == "pinned"
    assert copies.call.tolist() == [0, UNKNOWN]
    assert trace.calls.lasted_ns.tolist() == [9250]
    assert [trace.names[name] for name in trace.kernels.name] == ["gemm"]
