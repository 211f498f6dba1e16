"""`isthmus measure` under mpirun: a device a rank, alone and together, with ranks that differ, die and hang."""

import csv
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from isthmus.record import Fleet, Phase, read_run
from tests.processes import HANGS_SECONDS, Done

ISTHMUS = (sys.executable, "-m", "isthmus")
ONE_CASE = ("measure", "--device", "host", "--sizes", "4KiB", "--memory", "pinned", "--direction", "h2d")
TINY = (*ONE_CASE, "--quick", "--time", "0.1s", "-o", "a.json")

Started = Callable[..., subprocess.Popen[str]]
Ended = Callable[..., subprocess.CompletedProcess[str]]
Children = Callable[[int], Iterator[int]]


@pytest.fixture
def start(start: Started) -> Started:
    """As elsewhere, but that an option which is given again takes the place of the one in TINY."""

    def started(*words: str, **more: str) -> subprocess.Popen[str]:
        left: list[str] = []
        for place, word in enumerate(words):
            option = word if word.startswith("-") or not place else words[place - 1]
            if option in TINY and option.startswith("-") and option != "--quick":
                last = len(words) - 1 - words[::-1].index(option)
                if place not in (last, last + 1):
                    continue
            left.append(word)
        return start(*left, **more)

    return started


def fleet_in(path: Path) -> Fleet:
    return msgspec.json.decode(path.read_bytes(), type=Fleet)


def variable(pid: int, name: str) -> str:
    for each in Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0"):
        if each.startswith(f"{name}="):
            return each.partition("=")[2]
    return ""


def measuring(process: subprocess.Popen[str], children: Children, folder: Path, phase: Phase, rank: int) -> int:
    """The process that has begun to measure for a rank in a phase."""
    deadline = time.monotonic() + HANGS_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        if any(path.name.endswith(f"{phase}.json") for path in folder.glob(f"rank{rank}-*")):
            for child in children(process.pid):
                try:
                    words = Path(f"/proc/{child}/cmdline").read_bytes()
                    if b"isthmus.experiment.fleet.member" in words and variable(child, "PMI_RANK") == str(rank):
                        return child
                except (FileNotFoundError, ProcessLookupError):
                    continue
        time.sleep(0.05)
    raise AssertionError("it did not begin to measure")


@pytest.mark.thorough
def test_sixteen_ranks_measure_alone_and_together(run: Ended, mpirun: str, tmp_path: Path) -> None:
    done = run(mpirun, "-n", "16", *ISTHMUS, *TINY)
    assert done.returncode == 0, done.stderr
    fleet = fleet_in(tmp_path / "a.json")
    assert [member.rank for member in fleet.members] == list(range(16))
    assert [member.local_rank for member in fleet.members] == list(range(16))
    assert {member.node for member in fleet.members} == {0}
    assert not fleet.missing
    assert {point.phase for point in fleet.points} == {"alone", "together"}
    for member in fleet.members:
        assert len(member.summaries) == len(fleet.points)
        for summary in member.summaries:
            assert summary.samples > 0
            assert 0 < summary.least <= summary.lower_quartile <= summary.median <= summary.upper_quartile
            assert summary.verified == "yes"
    assert done.stdout.startswith("Fleet: ")
    assert "16 of 16 ranks measured their device" in done.stdout
    assert "ranks 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 share host of" in done.stderr
    assert fleet.notes
    # Raw samples stay in the ranks' files, and agree with what was sent.
    for index, member in enumerate(fleet.members):
        for phase in ("alone", "together"):
            (path,) = (tmp_path / "a-ranks").glob(f"rank{index}-*-{phase}.json")
            found = read_run(path)
            assert found.launch
            assert (found.launch.phase, found.launch.rank, found.launch.fleet) == (phase, index, fleet.fleet)
            (case,) = found.cases
            (number,) = (number for number, point in enumerate(fleet.points) if point.phase == phase)
            assert len(case.samples("host_seconds")) == member.summaries[number].samples


def test_files_of_an_earlier_run_are_gone(run: Ended, mpirun: str, tmp_path: Path) -> None:
    """Of more ranks, on another machine and in another form; what is no rank's stays."""
    folder = tmp_path / "a-ranks"
    folder.mkdir()
    for name in ("rank0-other-together.json", "rank1-other-alone.json.gz", "rank7-other-alone.json", "rank1-notes.txt"):
        (folder / name).write_text("{}")
    assert run(mpirun, "-n", "2", *ISTHMUS, *TINY).returncode == 0
    names = sorted(path.name for path in folder.iterdir())
    assert names.pop(names.index("rank1-notes.txt"))
    assert [(name[:5], name.rpartition("-")[2]) for name in names] == [
        ("rank0", "alone.json"),
        ("rank0", "together.json"),
        ("rank1", "alone.json"),
        ("rank1", "together.json"),
    ]
    assert not any("other" in name for name in names)


