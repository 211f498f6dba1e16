"""The Python programs of benchmarks/traced and how benchmarks/trace_python.py judges them, without a GPU."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from isthmus.errors import CallFailed
from isthmus.record import Interval
from tests.processes import ended

pytestmark = pytest.mark.thorough

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
PROGRAMS = BENCHMARKS / "traced"
ON_THE_HOST = Path(__file__).with_name("on_the_host.py")
# Sizes small enough for a processor; what the loops do is the same.
SMALL = {
    "torch_loader": ("ROWS=32", "WIDTH=16"),
    "torch_item": ("TABLE=100", "WIDTH=8", "LAYERS=2", "EVERY=4"),
    "torch_blocks": ("VALUES=16", "HOST_BLOCKS=64", "DEVICE_BLOCKS=32", "MOVED=20"),
    "torch_checkpoint": ("VALUES=100", "EVERY=2"),
    "torch_offload": ("WIDTH=16", "ROWS=8"),
    "torch_ranks": ("WIDTH=16", "ROWS=32", "CLASSES=4"),
    "torch_swap": ("WIDTH=16", "ROWS=8"),
    "torch_host_adam": ("WIDTH=8", "LENGTH=16", "ROWS=4"),
    "torch_gather": ("ROWS=64", "WIDTH=8", "TAKEN=16"),
    "torch_frames": ("HEIGHT=4", "WIDTH=6"),
    "torch_greedy": ("WIDTH=16", "WORDS=50", "ROWS=4"),
}
STEPS = 7
# Stands for a program: prints a line, and with --profiler writes a trace.
PROGRAM = """
import json, pathlib, sys
if "--profiler" in sys.argv:
    (pathlib.Path(sys.argv[-1]) / "rank0.json").write_text("{}")
seconds = 0.25 if "fixed" in sys.argv else 1.0
copies = {"h2d": {"calls": 3, "bytes": 3000}}
print(json.dumps({"program": "p", "seconds": seconds, "copies": copies, "checksum": 7}))
"""


@pytest.fixture
def python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModuleType]:
    """benchmarks/trace_python.py, for which programs are those that pretend, of libraries that are there."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    loaded = import_module("trace_python")
    for name in (*loaded.PLANTED, *(program for program, *_ in loaded.RIGHT.values())):
        (tmp_path / f"{name}.py").write_text(PROGRAM, "utf-8")
    monkeypatch.setattr(loaded, "SOURCES", tmp_path)
    monkeypatch.setattr(loaded, "find_spec", lambda _: object())
    yield loaded
    for name in [each for each in sys.modules if each.startswith("trace_")]:
        del sys.modules[name]


