"""What calls tell of copies and of where they were made: sizes, addresses, threads, lines and operators."""

import json
from pathlib import Path
from typing import Any

import pytest

from isthmus.trace.columns import UNKNOWN
from isthmus.trace.kineto.reader import read_kineto
from isthmus.trace.trace import Trace

PID = 4000


def event(category: str, name: str, ts: float, duration: float, thread: Any = PID, **arguments: Any) -> dict[str, Any]:
    found = {"ph": "X", "cat": category, "name": name, "pid": PID, "tid": thread, "ts": ts, "dur": duration}
    return {**found, "args": arguments}


def call(ts: float, correlation: int, name: str = "cudaMemcpyAsync", **more: Any) -> dict[str, Any]:
    return event("cuda_runtime", name, ts, 10, correlation=correlation, **more)


def copied(ts: float, correlation: int, **arguments: Any) -> dict[str, Any]:
    return event("gpu_memcpy", "Memcpy HtoD (Host -> Device)", ts, 5, 7, device=0, correlation=correlation, **arguments)


def read(tmp_path: Path, *events: dict[str, Any]) -> Trace:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}), "utf-8")
    return read_kineto(path)


def test_a_size_and_addresses_that_stand_on_the_call_are_the_copys(tmp_path: Path) -> None:
    told = {"src": "0x7f0000000000", "dst": "0x7e0000000000", "size": "64000000", "kind": "1"}
    trace = read(tmp_path, call(100, 1, "hipMemcpyWithStream", **told), copied(102, 1, kind="HtoD"))
    assert trace.copies.bytes.tolist() == [64_000_000]
    assert trace.copies.source_address.tolist() == [0x7F0000000000]
    assert trace.copies.destination_address.tolist() == [0x7E0000000000]
    assert "addresses" in trace.knows
    assert not trace.notes


def test_a_size_of_the_copy_comes_before_that_of_its_call(tmp_path: Path) -> None:
    trace = read(tmp_path, call(100, 1, size="7"), copied(102, 1, bytes=64))
    assert trace.copies.bytes.tolist() == [64]


def test_a_call_of_several_copies_tells_the_size_of_none(tmp_path: Path) -> None:
    trace = read(tmp_path, call(100, 1, size="64", src="0x10"), copied(102, 1), copied(104, 1, bytes=8))
    assert trace.copies.bytes.tolist() == [UNKNOWN, 8]
    assert trace.copies.source_address.tolist() == [UNKNOWN] * 2
    assert any("1 of 2 copies do not tell their size" in note for note in trace.notes)


@pytest.mark.parametrize("size", ["", "-4", "1e3", "0x40", "9" * 30, "\u0664"])
def test_a_text_that_is_no_size_is_none(tmp_path: Path, size: str) -> None:
    trace = read(tmp_path, call(100, 1, size=size), copied(102, 1))
    assert trace.copies.bytes.tolist() == [UNKNOWN]
    assert trace.notes


@pytest.mark.parametrize(("first", "second"), [(4000, 4001), ("4000", "4001"), ("main", "autograd"), (4000, "4001")])
def test_threads_of_any_type_are_told_apart(tmp_path: Path, first: Any, second: Any) -> None:
    trace = read(tmp_path, call(100, 1) | {"tid": first}, call(120, 2) | {"tid": second}, call(140, 3) | {"tid": first})
    threads = trace.calls.thread.tolist()
    assert threads[0] == threads[2] != threads[1]
    assert UNKNOWN not in threads


def test_a_call_is_at_its_lines_and_in_its_operator(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        event("python_function", "train.py(3): <module>", 0, 1000),
        event("python_function", "train.py(12): load", 90, 100),
        event("python_function", "torch/_tensor.py(999): to", 92, 90),
        event("python_function", "<built-in method to of Tensor object at 0x7f>", 93, 80),
        event("cpu_op", "aten::to", 94, 70),
        event("cpu_op", "aten::copy_", 95, 60),
        call(100, 1),
        event("cuda_runtime", "cudaLaunchKernel", 120, 5, correlation=9),
        call(300, 2),
        call(305, 3) | {"tid": 77},
    )
    lines = ("torch/_tensor.py:999 to", "train.py:12 load", "train.py:3 <module>")
    assert trace.sites == (("aten::to", *lines), ("train.py:3 <module>",))
    # Of launches nobody asks where they were made, and another thread is in none of these lines.
    assert trace.calls.site.tolist() == [0, UNKNOWN, 1, UNKNOWN]
    assert "call_sites" in trace.knows


def test_lines_that_ended_are_left(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        event("python_function", "a.py(1): first", 0, 50),
        event("python_function", "a.py(2): second", 50, 50),
        call(20, 1),
        call(70, 2),
    )
    assert [trace.sites[site] for site in trace.calls.site] == [("a.py:1 first",), ("a.py:2 second",)]


def test_deep_recursion_is_cut_at_the_outer_end(tmp_path: Path) -> None:
    frames = [event("python_function", f"a.py({depth}): f", depth, 1000 - 2 * depth) for depth in range(1, 100)]
    trace = read(tmp_path, *frames, call(200, 1))
    (site,) = trace.sites
    assert (site[0], len(site)) == ("a.py:99 f", 64)


@pytest.mark.parametrize(
    "name", ["cudaMemcpyAsync", "cudaStreamSynchronize", "cudaFree", "cudaMalloc", "cudaHostAlloc"]
)
def test_every_call_that_advice_names_has_its_line(tmp_path: Path, name: str) -> None:
    frame = event("python_function", "a.py(1): first", 0, 50)
    trace = read(tmp_path, frame, event("cuda_runtime", name, 20, 5, correlation=1))
    assert trace.sites == (("a.py:1 first",),)
