"""`isthmus races`: programs are as they were, what they wait for is followed, and what they do not is reported."""

import sys
from collections.abc import Callable
from pathlib import Path
from signal import SIGSEGV

import pytest

from isthmus.launch import races_environment
from isthmus.races import read_races
from tests.compiling import compile_program
from tests.integration.accelerate import differential
from tests.integration.accelerate.differential import Runner, compare_all
from tests.integration.accelerate.programs import IS_SANITIZED
from tests.integration.races.conftest import REPOSITORY, Build, Looked
from tests.processes import Done, isthmus

pytestmark = pytest.mark.skipif(IS_SANITIZED, reason="sanitizers handle the faults")

# Reports of each program that handles faults, forks or calls the system by itself.
HOSTILE = {
    **dict.fromkeys(("own_handler", "blocked", "small_stack", "crash", "value_of_another"), 1),
    **dict.fromkeys(("forked", "killed", "many", "neighbours", "waits", "recursing", "crowd"), 0),
    **dict.fromkeys(("locked_fork", "fork_alone", "suspended", "no_mappings"), 0),
}
SYSTEM_CALLS = {
    "system_calls": 11,
    "many_parts": 1,
    **dict.fromkeys(("given", "raw_child", "ended_within", "short_reads", "executed", "long_lists", "refused"), 0),
}
LOCKS = {
    **dict.fromkeys(("conditions", "mutexes", "others", "contended", "numbers"), 0),
    **dict.fromkeys(("near_a_lock", "jumps"), 1),
}
UNCHANGED = {"hostile": HOSTILE, "system_calls": SYSTEM_CALLS, "locks": LOCKS}


@pytest.mark.parametrize(("program", "name"), [(program, name) for program in UNCHANGED for name in UNCHANGED[program]])
def test_programs_that_handle_faults_themselves_see_no_difference(
    build: Build, look: Callable[..., Looked], plainly: Callable[..., Done], program: str, name: str
) -> None:
    plain, looked = plainly(build(program), name), look(build(program), name)
    assert plain.returncode in (0, -SIGSEGV)
    assert (looked.done.returncode, looked.done.stdout) == (plain.returncode, plain.stdout)
    assert looked.touches == UNCHANGED[program][name]
    assert (looked.report["without_room"] > 0) == (name == "many")


def test_nothing_waits_for_a_loader_that_waits_for_it(build: Build, look: Callable[..., Looked]) -> None:
    library = build("held_loader", "-fPIC", "-shared")
    looked = look(sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(library)!r})")
    assert (looked.done.returncode, looked.done.stdout, looked.touches) == (0, "loaded 0\n", 1)


@pytest.mark.parametrize(("first", "count"), [(1, 300), pytest.param(10_001, 20_000, marks=pytest.mark.thorough)])
def test_random_programs_have_the_races_that_were_put_in_and_no_others(
    build: Build, look: Callable[..., Looked], first: int, count: int
) -> None:
    program, numbers = build("random_waits"), (str(first), str(count))
    # Memory that a thread frees waits for all copies, those of other threads too.
    for threads in ("1", "4"):
        looked = look(program, *numbers, threads)
        copies, _, races, pairs = map(int, looked.done.stdout.split())
        assert (looked.done.returncode, races, pairs, looked.report["races"]) == (0, 0, 0, [])
        # What other threads copy while the first one begins is not followed.
        assert count < looked.report["followed"] == copies or (threads != "1" and looked.report["followed"] < copies)
    looked = look(program, *numbers, "1", "racing")
    _, _, races, pairs = map(int, looked.done.stdout.split())
    assert looked.done.returncode == 0
    assert looked.touches == races + pairs
    assert looked.pairs == pairs > 0