@pytest.fixture
def programs(python: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    """What traces and advises without a GPU: `counts` are those of every trace, `first` the rules of each advice."""
    common = import_module("trace_programs")
    found = SimpleNamespace(counts={"h2d": common.Count(3, 3000)}, first=[], options=[], traces=[])

    def traced_output(name: str, command: list[str], options: tuple[str, ...]) -> tuple[str, Path]:
        found.options.append((name, options))
        return common.output_of(command), tmp_path / f"{name}.itrace"

    def advised(*traces: Path) -> list[Any]:
        found.traces.append([each.name for each in traces])
        return [common.Advised(rule, "warning", Interval(0.7, 0.6, 0.8)) for rule in found.first.pop(0)]

    def folder(name: str) -> Path:
        made = tmp_path / name
        made.mkdir()
        return made

    found.traced_output, found.advised, found.folder = traced_output, advised, folder
    monkeypatch.setattr(python, "counts_of", lambda _: found.counts)
    return found


def test_the_planted_problem_is_to_come_first_of_both_traces(python: ModuleType, programs: SimpleNamespace) -> None:
    programs.first = [["pageable", "waits"], ["pageable"]]
    finding = python.measure_problem(programs, "torch_loader")
    assert finding.met
    assert finding.measured == "gains 750 ms (750 ms to 750 ms); `pageable` predicted 700 ms (600 ms to 800 ms), -7 %"
    assert programs.traces == [["torch_loader.itrace"], ["rank0.json"]]
    assert programs.options == [("torch_loader", ()), ("torch_loader_fixed", ())]
    gains = python.judged_gains([finding])
    assert (gains.met, gains.measured, gains.name) == (True, "1 of 1", "gains-python")


def test_another_rule_first_of_the_profilers_trace_misses_the_bar(
    python: ModuleType, programs: SimpleNamespace
) -> None:
    programs.first = [["pageable"], ["waits"]]
    finding = python.measure_problem(programs, "torch_loader")
    assert finding.met is False
    assert finding.why_not == "of torch.profiler's trace `waits` came first"
    programs.first = [["waits"], ["pageable"]]
    (python.SOURCES / "torch_loader.profiled" / "rank0.json").unlink()
    (python.SOURCES / "torch_loader.profiled").rmdir()
    assert python.measure_problem(programs, "torch_loader").why_not == "`waits` came first"


def test_only_contents_tell_of_round_trips_through_memory_of_the_library(
    python: ModuleType, programs: SimpleNamespace
) -> None:
    programs.first = [["round-trip"]]
    assert python.measure_problem(programs, "cupy_trips").met
    assert programs.options == [("cupy_trips", ("--contents",)), ("cupy_trips_fixed", ("--contents",))]


def test_a_library_may_copy_more_than_its_program_asked_for_and_not_less(
    python: ModuleType, programs: SimpleNamespace
) -> None:
    count = import_module("trace_programs").Count
    programs.counts = {"h2d": count(5, 4000), "d2h": count(1, 8)}
    programs.first = [["waits"]]
    assert python.measure_problem(programs, "jax_batches").met
    programs.counts = {"h2d": count(5, 2000)}
    programs.first = [["waits"]]
    missed = python.measure_problem(programs, "jax_batches")
    assert missed.met is False
    assert "asked for 3 copies h2d of 3000 B, its trace has 5 of 2000 B" in missed.why_not


def test_a_finding_above_information_is_a_false_alarm(python: ModuleType, programs: SimpleNamespace) -> None:
    programs.first = [[], ["waits"]]
    assert python.measure_right(programs, "torch_right").met
    alarmed = python.measure_right(programs, "torch_captured")
    assert (alarmed.met, alarmed.why_not) == (False, "`waits`")


def test_a_program_whose_library_is_not_installed_is_no_verdict(
    python: ModuleType, programs: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python, "find_spec", lambda _: None)
    for finding in (python.measure_problem(programs, "jax_batches"), python.measure_right(programs, "jax_resident")):
        assert finding.met is None
        assert finding.why_not.endswith(" is not installed")


def test_fourteen_gains_of_sixteen_are_enough(python: ModuleType) -> None:
    def judged(*predicted: float) -> Any:
        findings = []
        for name, median in zip(python.PLANTED, predicted, strict=True):
            finding = import_module("finding").Finding(name, "bar")
            finding.said["measured_gain"] = Interval(1.0, 0.9, 1.1)._asdict()
            finding.said["predicted_gain"] = Interval(median, 0.1, 2.0)._asdict()
            findings.append(finding)
        return python.judged_gains(findings)

    assert judged(*[0.76] * 14, 0.7, 1.3).met
    assert judged(*[0.76] * 13, *[0.7] * 2, 1.3).met is False


def test_what_accelerate_gains_is_predicted_too(python: ModuleType) -> None:
    def judged(predicted: float) -> Any:
        finding = import_module("finding").Finding("torch_load", "bar")
        finding.said["accelerate"] = {"measured": {"median": 1.0}, "predicted": {"median": predicted}}
        return python.judged_accelerate([finding])

    assert judged(0.8).met
    assert (judged(0.7).met, judged(0.7).why_not) == (False, "not torch_load")
    assert python.judged_accelerate([]) is None


def test_a_program_that_failed_misses_the_bar(python: ModuleType, programs: SimpleNamespace) -> None:
    (python.SOURCES / "torch_item.py").write_text("import sys; sys.exit('wrong data: the sum')", "utf-8")
    finding = python.measure_problem(programs, "torch_item")
    assert (finding.met, finding.why_not) == (False, "a program failed")
    assert "wrong data: the sum" in finding.turns.left_out["torch_item"]


def _line(name: str, *words: str) -> dict[str, Any]:
    command = [sys.executable, str(ON_THE_HOST), str(PROGRAMS / f"{name}.py"), *SMALL[name], "--", *words]
    done = ended(*command)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _ranks(*words: str, meeting: Path) -> dict[str, Any]:
    joined = _module(PROGRAMS / "torch_ranks.py").joined
    command = [sys.executable, str(ON_THE_HOST), str(PROGRAMS / "torch_ranks.py"), *SMALL["torch_ranks"], "--", *words]
    settings = {**os.environ, "MEETING": f"file://{meeting}"}
    started = [
        subprocess.Popen(command, env={**settings, "RANK": number}, stdout=subprocess.PIPE, text=True)
        for number in ("0", "1")
    ]
    found: dict[str, Any] = joined([json.loads(each.communicate(timeout=120)[0]) for each in started])
    return found


def _module(path: Path) -> Any:
    sys.path.insert(0, str(path.parent))
    try:
        return import_module(path.stem)
    finally:
        sys.path.remove(str(path.parent))


@pytest.mark.parametrize("name", [each for each in SMALL if each != "torch_ranks"])
def test_both_versions_compute_the_same(name: str) -> None:
    pytest.importorskip("torch", reason="needs torch: pip install torch")
    broken, fixed = _line(name, str(STEPS)), _line(name, "fixed", str(STEPS))
    assert (broken["program"], fixed["program"]) == (name, f"{name}_fixed")
    assert broken["checksum"] == fixed["checksum"]
    assert broken["copies"]["h2d"]["calls"] + broken["copies"]["d2h"]["calls"] >= STEPS
    assert _line(name, str(STEPS + 1))["checksum"] != broken["checksum"]


def test_both_ranks_are_in_one_line_and_compute_the_same_when_pinned(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs torch: pip install torch")
    broken = _ranks(str(STEPS), meeting=tmp_path / "first")
    fixed = _ranks("fixed", str(STEPS), meeting=tmp_path / "second")
    warm_up = _module(PROGRAMS / "torch_ranks.py").WARM_UP
    assert broken["copies"]["h2d"] == {"calls": 2 * (STEPS + warm_up), "bytes": 2 * (STEPS + warm_up) * 4 * 16 * 32}
    assert broken["checksum"] == fixed["checksum"]


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """What the programs share, with a command line."""
    shared = _module(PROGRAMS / "python_program.py")

    def given(*words: str) -> Any:
        monkeypatch.setattr(sys, "argv", ["/a/torch_item.py", *words])
        return shared.Program(30, lambda: None)

    return given


def test_a_program_prints_the_line_that_the_others_print(
    program: Callable[..., Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = program("fixed", "12")
    assert (one.fixed, one.steps) == (True, 12)
    one.count("h2d", 1000, 3)
    one.count("h2d", 5)
    with monkeypatch.context() as patch:
        patch.setattr(time, "perf_counter", iter([3.0, 3.25]).__next__)
        with one.timed():
            pass
    one.report(7)
    line = json.loads(capsys.readouterr().out)
    assert line["program"] == "torch_item_fixed"
    assert line["seconds"] == 0.25
    assert line["copies"]["h2d"] == {"calls": 4, "bytes": 3005}
    assert line["copies"]["d2d"] == {"calls": 0, "bytes": 0}
    assert program().steps == 30
    assert program("--profiler", "folder").steps == 7
    assert program("--profiler", "folder", "9").steps == 9


@pytest.mark.parametrize("words", [("fix",), ("0",), ("fixed", "-1"), ("3", "4")])
def test_what_is_no_count_of_steps_is_refused(program: Callable[..., Any], words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        program(*words)


def test_what_is_no_line_of_a_program_is_refused(python: ModuleType, programs: SimpleNamespace) -> None:
    (python.SOURCES / "torch_right.py").write_text("print('loading')", "utf-8")
    assert "expected a line of JSON" in python.measure_right(programs, "torch_right").why_not
    (python.SOURCES / "torch_item.py").write_text("", "utf-8")
    with pytest.raises(CallFailed, match="wrote nothing"):
        python._wrong_of_profiler(programs, "torch_item", SimpleNamespace(said={}))