@pytest.mark.thorough
def test_ranks_files_without_a_fleet_file_say_the_same(run: Ended, mpirun: str, tmp_path: Path) -> None:
    """Two ranks that share a device, in two phases each, once gathered by MPI and once from their own files."""
    assert run(mpirun, "-n", "2", *ISTHMUS, *TINY).returncode == 0
    tables = []
    for places in (("a.json",), ("a-ranks",), (".",)):
        done = run(*ISTHMUS, "fleet", *places, "--format", "csv")
        assert done.returncode == 0, done.stderr
        rows = list(csv.DictReader(done.stdout.splitlines()))
        assert {(row["rank"], row["phase"]) for row in rows} == set(itertools.product("01", ("alone", "together")))
        assert len(rows) == 4
        # Times that were gathered are rounded to five digits, so that the last one may differ.
        tables.append({(row["rank"], row["phase"], row["samples"]): float(row["median"]) for row in rows})
    gathered, *own = tables
    assert own == [pytest.approx(gathered, rel=5.1e-5)] * 2


def test_alone_is_one_at_a_time_and_together_is_at_once(run: Ended, mpirun: str, tmp_path: Path) -> None:
    """By the files' last changes: a rank's part alone ends before the next one's file is made."""
    done = run(mpirun, "-n", "2", *ISTHMUS, *TINY)
    assert done.returncode == 0, done.stderr
    spans: dict[str, list[tuple[float, float]]] = {}
    for path in (tmp_path / "a-ranks").iterdir():
        end = path.stat().st_mtime
        found = read_run(path)
        assert found.end
        assert found.launch
        spans.setdefault(found.launch.phase, []).append((end - found.end.seconds, end))
    alone = sorted(spans["alone"])
    assert all(before[1] <= after[0] + 0.01 for before, after in itertools.pairwise(alone)), alone
    assert max(end for _, end in alone) < min(begin for begin, _ in spans["together"]) + 0.01


def test_together_every_case_is_measured_on_all_at_once(run: Ended, mpirun: str, tmp_path: Path) -> None:
    """Cases end in the same order on all ranks, which by themselves take as many samples of each as they need."""
    words = ("--memory", "registered,pinned", "--direction", "h2d,d2h", "--sizes", "4KiB:16KiB", "--time", "0.5s")
    done = run(mpirun, "-n", "2", *ISTHMUS, *ONE_CASE[:3], *words, "-o", "a.json")
    assert done.returncode == 0, done.stderr
    found = [read_run(path) for path in sorted((tmp_path / "a-ranks").glob("*-together.json"))]
    cases = [[(each.host_memory, each.direction, each.bytes) for each in run.cases] for run in found]
    assert len(cases[0]) == 2 * 2 * 3
    if any(run.end and run.end.note for run in found):
        pytest.skip("the machine was too busy for its ranks to stay in step, as they say in their files")
    assert cases[1] == cases[0]


@pytest.mark.thorough
@pytest.mark.parametrize("phase", ["alone", "together"])
def test_a_device_whose_process_is_killed_costs_no_other(
    start: Started, mpirun: str, tmp_path: Path, children: Children, phase: Phase
) -> None:
    words = [*TINY, "--time", "2s", "--seed", "1", "--memory", "pageable,pinned", "--sizes", "4KiB:64MiB"]
    process = start(mpirun, "-n", "3", *ISTHMUS, *words)
    os.kill(measuring(process, children, tmp_path / "a-ranks", phase, 1), signal.SIGKILL)
    _, err = process.communicate(timeout=HANGS_SECONDS)
    assert process.returncode == 1, err
    assert "isthmus: rank 1 (" in err
    assert f"{phase}: the process that measured was killed by SIGKILL; the others go on" in err
    assert "1 of 3 ranks have not measured everything" in err
    fleet = fleet_in(tmp_path / "a.json")
    (missing,) = fleet.missing
    assert missing.rank == 1
    assert "SIGKILL" in missing.why
    whole = [member for member in fleet.members if member.rank != 1]
    assert [member.rank for member in whole] == [0, 2]
    for member in whole:
        assert {fleet.points[index].phase for index, each in enumerate(member.summaries) if each.samples} == {
            "alone",
            "together",
        }
    if phase == "together":
        assert [member.rank for member in fleet.members] == [0, 1, 2], "what rank 1 measured alone is kept"


