"""The library that traces OpenCL, before the libOpenCL of a program: what it writes, and that it does no harm."""

import os
import signal
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from isthmus import _native
from isthmus.trace import DIRECTIONS, MEMORY_KINDS, Trace, open_trace
from isthmus.trace.isthmus.blocks import join_parts
from tests.compiling import compile_program
from tests.processes import ended

HERE = Path(__file__).resolve().parent
TRACER = Path(_native.__file__).with_name("libisthmus_opencl_tracer.so")
COPIES = 500
# Of one thread: 64 bytes, and one more each time.
BYTES = sum(64 + place for place in range(COPIES))
# What is moved beside the pieces, in the order of the calls: bytes, direction, kinds, rows, whether the call waited.
TOUR = [
    ("clEnqueueWriteBuffer", 4096, "h2d", "pageable", "device", 1, 0),
    ("clEnqueueCopyBuffer", 2048, "d2d", "device", "device", 1, 0),
    ("clEnqueueReadBuffer", 2048, "d2h", "device", "pageable", 1, 0),
    ("clEnqueueWriteBufferRect", 48, "h2d", "pageable", "device", 3, 1),
    ("clEnqueueReadBuffer", 4096, "d2h", "device", "pageable", 1, 1),
    ("clEnqueueWriteBuffer", 1000, "h2d", "pinned", "device", 1, 1),
    ("clEnqueueUnmapMemObject", 4096, "h2d", "pinned", "device", 1, 0),
    ("clEnqueueMapBuffer", 500, "d2h", "device", "pageable", 1, 1),
    ("clEnqueueSVMMemcpy", 600, "h2d", "pageable", "managed", 1, 1),
    ("clEnqueueSVMMap", 700, "d2h", "managed", "managed", 1, 1),
    ("clEnqueueSVMUnmap", 700, "h2d", "managed", "managed", 1, 0),
    ("clEnqueueWriteImage", 128, "h2d", "pageable", "device", 4, 1),
    ("clEnqueueWriteBuffer", 100, "h2d", "pageable", "device", 1, 0),
]
MAPPED = {"clEnqueueUnmapMemObject", "clEnqueueMapBuffer", "clEnqueueSVMMap", "clEnqueueSVMUnmap"}

Traced = Callable[..., subprocess.CompletedProcess[str]]


def built(library: Path) -> Path:
    links = [str(library), f"-Wl,-rpath,{library.parent}"]
    options = [f"-I{HERE.parents[1] / 'native'}", "-pthread"]
    return compile_program("opencl_program", [HERE / "opencl_program.cpp"], options, links)


@pytest.fixture(scope="module")
def program(compiled: Callable[..., Path]) -> Path:
    return built(compiled("fake_opencl.cpp"))


