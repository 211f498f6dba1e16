"""What many threads write into a trace file is all there, and what the disk cannot hold is missing without harm."""

import os
import resource
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from isthmus.trace.isthmus.blocks import RECORDS, blocks
from isthmus.trace.isthmus.file import read_isthmus
from tests.processes import ended

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parents[2] / "native"

SOURCES = ("trace/writer.cpp", "interpose/mapped_file.cpp", "interpose/own_file.cpp")
THREADS, CALLS = 8, 3000


@pytest.fixture(scope="module")
def program(build_cpp: Callable[..., Path]) -> Path:
    return build_cpp(HERE / "writer_check.cpp", *(NATIVE / name for name in SOURCES), flags=("-pthread",))


@pytest.mark.thorough
def test_writer_and_reader_lay_records_out_alike(build_cpp: Callable[..., Path], tmp_path: Path) -> None:
    """Every field of each record is its place among the fields."""
    sources = tuple(NATIVE / name for name in SOURCES)
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
    done = ended(program, path, "1", "1")
    assert done.returncode == 3
    assert "File exists" in done.stderr
    assert path.read_text() == "precious"


@pytest.mark.parametrize("limit", [0, 4096, 300_000, 3 << 20])
def test_a_limit_on_the_size_of_files_costs_records_and_nothing_else(program: Path, tmp_path: Path, limit: int) -> None:
    """Its signal would end the program, which does not ignore it."""
    path = tmp_path / "trace"
    if not limit and "sanitize=thread" in os.environ.get("CXX", ""):
        pytest.skip("its runtime does not start without files")

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    words = [str(program), str(path), str(THREADS), str(2 * CALLS)]
    done = subprocess.run(words, preexec_fn=limited, capture_output=True, text=True, check=False)
    assert path.stat().st_size <= limit
    if not limit:
        assert (done.returncode, "ulimit -f" in done.stderr) == (3, True)
        return
    assert done.returncode == 0
    trace = read_isthmus(path)
    assert len(trace.calls) < 2 * THREADS * 2 * CALLS
    assert any("limit on the size of files was reached (ulimit -f)" in note for note in trace.notes)


@pytest.mark.parametrize("in_place", [True, False])
def test_a_disk_without_room_behind_a_page_costs_records_and_nothing_else(
    program: Path, tmp_path: Path, in_place: bool
) -> None:
    """A file cut off beneath the writer stands for a page that its file system finds no room for when it is written."""
    path = tmp_path / "trace"
    words = [str(program), str(path), "1", "20000", "in-place" if in_place else "copy-on-write"]
    done = subprocess.run(words, check=False)
    # Where pages keep their room stores ask nobody: that is what tells whether the test tests anything.
    assert (done.returncode != 0) == in_place


def test_blocks_begin_where_readers_look(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    subprocess.run([program, path, "2", "200"], check=True)
    content = path.read_bytes()
    assert len(content) % 4096 == 0
    assert sum(content[place : place + 8] == b"ISTHTRC1" for place in range(0, len(content), 4096)) == sum(
        1 for _ in blocks(path, [])
    )


@pytest.mark.parametrize("kept", [4096, 5000, 4096 * 3 + 100])
def test_a_file_that_is_cut_off_while_it_is_read_ends_there(program: Path, tmp_path: Path, kept: int) -> None:
    path = tmp_path / "trace"
    subprocess.run([program, path, "2", "20000"], check=True)
    whole = sum(1 for _ in blocks(path, []))
    reading = blocks(path, [])
    next(reading)
    with path.open("r+b") as file:
        file.truncate(kept)
    assert 1 + sum(block.records.size >= 0 for block in reading) < whole


def test_holes_of_a_sparse_file_are_not_read(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    subprocess.run([program, path, "1", "10"], check=True)
    found = [block.records.size for block in blocks(path, [])]
    content = path.read_bytes()
    with path.open("r+b") as file:
        file.truncate(1 << 42)
        file.seek((1 << 42) - 4096 * 300)
        file.write(content)
    assert [block.records.size for block in blocks(path, [])] == 2 * found