@pytest.mark.thorough
def test_a_rank_that_is_not_heard_of_any_more_is_named(
    start: Started, mpirun: str, tmp_path: Path, children: Children
) -> None:
    """As when its machine is gone. It is stopped, not killed, for which this launcher would end all."""
    process = start(mpirun, "-n", "2", *ISTHMUS, *TINY, "--time", "3s", "--sizes", "4KiB:16MiB")
    child = measuring(process, children, tmp_path / "a-ranks", "alone", 1)
    rank = int(Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(rank, signal.SIGSTOP)
    _, err = process.communicate(timeout=HANGS_SECONDS)
    assert process.returncode == 1, err
    assert "not heard of for" in err
    assert "no word from rank 1; a.json has all others' results" in err
    fleet = fleet_in(tmp_path / "a.json")
    assert [missing.rank for missing in fleet.missing] == [1]
    assert {fleet.points[index].phase for index in range(len(fleet.members[0].summaries))} == {"alone", "together"}


@pytest.mark.thorough
@pytest.mark.parametrize("phase", ["alone", "together"])
def test_a_launcher_that_ends_all_leaves_what_was_measured(
    start: Started, run: Ended, mpirun: str, tmp_path: Path, children: Children, phase: Phase
) -> None:
    """As this one does where a rank itself is killed, and not the process that measures for it."""
    process = start(mpirun, "-n", "2", *ISTHMUS, *TINY, "--time", "5s", "--sizes", "4KiB:16MiB")
    child = measuring(process, children, tmp_path / "a-ranks", phase, 1)
    rank = int(Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(rank, signal.SIGKILL)
    process.communicate(timeout=HANGS_SECONDS)
    assert process.returncode != 0
    ended = [0] if phase == "alone" else [0, 1]
    found = [read_run(tmp_path / "a-ranks" / f"rank{rank}-{os.uname().nodename}-alone.json") for rank in ended]
    assert all(each.end and each.end.status == "complete" and each.cases for each in found)
    fleet = fleet_in(tmp_path / "a.json")
    assert [member.rank for member in fleet.members] == ended
    assert all(member.summaries[0].samples for member in fleet.members)
    assert [missing.rank for missing in fleet.missing] == [0, 1]
    assert {missing.why for missing in fleet.missing} == {"had not ended when this file was written"}
    merged = run(*ISTHMUS, "fleet", "a-ranks", "--format", "csv")
    assert merged.returncode == 0, merged.stderr
    assert {row["phase"] for row in csv.DictReader(merged.stdout.splitlines())} >= {"alone"}


@pytest.mark.thorough
def test_rank_0_that_is_gone_is_noticed(start: Started, mpirun: str, tmp_path: Path, children: Children) -> None:
    process = start(mpirun, "-n", "2", *ISTHMUS, *TINY, "--time", "5s", "--sizes", "4KiB:16MiB")
    child = measuring(process, children, tmp_path / "a-ranks", "alone", 0)
    rank = int(Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(rank, signal.SIGSTOP)
    _, err = process.communicate(timeout=HANGS_SECONDS)
    assert process.returncode != 0
    assert "isthmus: rank 1 (" in err
    assert "rank 0 has taken no message for" in err
    assert "isthmus fleet a-ranks merges the files of all" in err
    assert "Traceback" not in err


def test_a_fleet_file_that_cannot_be_written_is_known_at_once(run: Ended, mpirun: str, tmp_path: Path) -> None:
    done = run(mpirun, "-n", "2", *ISTHMUS, *TINY[:-1], "none/a.json")
    assert done.returncode == 2
    assert "none: no such folder for the run file; make it, or name another place with -o" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
def test_a_device_that_hangs_is_given_up(run: Ended, mpirun: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys, time\n"
        "if 'isthmus.experiment.fleet.member' in sys.orig_argv and os.environ.get('PMI_RANK') == '1':\n"
        "    time.sleep(600)\n"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = run(mpirun, "-n", "2", *ISTHMUS, *TINY, "--phase-limit", "8s", PYTHONPATH=path)
    assert done.returncode == 1, done.stderr
    assert "alone: no end after 8 s, so it was killed; --phase-limit allows more" in done.stderr
    fleet = fleet_in(tmp_path / "a.json")
    assert [(member.rank, len(member.summaries)) for member in fleet.members] == [(0, 2)]
    assert [(missing.rank, missing.host) for missing in fleet.missing] == [(1, os.uname().nodename)]


def test_versions_and_clocks_that_differ(run: Ended, mpirun: str, tmp_path: Path) -> None:
    """Rank 1 has another version, and a clock that is a day ahead."""
    (tmp_path / "sitecustomize.py").write_text(
        "import datetime, os\n"
        "if os.environ.get('PMI_RANK') == '1':\n"
        "    class Ahead(datetime.datetime):\n"
        "        @classmethod\n"
        "        def now(cls, tz=None):\n"
        "            return super().now(tz) + datetime.timedelta(days=1)\n"
        "    datetime.datetime = Ahead\n"
        "    import isthmus\n"
        "    isthmus.__version__ = '99.1'\n"
    )
    words = TINY[: TINY.index("-o")]  # Each clock would give the file another name.
    more = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]), "XDG_STATE_HOME": str(tmp_path)}
    done = run(mpirun, "-n", "2", *ISTHMUS, *words, **more)
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "isthmus" / "runs").glob("fleet-*.json")
    fleet = fleet_in(path)
    versions = [member.fingerprint.isthmus_version for member in fleet.members]
    assert versions[1] == "99.1" != versions[0]
    assert any(note.startswith("the ranks have different versions of isthmus: ") for note in fleet.notes)
    assert "99.1 on 1, such as rank 1 (" in done.stderr
    assert len(list(path.with_suffix("").with_name(f"{path.stem}-ranks").iterdir())) == 4
    days = {read_run(each).created[:10] for each in path.with_name(f"{path.stem}-ranks").iterdir()}
    assert len(days) == 2, "the clocks did differ"