@pytest.mark.parametrize(
    ("first", "count", "alone"), [(1, 20, 4), pytest.param(10_001, 2_000, 100, marks=pytest.mark.thorough)]
)
def test_random_programs_in_which_all_is_ordered_see_no_difference(
    surroundings: dict[str, str], tmp_path: Path, first: int, count: int, alone: int
) -> None:
    source = Path(differential.__file__).with_suffix(".cpp")
    program = compile_program("differential", [source], ["-O2", f"-I{REPOSITORY / 'native'}", "-pthread"])
    plain = Runner(program, {**surroundings, "FAKE_CUDA_LOADS_WAIT": "1"})
    # Those that run alone end with copies that race.
    for folder, seeds, ends in (("shared", count, 0), ("alone", 0, alone)):
        (tmp_path / folder).mkdir()
        ours = {"races": Runner(program, races_environment(plain.environment, tmp_path / folder))}
        result = compare_all(plain, ours, range(first, first + seeds), range(first, first + ends), 4)
        # New memory of the fake driver's is of the heap, which the library uses as it begins.
        differences = [text for _, _, text in result.differences if ", fresh: " not in text]
        assert (differences, result.waited_elsewhere) == ([], set())
    seen = read_races(tmp_path / "shared")
    assert (seen.races, seen.without_room) == ([], 0)
    assert seen.followed > count


# How often two streams meet in each case that streams.cpp has.
MEETINGS = {
    **dict.fromkeys(("two", "two_blocking", "beside_default_stream", "event_before", "rows_meet", "batches"), 1),
    **dict.fromkeys(("one_value", "neighbours", "by_default_stream", "event", "host", "value", "rows_apart"), 0),
    "batches_out_of_order": 0,
    "source_and_destination": 1,
}


@pytest.mark.parametrize("name", MEETINGS)
def test_two_streams_race_where_nothing_orders_them(build: Build, look: Callable[..., Looked], name: str) -> None:
    looked = look(build("streams"), name)
    assert looked.done.returncode == 0
    assert (looked.touches, looked.pairs) == (MEETINGS[name], MEETINGS[name])


QUIET = (
    "loader",
    "graphs",
    "double_buffers",
    "replicas",
    "written_values",
    "recorded_blocks",
    "default_streams",
    "pools",
    "many_streams",
    "events",
    "mapped_memory",
)


@pytest.mark.parametrize("name", QUIET)
def test_programs_as_frameworks_are_built_have_no_report(build: Build, look: Callable[..., Looked], name: str) -> None:
    for reach in ("dlsym", "thread"):
        looked = look(build("quiet"), name, reach)
        assert (looked.done.returncode, looked.report["races"]) == (0, [])
        assert looked.report["followed"] > 0


def test_the_exit_code_is_the_programs_unless_a_race_is_to_fail_it(build: Build, look: Callable[..., Looked]) -> None:
    words = (build("programs"), "page_table_overwritten")
    assert look(*words, "plain").done.returncode == 0
    assert look(*words, "plain", options=("--fail-if", "any")).done.returncode == 1
    assert look(*words, "fixed", options=("--fail-if", "any")).done.returncode == 0


def test_races_that_are_known_can_be_left_out(build: Build, look: Callable[..., Looked], tmp_path: Path) -> None:
    words, known = (build("programs"), "batch_prepared_in_place", "plain"), tmp_path / "known.txt"
    assert len(look(*words, options=("--write-ignored", str(known))).report["races"]) == 2
    first, second = known.read_text("utf-8").splitlines()
    known.write_text(f"{second}\n")
    left = look(*words, options=("--ignore", str(known))).report
    assert (len(left["races"]), left["ignored"]) == (1, 1)
    assert f"{left['races'][0]['copied_at'][0]} / {left['races'][0]['touched_at'][0]}" == first


def test_the_report_names_both_places_and_the_cure(build: Build, surroundings: dict[str, str]) -> None:
    done = isthmus("races", "--", build("programs"), "read_one_line_early", "plain", env=surroundings)
    assert done.stdout == "read_one_line_early wrong\n"
    for text in (
        "The host reads the destination",
        "\N{BALLOT X}",
        "programs.cpp:",
        "cudaStreamSynchronize",
        "Not known are",
    ):
        assert text in done.stderr


