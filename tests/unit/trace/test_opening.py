"""Traces are told apart by what they begin with, not by their names."""

import gzip
import json
import sqlite3
from pathlib import Path

import pytest

from isthmus.errors import TraceFileError
from isthmus.trace import open_trace
from tests.synthetic.trace_file import block, text_block


def test_makers_are_told_apart_by_the_file(tmp_path: Path) -> None:
    events = json.dumps({"schemaVersion": 1, "traceEvents": []})
    (tmp_path / "plain").write_text("\n " + events)
    (tmp_path / "marked").write_bytes(b"\xef\xbb\xbf" + events.encode())
    (tmp_path / "compressed").write_bytes(gzip.compress(events.encode()))
    with sqlite3.connect(tmp_path / "export.json") as connection:
        connection.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
    connection.close()
    found = {path.name: open_trace(path).maker for path in tmp_path.iterdir()}
    assert found == {"plain": "kineto", "marked": "kineto", "compressed": "kineto", "export.json": "nsys"}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none", b"", "found an empty file"),
        ("text", b"hello", "expected a file of isthmus trace"),
        ("app.nsys-rep", b"\x00\x01", "nsys export --type sqlite app.nsys-rep"),
        ("big.json", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n", "git lfs pull"),
        ("trace.zip", b"PK\x03\x04\x14\x00", "unzip trace.zip"),
        (
            "events.json",
            b'{"format":"isthmus.events","displayTimeUnit":"ns","traceEvents":[]}',
            "give the trace it was",
        ),
        ("table.json", b'{"format": "isthmus.transfers", "copies": []}', "table of a trace"),
        ("run.json", b'{"format":"isthmus.run","schema_version":5}', "--run"),
        ("app.json", b'{"Type":48,"CudaEvent":{"startNs":"1"}}', "--type sqlite app.nsys-rep"),
        ("log.txt", b"==71== NVPROF is profiling process 71\n", "nsys profile --trace=cuda"),
        ("host.xplane.pb", b"\x0a\x13\x08", "host.trace.json.gz"),
        ("app.ncu-rep", b"NVR\x00", "isthmus trace"),
        ("et.json", b'{\n  "schema": "1.0.3-chakra.0.0.4", "pid": 7, "nodes": []}', "record with torch.profiler"),
        ("app.h5", b"\x89HDF\r\n\x1a\n\0\0", "--type sqlite app.nsys-rep"),
        ("app.parquet", b"PAR1\x15\x04", "--type sqlite app.nsys-rep"),
        ("app.arrow", b"ARROW1\0\0", "--type sqlite app.nsys-rep"),
        ("out_memory_copy_trace.csv", b'"Kind","Direction","Source_Agent_Id"\n"MEMORY_COPY",', "out_results.json"),
        ("out_hip_api_trace.csv", b'"Domain","Function","Process_Id"\n', "--memory-copy-trace --output-format json"),
        ("results.csv", b'"Index","KernelName","gpu-id","BeginNs","EndNs"\n', "rocprof --hip-trace"),
        ("results.copy_stats.csv", b'"Name","Calls","TotalDurationNs"\n', "rocprof --hip-trace"),
        ("cuda_gpu_trace.csv", b"Start (ns),Duration (ns),CorrId\n", "nsys export --type sqlite"),
        ("gpumemtimesum.csv", b"Time (%),Total Time (ns),Count\n", "nsys export --type sqlite"),
    ],
)
def test_what_is_no_trace_is_said_to_be_none(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TraceFileError, match=said):
        open_trace(tmp_path / name)


@pytest.mark.parametrize(
    ("table", "said"),
    [("rocpd_kernel_dispatch", "output-format json"), ("CUPTI_ACTIVITY_KIND_MEMCPY", "nvprof"), ("cats", "StringIds")],
)
def test_databases_of_others_are_known(tmp_path: Path, table: str, said: str) -> None:
    path = tmp_path / "results.db"
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE {table} (id INTEGER)")
    connection.close()
    with pytest.raises(TraceFileError, match=said):
        open_trace(path)


def test_the_parts_of_a_recorder_that_was_killed_are_named(tmp_path: Path) -> None:
    (tmp_path / "app.itrace").touch()
    (tmp_path / "app.itrace.x1.parts").mkdir()
    with pytest.raises(TraceFileError, match=r"in .*app\.itrace\.x1\.parts, part by part for --open"):
        open_trace(tmp_path / "app.itrace")


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(TraceFileError, match="cannot be read"):
        open_trace(tmp_path / "absent")
    with pytest.raises(TraceFileError, match="a folder; give the file"):
        open_trace(tmp_path)
    (tmp_path / "CUPTI_ACTIVITY_KIND_MEMCPY.parquet").touch()
    with pytest.raises(TraceFileError, match="nsys export --type sqlite"):
        open_trace(tmp_path)


def test_the_database_of_rocprof_is_known(tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    with sqlite3.connect(path) as connection:
        for table in ("HIP", "COPY", "OPS", "KERN"):
            connection.execute(f"CREATE TABLE {table} (BeginNs INTEGER)")
    connection.close()
    with pytest.raises(TraceFileError, match=r"give the JSON .* rocprof --hip-trace"):
        open_trace(path)


@pytest.mark.parametrize(("called_ns", "jumped"), [(500, False), (5_000_000, False), (155_000_000_000, True)])
def test_a_clock_that_jumped_is_told(tmp_path: Path, called_ns: int, jumped: bool) -> None:
    copy = {"start_ns": 1000, "end_ns": 3000, "bytes": 4096, "correlation": 5, "copy_kind": 1, "source": 1}
    call = {"start_ns": called_ns, "end_ns": called_ns + 400, "correlation": 5, "name": 2}
    texts = text_block({1: "app", 2: "cudaMemcpyAsync_v3020"})
    path = tmp_path / "x.itrace"
    path.write_bytes(texts + block("call", [call]) + block("copy", [copy | {"destination": 3}]))
    told = [note for note in open_trace(path).notes if note.startswith("The clock jumped")]
    assert bool(told) == jumped
    assert not jumped or "1 of 1 copies begin before the calls that made them, by up to 155 s" in told[0]
