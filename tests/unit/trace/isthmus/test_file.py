"""Files of `isthmus trace`: damage and hostile numbers cost records, never the reader."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.errors import TraceFileError
from isthmus.trace import UNKNOWN, Process, cause_index, direction_index, fault_index, memory_index, open_trace
from isthmus.trace.isthmus.blocks import RECORDS, join_parts
from isthmus.trace.isthmus.file import read_isthmus
from tests.synthetic.trace_file import CALL, COPY, OPERANDS, PROCESS, TEXTS, WHOLE, block, raw_block, text_block, whole

HASHED = "What was copied was hashed, between the calls: that time is in the program's, and it took longer."


def write(folder: Path, content: bytes) -> Path:
    path = folder / "trace.itrace"
    path.write_bytes(content)
    return path


def test_records_become_the_model(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path, whole()))
    assert (trace.maker, trace.notes) == ("isthmus", (HASHED,))
    assert trace.processes == (Process(77, "app", 2),)
    assert trace.devices == {1: "H200"}
    copy = 1  # The migration began before it.
    assert trace.copies.migration.tolist() == [1, 0]
    assert trace.copies.cause.tolist() == [cause_index("fault"), UNKNOWN]
    assert trace.copies.bytes.tolist() == [65536, 4096]
    assert trace.copies.direction.tolist() == [direction_index("h2d")] * 2
    assert trace.copies.source.tolist() == [memory_index("managed"), memory_index("pinned")]
    assert trace.copies.source_address.tolist() == [4096, 10]
    assert trace.copies.destination_address[copy] == 20
    assert trace.copies.content[copy] == 99
    assert trace.copies.device.tolist() == [1, 1]
    assert trace.copies.call.tolist() == [UNKNOWN, 0]
    assert trace.names[trace.calls.name[0]] == "cudaMemcpyAsync"
    assert trace.sites[trace.calls.site[0]] == ("train.py:4 step", "train.py:9 <module>")
    assert trace.names[trace.kernels.name[0]] == "saxpy(float*)"
    assert trace.memsets.bytes.tolist() == [8]
    assert trace.faults.kind.tolist() == [fault_index("cpu")]
    assert trace.faults.end_ns.tolist() == [55]
    # What was given back is as large as it was when it was got.
    assert trace.allocations.bytes.tolist() == [8192, 8192]
    assert {"call_sites", "contents", "migrations", "faults", "addresses"} <= trace.knows


def test_records_that_lack_what_is_known_of_them_are_damage(tmp_path: Path) -> None:
    """Not a kind that is new: what they say of addresses would be missed in silence."""
    short = raw_block(5, 48, bytes(48))
    parts = block("process", [PROCESS]), block("copy", [COPY]), block("call", [CALL]), text_block(TEXTS)
    trace = open_trace(write(tmp_path, short + b"".join(parts)))
    assert trace.notes == ("Blocks of the trace file that are damaged or cut off, and were left out: 1.",)
    assert "addresses" not in trace.knows
    assert len(trace.copies) == 1


def test_processes_are_kept_apart(tmp_path: Path) -> None:
    """Correlations and texts are a process's own."""
    other = block("process", [{**PROCESS, "flags": 1}], process=8, pid=78) + block("call", [CALL], process=8)
    trace = open_trace(write(tmp_path, whole() + other + text_block({2: "cuMemcpyHtoD_v2"}, process=8)))
    assert [process.pid for process in trace.processes] == [77, 78]
    assert sorted(
        (int(process), trace.names[name]) for process, name in zip(trace.calls.process, trace.calls.name, strict=True)
    ) == [(0, "cudaMemcpyAsync"), (1, "cuMemcpyHtoD")]
    copied = trace.copies.call[trace.copies.migration == 0]
    assert trace.calls.process[copied].tolist() == [0]
    # What one of them did not record the trace does not know.
    assert "call_sites" in trace.knows
    assert not {"contents", "migrations"} & trace.knows


