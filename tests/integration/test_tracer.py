"""The library that traces, in a program as the driver would load it: what it writes, and that it does no harm."""

import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from isthmus import _native
from isthmus.trace import UNKNOWN, Trace, direction_index, memory_index, open_trace
from isthmus.trace.isthmus.blocks import blocks, join_parts
from isthmus.trace.recorded import WHOLE_GRAPH
from tests.compiling import compile_program
from tests.processes import ended

HERE = Path(__file__).resolve().parent
TRACER = Path(_native.__file__).with_name("libisthmus_tracer.so")
COPIES = 1000
# Of one thread: 64 bytes, and one more each time.
BYTES = sum(64 + place for place in range(COPIES))

Traced = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def program(compiled: Callable[..., Path]) -> Path:
    """A program that copies, linked with the CUPTI that tells of it."""
    library = compiled("fake_tracing.cpp")
    links = [str(library), f"-Wl,-rpath,{library.parent}"]
    return compile_program("traced_program", [HERE / "traced_program.cpp"], links=links)


@pytest.fixture
def traced(program: Path, tmp_path: Path) -> Traced:
    def traced(
        ending: str, copies: int = COPIES, launches: int = 0, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        given = {
            "ISTHMUS_TRACE_FOLDER": str(tmp_path),
            "ISTHMUS_TRACE_CUPTI": "",
            "ISTHMUS_TRACE_OPTIONS": "all-times",
            **environment,
        }
        return ended(program, TRACER, ending, str(copies), str(launches), env=given)

    return traced


def trace_in(folder: Path) -> Trace:
    joined = folder / "joined"
    join_parts(sorted(folder.glob("*.part")), joined)
    return open_trace(joined)


def test_everything_is_recorded(traced: Traced, tmp_path: Path) -> None:
    done = traced("exit")
    assert (done.returncode, done.stdout, done.stderr) == (4, "worked\n", "")
    trace = trace_in(tmp_path)
    copies, calls = trace.copies, trace.calls
    assert (len(copies), int(copies.bytes.sum())) == (2 * COPIES, 2 * BYTES)
    assert set(copies.direction.tolist()) == {direction_index("h2d")}
    assert set(copies.source.tolist()) == {memory_index("pageable")}
    assert set(copies.destination.tolist()) == {memory_index("device")}
    assert set(copies.stream.tolist()) == {7}
    # One call each, for what the runtime called of the driver is part of it.
    assert len(calls) == 2 * COPIES
    assert sorted(copies.call.tolist()) == list(range(2 * COPIES))
    assert {trace.names[name] for name in calls.name.tolist()} == {"cudaMemcpy"}
    assert (calls.start_ns[copies.call] <= copies.start_ns).all()
    assert np.unique(calls.thread).size == 2
    # What was copied in the n-th call of a thread is known by how long it is.
    place = copies.bytes - 64
    assert (copies.destination_address == 0x700000000000 + 64 * place).all()
    assert ((copies.source_address - 4096 * place) % 0x10000000 == 0).all()
    assert set(copies.rows.tolist()) == {1}
    assert [process.name for process in trace.processes] == ["traced_program"]
    assert {"calls", "addresses", "allocations", "migrations", "faults"} <= trace.knows
    assert not {"call_sites", "contents"} & trace.knows
    assert trace.notes == ()


@pytest.mark.parametrize(("options", "told"), [("", 2000), ("no-kernels", 0)])
def test_launches_are_listened_to_in_the_driver_alone_and_not_recorded(
    traced: Traced, tmp_path: Path, options: str, told: int
) -> None:
    """Devices tell of kernels: programs launch far more often than they copy."""
    done = traced("exit", launches=1000, ISTHMUS_TRACE_OPTIONS=options)
    assert f"launches told of: {told}\n" in done.stdout
    trace = trace_in(tmp_path)
    assert {trace.names[name] for name in trace.calls.name.tolist()} == {"cudaMemcpy"}
    assert ("kernels" in trace.knows) == (told > 0)


@pytest.mark.parametrize(("ending", "code"), [("exit", 4), ("_exit", 5), ("kill", -signal.SIGKILL)])
def test_of_many_copies_some_are_timed_and_all_are_counted(
    traced: Traced, tmp_path: Path, ending: str, code: int
) -> None:
    """Two threads make copies of nothing, while timing is turned off and on beneath them."""
    copies = 50_000
    assert traced(ending, copies, ISTHMUS_TRACE_OPTIONS="").returncode == code
    trace = trace_in(tmp_path)
    table = trace.copies
    assert len(table) == 2 * copies
    assert int(table.bytes.sum()) == 2 * sum(64 + place for place in range(copies))
    assert sorted(table.call.tolist()) == list(range(2 * copies))
    estimated = table.estimated == 1
    # The first are timed, and of the others a few: 2 us each of a millisecond, less 150 us for turning time stamps off,
    # when the other thread may be in a call.
    assert 425 - 1 <= int((~estimated).sum()) < copies
    assert set(table.direction.tolist()) == {direction_index("h2d")}
    assert set(table.stream[table.device >= 0].tolist()) == {7}
    assert (trace.calls.start_ns[table.call] <= table.start_ns).all()
    assert (table.lasted_ns[estimated] >= 0).all()
    assert (table.destination_address == 0x700000000000 + 64 * (table.bytes - 64)).all()
    assert any("copies came so fast" in note for note in trace.notes)


@pytest.mark.parametrize(("ending", "code"), [("_exit", 5), ("kill", -signal.SIGKILL)])
def test_no_copy_is_lost_with_a_program_that_dies(traced: Traced, tmp_path: Path, ending: str, code: int) -> None:
    """Of the last copies the device has not told yet: their calls are known."""
    copies = COPIES + 50
    assert traced(ending, copies).returncode == code
    trace = trace_in(tmp_path)
    assert len(trace.copies) == 2 * copies
    assert int(trace.copies.bytes.sum()) == 2 * sum(64 + place for place in range(copies))
    assert any(re.search(r"\d+ copies were called for", note) for note in trace.notes)
    assert any("was killed" in note for note in trace.notes)


@pytest.mark.parametrize(("ending", "code"), [("jump", 4), ("exit-in-copy", 6)])
def test_a_copy_that_the_program_leaves_by_a_jump_keeps_no_program_from_ending_and_hides_no_call(
    traced: Traced, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str, code: int
) -> None:
    """CUPTI waits for the end of such a call."""
    # The program ends in its handler, where what runs at exit allocates: its fault, as of many programs.
    monkeypatch.setenv("TSAN_OPTIONS", "report_signal_unsafe=0")
    assert traced(ending).returncode == code
    trace = trace_in(tmp_path)
    assert len(trace.calls) == len(trace.copies) == 2 * COPIES
    assert any("within a call of CUDA" in note for note in trace.notes)


def test_a_flush_that_does_not_return_keeps_no_program_from_ending(traced: Traced, tmp_path: Path) -> None:
    """The driver was left by a jump with a lock of its own, which CUPTI's threads wait for."""
    assert traced("exit", FAKE_FLUSH_HANGS="1").returncode == 4
    trace = trace_in(tmp_path)
    assert len(trace.calls) == len(trace.copies) == 2 * COPIES
    assert any("within a call of CUDA" in note for note in trace.notes)


def test_a_forked_child_leaves_the_file_alone(traced: Traced, tmp_path: Path) -> None:
    assert traced("fork").returncode == 7
    assert len(list(tmp_path.glob("*.part"))) == 1
    trace = trace_in(tmp_path)
    assert len(trace.copies) == 2 * COPIES
    assert trace.notes == ()


def test_what_a_program_becomes_has_a_file_of_its_own(traced: Traced, tmp_path: Path) -> None:
    assert traced("exec").returncode == 4
    trace = trace_in(tmp_path)
    assert len(trace.processes) == 2
    assert len({process.pid for process in trace.processes}) == 1
    assert np.bincount(trace.copies.process).tolist() == [2 * COPIES] * 2


def test_a_profiler_that_holds_cupti_is_left_alone(traced: Traced, tmp_path: Path) -> None:
    done = traced("exit", FAKE_SUBSCRIBE="39")
    assert (done.returncode, done.stdout, done.stderr) == (4, "worked\n", "")
    (message,) = tmp_path.glob("*.message")
    assert "another profiler holds CUPTI" in message.read_text()
    assert len(trace_in(tmp_path).copies) == 0


def test_a_folder_that_is_not_there_costs_the_trace_alone(traced: Traced, tmp_path: Path) -> None:
    done = traced("exit", ISTHMUS_TRACE_FOLDER=str(tmp_path / "absent"))
    assert (done.returncode, done.stdout, done.stderr) == (4, "worked\n", "")


def test_what_programs_copy_is_hashed_on_request_alone(traced: Traced, tmp_path: Path) -> None:
    # The program's addresses are no memory: it would not live to say so.
    assert traced("exit", 0, ISTHMUS_TRACE_OPTIONS="contents").returncode == 4
    assert "contents" in trace_in(tmp_path).knows


def test_what_is_fetched_into_ordinary_memory_is_there_when_the_call_returns(
    traced: Traced, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    driver = compiled("fake_cuda.cpp").parent
    paths = {"LD_LIBRARY_PATH": f"{driver}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    assert traced("fetch", 0, ISTHMUS_TRACE_OPTIONS="contents,all-times", **paths).returncode == 4
    copies = trace_in(tmp_path).copies
    assert set(copies.direction.tolist()) == {direction_index("d2h")}
    ordinary, locked = copies.content[np.argsort(copies.start_ns)].tolist()
    assert ordinary not in (0, UNKNOWN)
    assert locked == UNKNOWN


def test_native_stacks_name_the_program(traced: Traced, tmp_path: Path) -> None:
    assert traced("exit", ISTHMUS_TRACE_OPTIONS="stacks").returncode == 4
    trace = trace_in(tmp_path)
    assert "call_sites" in trace.knows
    sites = [trace.sites[site] for site in np.unique(trace.calls.site).tolist()]
    assert sites
    for site in sites:
        assert "libisthmus_tracer" not in site[0]
        assert any(frame.startswith("traced_program+0x") for frame in site)


def test_ranks_are_those_of_whatever_started_them(traced: Traced, tmp_path: Path) -> None:
    traced("exit", OMPI_COMM_WORLD_RANK="12")
    assert [process.rank for process in trace_in(tmp_path).processes] == [12]


def test_the_library_stands_alone(tmp_path: Path) -> None:
    """It must load into programs with any libstdc++ or none, and show them nothing but its entry."""
    if "san.so" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("with sanitizers it needs theirs")
    needed = subprocess.run(["readelf", "-d", TRACER], capture_output=True, text=True, check=True).stdout
    assert "libstdc++" not in needed
    symbols = subprocess.run(
        ["nm", "--dynamic", "--defined-only", TRACER], capture_output=True, text=True, check=True
    ).stdout
    assert [line.split()[-1] for line in symbols.splitlines()] == ["InitializeInjection"]


def test_many_kernels_are_recorded_in_windows_and_whole_within(traced: Traced, tmp_path: Path) -> None:
    """The program launches as fast as it can, one kernel after the other, and copies between."""
    assert traced("windows", 0, ISTHMUS_TRACE_OPTIONS="all-times,kernels=5").returncode == 4
    trace = trace_in(tmp_path)
    assert "kernels" in trace.knows
    # In the last one the program ends.
    begins, ends = trace.windows.start_ns[:6], trace.windows.end_ns[:6]
    assert begins.size == 6
    assert (begins[1:] > ends[:-1]).all()
    # Each call has the number after that of the one before it: copies and kernels of a window are all there.
    called = _numbers(tmp_path, "call")
    launched = _numbers(tmp_path, "kernel")
    assert _within(launched, begins[0], ends[0]).size > 0
    for begin, end in zip(begins, ends, strict=True):
        # None where another program had the processor all the while.
        numbers = np.sort(np.concatenate([_within(each, begin, end) for each in (called, launched)]))
        assert (np.diff(numbers) == 1).all()
    # Copies are always all recorded.
    assert len(trace.copies) == called.size


def test_by_default_recording_is_bounded(traced: Traced, tmp_path: Path) -> None:
    assert traced("windows", 0).returncode == 4
    assert len(trace_in(tmp_path).windows) > 1


def test_windows_are_on_cupti_s_clock_where_it_takes_no_other(traced: Traced, tmp_path: Path) -> None:
    options = {"ISTHMUS_TRACE_OPTIONS": "all-times,kernels=5", "FAKE_CUPTI_CLOCK": "1970"}
    assert traced("windows", 0, **options).returncode == 4
    trace = trace_in(tmp_path)
    # None is left out for times that cannot be right: the first one holds the first kernel.
    assert len(trace.windows) > 1
    assert trace.windows.start_ns[0] <= trace.kernels.start_ns[0] < trace.windows.end_ns[0]


def _numbers(folder: Path, kind: str) -> np.ndarray:
    return np.concatenate([block.records for block in blocks(folder / "joined", []) if block.kind == kind])


def _within(records: np.ndarray, begin: int, end: int) -> np.ndarray:
    inside = (records["start_ns"] >= begin) & (records["start_ns"] < end)
    return records["correlation"][inside].astype(np.int64)


def test_copies_of_graphs_are_counted_for_each_launch(
    traced: Traced, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    """By the driver's nodes: no device reports them. The graph sends, fetches and copies within the device.

    It is launched three times, then once as another one that only fetches, and once with a copy that is not known.
    """
    driver = compiled("fake_graph_nodes.cpp")
    paths = {"LD_LIBRARY_PATH": f"{driver.parent}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    assert traced("graph", 0, **paths).returncode == 4
    trace = trace_in(tmp_path)
    directions = [direction_index(each) for each in ("h2d", "d2h", "d2d")]
    assert sorted(trace.copies.direction.tolist()) == sorted([*3 * directions, direction_index("d2h")])
    assert set(trace.copies.estimated.tolist()) == {1}
    assert set(trace.copies.bytes.tolist()) == {4096}
    assert {trace.names[trace.calls.name[call]] for call in trace.copies.call.tolist()} == {"cuGraphLaunch"}
    assert (len(trace.calls), "kernels" in trace.knows) == (4, True)


def test_graphs_that_no_device_reports_are_no_idle_time(
    traced: Traced, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    driver = compiled("fake_graph_nodes.cpp")
    environment = {"LD_LIBRARY_PATH": f"{driver.parent}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    environment |= {"ISTHMUS_TRACE_OPTIONS": "kernels=5", "FAKE_SILENT_GRAPHS": "1"}
    assert traced("graph", 0, **environment).returncode == 4
    trace = trace_in(tmp_path)
    assert "kernels" not in trace.knows
    assert any("did not report the CUDA graphs" in note for note in trace.notes)
    assert len(trace.copies) == 10


def test_what_a_thread_did_in_the_kernel_before_a_large_copy_is_recorded(traced: Traced, tmp_path: Path) -> None:
    """Four copies of 8 MiB, of which the first and the third come from 4,096 pages that are new."""
    assert traced("pages", 0).returncode == 4
    copies = trace_in(tmp_path).copies
    copies = copies.taken(np.argsort(copies.start_ns))
    assert copies.bytes.tolist() == [8 << 20] * 4
    # Nothing is before the first.
    assert (copies.faults[0], copies.system_ns[0], copies.running_ns[0]) == (UNKNOWN, UNKNOWN, UNKNOWN)
    used, new, used_again = copies.faults[1:].tolist()
    assert 4096 <= new < 5000
    assert max(used, used_again) < 1000
    assert (copies.system_ns[1:] >= 0).all()
    assert (copies.running_ns[1:] > 0).all()


@pytest.mark.parametrize("old", [False, True])
def test_under_a_bound_graphs_are_recorded_as_a_whole(
    traced: Traced, compiled: Callable[..., Path], tmp_path: Path, old: bool
) -> None:
    """Three launches of a graph with three copies, and one each of two others: five graphs in place of kernels."""
    driver = compiled("fake_graph_nodes.cpp")
    environment = {"LD_LIBRARY_PATH": f"{driver.parent}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    environment |= {"ISTHMUS_TRACE_OPTIONS": "kernels=5"} | ({"FAKE_OLD_CUPTI": "1"} if old else {})
    assert traced("graph", 0, **environment).returncode == 4
    trace = trace_in(tmp_path)
    assert len(trace.copies) == 10
    assert any("CUDA graphs as a whole are not recorded" in note for note in trace.notes) == old
    assert any("--kernels all records their kernels" in note for note in trace.notes) != old
    graphs = [] if old else [WHOLE_GRAPH] * 5
    assert [trace.names[name] for name in trace.kernels.name.tolist()] == graphs
    assert len(trace.windows) == 0
    for begin, end in zip(trace.kernels.start_ns[:4].tolist(), trace.kernels.end_ns[:4].tolist(), strict=True):
        within = (trace.copies.start_ns >= begin) & (trace.copies.end_ns <= end)
        assert within.sum() == (1 if begin == trace.kernels.start_ns[3] else 3)


@pytest.mark.parametrize(("options", "launches"), [("", 1000), ("kernels=100", 50_000), ("kernels=5", 1000)])
def test_all_kernels_are_recorded_unless_they_are_many_and_bounded(
    traced: Traced, tmp_path: Path, options: str, launches: int
) -> None:
    assert traced("exit", 0, launches, ISTHMUS_TRACE_OPTIONS=options).returncode == 4
    trace = trace_in(tmp_path)
    assert (len(trace.kernels), len(trace.windows)) == (launches, 0)
