"""`isthmus measure stencil` as a user starts it: alone, under mpirun, with ranks that differ or die."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from isthmus.record import Run, read_run
from tests.processes import HANGS_SECONDS

ISTHMUS = (sys.executable, "-m", "isthmus")
QUICK = ("measure", "stencil", "--quick", "--side", "48", "--time", "0.1s", "-o", "a.json")
# Too long for a test: what it is interrupted in.
LONG = ("measure", "stencil", "--device", "host", "--side", "128", "--time", "600s", "--full", "-o", "a.json")
Started = Callable[..., subprocess.Popen[str]]
Ended = Callable[..., subprocess.CompletedProcess[str]]
Children = Callable[[int], Iterator[int]]


def measured(path: Path) -> Run:
    found = read_run(path)
    assert found.end
    assert found.end.status == "complete"
    return found


# With each device, with and without other ranks; thoroughly, each with each.
RANKS = [(2, "host", {1}), (1, "opencl:0", {1, 2})]
OTHERS = [(1, "host", {1, 2}), (2, "opencl:0", {1, 2}), (3, "host", {1, 2}), (3, "opencl:0", {1, 2})]


@pytest.mark.parametrize(
    ("ranks", "device", "halos"), [*RANKS, *(pytest.param(*each, marks=pytest.mark.thorough) for each in OTHERS)]
)
def test_ranks_measure_together_and_one_of_them_tells(
    run: Ended,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    device: str,
    ranks: int,
    halos: set[int],
    skip_without: Callable[[str], None],
) -> None:
    skip_without(device)
    launcher = (request.getfixturevalue("mpirun"), "-n", str(ranks)) if ranks > 1 else ()
    done = run(*launcher, *ISTHMUS, *QUICK, "--device", device, "--halo", ",".join(map(str, halos)))
    assert done.returncode == 0, done.stderr
    cases = measured(tmp_path / "a.json").cases
    assert {case.ranks for case in cases} == {ranks}
    assert {case.halo for case in cases} == halos
    assert {case.verified for case in cases if not case.skipped} == {"yes"}
    assert sum(not case.skipped for case in cases) >= 9 * len(halos)
    assert done.stdout.count("page        a.html") == 1
    assert done.stderr.count("measuring") == 1
    setting = "1 rank" if ranks == 1 else rf"{ranks} ranks \(1 x {ranks}\) on 1 device"
    assert re.search(rf"48 x 48 points, halos \d wide, {setting}", done.stdout)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.json"]


def test_one_process_needs_no_mpi(run: Ended, tmp_path: Path) -> None:
    """What would be imported raises: nothing of it may be needed, nor in a batch script of Slurm."""
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "mpi4py.py").write_text("raise ImportError('imported')")
    path = os.pathsep.join([str(tmp_path / "none"), *sys.path])
    alone = run(*ISTHMUS, *QUICK, "--device", "host", PYTHONPATH=path, SLURM_NTASKS="2", SLURM_PROCID="0")
    assert alone.returncode == 0, alone.stderr
    absent = run(*ISTHMUS, *QUICK, PYTHONPATH=path, PMI_SIZE="2", PMI_RANK="0")
    assert absent.returncode == 2
    assert "started as rank 0 of 2, which needs mpi4py: imported; install it with: pip install" in absent.stderr
    other = run(*ISTHMUS, *QUICK, PYTHONPATH=path, PMI_SIZE="2", PMI_RANK="1")
    assert (other.returncode, other.stderr) == (2, "")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("measure", "stencil", "bandwidth"), "started as 2 MPI ranks, which measure stencil together"),
        (("measure", "all"), "started as 2 MPI ranks"),
        (("measure", "stencil", "--side", "7", "--halo", "4"), "a side of 7 points is too short for halos of 4"),
        (
            ("measure", "stencil", "--side", "7", "--halo", "4", "--cut", "grid"),
            "a side of 7 points is too short for halos of 4 columns on 2 ranks; expected --side 8 or more",
        ),
        (("measure", "stencil", "--cut", "gird"), "no cut 'gird'; did you mean grid?"),
        (("measure", "stencil", "--side", "x"), "not numbers above 0: --side x"),
        (("measure", "stencils"), "did you mean stencil?"),
        (("measure", "stencil", "--nonsense"), "No such option"),
    ],
)
def test_what_makes_no_sense_is_said_once(run: Ended, mpirun: str, words: tuple[str, ...], message: str) -> None:
    done = run(mpirun, "-n", "2", *ISTHMUS, *words, "--device", "host")
    assert done.returncode == 2
    assert done.stderr.count(message) == 1, done.stderr


def test_ranks_that_differ_are_told_who_has_what(run: Ended, mpirun: str) -> None:
    one, other = ("-n", "1", *ISTHMUS, *QUICK, "--device", "host"), ("--halo", "1", ":")
    done = run(mpirun, *one, *other, *one, "--halo", "2")
    assert done.returncode == 2
    assert done.stderr.count("the ranks have different options: rank 0 (") == 1, done.stderr
    assert "halos=[2]" in done.stderr
    done = run(mpirun, *one, ":", *one[:-1], "host:rate=1GB/s,copy=nonsense")
    assert done.returncode == 2
    assert done.stderr.count("isthmus: rank 1 (") == 1, done.stderr


def rank_processes(process: subprocess.Popen[str], path: Path, children: Children) -> dict[int, int]:
    """Ranks of a run that has begun to measure, with the ids of their processes."""
    deadline = time.monotonic() + HANGS_SECONDS
    while not path.exists() or b'"verified"' not in path.read_bytes():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    found: dict[int, int] = {}
    for child in children(process.pid):
        try:
            variables = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        for name in (b"PMI_RANK=", b"OMPI_COMM_WORLD_RANK="):
            for each in variables:
                if each.startswith(name):
                    found.setdefault(int(each.removeprefix(name)), child)  # Not what the rank has started itself.
    return found


def is_alive(pid: int) -> bool:
    """Not gone, nor dead and waiting for somebody to ask."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.thorough
