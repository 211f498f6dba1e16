"""Programs that do what costs a guest in their process his footing: with each library of ours they are as without."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from isthmus import _native
from isthmus.ledger import read_counts
from isthmus.trace import open_trace
from isthmus.trace.isthmus.blocks import join_parts
from tests.compiling import compile_program
from tests.processes import ended

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "hostile_program.cpp"
LIBRARIES = Path(_native.__file__).parent
# Libraries of ours that programs have in them: how the fake is called behind which their calls are, the flag that the
# program is compiled with, and the variable of the environment that brings the library in.
GUESTS = {
    "libisthmus_tracer.so": ("fake_tracing.cpp", "-DCUDA", "HOSTILE_GUEST"),
    "libisthmus_opencl_tracer.so": ("fake_opencl.cpp", "-DOPENCL", "LD_PRELOAD"),
}
ACCELERATOR = "libisthmus_accelerator.so"
_ALL = {**GUESTS, ACCELERATOR: ("fake_cuda.cpp", "-DDRIVER", "LD_PRELOAD")}
VARIANTS = (
    *("closes-files", "daemon", "file-limit", "file-limit-handled", "timers", "fork", "clone", "vfork", "exec"),
    *("chdir", "privileges", "descriptors", "memory", "keys", "cancel", "errno", "threads"),
    *("main-thread", "exit", "_exit", "quick_exit", "abort", "terminated", "faults", "thread"),
)


class Guest(NamedTuple):
    """A library, and a program whose calls it sees."""

    library: str
    program: Path

    def environment(self, parts: Path) -> dict[str, str]:
        variable = _ALL[self.library][2]
        before = [os.environ.get(variable, "")] if variable == "LD_PRELOAD" else []
        named = " ".join(filter(None, [*before, str(LIBRARIES / self.library)]))
        return {
            "ISTHMUS_TRACE_FOLDER": str(parts),
            "ISTHMUS_TRACE_CUPTI": "",
            "ISTHMUS_TRACE_OPTIONS": "all-times",
            "ISTHMUS_ACCELERATE_FOLDER": str(parts),
            "ISTHMUS_ACCELERATE_OPTIONS": "eager",
            variable: named,
        }


@pytest.fixture(scope="module", params=GUESTS)
def guest(request: pytest.FixtureRequest, compiled: Callable[..., Path]) -> Guest:
    return Guest(request.param, compile_program("hostile_program", [SOURCE], *options(request.param, compiled)))


def options(guest: str, compiled: Callable[..., Path]) -> tuple[list[str], list[str]]:
    """Of the compiler and of the linker."""
    source, flag, _ = _ALL[guest]
    library = compiled(source)
    return ["-O1", flag, f"-I{HERE.parents[1] / 'native'}", "-pthread"], [str(library), f"-Wl,-rpath,{library.parent}"]


def ran(program: Path, variant: str, folder: Path, *prefix: str, **more: str) -> tuple[int, str, str, dict[str, bytes]]:
    """How it ended, what it said, and the files that it left."""
    folder.mkdir()
    done = ended(*prefix, program, variant, env=more, cwd=folder)
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    return done.returncode, done.stdout, done.stderr, files


def compared(guest: Guest, variant: str, tmp_path: Path) -> Path:
    """Runs it without and with the guest; the folder with what that recorded."""
    parts = tmp_path / "parts"
    parts.mkdir()
    alone = ran(guest.program, variant, tmp_path / "alone")
    traced = ran(guest.program, variant, tmp_path / "traced", **guest.environment(parts))
    assert traced == alone
    assert list(parts.glob("*.message")) == []
    return parts


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_hostile_program_is_as_without_a_guest(guest: Guest, variant: str, tmp_path: Path) -> None:
    parts = compared(guest, variant, tmp_path)
    # The guest was there: what could be recorded was.
    join_parts(sorted(parts.glob("*.part")), tmp_path / "joined")
    trace = open_trace(tmp_path / "joined")
    assert len(trace.copies) >= 10
    if variant == "closes-files":
        assert len(trace.copies) == 30_010
        assert trace.notes == ()
    lacks = {"file-limit": "ulimit -f", "descriptors": "ulimit -n"}
    if os.geteuid() == 0:
        lacks["privileges"] = "privileges"
    if variant in lacks:
        assert any(lacks[variant] in note and re.search(r"[1-9]\d* records or more", note) for note in trace.notes)


def test_a_program_that_switches_its_recorder_off_is_not_recorded(guest: Guest, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    alone = ran(guest.program, "threads", tmp_path / "alone")
    assert ran(guest.program, "threads", tmp_path / "off", ISTHMUS_TRACE="off", **guest.environment(parts)) == alone
    assert list(parts.iterdir()) == []


@pytest.fixture(scope="module")
def accelerator(compiled: Callable[..., Path]) -> Guest:
    return Guest(ACCELERATOR, compile_program("hostile_program", [SOURCE], *options(ACCELERATOR, compiled)))


# A daemon is the child of a fork, in which no driver works.
@pytest.mark.parametrize("variant", [each for each in VARIANTS if each != "daemon"])
def test_a_hostile_program_is_as_without_what_accelerates_it(accelerator: Guest, variant: str, tmp_path: Path) -> None:
    counts = read_counts(compared(accelerator, variant, tmp_path))
    # One that executes itself counts anew.
    assert counts.processes == (2 if variant == "exec" else 1)
    assert (counts.wrong, counts.plain, counts.uncounted, counts.refused) == (0, {}, 0, [])
    looked_at = sum(row.copies + row.samples for row in counts.moved) + sum(
        copies for copies, _ in counts.left.values()
    )
    assert looked_at >= 1


@pytest.mark.thorough
@pytest.mark.parametrize("attempt", range(3))
def test_a_thread_that_closes_everything_loses_nothing(guest: Guest, attempt: int, tmp_path: Path) -> None:
    compared(guest, "closes-meanwhile", tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("kib", [0, 64, 1500])
def test_a_full_disk_costs_records_alone(guest: Guest, kib: int, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    # The rest of the disk is somebody else's.
    script = f'mount -t tmpfs -o size=2m none {parts} && head -c {2048 - kib}k /dev/zero >{parts}/other; exec "$@"'
    inside = ("unshare", "-rm", "sh", "-c", script, "sh")
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs unshare with user namespaces, to mount a small disk")
    alone = ran(guest.program, "threads", tmp_path / "alone")
    variable = GUESTS[guest.library][2]
    environment = guest.environment(parts)
    named = environment.pop(variable)
    within = ("env", f"{variable}={named}")
    assert ran(guest.program, "threads", tmp_path / "traced", *inside, *within, **environment) == alone


# The driver loads the recorder of CUDA long after all sanitizers: how these come into the program is nothing to it.
@pytest.mark.thorough
@pytest.mark.skipif("san.so" in os.environ.get("LD_PRELOAD", ""), reason="runs under a sanitizer of its own")
@pytest.mark.parametrize(
    ("library", "how"),
    [
        pytest.param(library, how, id=f"{library}-{' '.join(how)}")
        for library in GUESTS
        for how in (
            ("g++", "-fsanitize=address"),
            ("g++", "-fsanitize=address", "-static-libasan"),
            ("g++", "-fsanitize=undefined"),
            ("g++", "-fsanitize=thread"),
            ("g++", "-fsanitize=leak"),
            ("clang++", "-fsanitize=address"),
            ("clang++", "-fsanitize=address", "-shared-libasan"),
        )
        if GUESTS[library][2] == "LD_PRELOAD"
        or how in (("g++", "-fsanitize=thread"), ("clang++", "-fsanitize=address"))
    ],
)
def test_programs_with_sanitizers_run_traced(
    library: str, how: tuple[str, ...], compiled: Callable[..., Path], tmp_path: Path
) -> None:
    """Their library wants to come before all others, the recorder of OpenCL before libOpenCL."""
    compiler = shutil.which(how[0]) or shutil.which(f"{how[0]}-15")
    if compiler is None:
        pytest.skip(f"needs {how[0]}")
    program = tmp_path / "hostile_program"
    flags, links = options(library, compiled)
    if subprocess.run(
        [compiler, *how[1:], "-std=c++20", *flags, SOURCE, *links, "-o", program], check=False
    ).returncode:
        pytest.skip(f"{compiler} comes without this sanitizer")
    alone = ran(program, "threads", tmp_path / "alone")
    if "cannot open shared object" in alone[2]:
        pytest.skip("the sanitizer's library is not where programs look for it")
    words = (sys.executable, "-m", "isthmus", "trace", "--quiet", "-o", f"{tmp_path}/x.itrace", "--all-times", "--")
    more = {"PYTHONPATH": os.pathsep.join(sys.path)}
    if GUESTS[library][2] != "LD_PRELOAD":
        more[GUESTS[library][2]] = str(LIBRARIES / library)
    assert ran(program, "threads", tmp_path / "traced", *words, **more) == alone
    assert len(open_trace(tmp_path / "x.itrace").copies) == 10_000
