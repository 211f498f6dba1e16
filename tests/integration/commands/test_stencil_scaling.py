"""`isthmus measure stencil` on ever more ranks of one mpirun, in strips and in a grid, compared with one rank."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.record import Case, Run, read_run

pytestmark = pytest.mark.thorough

ISTHMUS = (sys.executable, "-m", "isthmus")
QUICK = ("measure", "stencil", "--device", "host", "--quick", "--time", "2s", "-o", "a.json")
# What stays wrong for good: the way's own halos in place of the neighbours'.
STALE = """
from isthmus.experiment.stencil.exchange import Workplace

whole = Workplace.send


def send(self, outgoing, incoming):
    whole(self, outgoing, incoming)
    if len(incoming) == 4:
        incoming[2][:] = outgoing[3]


Workplace.send = send
"""
Ended = Callable[..., subprocess.CompletedProcess[str]]


def measured(path: Path) -> Run:
    found = read_run(path)
    assert found.end
    assert found.end.status == "complete"
    return found


def fields(cases: list[Case]) -> set[tuple[int | None, str, int, int]]:
    """Ranks, cut, rows and columns of all cases."""
    return {(case.ranks, case.cut, case.rows or 0, case.bytes // 8 // (case.rows or 1)) for case in cases}


@pytest.mark.parametrize(
    ("ranks", "counts", "grids"),
    [(2, (1, 2), {2: (2, 1)}), (3, (1, 2, 3), {2: (2, 1), 3: (3, 1)}), (4, (1, 2, 4), {2: (2, 1), 4: (2, 2)})],
)
def test_one_launch_measures_the_curves_of_all_cuts(
    run: Ended,
    mpirun: str,
    tmp_path: Path,
    ranks: int,
    counts: tuple[int, ...],
    grids: dict[int, tuple[int, int]],
    told: Callable[[Run], str],
) -> None:
    """No count above 1 divides the side, so that parts are uneven; each case is compared with what one computes."""
    both = ("--cut", "strips,grid", "--scaling", "strong,weak", "--memory", "pageable,managed", "--side", "25")
    done = run(mpirun, "-n", str(ranks), *ISTHMUS, *QUICK, *both)
    assert done.returncode == 0, done.stderr
    cases = measured(tmp_path / "a.json").cases
    expected = {(1, "", 25, 25)}
    for count in counts[1:]:
        down, across = grids[count]
        name = f"{down}x{across}"
        expected |= {(count, "", 25, 25), (count, "", 25, 25 * count)}
        expected |= {(count, name, 25, 25), (count, name, 25 * down, 25 * across)}
    assert fields(cases) == expected
    taken = [case for case in cases if not case.skipped]
    assert {case.verified for case in taken} == {"yes"}
    # On a machine with other work the time ends before the last of them, which say so.
    known = [case for case in cases if "prefetching moves no pages" not in case.note]
    assert len(known) == 6 * len(expected), "every way that host memory knows"
    for case in taken:
        rest = zip(case.samples("host_seconds"), case.samples("mpi_seconds"), strict=True)
        for elapsed, (total, mpi) in zip(case.samples("elapsed_seconds"), rest, strict=True):
            assert max(total, mpi) <= elapsed <= (total + mpi) * (1 + 1e-9)
    text = told(measured(tmp_path / "a.json"))
    for scaling in ("Strong", "Weak"):
        for cut in ("strips", "grid"):
            assert f"{scaling} scaling, {cut}, 25 x 25 points, halos 1 wide" in text


def test_all_ranks_alone_are_measured_in_a_grid_without_a_curve(
    run: Ended, mpirun: str, tmp_path: Path, told: Callable[[Run], str]
) -> None:
    done = run(mpirun, "-n", "4", *ISTHMUS, *QUICK, "--side", "25", "--cut", "grid", "--halo", "1,3")
    assert done.returncode == 0, done.stderr
    cases = measured(tmp_path / "a.json").cases
    assert fields(cases) == {(4, "2x2", 25, 25)}
    assert {case.halo for case in cases} == {1, 3}
    assert {case.verified for case in cases if not case.skipped} == {"yes"}
    assert "Scaling with the number of ranks" not in told(measured(tmp_path / "a.json"))


def test_rows_that_come_from_the_wrong_neighbour_are_wrong_data(run: Ended, mpirun: str, tmp_path: Path) -> None:
    (tmp_path / "stale").mkdir()
    (tmp_path / "stale" / "sitecustomize.py").write_text(STALE)
    path = os.pathsep.join([str(tmp_path / "stale"), *sys.path])
    words = ("--side", "25", "--cut", "strips,grid", "--memory", "pageable")
    done = run(mpirun, "-n", "4", *ISTHMUS, *QUICK, *words, PYTHONPATH=path)
    assert done.returncode == 1
    assert "cases moved wrong data" in done.stderr
    cases = measured(tmp_path / "a.json").cases
    assert {(case.cut, case.verified) for case in cases} == {("", "yes"), ("2x2", "no")}
    assert all("wrong data: after 20 iterations" in case.note for case in cases if case.cut)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("measure", "stencil", "--scaling", "weak"), "--scaling needs several ranks, and this process is alone"),
        (("measure", "bandwidth", "--cut", "grid"), "--cut is an option of stencil, and what is measured is bandwidth"),
        (
            ("measure", "openacc", "--scaling", "strong"),
            "--scaling is an option of stencil, and what is measured is openacc",
        ),
    ],
)
def test_one_process_alone_makes_no_curve(run: Ended, words: tuple[str, ...], message: str) -> None:
    done = run(*ISTHMUS, *words, "--device", "host")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