@pytest.fixture
def traced(program: Path, tmp_path: Path) -> Traced:
    def traced(
        ending: str, copies: int = COPIES, program: Path = program, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        # Sanitizers that are preloaded stay before it.
        preloaded = " ".join(filter(None, [os.environ.get("LD_PRELOAD"), str(TRACER)]))
        given = {"ISTHMUS_TRACE_FOLDER": str(tmp_path), "LD_PRELOAD": preloaded, **environment}
        return ended(program, ending, str(copies), env=given)

    return traced


def trace_in(folder: Path) -> Trace:
    joined = folder / "joined"
    join_parts(sorted(folder.glob("*.part")), joined)
    return open_trace(joined)


def tour(trace: Trace) -> list[tuple[str, int, str, str, str, int, int]]:
    """What the program moves beside the pieces of its threads, in the order of the calls."""
    copies = trace.copies
    rows = np.flatnonzero(copies.stream == 2)
    rows = rows[np.argsort(copies.call[rows], kind="stable")]
    return [
        (
            trace.names[trace.calls.name[copies.call[row]]],
            int(copies.bytes[row]),
            DIRECTIONS[copies.direction[row]],
            MEMORY_KINDS[copies.source[row]],
            MEMORY_KINDS[copies.destination[row]],
            int(copies.rows[row]),
            int(trace.calls.blocking[copies.call[row]]),
        )
        for row in rows.tolist()
    ]


# Far ahead of the host's clock, and on it.
@pytest.mark.parametrize("ahead", ["0", "123456789012345"])
def test_everything_is_recorded(traced: Traced, tmp_path: Path, ahead: str) -> None:
    done = traced("exit", FAKE_CLOCK_NS=ahead)
    assert (done.returncode, done.stdout, done.stderr) == (4, "worked\n", "")
    trace = trace_in(tmp_path)
    assert (trace.notes, trace.devices) == ((), {0: "fake device"})
    copies, calls = trace.copies, trace.calls
    pieces = np.flatnonzero(copies.stream < 2)
    assert (pieces.size, int(copies.bytes[pieces].sum())) == (2 * COPIES, 2 * BYTES)
    # Every other one waits.
    assert (calls.blocking[copies.call[pieces]] == 1 - copies.bytes[pieces] % 2).all()
    assert np.unique(calls.thread).size == 2
    assert tour(trace) == TOUR
    # Within its call if it waits for it, and never before it.
    own = copies.call
    assert (copies.start_ns >= calls.start_ns[own]).all()
    assert (copies.end_ns >= copies.start_ns).all()
    waited = calls.blocking[own] == 1
    assert (copies.end_ns[waited] <= calls.end_ns[own[waited]]).all()
    assert [trace.names[name] for name in trace.kernels.name.tolist()] == ["triple"]
    assert trace.memsets.bytes.tolist() == [8192]
    waits = [trace.names[name] for name in trace.synchronizations.name.tolist()]
    assert sorted(waits) == ["event"] + ["stream"] * 6


def test_memory_is_told_apart(traced: Traced, tmp_path: Path) -> None:
    traced("exit", 0)
    trace = trace_in(tmp_path)
    found = trace.allocations
    got, given_back = found.taken(found.release == 0), found.taken(found.release == 1)
    kinds = {MEMORY_KINDS[kind]: int((got.kind == kind).sum()) for kind in set(got.kind.tolist())}
    assert kinds == {"device": 8, "pinned": 1, "managed": 1}
    # A part of a buffer is no memory of its own; all else is given back.
    assert sorted(given_back.address.tolist()) == sorted(got.address.tolist())
    assert sorted(given_back.bytes.tolist()) == sorted(got.bytes.tolist())
    ranges = sorted(zip(got.address.tolist(), got.bytes.tolist(), strict=True))
    assert all(start + size <= after for (start, size), (after, _) in pairwise(ranges))
    # Pieces of buffers are where they are in them: of the part at 1024, of rows, of what was mapped.
    base = {int(size): int(address) for address, size in ranges if size == 8192}[8192]
    copies = trace.copies
    by_bytes = {int(size): row for row, size in enumerate(copies.bytes.tolist())}
    assert copies.destination_address[by_bytes[48]] == base + 64 + 8
    (read,) = np.flatnonzero((copies.bytes == 2048) & (copies.direction == DIRECTIONS.index("d2h")))
    (within,) = np.flatnonzero((copies.bytes == 2048) & (copies.direction == DIRECTIONS.index("d2d")))
    assert copies.source_address[read] == copies.destination_address[within] == base + 1024
    pinned = int(got.address[got.kind == MEMORY_KINDS.index("pinned")][0])
    assert copies.source_address[by_bytes[1000]] == pinned + 96


def test_mapping_memory_that_the_device_shares_moves_nothing(traced: Traced, tmp_path: Path) -> None:
    traced("exit", 0, FAKE_UNIFIED="1")
    assert tour(trace_in(tmp_path)) == [each for each in TOUR if each[0] not in MAPPED]


def test_queues_without_times_lose_no_copy(traced: Traced, tmp_path: Path) -> None:
    assert traced("exit", FAKE_NO_TIMES="1").returncode == 4
    trace = trace_in(tmp_path)
    assert len(trace.copies) == 2 * COPIES + len(TOUR)
    assert trace.notes == ("Some queues of OpenCL keep no times: their commands have those of their calls.",)
    own = trace.copies.call
    assert (trace.copies.start_ns == trace.calls.start_ns[own]).all()


def test_a_program_whose_opencl_lacks_functions_goes_on(
    compiled: Callable[..., Path], traced: Traced, tmp_path: Path
) -> None:
    library = compiled("fake_opencl.cpp", "clGetDeviceAndHostTimer", "clEnqueueSVMMap", "clEnqueueWriteImage")
    done = traced("exit", program=built(library), FAKE_CLOCK_NS="123456789012345")
    assert (done.returncode, done.stdout, done.stderr) == (4, "worked\n", "")
    trace = trace_in(tmp_path)
    lacking = {"clEnqueueSVMMap", "clEnqueueSVMUnmap", "clEnqueueWriteImage"}
    assert tour(trace) == [each for each in TOUR if each[0] not in lacking]
    own = trace.copies.call
    assert (trace.copies.start_ns >= trace.calls.start_ns[own]).all()
    waited = trace.calls.blocking[own] == 1
    assert (trace.copies.end_ns[waited] <= trace.calls.end_ns[own[waited]]).all()


@pytest.mark.parametrize(("ending", "code"), [("_exit", 5), ("kill", -signal.SIGKILL), ("busy", 6)])
def test_no_copy_is_lost_with_a_program_that_dies(traced: Traced, tmp_path: Path, ending: str, code: int) -> None:
    """The last one is still to be done: its call is known."""
    assert traced(ending).returncode == code
    trace = trace_in(tmp_path)
    assert len(trace.copies) == 2 * COPIES + len(TOUR)
    assert int(trace.copies.bytes.sum()) == 2 * BYTES + sum(each[1] for each in TOUR)
    assert any(note.startswith("1 copies were called for") for note in trace.notes)


def test_a_forked_child_leaves_the_file_alone(traced: Traced, tmp_path: Path) -> None:
    assert traced("fork").returncode == 7
    assert len(list(tmp_path.glob("*.part"))) == 1
    trace = trace_in(tmp_path)
    assert len(trace.copies) == 2 * COPIES + len(TOUR)
    assert trace.notes == ()


def test_what_a_program_becomes_has_a_file_of_its_own(traced: Traced, tmp_path: Path) -> None:
    assert traced("exec").returncode == 4
    trace = trace_in(tmp_path)
    assert np.bincount(trace.copies.process).tolist() == [2 * COPIES + len(TOUR)] * 2


def test_what_is_copied_is_hashed_on_request(traced: Traced, tmp_path: Path) -> None:
    traced("exit", 4, ISTHMUS_TRACE_OPTIONS="contents")
    trace = trace_in(tmp_path)
    content = trace.copies.content
    assert "contents" in trace.knows
    # The same bytes written by both threads are the same; the four sizes differ.
    pieces = trace.copies.stream < 2
    assert np.unique(content[pieces]).size == 4
    assert (np.unique(content[pieces], return_counts=True)[1] == 2).all()
    assert (content[pieces] != -1).all()


def test_native_stacks_name_the_program(traced: Traced, tmp_path: Path) -> None:
    traced("exit", 1, ISTHMUS_TRACE_OPTIONS="stacks")
    trace = trace_in(tmp_path)
    sites = {trace.sites[site] for site in trace.calls.site[trace.copies.call].tolist()}
    assert sites
    for site in sites:
        # A sanitizer may stand between.
        assert "libisthmus" not in site[0]
        assert any(frame.startswith("opencl_program+0x") for frame in site)


def test_programs_that_are_not_traced_or_use_no_opencl_leave_nothing(traced: Traced, tmp_path: Path) -> None:
    assert traced("exit", 1, ISTHMUS_TRACE_FOLDER=str(tmp_path / "absent")).returncode == 4
    assert traced("exit", 1, program=Path("/bin/true")).returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_the_library_stands_alone() -> None:
    """It is loaded into every program that a traced one starts, and shows it nothing but functions of OpenCL."""
    if "san.so" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("with sanitizers it needs theirs")
    needed = subprocess.run(["readelf", "-d", TRACER], capture_output=True, text=True, check=True).stdout
    assert "libstdc++" not in needed
    symbols = subprocess.run(
        ["nm", "--dynamic", "--defined-only", TRACER], capture_output=True, text=True, check=True
    ).stdout
    names = [line.split()[-1] for line in symbols.splitlines()]
    assert "clEnqueueWriteBuffer" in names
    assert all(name.startswith("cl") and name[2].isupper() for name in names)
