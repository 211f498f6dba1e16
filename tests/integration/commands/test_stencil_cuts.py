"""`isthmus measure stencil` by ranks that share the square in strips and in a grid."""

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


@pytest.mark.parametrize(("ranks", "grid"), [(2, "2x1"), (3, "3x1"), (4, "2x2")])
def test_every_cut_comes_out_as_one_rank_computes_it(
    run: Ended, mpirun: str, tmp_path: Path, ranks: int, grid: str
) -> None:
    """No count divides the side, so that parts are uneven; each case is compared with what one computes."""
    words = ("--cut", "strips,grid", "--memory", "pageable,managed", "--side", "25", "--halo", "1,3")
    done = run(mpirun, "-n", str(ranks), *ISTHMUS, *QUICK, *words)
    assert done.returncode == 0, done.stderr
    cases = measured(tmp_path / "a.json").cases
    assert fields(cases) == {(ranks, "", 25, 25), (ranks, grid, 25, 25)}
    assert {case.halo for case in cases} == {1, 3}
    taken = [case for case in cases if not case.skipped]
    assert {case.verified for case in taken} == {"yes"}
    for case in taken:
        rest = zip(case.samples("host_seconds"), case.samples("mpi_seconds"), strict=True)
        for elapsed, (total, mpi) in zip(case.samples("elapsed_seconds"), rest, strict=True):
            assert max(total, mpi) <= elapsed <= (total + mpi) * (1 + 1e-9)


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


def test_a_cut_is_the_stencil_s_alone(run: Ended) -> None:
    done = run(*ISTHMUS, "measure", "bandwidth", "--cut", "grid", "--device", "host")
    assert done.returncode == 2
    assert "--cut is an option of stencil, and what is measured is bandwidth" in done.stderr
    assert "Traceback" not in done.stderr