@pytest.mark.parametrize("first", [True, False])
def test_what_another_recorder_had_nothing_to_tell_of_is_no_second_process(tmp_path: Path, first: bool) -> None:
    """Only remarks have what stands in it: of its devices it may count others."""
    texts = {1: "app", 2: "Lines are missing.", 3: "CPU"}
    silent = block("process", [{**PROCESS, "flags": 0, "dropped": 3}], process=8)
    silent += block("device", [{"index": 1, "name": 3}], process=8) + block("note", [{"text": 2}], process=8)
    parts = [silent + text_block(texts, process=8), whole()]
    alone = open_trace(write(tmp_path, whole()))
    trace = open_trace(write(tmp_path, b"".join(parts if first else reversed(parts))))
    assert trace.processes == (Process(77, "app", 2),)
    assert (trace.devices, trace.knows) == (alone.devices, alone.knows)
    assert trace.copies.process.tolist() == [0, 0]
    assert trace.notes == (HASHED, "Lines are missing.", "Process 77: 3 records were lost.")


def test_what_shares_an_id_and_tells_something_is_a_process(tmp_path: Path) -> None:
    """As a program does that becomes another; one that did nothing is one, too, where no other has its id."""
    later = {**CALL, "start_ns": 700, "end_ns": 800}
    became = block("process", [PROCESS], process=8) + block("call", [later], process=8)
    idle = block("process", [PROCESS], process=7, pid=78)
    trace = open_trace(write(tmp_path, whole() + became + idle + text_block({1: "next"}, process=8)))
    assert [(process.pid, process.name) for process in trace.processes] == [(77, "app"), (77, "next"), (78, "")]


def test_waits_are_calls_that_wait(tmp_path: Path) -> None:
    names = {2: "cudaStreamSynchronize_v3020", 3: "cuCtxSynchronize", 6: "cudaMemcpy", 7: "cuEventSynchronize"}
    calls = [{**CALL, "start_ns": start, "end_ns": start + 5, "name": name} for start, name in enumerate(names, 1)]
    trace = open_trace(write(tmp_path, block("call", calls) + text_block(names)))
    assert [trace.names[name] for name in trace.synchronizations.name.tolist()] == ["stream", "device", "event"]
    assert trace.synchronizations.call.tolist() == [0, 1, 3]


@pytest.mark.parametrize(
    ("copy", "said"),
    [
        ({"end_ns": 100}, "1 of 1 copies were left out"),
        ({"start_ns": 0, "end_ns": 0}, "1 of 1 copies"),
        ({"bytes": 1 << 60}, "1 of 1 copies"),
        ({"start_ns": 1 << 63, "end_ns": (1 << 63) + 5}, "1 of 1 copies"),
        ({"end_ns": 1 << 61}, "1 of 1 copies"),
    ],
)
def test_what_cannot_be_is_left_out_and_said(tmp_path: Path, copy: dict[str, int], said: str) -> None:
    trace = open_trace(write(tmp_path, whole(copy=[{**COPY, **copy}])))
    assert trace.copies.migration.tolist() == [1]
    assert any(said in note for note in trace.notes)


def test_operands_of_another_copy_are_not_taken(tmp_path: Path) -> None:
    """Of a graph's copies, of which several have the correlation of one launch."""
    trace = open_trace(write(tmp_path, whole(operands=[{**OPERANDS, "bytes": 64}])))
    assert trace.copies.source_address.tolist() == [4096, UNKNOWN]


def test_newer_records_are_read_as_far_as_known(tmp_path: Path) -> None:
    fields = RECORDS[4][1]
    record = np.zeros(1, fields)
    for name, value in CALL.items():
        record[0][name] = value
    longer = raw_block(4, fields.itemsize + 8, (record.tobytes() + b"\xff" * 8) * 3)
    unknown = raw_block(200, 24, b"\xff" * 240)
    trace = open_trace(write(tmp_path, longer + unknown + text_block(TEXTS)))
    assert trace.calls.thread.tolist() == [3, 3, 3]
    assert trace.calls.end_ns.tolist() == [150, 150, 150]