def test_ranks_that_are_asked_different_things_begin_nothing(run: Ended, mpirun: str, tmp_path: Path) -> None:
    one = ("-n", "1", *ISTHMUS, *TINY)
    done = run(mpirun, *one, ":", *one, "--seed", "2")
    assert done.returncode == 2
    assert done.stderr.count("the ranks were asked different things: rank 0 (") == 1, done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--phase-limit", "0s"), "not a time: '0s'"),
        pytest.param(("-o", "a.txt"), "not a name for a run file: a.txt", marks=pytest.mark.thorough),
        pytest.param(("--memory", "nonsense"), "no memory kind 'nonsense'", marks=pytest.mark.thorough),
    ],
)
def test_what_makes_no_sense_is_said_once(run: Ended, mpirun: str, words: tuple[str, ...], message: str) -> None:
    done = run(mpirun, "-n", "2", *ISTHMUS, *TINY, *words)
    assert done.returncode == 2
    assert done.stderr.count(message) == 1, done.stderr


def test_no_device_anywhere_is_a_failure(run: Ended, mpirun: str, tmp_path: Path) -> None:
    done = run(mpirun, "-n", "2", *ISTHMUS, *TINY, "--device", "opencl:99")
    assert done.returncode == 1
    assert "nothing was measured" in done.stderr
    assert [missing.rank for missing in fleet_in(tmp_path / "a.json").missing] == [0, 1]


@pytest.mark.thorough
def test_an_interrupted_fleet_keeps_what_was_measured(
    start: Started, mpirun: str, tmp_path: Path, children: Children
) -> None:
    process = start(mpirun, "-n", "2", *ISTHMUS, *ONE_CASE, "--time", "60s", "--sizes", "4KiB:1GiB", "-o", "a.json")
    measuring(process, children, tmp_path / "a-ranks", "alone", 0)
    deadline = time.monotonic() + HANGS_SECONDS
    (path,) = (tmp_path / "a-ranks").iterdir()
    while b'"verified"' not in path.read_bytes() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=HANGS_SECONDS)
    assert process.returncode != 0
    assert "interrupted; what was measured is in a.json" in err
    fleet = fleet_in(tmp_path / "a.json")
    assert [(member.rank, bool(member.summaries)) for member in fleet.members] == [(0, True)]


def test_ranks_without_mpi_write_a_file_each(run: Ended, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "mpi4py.py").write_text("raise ImportError('imported')")
    path = os.pathsep.join([str(tmp_path / "none"), *sys.path])
    words = (*TINY[:-1], "runs/", "--no-mpi")
    for rank in ("0", "1"):
        done = run(*ISTHMUS, *words, PYTHONPATH=path, PMI_SIZE="2", PMI_RANK=rank, MPI_LOCALRANKID=rank)
        assert done.returncode == 0, done.stderr
        # The second would have a device of its own, were there another.
        assert ("local rank 1 takes host like local rank 0" in done.stderr) == (rank == "1")
    names = sorted(each.name for each in (tmp_path / "runs").glob("*.json"))
    assert [name.partition("-host-")[2][:6] for name in names] == ["rank0-", "rank1-"]
    absent = run(*ISTHMUS, *TINY, PYTHONPATH=path, PMI_SIZE="2", PMI_RANK="0")
    assert absent.returncode == 2
    assert "--no-mpi" in absent.stderr


def test_a_job_without_a_launcher_names_its_file_by_its_index(isthmus: Callable[..., Done], tmp_path: Path) -> None:
    done = isthmus(*TINY[:-1], "runs/", JOB_COMPLETION_INDEX="7")
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "runs").glob("*.json")
    assert "-host-index7-" in path.name
