"""The reader of nsys's SQLite exports: what they say, and the single records that it leaves out."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from isthmus.trace.columns import DIRECTIONS, MEMORY_KINDS, UNKNOWN
from isthmus.trace.nsys.reader import read_nsys
from isthmus.trace.trace import Process, Trace
from tests.synthetic.nsys import CALLS, COLUMNS, COPIES, KERNELS, MEMSETS, WAITS, Rows, call, copy, pid

MEMORY_NAMES = ("PAGEABLE", "PINNED", "DEVICE", "ARRAY", "MANAGED", "DEVICE_STATIC", "MANAGED_STATIC", "UNKNOWN")
OPERATION_NAMES = (
    *("UNKNOWN", "HTOD", "DTOH", "HTOA", "ATOH", "ATOA", "ATOD", "DTOA", "DTOD", "HTOH", "PTOP"),
    *("UVM_HTOD", "UVM_DTOH", "UVM_DTOD"),
)

Export = Callable[..., Path]


def column(trace: Trace, name: str) -> list[int]:
    found: list[int] = getattr(trace.copies, name).tolist()
    return found


def kinds(trace: Trace) -> list[tuple[str, str, str]]:
    """Direction, source and destination of each copy; a question mark where unknown."""
    places = zip(*(column(trace, name) for name in ("direction", "source", "destination")), strict=True)
    names = ((*DIRECTIONS, "?"), (*MEMORY_KINDS, "?"), (*MEMORY_KINDS, "?"))
    # UNKNOWN is -1, the last.
    return [(names[0][each[0]], names[1][each[1]], names[2][each[2]]) for each in places]


def test_two_processes_are_kept_apart_though_they_count_alike(export: Export) -> None:
    """The shape of a training run on two GPUs: the same correlations in both processes."""
    path = export(
        {
            COPIES: [
                copy(100, 200, bytes=1568, srcKind=0),
                copy(110, 210, globalPid=pid(8), deviceId=1, streamId=15),
                copy(300, 310, correlationId=2, copyKind=2, srcKind=2, dstKind=1, bytes=9),
                copy(90, 95, correlationId=99, copyKind=8, srcKind=2),
            ],
            # The same call twice, as where the driver's is recorded within the runtime's: the outer one made the copy.
            CALLS: [
                call(60, 65, 1, pid(8) | 80),
                call(51, 54, 1, name=2),
                call(50, 55, 1),
                call(250, 320, 2, pid(7) | 71, name=2),
            ],
            KERNELS: [[220, 240, 0, 7, 3, pid(7), 3, 3]],
            MEMSETS: [[400, 401, 1, 15, 4, pid(8), 0, 768, 2]],
            WAITS: [[500, 600, 0, 0xFFFFFFFF, 5, pid(7), 4, 0], [450, 460, 1, 15, 6, pid(8), 3, 0]],
            "PROCESSES": [[pid(6), 6, "bash"], [pid(8), 8, "python3"], [pid(7), 7, "python3.12"]],
            "META_DATA_EXPORT": [["EXPORT_PRODUCT_VERSION", "2026.2.1.210"], ["EXPORT_SCHEMA_VERSION", "3.25.0"]],
            "TARGET_INFO_GPU": [[0, "NVIDIA H100", "0000:43:00.0"], [1, "NVIDIA H200", "0000:52:00.0"]],
        }
    )
    trace = read_nsys(path)
    assert (trace.path, trace.maker, trace.version) == (path, "nsys", "3.25")
    assert trace.processes == (Process(7, "python3.12"), Process(8, "python3"))
    assert trace.devices == {0: "NVIDIA H100", 1: "NVIDIA H200"}
    assert trace.knows == {"calls", "kernels", "synchronizations"}
    assert trace.notes == ()
    assert trace.span_ns == (50, 600)

    assert column(trace, "start_ns") == [90, 100, 110, 300]
    assert column(trace, "end_ns") == [95, 200, 210, 310]
    assert column(trace, "bytes") == [4096, 1568, 4096, 9]
    assert column(trace, "process") == [0, 0, 1, 0]
    assert column(trace, "device") == [0, 0, 1, 0]
    assert column(trace, "stream") == [7, 7, 15, 7]
    assert not any(column(trace, "migration"))
    assert kinds(trace) == [
        ("d2d", "device", "device"),
        ("h2d", "pageable", "device"),
        ("h2d", "pinned", "device"),
        ("d2h", "device", "pinned"),
    ]

    calls = trace.calls
    assert calls.start_ns.tolist() == [50, 51, 60, 250]
    assert calls.end_ns.tolist() == [55, 54, 65, 320]
    assert calls.process.tolist() == [0, 0, 1, 0]
    assert calls.thread.tolist() == [70, 70, 80, 71]
    named = [trace.names[place] for place in calls.name.tolist()]
    assert named == ["cudaMemcpyAsync", "cuMemcpyHtoDAsync", "cudaMemcpyAsync", "cuMemcpyHtoDAsync"]
    assert column(trace, "call") == [UNKNOWN, 0, 2, 3]

    kernels, memsets, waits = trace.kernels, trace.memsets, trace.synchronizations
    assert (kernels.start_ns.tolist(), kernels.end_ns.tolist(), kernels.bytes.tolist()) == ([220], [240], [UNKNOWN])
    assert trace.names[kernels.name[0]] == "void saxpy<float>(int)"
    assert (memsets.bytes.tolist(), memsets.process.tolist(), memsets.device.tolist()) == ([768], [1], [1])
    assert [trace.names[place] for place in waits.name.tolist()] == ["stream", "device"]
    assert (waits.process.tolist(), waits.stream.tolist()) == ([1, 0], [15, UNKNOWN])


@pytest.mark.parametrize("says", [True, False])
def test_memory_and_operations_are_told_by_name_or_as_nsys_counts(export: Export, says: bool) -> None:
    operations = [copy(100 + number, 200, copyKind=number) for number in range(15)]
    h2d = 12 if says else 1
    memory = [copy(200 + number, 300, copyKind=h2d, srcKind=number, dstKind=7 - number) for number in range(9)]
    tables: dict[str, Rows] = {COPIES: operations + memory}
    if says:
        # In another order than nsys's own.
        tables["ENUM_CUDA_MEM_KIND"] = [
            [7 - number, f"CUDA_MEMOPR_MEMORY_KIND_{name}", ""] for number, name in enumerate(MEMORY_NAMES)
        ]
        tables["ENUM_CUDA_MEMCPY_OPER"] = [
            [13 - number, f"CUDA_MEMCPY_KIND_{name}", ""] for number, name in enumerate(OPERATION_NAMES)
        ]
    trace = read_nsys(export(tables))
    found = kinds(trace)
    direction = [each[0] for each in found[:14]]
    expected = ["?", "h2d", "d2h", "h2d", "d2h", "d2d", "d2d", "d2d", "d2d", "h2h", "peer", "h2d", "d2h", "peer"]
    assert (direction[::-1] if says else direction) == expected
    assert found[14][0] == "?"
    migrations = column(trace, "migration")
    assert (migrations[13::-1] if says else migrations[:14]) == [False] * 11 + [True] * 3
    assert {found[place][1:] for place, migrated in enumerate(migrations) if migrated} == {("managed", "managed")}

    source = [each[1] for each in found[15:23]]
    destination = [each[2] for each in found[15:23]]
    known = ["pageable", "pinned", "device", "device", "managed", "device", "managed", "?"]
    assert (source[::-1] if says else source) == known
    assert (destination if says else destination[::-1]) == known
    assert found[23][1:] == ("?", "?")
    assert "migrations" in trace.knows
    assert len(trace.notes) == 1
    assert f"{COPIES}: 2 of 24 copies name no direction" in trace.notes[0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("EVENT_SYNCHRONIZE", "event"),
        ("STREAM_WAIT_EVENT", "stream wait"),
        ("STREAM_SYNCHRONIZE", "stream"),
        ("CONTEXT_SYNCHRONIZE", "device"),
        ("UNKNOWN", None),
        ("OF_TOMORROW", None),
    ],
)
def test_waits_say_what_was_waited_for(export: Export, name: str, expected: str | None) -> None:
    trace = read_nsys(
        export(
            {
                WAITS: [[1, 2, 0, 7, 1, pid(7), 9, 0]],
                "ENUM_CUPTI_SYNC_TYPE": [[9, f"CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_{name}", ""]],
            }
        )
    )
    place = int(trace.synchronizations.name[0])
    assert (None if place == UNKNOWN else trace.names[place]) == expected


@pytest.mark.parametrize(
    ("table", "row", "word"),
    [
        (CALLS, call(1, 2, 1), "calls"),
        (KERNELS, [1, 2, 0, 7, 3, pid(7), 3, 3], "kernels"),
        (WAITS, [1, 2, 0, 7, 1, pid(7), 3, 0], "synchronizations"),
        (COPIES, copy(copyKind=11), "migrations"),
        ("CUDA_UM_CPU_PAGE_FAULT_EVENTS", [1, pid(7), 4096], "faults"),
        ("CUDA_UM_GPU_PAGE_FAULT_EVENTS", [1, 2, pid(7), 4096, 3], "faults"),
        ("CUDA_CALLCHAINS", [1, 2, 3, 0], "call_sites"),
    ],
)
def test_a_trace_knows_what_was_recorded(export: Export, table: str, row: Sequence[object], word: str) -> None:
    assert read_nsys(export({COPIES: [copy()], table: [row]})).knows == {word}
    # nsys writes all tables, empty ones too, if it is told to: these say nothing.
    assert read_nsys(export({COPIES: [copy()], table: []} | {table: []}, name="empty.sqlite")).knows == set()


def test_an_export_without_anything_of_cuda_says_so(export: Export) -> None:
    trace = read_nsys(export())
    assert len(trace.copies) == len(trace.calls) == len(trace.kernels) == 0
    assert not trace.processes
    assert not trace.names
    assert not trace.knows
    assert trace.span_ns == (0, 0)
    assert trace.version == ""
    assert any("Nothing of CUDA was recorded" in note and "--trace=cuda" in note for note in trace.notes)


@pytest.mark.parametrize("reported", [True, False])
def test_an_export_of_calls_alone_says_why_as_nsys_does(export: Export, reported: bool) -> None:
    events = [[1, 3, "Profiling has started."], [3, 1, "Device 0 cannot be traced."]][: 1 + reported]
    trace = read_nsys(export({CALLS: [call(1, 2, 1)], "DIAGNOSTIC_EVENT": events}))
    (note,) = trace.notes
    assert note.startswith("Calls were recorded, and nothing that a device did")
    assert ("nsys reports: Device 0 cannot be traced." in note) == reported
    assert not read_nsys(export({CALLS: [call(1, 2, 1)], COPIES: [copy()]}, name="more.sqlite")).notes


def test_graphs_recorded_as_wholes_are_told_of(export: Export) -> None:
    trace = read_nsys(export({COPIES: [copy()], "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [[1, 2, 3]]}))
    assert any("--cuda-graph-trace=node" in note for note in trace.notes)


@pytest.mark.parametrize("whole", [True, False])
def test_devices_are_the_machines_where_the_export_tells_of_all(export: Export, whole: bool) -> None:
    """Each process sees one GPU of its own, and calls it device 0."""
    known = [[1, 0, 7, "u1"], [0, 0, 8, "u0"], [None, 1, 8, "u2"]]
    trace = read_nsys(
        export(
            {
                COPIES: [copy(), copy(300, 400, globalPid=pid(8)), copy(500, 600, deviceId=None)],
                KERNELS: [[220, 240, 0, 7, 3, pid(7), 3, 3]],
                "TARGET_INFO_CUDA_DEVICE": known if whole else known[:1],
            }
        )
    )
    assert column(trace, "device") == ([1, 0, UNKNOWN] if whole else [0, 0, UNKNOWN])
    assert trace.kernels.device.tolist() == [1 if whole else 0]
    assert trace.notes == ()


@pytest.mark.parametrize("value", [None, "12", "twelve", b"\x0c", 1.5, 1e300, float("inf"), -(2**63)], ids=repr)
def test_a_record_without_a_number_is_left_out_and_counted(export: Export, value: object) -> None:
    undeclared = [f"CREATE TABLE {COPIES} ({', '.join(f'[{name}]' for name in COLUMNS[COPIES].split())})"]
    path = export(sql=undeclared)
    rows = [copy(), copy(value), copy(end=value), copy(bytes=value), copy(copyKind=value), copy(150, 160)]
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany(f"INSERT INTO {COPIES} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        connection.commit()
    trace = read_nsys(path)
    assert column(trace, "start_ns") == [100, 150]
    assert trace.notes == (f"{COPIES}: left out 4 of 6 records, in which a number is missing.",)


@pytest.mark.parametrize("value", [None, "7", b"", 0.5, -5, 2**62])
def test_what_a_copy_may_lack_is_unknown(export: Export, value: object) -> None:
    lacking = dict.fromkeys(("deviceId", "streamId", "correlationId", "srcKind", "dstKind"), value)
    undeclared = [f"CREATE TABLE {COPIES} ({', '.join(f'[{name}]' for name in COLUMNS[COPIES].split())})"]
    path = export({CALLS: [call(50, 55, 1), call(50, 55, value), call(50, 55, None)]}, sql=undeclared)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"INSERT INTO {COPIES} VALUES (?{', ?' * 10})", copy(**lacking))
        connection.commit()
    trace = read_nsys(path)
    for name in ("device", "stream", "call", "source", "destination"):
        assert column(trace, name) == [UNKNOWN], name
    assert column(trace, "process") == [0]
    assert trace.notes == ()


def test_without_a_process_nothing_is_joined(export: Export) -> None:
    trace = read_nsys(export({COPIES: [copy(globalPid=None)], CALLS: [call(50, 55, 1), call(50, 55, 1, None)]}))
    assert column(trace, "process") == column(trace, "call") == [UNKNOWN]
    assert trace.calls.process.tolist() == [0, UNKNOWN]
    assert trace.calls.thread.tolist() == [70, UNKNOWN]
    assert trace.processes == (Process(7),)
    # Nor is any device lost.
    told = export({COPIES: [copy(globalPid=None)], "TARGET_INFO_CUDA_DEVICE": [[1, 0, 7, "u"]]}, name="told.sqlite")
    assert column(read_nsys(told), "device") == [0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"start": 200, "end": 100},
        {"start": -5, "end": 100},
        {"start": -(2**63) + 1, "end": 2**63 - 1},
        {"start": 2**63 - 1, "end": 2**63 - 1},
        {"start": 0, "end": 0},
        {"start": 1, "end": 10**18},
        {"bytes": -1},
        {"bytes": 2**60},
    ],
    ids=str,
)
def test_clocks_that_jump_and_sizes_that_cannot_be_are_left_out_and_counted(
    export: Export, wrong: dict[str, Any]
) -> None:
    trace = read_nsys(export({COPIES: [copy(), copy(**wrong)]}))
    assert column(trace, "start_ns") == [100]
    assert trace.notes == (f"{COPIES}: left out 1 of 2 records, whose times or sizes cannot be right.",)
    calls = [call(1, 1, 1), call(wrong.get("start", -2), wrong.get("end", -1), 2)]
    trace = read_nsys(export({CALLS: calls}, name="calls.sqlite"))
    assert trace.calls.start_ns.tolist() == [1]
    assert "1 of 2" in trace.notes[0]


def test_names_may_be_missing_no_text_or_unfit_for_terminals(export: Export) -> None:
    path = export(
        {
            "StringIds": [[1, "cuda\x1b[31mFree\n_v3020"], [2, b"blob"], [3, "k" * 100_000]],
            CALLS: [call(1, 2, 1), call(2, 3, 2, name=2), call(3, 4, 3, name=77)],
            KERNELS: [[220, 240, 0, 7, 3, pid(7), 3, 3]],
            "PROCESSES": [[pid(7), 7, None], ["x", 8, "y"]],
        }
    )
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO StringIds VALUES (4, CAST(x'63ff64' AS TEXT))")
        connection.execute(f"UPDATE {CALLS} SET nameId = 4 WHERE start = 2")
        connection.commit()
    trace = read_nsys(path)
    named = [None if place == UNKNOWN else trace.names[place] for place in trace.calls.name.tolist()]
    assert named == ["cuda\\x1b[31mFree ", "c\ufffdd", None]
    assert trace.names[trace.kernels.name[0]] == "k" * 1000
    assert trace.processes == (Process(7),)


def test_tables_that_only_explain_may_lack_anything(export: Export) -> None:
    explaining = ("PROCESSES", "META_DATA_EXPORT", "ENUM_CUDA_MEM_KIND", "ENUM_CUDA_MEMCPY_OPER", "TARGET_INFO_GPU")
    sql = [f"CREATE TABLE {table} (other)" for table in (*explaining, "TARGET_INFO_CUDA_DEVICE")]
    sql += [f"INSERT INTO {table} VALUES (1)" for table in (*explaining, "TARGET_INFO_CUDA_DEVICE")]
    trace = read_nsys(export({COPIES: [copy()]}, sql=sql))
    assert kinds(trace) == [("h2d", "pinned", "device")]
    assert column(trace, "device") == [0]
    assert (trace.version, trace.devices, trace.processes) == ("", {}, (Process(7),))
    assert trace.notes == ()


def test_an_export_in_utf_16_reads_the_same(export: Export) -> None:
    tables: dict[str, Rows] = {COPIES: [copy()], CALLS: [call(50, 55, 1)], "PROCESSES": [[pid(7), 7, "Übung"]]}
    plain = read_nsys(export(tables))
    trace = read_nsys(export(tables, sql=["PRAGMA encoding = 'UTF-16le'"], name="16.sqlite"))
    assert (
        (trace.names, trace.processes)
        == (plain.names, plain.processes)
        == (("cudaMemcpyAsync",), (Process(7, "Übung"),))
    )


def test_texts_that_nobody_asks_for_are_not_read(export: Export, monkeypatch: pytest.MonkeyPatch) -> None:
    """nsys keeps whatever the program printed among its strings."""
    monkeypatch.setattr("isthmus.trace.nsys.tables._MOST_BYTES", 100_000)
    strings = [(1, "cudaMemcpyAsync_v3020"), (5, "printed\n" * 100_000)]
    assert read_nsys(export({"StringIds": strings, CALLS: [call(1, 2, 1)]})).names == ("cudaMemcpyAsync",)


def test_ranges_that_a_program_named_are_read(export: Export) -> None:
    columns = "start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER"
    nvtx = f"CREATE TABLE NVTX_EVENTS ({columns})"
    path = export({COPIES: [copy(100, 200)], CALLS: [call(50, 90, 1)]}, [nvtx])
    with closing(sqlite3.connect(path)) as connection:
        thread = pid(7) | 71
        connection.execute("INSERT INTO StringIds VALUES (90, 'load')")
        rows = [
            (300, 400, 59, "step 2", thread, None),
            (100, 200, 60, None, thread, 90),
            (150, None, 34, "a mark", thread, None),
            (10, 20, 59, "of no process here", pid(99) | 1, None),
        ]
        connection.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.commit()
    trace = read_nsys(path)
    names = [trace.range_names[name] for name in trace.ranges.name]
    assert names == ["of no process here", "load", "step 2"]
    assert trace.ranges.process.tolist() == [UNKNOWN, 0, 0]
    assert trace.ranges.thread.tolist()[1:] == [71, 71]
    assert not trace.notes


def test_devices_of_exports_until_2021_have_their_names(export: Export) -> None:
    old = "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, deviceId INTEGER, name TEXT)"
    path = export(
        {COPIES: [copy(100, 200)]}, [old, "INSERT INTO TARGET_INFO_GPU VALUES (1, 0, 'NVIDIA GeForce RTX 3080')"]
    )
    assert read_nsys(path).devices == {0: "NVIDIA GeForce RTX 3080"}
