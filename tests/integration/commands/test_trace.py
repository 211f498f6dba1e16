"""`isthmus trace` around programs that play a traced one: their streams, signals and exit codes stay their own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest

from tests.processes import Done, ended
from tests.synthetic.trace_file import block, text_block

Trace = Callable[..., Done]
thorough = partial(pytest.param, marks=pytest.mark.thorough)
COMMAND = [sys.executable, "-m", "isthmus", "trace"]
# Of launchers and other tools around the tests.
ALIEN = ("CUDA_INJECTION64_PATH", "PMI_RANK", "PMI_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")
LEAVE = 'cp part "$ISTHMUS_TRACE_FOLDER/1-0.part"'


def environment(folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ALIEN}
    return {**kept, "XDG_CACHE_HOME": str(folder / "cache"), "XDG_STATE_HOME": str(folder / "state"), **more}


@pytest.fixture
def part(tmp_path: Path) -> Path:
    """What a traced process leaves."""
    copy = {"start_ns": 1000, "end_ns": 3000, "bytes": 4096, "correlation": 5, "copy_kind": 1, "source": 1}
    process = block("process", [{"started_ns": 1, "ended_ns": 9, "name": 1, "rank": -1}])
    call = block("call", [{"start_ns": 500, "end_ns": 900, "correlation": 5, "name": 2}])
    texts = text_block({1: "app", 2: "cudaMemcpyAsync_v3020"})
    copies = block("copy", [copy | {"destination": 3}])
    part = tmp_path / "part"
    part.write_bytes(process + texts + call + copies)
    return part


@pytest.fixture
def own_trace(tmp_path: Path, part: Path) -> Trace:
    """Runs `isthmus trace` with these words in the folder with ``part``, and shows what the program writes."""

    def run(*words: str, stdin: str = "", **more: str) -> Done:
        return ended(*COMMAND, *words, cwd=tmp_path, env=environment(tmp_path, more), stdin=stdin)

    return run


@pytest.fixture
def trace(isthmus: Trace, tmp_path: Path, part: Path, monkeypatch: pytest.MonkeyPatch) -> Trace:
    """The same in this process, without what the program writes."""
    for name in ALIEN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return lambda *words, **more: isthmus("trace", *words, **more)


def kept(folder: Path) -> set[str]:
    """What lies in the state folder, where traces go that no -o names."""
    assert names(folder) == set()
    return names(folder / "state" / "isthmus" / "traces")


def names(folder: Path) -> set[str]:
    """What lies in a folder but for what tests put there."""
    return {path.name for path in folder.iterdir()} - {"part", "cache", "state"}


def test_streams_and_exit_code_are_the_programs(own_trace: Trace, tmp_path: Path) -> None:
    found = own_trace("--", "sh", "-c", "cat; echo wrong >&2; exit 7", stdin="piped in")
    assert (found.returncode, found.stdout) == (7, "piped in")
    assert found.stderr.startswith("wrong\nThe program made no calls of CUDA or OpenCL: nothing is written.")
    assert names(tmp_path) == set()


@pytest.mark.parametrize(
    "streams", ["2>&-", ">&- 2>&-", ">/dev/full 2>/dev/full", *(thorough(each) for each in ("2>/dev/full", ">&-"))]
)
def test_the_exit_code_is_the_programs_whoever_listens(tmp_path: Path, streams: str) -> None:
    script = f"{sys.executable} -m isthmus trace -- sh -c 'exit 7' {streams}"
    found = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=environment(tmp_path, {}), check=False)
    assert found.returncode == 7


def test_what_was_recorded_is_shown_and_kept(trace: Trace, tmp_path: Path) -> None:
    found = trace("--", "sh", "-c", LEAVE)
    assert (found.returncode, found.stdout) == (0, "")
    assert "H2D 4.10 kB (1x)" in found.stderr
    assert "copy H2D pageable" in found.stderr
    assert f"isthmus advise {tmp_path}/state/isthmus/traces/sh.itrace" in found.stderr
    trace("sh", "-c", LEAVE)
    assert kept(tmp_path) == {"sh.itrace", "sh.2.itrace"}


def test_a_trace_that_was_named_is_of_this_program_or_of_none(trace: Trace, tmp_path: Path) -> None:
    for _ in range(2):
        assert trace("-o", "x.itrace", "-o", "x.csv", "sh", "-c", LEAVE).returncode == 0
    assert names(tmp_path) == {"x.itrace", "x.csv"}
    assert trace("-o", "x.itrace", "-o", "x.csv", "true").returncode == 0
    assert names(tmp_path) == set()


def test_exports_by_their_suffixes(trace: Trace, tmp_path: Path) -> None:
    files = ["x.itrace", "x.html", "x.csv", "x.json", "x.md", "x.trace"]
    found = trace(*(word for name in files for word in ("-o", name)), "--", "sh", "-c", LEAVE)
    assert found.returncode == 0
    assert names(tmp_path) == set(files)
    assert json.loads((tmp_path / "x.json").read_text())["copies"][0]["bytes"] == 4096
    assert "x.html" in found.stderr


def test_an_export_alone_keeps_the_trace_beside_it(trace: Trace, tmp_path: Path) -> None:
    assert trace("-q", "-o", "out/x.csv", "sh", "-c", LEAVE).returncode == 2
    (tmp_path / "out").mkdir()
    found = trace("-q", "-o", "out/x.csv", "sh", "-c", LEAVE)
    assert (found.returncode, found.stderr) == (0, "")
    assert names(tmp_path / "out") == {"x.csv", "x.itrace"}


@pytest.mark.parametrize("number", [signal.SIGTERM, *map(thorough, (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1))])
def test_signals_reach_the_program(number: signal.Signals, tmp_path: Path) -> None:
    script = f'trap "echo got; exit 5" {number.name[3:]}; echo ready; while :; do sleep 0.02; done'
    program = subprocess.Popen(
        [*COMMAND, "--", "sh", "-c", script],
        cwd=tmp_path,
        env=environment(tmp_path, {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdout
    assert program.stdout.readline() == "ready\n"
    program.send_signal(number)
    out, _ = program.communicate()
    assert (program.returncode, out) == (5, "got\n")


@pytest.mark.parametrize("number", [signal.SIGKILL, *map(thorough, (signal.SIGSEGV, signal.SIGTERM))])
def test_a_program_that_is_killed_leaves_its_trace_and_its_signal(
    own_trace: Trace, tmp_path: Path, number: signal.Signals
) -> None:
    found = own_trace("sh", "-c", f"{LEAVE}; kill -{number} $$")
    assert found.returncode == -number
    assert "copy H2D pageable" in found.stderr
    assert kept(tmp_path) == {"sh.itrace"}


# Without 32 and 33, which glibc keeps for itself; a launcher of the tests may have left them ignored, too.
_PROGRAMS_SIGNALS = 0x7FFFFFFF


def test_the_program_inherits_what_it_would_without_us(own_trace: Trace, tmp_path: Path) -> None:
    """But for the two signals of glibc's own, which its posix_spawn ignores and its threads take back."""
    ask = ["sh", "-c", "grep -E 'SigIgn|SigBlk' /proc/self/status; ls /proc/self/fd | wc -l"]
    alone = subprocess.run(
        ask, env=environment(tmp_path, {}), input="", capture_output=True, text=True, check=True
    ).stdout.split()
    traced = own_trace(*ask).stdout.split()
    assert len(traced) == len(alone) == 5
    for place in (1, 3):
        assert int(traced[place], 16) & _PROGRAMS_SIGNALS == int(alone[place], 16) & _PROGRAMS_SIGNALS
    assert traced[4] == alone[4]


