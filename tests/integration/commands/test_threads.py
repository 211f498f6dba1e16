"""`isthmus measure threads` as a user runs it: what threads that are lacking, interrupted or stuck cost."""

from pathlib import Path

from isthmus.record import read_run
from tests.compiling import compile_program
from tests.processes import python

HERE = Path(__file__).parent


def test_a_limit_on_threads_costs_the_cases_beyond_it(tmp_path: Path) -> None:
    limit = compile_program("few_threads.so", [HERE / "few_threads.cpp"], ["-fPIC"], ["-shared", "-ldl"])
    # Without the command line, whose page has threads of its own. Enough for sixteen streams of the host backend, each
    # of which has a thread, and not for sixteen more.
    code = """
from pathlib import Path
from isthmus.experiment.engine.batch import planner
from isthmus.experiment.engine.options import Options
from isthmus.experiment.measure import measure
from isthmus.machine.devices import open_device
from isthmus.registry import EXPERIMENTS

options = Options("quick", sizes=[1 << 16], memory=["pinned"], directions=["h2d"], budget_seconds=0.05)
threads = [planner(each) for each in EXPERIMENTS if each.name == "threads"]
measure(open_device("host"), options, threads, Path("a.json"), [], lambda *_: None)
"""
    done = python(code, cwd=tmp_path, env={"LD_PRELOAD": str(limit), "FEW_THREADS": "30", "OPENBLAS_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    run = read_run(tmp_path / "a.json")
    many = [case for case in run.cases if case.threads == 16]
    assert {case.method for case in many} > {"spawn"}
    for case in many:
        if case.verified == "yes" and (case.method == "spawn" or case.streams == 1):
            # The first of spawned threads had ended before the last were made; one stream has one thread, so that
            # sixteen more are within the limit once those of sixteen streams have gone.
            continue
        assert case.skipped
        assert case.note.startswith("only ")
        assert "of 16 threads could be started: the limit on threads is reached (ulimit -u, or pids.max" in case.note
    others = [case for case in run.cases if case.threads != 16 and not case.note.startswith("needs two")]
    assert {case.verified for case in others} == {"yes"}


def test_a_process_ends_while_a_thread_is_stuck_in_the_driver() -> None:
    code = """
from isthmus import _native
from isthmus.errors import CallFailed
from isthmus.machine.devices import open_device

device = open_device("host:fault=copy:hang").native
memory, on_device = device.allocate("pinned", 4096), device.allocate("device", 4096)
transfer = _native.create_concurrent([("h2d", memory, on_device, 1, None)], 4096, 2, True, 0, False, 0.05)
try:
    transfer.run(0, 1, 1, 0)
except CallFailed as error:
    print(error)
"""
    done = python(code)
    message = "1 of 2 threads had not ended after 0.05 s and were left behind: h2d, 4096 bytes, 2 threads\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, message, "")