def test_newer_formats_are_refused(tmp_path: Path) -> None:
    content = bytearray(whole())
    content[8] = 2
    with pytest.raises(TraceFileError, match="format 2; this version of isthmus reads 1"):
        open_trace(write(tmp_path, bytes(content)))


def test_parts_are_joined_without_what_they_reserved(tmp_path: Path) -> None:
    part, empty, unused = (tmp_path / name for name in ("part", "empty", "unused"))
    part.write_bytes(block("process", [PROCESS], spare=1 << 20) + bytes(1 << 20) + whole())
    empty.write_bytes(b"")
    unused.write_bytes(bytes(1 << 20))
    joined = tmp_path / "joined"
    join_parts([part, empty, unused], joined)
    assert joined.stat().st_size == 4096 * (len(WHOLE) + 2)
    assert len(open_trace(joined).copies) == 2


@settings(max_examples=150)
@given(st.data())
def test_damage_costs_records_and_never_the_reader(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(whole() + bytes(8192) + whole())
    for _ in range(data.draw(st.integers(1, 12))):
        place = data.draw(st.integers(0, len(content) - 8))
        content[place : place + 8] = data.draw(st.binary(min_size=8, max_size=8))
    cut = data.draw(st.integers(0, len(content)))
    path = write(tmp_path, bytes(content[:cut]))
    try:
        trace = read_isthmus(path)
    except TraceFileError:
        return
    for table in (trace.copies, trace.calls, trace.kernels, trace.memsets, trace.allocations, trace.faults):
        assert (table.end_ns >= table.start_ns).all()
    assert (trace.copies.call < len(trace.calls)).all()
    assert (trace.calls.name < len(trace.names)).all()
    assert (trace.calls.site < len(trace.sites)).all()
    assert (trace.copies.process < len(trace.processes)).all()


@pytest.mark.parametrize("flags", [8, 15])
def test_kernels_of_windows_are_known_and_those_left_out_are_not(tmp_path: Path, flags: int) -> None:
    """Readers before windows see the flag alone, and take kernels for not recorded."""
    window = {"start_ns": 150, "end_ns": 400, "launched_ns": 140}
    process = [{**PROCESS, "flags": flags}]
    windowed = open_trace(write(tmp_path, whole(process=process, window=[window])))
    assert "kernels" in windowed.knows
    assert len(windowed.kernels) == 1
    columns = (windowed.windows.start_ns, windowed.windows.end_ns, windowed.windows.launched_ns)
    assert [column.tolist() for column in columns] == [[150], [400], [140]]
    assert "kernels" not in open_trace(write(tmp_path, whole(process=process))).knows
    # Of a process that has none, none are.
    other = block("process", [{**PROCESS, "flags": 8}], process=8, pid=78) + block("call", [CALL], process=8)
    both = write(tmp_path, whole(process=process, window=[window]) + other)
    assert "kernels" not in open_trace(both).knows


@pytest.mark.parametrize("timed", [(5, 6), (70, 71), ()])
def test_copies_of_a_graph_are_those_of_its_nodes_where_no_device_reported_any(
    tmp_path: Path, timed: tuple[int, ...]
) -> None:
    """Two launches of a graph with two copies, which a device may name after other calls than the trace does."""
    nodes = [{**OPERANDS, "timing": 4, "correlation": launch, "device": 1} for launch in (5, 6) for _ in range(2)]
    launches = [{**CALL, "correlation": launch} for launch in (5, 6)]
    copies = [{**COPY, "correlation": launch} for launch in timed for _ in range(2)]
    trace = open_trace(write(tmp_path, whole(operands=nodes, call=launches, copy=copies, migration=[])))
    assert trace.copies.bytes.tolist() == [4096] * 4
    assert trace.copies.estimated.tolist() == [0 if timed else 1] * 4
    assert set(trace.copies.call.tolist()) == ({UNKNOWN} if 70 in timed else {0, 1})