def test_nothing_else_runs_beside_the_program(own_trace: Trace) -> None:
    """Another thread would take signals that are meant for the program."""
    assert own_trace("sh", "-c", "grep Threads /proc/$PPID/status").stdout.split() == ["Threads:", "1"]


def test_open_files_are_inherited(tmp_path: Path) -> None:
    line = " ".join([sys.executable, "-m", "isthmus", "trace", "--", "sh", "-c", "'echo told >&3'", "3>told"])
    subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment(tmp_path, {}), capture_output=True, check=True)
    assert (tmp_path / "told").read_text() == "told\n"


def test_the_driver_is_told_what_to_load(own_trace: Trace, tmp_path: Path) -> None:
    given = {"CUDA_HOME": "/opt/mine", "LD_PRELOAD": "/lib/x86_64-linux-gnu/libdl.so.2"}
    told = own_trace("--contents", "--stacks", "--no-python-lines", "env", **given).stdout
    found = dict(line.partition("=")[::2] for line in told.splitlines())
    assert Path(found["CUDA_INJECTION64_PATH"]).is_absolute()
    assert Path(found["CUDA_INJECTION64_PATH"]).name == "libisthmus_tracer.so"
    own, recorder = found["LD_PRELOAD"].split()
    assert own == given["LD_PRELOAD"]
    assert Path(recorder).is_absolute()
    assert Path(recorder).name == "libisthmus_opencl_tracer_preload.so"
    assert Path(found["ISTHMUS_TRACE_FOLDER"]).parent == tmp_path / "state" / "isthmus" / "traces"
    assert found["ISTHMUS_TRACE_OPTIONS"] == "stacks,contents,no-python"
    assert "libcupti.so.13" in found["ISTHMUS_TRACE_CUPTI"].split(":")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["no-such-program"], 127, "no-such-program: no such program"),
        (["./part"], 126, "./part: cannot be run: Permission denied"),
        ([], 2, "no program to trace"),
        (["-o", "x.foo", "true"], 2, "expected one of .itrace, .csv"),
        (["-o", "nowhere/x.html", "true"], 2, "nowhere cannot be written to"),
        (["-o", "x.itrace", "-o", "y.itrace", "true"], 2, "name .itrace once"),
        (["--json", "true"], 2, "--format and --json go with --open"),
        (["--format", "json", "true"], 2, "--format and --json go with --open"),
        (["--open", "part", "true"], 2, "leave one of them out"),
        (["--open", "part", "--contents"], 2, "are for recording"),
        (["--open", "missing.itrace"], 2, "missing.itrace: cannot be read"),
        (["--open", "part", "-o", "x.itrace"], 2, "not saved again"),
        (["--open", "part", "-o", "x.csv", "--format", "csv"], 2, "leave one of them out"),
        (["--open", "part", "--format", "xml"], 2, "no such format"),
        (["--lang", "fr", "true"], 2, "no such language"),
    ],
)
def test_errors_say_what_is_wrong_and_leave_nothing(
    trace: Trace, tmp_path: Path, words: list[str], code: int, said: str
) -> None:
    found = trace(*words)
    assert (found.returncode, found.stdout) == (code, "")
    assert said in found.stderr
    assert len(found.stderr.splitlines()) == 1
    assert names(tmp_path) == set()