def test_what_handles_faults_or_copies_itself_is_refused(surroundings: dict[str, str], tmp_path: Path) -> None:
    sanitized = tmp_path / "sanitized"
    sanitized.write_bytes(b"\x7fELF __asan_init")
    sanitized.chmod(0o755)
    done = isthmus("races", "--", sanitized, env=surroundings)
    assert done.returncode == 2
    assert "address sanitizer" in done.stderr
    accelerated = {"LD_PRELOAD": "/nowhere/libisthmus_accelerator_preload.so"}
    done = isthmus("races", "--", "true", env=surroundings | accelerated)
    assert done.returncode == 2
    assert "isthmus accelerate" in done.stderr
    assert isthmus("races", env=surroundings).returncode == 2
    assert isthmus("races", "--fail-if", "some", "--", "true", env=surroundings).returncode == 2


PYTHON = """
import ctypes, sys
driver = ctypes.CDLL("libcuda.so.1")
context, memory, stream, host = (ctypes.c_void_p() for _ in range(4))
size = ctypes.c_size_t(1 << 16)
driver.cuInit(0)
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
driver.cuCtxSetCurrent(context)
driver.cuMemAlloc_v2(ctypes.byref(memory), size)
driver.cuMemHostAlloc(ctypes.byref(host), size, 0)
driver.cuStreamCreate(ctypes.byref(stream), 1)

def copy():
    driver.cuMemcpyDtoHAsync_v2(host, memory, size, stream)

def read():
    return bytes((ctypes.c_char * 100).from_address(host.value))

copy()
if sys.argv[1] == "fixed":
    driver.cuStreamSynchronize(stream)
read()
"""


def test_places_in_python_are_its_lines(look: Callable[..., Looked], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PYTHON)
    assert look(sys.executable, program, "fixed").report["races"] == []
    [race] = look(sys.executable, program, "plain").report["races"]
    lines = PYTHON.splitlines()
    places = [f"{program}:{lines.index(line) + 1}" for line in lines if "DtoHAsync" in line or "from_address" in line]
    assert [race["copied_at"][0].split()[0], race["touched_at"][0].split()[0]] == places
    assert (race["into_host"], race["writes"], race["bytes"]) == (True, False, 1 << 16)


def test_what_is_never_waited_for_is_left_without_a_report(look: Callable[..., Looked], tmp_path: Path) -> None:
    """A value that a stream writes may say to the host how far it is, and says so in the report."""
    program = tmp_path / "program.py"
    program.write_text(PYTHON.replace("cuStreamSynchronize(stream)", "cuStreamWriteValue32_v2(stream, host, 1, 0)"))
    report = look(sys.executable, program, "fixed").report
    assert report["races"] == []
    assert "a value that a stream writes" in report["reasons"][0]


def test_kernels_that_may_write_a_flag_release_what_is_unfinished(look: Callable[..., Looked], tmp_path: Path) -> None:
    """Page-locked memory without a copy may be what a kernel writes and the host polls."""
    program = tmp_path / "program.py"
    launch = "driver.cuLaunchKernel(None, 1, 1, 1, 1, 1, 1, 0, stream, None, None)\n"
    program.write_text(PYTHON.replace("copy()\nif", f"copy()\n{launch}if"))
    assert len(look(sys.executable, program, "plain").report["races"]) == 1
    flag = "flag = ctypes.c_void_p()\ndriver.cuMemHostAlloc(ctypes.byref(flag), size, 0)\n"
    program.write_text(PYTHON.replace("copy()\nif", f"copy()\n{flag}{launch}if"))
    report = look(sys.executable, program, "plain").report
    assert report["races"] == []
    assert "a kernel may write" in report["reasons"][0]
