"""Traces of the torch profiler: what is in them is found, what is broken in them is left out and said."""

import gzip
import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import ijson
import numpy as np
import pytest

from isthmus.errors import TraceFileError
from isthmus.trace.columns import DIRECTIONS, MEMORY_KINDS, UNKNOWN
from isthmus.trace.kineto import reader as kineto
from isthmus.trace.kineto import records as kineto_records
from isthmus.trace.kineto import slices
from isthmus.trace.kineto.reader import read_kineto
from isthmus.trace.trace import Process
from tests.unit.trace.kineto.events import PID, THREAD, call, copy, document, event, labels, on_device, read


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trace.json"


@pytest.fixture(params=["slices", "yajl2_c", "python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All parsers: in slices, as large files are, thoroughly, and the one that is there where no other is."""
    if request.param == "slices":
        monkeypatch.setattr(slices, "SLICE_BYTES", 300)
        return
    try:
        backend = ijson.get_backend(request.param)
    except ImportError:
        pytest.skip(f"ijson has no backend {request.param} here")
    monkeypatch.setattr(ijson, "basic_parse_coro", backend.basic_parse_coro)


@pytest.mark.usefixtures("parser")
def test_a_whole_trace_is_read(path: Path) -> None:
    trace = read(
        path,
        event("cpu_op", "aten::to", 90, {"Input Dims": [[32, 3], []], "bytes": 7, "args": {"bytes": 8}}, pid=PID),
        call(200, "cudaMemcpyAsync_ptsz_v7000", correlation=4),
        call(100),
        copy(210, "Memcpy DtoH (Device -> Pinned)", correlation=4, bytes=64, stream=20, device=1),
        {"ph": "s", "id": 1, "pid": PID, "tid": 7, "ts": 100, "cat": "ac2g", "name": "ac2g"},
        copy(110),
        on_device("kernel", "void add<float>()", 120, grid=[1, 2, 3], correlation=9),
        on_device("gpu_memset", "Memset (Device)", 130, bytes=512),
        on_device("cuda_sync", "Context Sync", 140, stream=0xFFFFFFFF),
        *labels(PID, "CPU"),
        *labels(0, "GPU 0"),
        distributedInfo={"backend": "nccl", "rank": 3, "pg_config": [{"rank": 5}]},
        deviceProperties=[{"id": 0, "name": "NVIDIA A100"}, {"id": 1, "name": "NVIDIA H100"}],
    )

    assert (trace.path, trace.maker, trace.version, trace.notes) == (path, "kineto", "1", ())
    assert trace.processes == (Process(PID, "python3.10", 3),)
    assert trace.devices == {0: "NVIDIA A100", 1: "NVIDIA H100"}
    assert trace.knows == {"calls", "kernels", "synchronizations"}
    assert trace.span_ns == (100_000, 215_000)

    copies = trace.copies
    assert copies.start_ns.tolist() == [110_000, 210_000]
    assert copies.end_ns.tolist() == [115_000, 215_000]
    assert copies.bytes.tolist() == [4096, 64]
    assert [DIRECTIONS[index] for index in copies.direction] == ["h2d", "d2h"]
    assert [MEMORY_KINDS[index] for index in copies.source] == ["pageable", "device"]
    assert [MEMORY_KINDS[index] for index in copies.destination] == ["device", "pinned"]
    assert (copies.device.tolist(), copies.stream.tolist()) == ([0, 1], [7, 20])
    assert (copies.call.tolist(), copies.process.tolist()) == ([0, 1], [0, 0])
    assert not copies.migration.any()

    assert trace.calls.start_ns.tolist() == [100_000, 200_000]
    assert trace.calls.thread.tolist() == [THREAD] * 2
    assert [trace.names[index] for index in trace.calls.name] == ["cudaMemcpyAsync"] * 2
    assert [trace.names[index] for index in trace.kernels.name] == ["void add<float>()"]
    assert trace.memsets.bytes.tolist() == [512]
    assert [trace.names[index] for index in trace.synchronizations.name] == ["device"]
    assert trace.synchronizations.stream.tolist() == [UNKNOWN]
    for intervals in (trace.kernels, trace.memsets, trace.synchronizations):
        assert intervals.process.tolist() == [0]


@pytest.mark.parametrize(
    ("operation", "direction"),
    [("HtoA", "h2d"), ("AtoH", "d2h"), ("DtoD", "d2d"), ("AtoA", "d2d"), ("PtoP", "peer"), ("HtoH", "h2h")],
)
def test_operations_have_a_direction(path: Path, operation: str, direction: str) -> None:
    trace = read(path, copy(name=f"Memcpy {operation} (Managed Static -> Array)"))
    assert DIRECTIONS[trace.copies.direction[0]] == direction
    assert MEMORY_KINDS[trace.copies.source[0]] == "managed"
    assert MEMORY_KINDS[trace.copies.destination[0]] == "device"


@pytest.mark.parametrize(
    "name", ["Memcpy <unknown> (Unknown -> Unknown)", "Memcpy XtoY (Moon -> Unknown)", "", 7, None]
)
def test_an_operation_that_is_not_known_is_unknown(path: Path, name: Any) -> None:
    copies = read(path, copy(name=name)).copies
    assert [int(column[0]) for column in (copies.direction, copies.source, copies.destination)] == [UNKNOWN] * 3


def test_copies_between_devices_are_of_peers_whatever_they_are_called(path: Path) -> None:
    def between(begin: int, end: int, ts: int) -> dict[str, Any]:
        devices: dict[str, Any] = {"device": None, "fromDevice": begin, "inDevice": 2, "toDevice": end}
        return copy(ts, "Memcpy DtoD (Device -> Device)", **devices)

    copies = read(path, between(2, 3, 10), between(2, 2, 20)).copies
    assert [DIRECTIONS[index] for index in copies.direction] == ["peer", "d2d"]
    assert copies.device.tolist() == [2, 2]


def test_names_of_old_versions_are_known(path: Path) -> None:
    old = [
        {**copy(), "cat": "Memcpy"},
        {**call(), "cat": "Runtime"},
        {**on_device("Kernel", "add"), "cat": "Kernel"},
        on_device("Memset", "Memset (Device)", bytes=16),
    ]
    trace = read(path, *old)
    assert [len(table) for table in (trace.copies, trace.calls, trace.kernels, trace.memsets)] == [1] * 4
    assert trace.copies.call.tolist() == [0]
    assert trace.knows == {"calls", "kernels"}


@pytest.mark.usefixtures("parser")
def test_fractions_of_microseconds_become_nanoseconds_exactly(path: Path) -> None:
    # More digits than a double has.
    text = json.dumps(document(copy(ts=123456), call(ts=654321)))
    path.write_text(text.replace("123456", "1695835572943613.123").replace("654321", "1695835572943612.999"), "utf-8")
    trace = read_kineto(path)
    assert trace.copies.start_ns.tolist() == [1695835572943613123]
    assert trace.copies.end_ns.tolist() == [1695835572943618123]
    assert trace.calls.start_ns.tolist() == [1695835572943612999]


def test_a_bare_list_and_gzip_are_read_too(path: Path) -> None:
    path.write_text(json.dumps([copy(), call()]), "utf-8")
    assert len(read_kineto(path).copies) == 1
    path.write_bytes(gzip.compress(json.dumps(document(copy(), call())).encode()))
    assert len(read_kineto(path).copies) == 1
    path.write_bytes(b"\xef\xbb\xbf\n " + json.dumps(document(copy())).encode())
    assert len(read_kineto(path).copies) == 1


def test_a_copy_without_its_call_is_still_of_the_only_process(path: Path) -> None:
    copies = read(path, copy(correlation=5), call(correlation=6), copy(correlation=0), call(correlation=0)).copies
    assert copies.call.tolist() == [UNKNOWN] * 2
    assert copies.process.tolist() == [0, 0]


def test_the_process_is_known_without_calls(path: Path) -> None:
    trace = read(path, copy(), *labels(PID, "CPU"), *labels(0, "GPU 0"))
    assert trace.processes == (Process(PID, "python3.10"),)
    assert trace.copies.process.tolist() == [0]
    assert trace.knows == set()


def test_merged_files_join_only_what_is_certain(path: Path) -> None:
    calls = [call(100, correlation=1), call(101, correlation=1, pid=77), call(102, correlation=2, pid=77)]
    trace = read(path, *calls, copy(110, correlation=1), copy(120, correlation=2), distributedInfo={"rank": 1})
    assert trace.processes == (Process(PID), Process(77))
    assert trace.calls.process.tolist() == [0, 1, 1]
    assert trace.copies.call.tolist() == [UNKNOWN, 2]
    assert trace.copies.process.tolist() == [UNKNOWN, 1]


def test_of_calls_within_one_another_the_outer_made_the_copy(path: Path) -> None:
    inner = {**call(102, "cuMemcpyHtoDAsync_v2"), "cat": "cuda_driver"}
    trace = read(path, inner, call(100), copy())
    assert trace.names[trace.calls.name[trace.copies.call[0]]] == "cudaMemcpyAsync"


@pytest.mark.parametrize("size", [None, -1, 1 << 60, 1 << 80, 1.5, "4096 B", True, [4096], {"bytes": 4096}])
def test_copies_without_a_size_are_kept_with_their_times_and_counted(path: Path, size: Any) -> None:
    trace = read(path, copy(), copy(bytes=size), on_device("gpu_memset", "Memset (Device)", bytes=size))
    assert trace.copies.bytes.tolist() == [4096, UNKNOWN]
    assert (trace.copies.lasted_ns > 0).all()
    assert len(trace.memsets) == 0
    assert trace.notes == (
        "1 of 2 copies do not tell their size; bytes are those of the others.",
        "Left out 1 fills, whose sizes are missing or cannot be.",
    )


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    "times",
    [
        {"ts": -(1 << 60)},
        {"dur": -5},
        {"ts": 1 << 70},
        {"ts": 4e15},
        {"dur": 1 << 62},
        {"dur": 1695835572943613},
        {"ts": 0, "dur": 0},
        {"ts": None},
        {"dur": None},
        {"ts": "now"},
        {"ts": "1e5"},
        {"dur": [5]},
        {"dur": {"dur": 5}},
    ],
    ids=str,
)
def test_times_that_cannot_be_are_left_out_and_counted(path: Path, times: dict[str, Any]) -> None:
    trace = read(path, copy(), {**copy(), **times}, {**call(), **times})
    assert (len(trace.copies), len(trace.calls)) == (1, 0)
    assert trace.notes == ("Left out 2 records, whose times are missing or cannot be.",)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("number", ["1e999999999", "0e999999999", "1e-999999999", "1" * 400, "0." + "1" * 5000])
def test_numbers_of_any_power_cost_nothing(path: Path, number: str) -> None:
    events = f"{json.dumps(copy())}, {json.dumps(copy(ts=4711)).replace('4711', number)}"
    path.write_text(f'{{"traceEvents": [{events}]}}', "utf-8")
    assert len(read_kineto(path).copies) in {1, 2}


def test_identifiers_of_other_types_are_unknown(path: Path) -> None:
    odd = copy(device="0", stream=[7], correlation=1 << 70)
    trace = read(path, odd, {**call(correlation=-4), "pid": "Spans", "tid": {}})
    assert trace.processes == ()
    for column in (trace.copies.device, trace.copies.stream, trace.copies.call, trace.copies.process):
        assert column.tolist() == [UNKNOWN]
    assert trace.calls.thread.tolist() == trace.calls.process.tolist() == [UNKNOWN]


def test_events_without_what_events_have_are_passed_over(path: Path) -> None:
    odd = [
        {},
        5,
        None,
        "text",
        [],
        [[copy()]],
        {"ph": "X"},
        {"ph": ["X"], "cat": {}},
        {"ph": "M"},
        {"cat": "gpu_memcpy"},
    ]
    trace = read(path, *odd, copy(), distributedInfo=[7], deviceProperties={"id": "x", "name": 5})
    assert len(trace.copies) == 1
    assert (trace.devices, trace.processes, trace.notes) == ({}, (), ())


def test_a_trace_without_cuda_says_so(path: Path) -> None:
    trace = read(path, event("cpu_op", "aten::to", 90, {}))
    assert len(trace.copies) == 0
    assert trace.knows == set()
    assert "ProfilerActivity.CUDA" in trace.notes[0]
    # Files of old versions name none.
    path.write_text(json.dumps({"traceEvents": [event("cpu_op", "aten::to", 90, {})]}), "utf-8")
    assert "ProfilerActivity.CUDA" in read_kineto(path).notes[0]


def test_names_are_fit_to_be_shown(path: Path) -> None:
    names = ["\x1b[31mred", "long " * 1000, "Grüße"]
    trace = read(path, *(on_device("kernel", name) for name in names), deviceProperties=[{"id": 0, "name": "\x07bell"}])
    assert trace.names[0] == "\\x1b[31mred"
    assert len(trace.names[1]) == 1000
    assert trace.names[2] == "Grüße"
    assert trace.devices == {0: "\\x07bell"}


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("broken", [b"config.py(0): \xe9\xff", b"a\x00b", b"two\nlines\tof"])
def test_names_that_break_json_do_not_end_the_reading(path: Path, broken: bytes) -> None:
    text = json.dumps(document(on_device("kernel", "BROKEN"), copy())).encode()
    path.write_bytes(text.replace(b"BROKEN", broken))
    trace = read_kineto(path)
    assert (len(trace.kernels), len(trace.copies), trace.notes) == (1, 1, ())


@pytest.mark.usefixtures("parser")
def test_what_stands_before_a_break_is_kept(path: Path) -> None:
    events = [each for index in range(3) for each in (call(100 + index, correlation=index), copy(correlation=index))]
    whole = json.dumps(document(*events)).encode()
    begin = whole.index(b'"traceEvents"') + len('"traceEvents"')
    ends = [whole.index(b"gpu_memcpy"), *(index for index in range(begin, len(whole) - 1, 7))]
    for end in sorted(ends):
        path.write_bytes(whole[:end])
        trace = read_kineto(path)
        assert len(trace.copies) == whole[:end].replace(b" ", b"").count(b'"bytes":4096}}')
        assert len(trace.notes) == 1
        assert "cut off or damaged" in trace.notes[0]


def test_compressed_files_may_break_off_too(path: Path) -> None:
    random.seed(1)
    events = [copy(bytes=random.randrange(1 << 40), ts=random.randrange(1 << 40)) for _ in range(2000)]
    whole = gzip.compress(json.dumps(document(*events)).encode())
    path.write_bytes(whole[: len(whole) // 2])
    trace = read_kineto(path)
    assert 500 < len(trace.copies) < 1500
    assert (np.diff(trace.copies.start_ns) >= 0).all()
    assert "gzip data is cut off or damaged" in trace.notes[0]

    # The checksum stands at the end.
    path.write_bytes(whole[:-8] + bytes(8))
    trace = read_kineto(path)
    assert len(trace.copies) == 2000
    assert "gzip data is cut off or damaged" in trace.notes[0]
    path.write_bytes(whole[:5])
    with pytest.raises(TraceFileError, match="gzip data is cut off"):
        read_kineto(path)


@pytest.mark.usefixtures("parser")
def test_damage_anywhere_is_survived(path: Path) -> None:
    generator = random.Random(7)
    whole = json.dumps(document(copy(), call(), *labels(PID, "CPU"), distributedInfo={"rank": 0})).encode()
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(generator.randrange(1, 5)):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        path.write_bytes(damaged)
        with suppress(TraceFileError):
            copies = read_kineto(path).copies
            assert (copies.end_ns >= copies.start_ns).all()


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "the file is empty"),
        (b" \n ", "cut off or damaged"),
        (b"{", "cut off or damaged"),
        (b'{"traceEve', "cut off or damaged"),
        (b"[]", "JSON without keys"),
        (b"[1, 2]", "JSON without keys"),
        (b'[{"a": 1}]', "JSON without keys"),
        (b'{"traceEvents": [{"ph": "X", "cat": "v8", "ts": 1, "dur": 2, "name": "a"}]}', "events of another program"),
        (b'{"format": "isthmus", "cases": []}', "JSON with the keys format, cases"),
        (b"5", "no list of events"),
        (b"\xff\xfe{\0}\0", "no list of events"),
        (gzip.compress(b"", mtime=0), "the file is empty"),
        (gzip.compress(b"\x7fELF", mtime=0), "no list of events"),
        (b"\x1f\x8b", "gzip data is cut off"),
        (b"\x1f\x8b\x09 nothing of gzip", "gzip data is cut off or damaged"),
    ],
)
def test_files_of_others_are_refused_with_advice(path: Path, content: bytes, found: str) -> None:
    path.write_bytes(content)
    with pytest.raises(TraceFileError) as caught:
        read_kineto(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert found in message
    assert "expected a trace of the torch profiler" in message
    assert "export_chrome_trace" in message


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceFileError, match="No such file"):
        read_kineto(tmp_path / "absent.json")
    with pytest.raises(TraceFileError, match="not a regular file"):
        read_kineto(tmp_path)
    with pytest.raises(TraceFileError, match="cannot be read"):
        read_kineto(tmp_path / "nul\0.json")


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("monster", "reason"),
    [
        ('{"name": "' + "x" * (17 << 20), "a single value is longer than 16 MiB"),
        (" " * (17 << 20), "a single value is longer than 16 MiB"),
        ("[" * 100_000, "something nests more than 200 deep"),
        ('{"args":' * 100_000, "something nests more than 200 deep"),
        # Parsers differ in what they say of it.
        ('{"ts": ' + "1" * 20_000 + "}", "Only about the first"),
    ],
    ids=["text", "space", "lists", "objects", "digits"],
)
def test_monsters_end_the_reading(path: Path, monster: str, reason: str) -> None:
    path.write_bytes(gzip.compress(f'{{"traceEvents": [{json.dumps(copy())}, {" " * (64 << 10)} {monster}'.encode(), 1))
    trace = read_kineto(path)
    assert len(trace.copies) == 1
    assert len(trace.notes) == 1
    assert reason in trace.notes[0]


def test_too_many_records_are_cut_off(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kineto, "MOST_RECORDS", 3)
    trace = read(path, *(copy(index) for index in range(1, 9)))
    assert len(trace.copies) == 3
    assert trace.notes == ("Only the first 3 records were read: record a shorter time.",)


def test_what_is_kept_as_objects_is_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("_MOST_NAMES", "_MOST_PROCESSES", "_MOST_DEVICES"):
        monkeypatch.setattr(kineto_records, limit, 3)
    events = [on_device("kernel", f"kernel{index}") for index in range(9)]
    events += [call(pid=index) for index in range(9)]
    devices = [{"id": index, "name": "GPU"} for index in range(9)]
    trace = read(path, *events, deviceProperties=devices)
    assert trace.names == ("kernel0", "kernel1", "kernel2", "others")
    assert [trace.names[index] for index in trace.kernels.name[2:]] == ["kernel2"] + ["others"] * 6
    assert (len(trace.processes), len(trace.devices)) == (3, 3)
    assert trace.calls.process.tolist() == [0, 1, 2] + [UNKNOWN] * 6