@pytest.mark.parametrize("command", ["trace", "accelerate", "races"])
@pytest.mark.parametrize(("program", "code"), [("train.py", 127), ("./train.py", 126)])
def test_a_python_file_is_no_program(isthmus: Trace, tmp_path: Path, command: str, program: str, code: int) -> None:
    (tmp_path / "train.py").write_text("print(1)\n")
    found = isthmus(command, "--", program, "--steps", "a b", XDG_STATE_HOME=str(tmp_path / "state"))
    assert (found.returncode, found.stdout) == (code, "")
    assert f"{program} is a Python file: isthmus {command} -- python {program} --steps 'a b'\n" in found.stderr


def test_another_tool_is_not_replaced_unless_asked(trace: Trace) -> None:
    found = trace("sh", "-c", "exit 7", CUDA_INJECTION64_PATH="/other.so")
    assert (found.returncode, found.stdout) == (2, "")
    assert "/other.so" in found.stderr
    assert trace("--force", "sh", "-c", "exit 7", CUDA_INJECTION64_PATH="/other.so").returncode == 7


def test_what_the_recorder_says_is_shown_once(trace: Trace) -> None:
    said = 'for n in 1 2; do echo "another profiler holds CUPTI" > "$ISTHMUS_TRACE_FOLDER/$n.message"; done'
    assert trace("sh", "-c", said).stderr == "isthmus: another profiler holds CUPTI\n"


