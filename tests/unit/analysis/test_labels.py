"""Titles of runs say what tells them apart: their host and, of ranks of a fleet, which one measured in which phase."""

import msgspec

from isthmus.analysis.labels import run_title
from isthmus.record import Host, Launch, Phase, Run
from tests.synthetic import runs as synthetic


def of_rank(run: Run, rank: int, phase: Phase) -> Run:
    launch = Launch(fleet="f", phase=phase, rank=rank, ranks=2, local_rank=rank, node=0)
    return msgspec.structs.replace(run, launch=launch)


def test_a_single_run_has_no_letter_and_no_host() -> None:
    run = synthetic.run([], name="one", host=Host(name="n1"))
    assert run_title([run], 0) == "NVIDIA H200 (cuda:0), run one"


def test_hosts_are_named_where_runs_are_of_several() -> None:
    runs = [synthetic.run([], name=name, host=Host(name=host)) for name, host in (("x", "n1"), ("y", "n2"), ("z", ""))]
    assert [run_title(runs, index) for index in range(3)] == [
        "A: NVIDIA H200 (cuda:0) on n1, run x",
        "B: NVIDIA H200 (cuda:0) on n2, run y",
        "C: NVIDIA H200 (cuda:0), run z",
    ]
    assert run_title(runs[:1] * 2, 1) == "B: NVIDIA H200 (cuda:0), run x"


def test_ranks_and_phases_are_named() -> None:
    run = synthetic.run([], name="x", host=Host(name="n1"))
    runs = [of_rank(run, 3, "alone"), of_rank(run, 3, "together"), run]
    assert [run_title(runs, index) for index in range(3)] == [
        "A: NVIDIA H200 (cuda:0), run x, rank 3 alone",
        "B: NVIDIA H200 (cuda:0), run x, rank 3 together",
        "C: NVIDIA H200 (cuda:0), run x",
    ]
