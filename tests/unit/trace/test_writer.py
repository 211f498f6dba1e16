"""What many threads write into a trace file is all there, and what the disk cannot hold is missing without harm."""

from __future__ import annotations

import resource
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from isthmus.trace.isthmus.blocks import RECORDS, blocks
from isthmus.trace.isthmus.file import read_isthmus

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parents[2] / "native" / "trace"

THREADS, CALLS = 8, 3000


@pytest.fixture(scope="module")
def program(build_cpp: Callable[..., Path]) -> Path:
    return build_cpp(HERE / "writer_check.cpp", NATIVE / "writer.cpp", NATIVE / "mapped_file.cpp", flags=("-pthread",))


@pytest.mark.thorough
def test_writer_and_reader_lay_records_out_alike(build_cpp: Callable[..., Path], tmp_path: Path) -> None:
    """Every field of each record is its place among the fields."""
    sources = (NATIVE / "writer.cpp", NATIVE / "mapped_file.cpp")
    path = tmp_path / "trace"
    subprocess.run([build_cpp(HERE / "records_check.cpp", *sources, flags=("-pthread",)), path], check=True)
    last = {block.kind: block.records[-1] for block in blocks(path, [])}
    assert set(last) == {kind for kind, _ in RECORDS.values()}
    for kind, record in last.items():
        if kind != "text":
            assert record.tolist() == tuple(range(1, len(record) + 1)), kind


@pytest.mark.thorough
def test_every_record_of_every_thread_is_there(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    subprocess.run([program, path, str(THREADS), str(CALLS)], check=True)
    trace = read_isthmus(path)
    assert len(trace.calls) == 2 * THREADS * CALLS
    for thread in range(THREADS):
        mine = trace.calls.taken(trace.calls.thread == thread)
        assert np.array_equal(np.sort(mine.start_ns), np.repeat(np.arange(1, CALLS + 1), 2))
    assert set(trace.names) == {f"call {number}" for number in range(50)}
    assert sorted(len(site[0]) for site in trace.sites) == [100 * number for number in range(40)]
    assert [(process.name, process.rank) for process in trace.processes] == [("program", 3)]
    assert "call_sites" in trace.knows
    assert "contents" not in trace.knows
    assert [note for note in trace.notes if "sentence" in note] == ["a sentence"]
    assert any("2 records were lost" in note for note in trace.notes)
    assert not any("killed" in note for note in trace.notes)


def test_nothing_is_overwritten(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_text("precious")
    done = subprocess.run([program, path, "1", "1"], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "File exists" in done.stderr
    assert path.read_text() == "precious"


def test_a_full_disk_costs_records_and_nothing_else(program: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk; it ends programs that do not ignore its signal."""
    path = tmp_path / "trace"
    limit = 3 << 20

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    subprocess.run([program, path, str(THREADS), str(10 * CALLS)], preexec_fn=limited, check=True)
    trace = read_isthmus(path)
    assert 0 < len(trace.calls) < 2 * THREADS * 10 * CALLS
    assert any("the disk was full" in note for note in trace.notes)
    assert path.stat().st_size <= limit


def test_blocks_begin_where_readers_look(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    subprocess.run([program, path, "2", "200"], check=True)
    content = path.read_bytes()
    assert len(content) % 4096 == 0
    assert sum(content[place : place + 8] == b"ISTHTRC1" for place in range(0, len(content), 4096)) == sum(
        1 for _ in blocks(path, [])
    )