def test_a_part_without_room_for_a_record_is_told(trace: Trace, tmp_path: Path) -> None:
    found = trace("sh", "-c", ': >"$ISTHMUS_TRACE_FOLDER/5-0.part"; exit 3')
    assert found.returncode == 3
    assert "5-0.part: no room for what this process did" in found.stderr
    assert "ulimit -f" in found.stderr
    assert names(tmp_path) == set()


@pytest.mark.parametrize(("end", "code"), [("true", 2), ("exit 5", 5)])
def test_a_disk_without_any_room_is_no_success(trace: Trace, tmp_path: Path, end: str, code: int) -> None:
    full = (
        'part="$ISTHMUS_TRACE_FOLDER/1-0.part"; : > "$part"; echo "$part: no room on the disk" > "${part%-*}.message"'
    )
    found = trace("-o", "x.csv", "sh", "-c", f"{full}; {end}")
    assert found.returncode == code
    assert "no room on the disk" in found.stderr
    assert "nothing was recorded" in found.stderr
    assert names(tmp_path) == set()


def test_a_damaged_part_costs_the_trace_and_not_the_program(trace: Trace, tmp_path: Path) -> None:
    damage = 'echo damaged > "$ISTHMUS_TRACE_FOLDER/1-0.part"'
    found = trace("sh", "-c", f"{damage}; exit 3")
    assert (found.returncode, found.stdout) == (3, "")
    assert "what was recorded lies in" in found.stderr
    (parts,) = kept(tmp_path)
    folder = tmp_path / "state" / "isthmus" / "traces" / parts
    assert [path.name for path in folder.iterdir()] == ["1-0.part"]
    assert trace("sh", "-c", damage).returncode == 2


def test_ranks_write_their_own_files_and_the_first_speaks(trace: Trace, tmp_path: Path) -> None:
    for rank in ("0", "1"):
        found = trace("-o", "x.json", "sh", "-c", LEAVE, PMI_RANK=rank, PMI_SIZE="2")
        assert ("copy H2D" in found.stderr) == (rank == "0")
        trace("sh", "-c", LEAVE, PMI_RANK=rank, PMI_SIZE="2")
    files = {f"{name}.rank{rank}.{suffix}" for rank in (0, 1) for name, suffix in (("x", "json"), ("x", "itrace"))}
    assert names(tmp_path) == files
    assert names(tmp_path / "state" / "isthmus" / "traces") == {"sh.rank0.itrace", "sh.rank1.itrace"}


def test_a_state_folder_that_cannot_be_made_costs_no_trace(own_trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    (tmp_path / "other").mkdir()
    found = own_trace("sh", "-c", LEAVE, TMPDIR=str(tmp_path / "other"))
    assert found.returncode == 0
    assert "nothing is kept in the state folder" in found.stderr
    assert "set XDG_STATE_HOME to a folder that can be written" in found.stderr
    assert len(list((tmp_path / "other").glob("isthmus-*/sh.itrace"))) == 1


def test_saved_traces_are_shown_and_exported(trace: Trace, tmp_path: Path) -> None:
    assert trace("--open", "part", "--json").stdout == trace("--open", "part", "--format", "json").stdout
    found = trace("--open", "part")
    assert "copy H2D pageable" in found.stdout
    assert found.stderr == ""
    assert json.loads(trace("--open", "part", "--format", "json").stdout)["maker"] == "isthmus"
    assert trace("--open", "part", "-o", "x.html", "-o", "x.csv").stdout == "x.html\nx.csv\n"
    assert names(tmp_path) == {"x.html", "x.csv"}