@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_is_killed_ends_the_others(
    start: Started, mpirun: str, tmp_path: Path, victim: int, children: Children
) -> None:
    process = start(mpirun, "-n", "2", *ISTHMUS, *LONG)
    ranks = rank_processes(process, tmp_path / "a.json", children)
    assert set(ranks) == {0, 1}
    os.kill(ranks[victim], signal.SIGKILL)
    process.communicate(timeout=HANGS_SECONDS)
    assert process.returncode != 0
    deadline = time.monotonic() + HANGS_SECONDS
    while any(is_alive(pid) for pid in ranks.values()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert read_run(tmp_path / "a.json").cases, "what was measured before can be read"


def test_a_device_that_fails_on_one_rank_ends_all(run: Ended, mpirun: str, tmp_path: Path) -> None:
    well, ill = (("-n", "1", *ISTHMUS, *QUICK, "--device", device) for device in ("host", "host:fault=copy:fail@90"))
    done = run(mpirun, *well, ":", *ill)
    assert done.returncode == 1
    assert done.stderr.count("isthmus: rank 1 (") == 1, done.stderr
    assert "copy failed for" in done.stderr
    assert "all ranks end" in done.stderr
    assert read_run(tmp_path / "a.json").cases


@pytest.mark.thorough
def test_an_interrupted_run_is_a_valid_file(start: Started, mpirun: str, tmp_path: Path, children: Children) -> None:
    process = start(mpirun, "-n", "2", *ISTHMUS, *LONG)
    ranks = rank_processes(process, tmp_path / "a.json", children)
    os.kill(ranks[0], signal.SIGINT)
    _, err = process.communicate(timeout=HANGS_SECONDS)
    assert process.returncode == 130
    assert err.count("isthmus: interrupted; what was measured is in a.json") == 1
    found = read_run(tmp_path / "a.json")
    assert found.end
    assert found.end.status == "interrupted"
