"""benchmarks/tracing.py judges counts, findings, gains, overhead and lines; without a GPU, on programs that pretend."""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from isthmus.errors import CallFailed, LibraryAbsent, UsageError
from isthmus.record import Device, Interval
from isthmus.trace import Calls, Copies, Intervals, Process, Trace, direction_index, memory_index

pytestmark = pytest.mark.thorough

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
PROGRAMS = BENCHMARKS / "traced"
# Stands for nvcc: what it builds prints a program's line.
NVCC = """#!{python}
import pathlib, sys
built = pathlib.Path(sys.argv[sys.argv.index("-o") + 1])
built.write_text('''#!{python}
import json, sys
if {name!r} == "small_copies_fixed":
    sys.exit("wrong data")
seconds = 0.25 if {name!r} in ("pageable_loop_fixed",) else 1.0
copies = {{"h2d": {{"calls": 3, "bytes": 3000}}, "d2h": {{"calls": 1, "bytes": 10}}, "d2d": {{"calls": 0, "bytes": 0}}}}
print(json.dumps({{"program": {name!r}, "seconds": seconds, "copies": copies, "checksum": 7}}))
'''.format(name=built.name))
built.chmod(0o755)
"""
# Stands for isthmus: its traces, as of the torch profiler, hold what the program printed, but for what is to be lost.
ISTHMUS = """
import json, os, pathlib, subprocess, sys
command, rest = sys.argv[1], sys.argv[2:]
if command == "trace":
    line = subprocess.run(rest[rest.index("--") + 1:], capture_output=True, text=True, check=True).stdout
    print(line, end="")
    copies = json.loads(line)["copies"]
    lost = int(os.environ.get("COPIES_LOST", 0))
    events = []
    for name, way in (("HtoD (Pageable -> Device)", "h2d"), ("DtoH (Device -> Pinned)", "d2h")):
        for _ in range(copies[way]["calls"] - (lost if way == "h2d" else 0)):
            at = {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy " + name, "ts": len(events), "dur": 0.5}
            size = copies[way]["bytes"] // copies[way]["calls"]
            events.append({**at, "args": {"device": 0, "stream": 7, "correlation": len(events) + 1, "bytes": size}})
    pathlib.Path(rest[rest.index("-o") + 1]).write_text(json.dumps({"traceEvents": events}))
else:
    found = [{"rule": "pageable", "severity": "warning", "gain_seconds": {"low": 0.6, "median": 0.7, "high": 0.8}}]
    found = [{"rule": "slow-copies", "severity": "information", "gain_seconds": None}] if "right" in rest[0] else found
    print(json.dumps({"findings": found}))
"""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script, under another name than the standard library's module."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = spec_from_file_location("trace_benchmark", BENCHMARKS / "tracing.py")
    assert spec
    assert spec.loader
    loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    monkeypatch.setattr(loaded, "choose_device", lambda _: Device(backend="cuda", index=0, name="Pretender"))
    yield loaded
    for name in [each for each in sys.modules if each.startswith("trace_")]:
        del sys.modules[name]


@pytest.fixture
def pretenders(module: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A compiler and an isthmus which need no GPU; the folder to write to."""
    nvcc = tmp_path / "bin" / "nvcc"
    nvcc.parent.mkdir()
    nvcc.write_text(NVCC.replace("{python}", sys.executable), "utf-8")
    nvcc.chmod(0o755)
    monkeypatch.setenv("PATH", str(nvcc.parent), prepend=":")
    isthmus = tmp_path / "isthmus.py"
    isthmus.write_text(ISTHMUS, "utf-8")
    monkeypatch.setattr(import_module("trace_programs"), "ISTHMUS", (sys.executable, str(isthmus)))
    return tmp_path / "out"


def _run(module: ModuleType, output: Path, only: str) -> tuple[int, dict[str, dict[str, object]]]:
    code = module.main(["--only", only, "--run", "run.json", "-o", str(output)])
    kept = json.loads(gzip.decompress((output / "trace.json.gz").read_bytes()))
    assert kept["device"]["name"] == "Pretender"
    return code, {finding["name"]: finding for finding in kept["findings"]}


def test_a_problem_is_measured_traced_and_judged(
    module: ModuleType, pretenders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = _run(module, pretenders, "pageable_loop,right,counts-1000")
    assert code == 0
    assert list(found) == ["pageable_loop", "right", "counts-1000", "gains"]
    assert all(finding["met"] for finding in found.values())
    problem = found["pageable_loop"]
    assert problem["turns"]["samples"]["pageable_loop"] == [1.0] * 6  # type: ignore[index]
    assert problem["turns"]["samples"]["pageable_loop_fixed"] == [0.25] * 6  # type: ignore[index]
    assert problem["measured"] == (
        "gains 750 ms (750 ms to 750 ms); `pageable` predicted 700 ms (600 ms to 800 ms), -7 %"
    )
    assert found["gains"]["measured"] == "1 of 1"
    assert str(found["counts-1000"]["measured"]).startswith("3 h2d of 3000 B, 1 d2h of 10 B, in ")
    table = (pretenders / "trace.md").read_text("utf-8")
    assert "no finding above information | 1.00 s, 0 findings above information | met |" in table
    assert "4 met, 0 missed" in capsys.readouterr().out


def test_a_copy_that_a_trace_lost_misses_every_bar_on_counts(
    module: ModuleType, pretenders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPIES_LOST", "1")
    code, found = _run(module, pretenders, "pageable_loop,right,counts-1000")
    assert code == 1
    for name in ("pageable_loop", "right", "counts-1000"):
        assert found[name]["met"] is False
        assert "made 3 copies h2d of 3000 B, its trace has 2 of 2000 B" in str(found[name]["why_not"])


def test_another_rule_first_misses_the_bar(module: ModuleType, pretenders: Path) -> None:
    code, found = _run(module, pretenders, "round_trip")
    assert code == 1
    assert "`pageable` came first" in str(found["round_trip"]["why_not"])
    # Both versions of what pretends take as long.
    assert str(found["round_trip"]["measured"]).startswith("gains 0 ns (0 ns to 0 ns); `pageable` predicted 700 ms")
    assert found["gains"]["met"] is False


def test_a_fixed_version_that_is_slower_gains_less_than_nothing(module: ModuleType) -> None:
    assert module
    problems = import_module("trace_problems")
    finding = import_module("finding").Finding("round_trip", "bar")
    gain = problems.measured_gain(
        SimpleNamespace(interval={"a": Interval(1, 1, 1), "b": Interval(2, 2, 3)}.get), "a", "b"
    )
    advised = [import_module("trace_programs").Advised("round-trip", "warning", Interval(0.5, 0.4, 0.6))]
    problems.judged_problem(finding, "round-trip", gain, advised, [])
    assert finding.measured.startswith("gains -1.00 s (-2.00 s to -1.00 s); `round-trip` predicted 500 ms")
    assert finding.met
    assert problems.judged_gains([finding]).met is False


def test_a_program_whose_data_is_wrong_misses_the_bar(module: ModuleType, pretenders: Path) -> None:
    code, found = _run(module, pretenders, "small_copies")
    assert code == 1
    assert list(found) == ["small_copies"]
    assert found["small_copies"]["met"] is False
    assert "wrong data" in found["small_copies"]["turns"]["left_out"]["small_copies_fixed"]  # type: ignore[index]


def test_overhead_is_what_tracing_adds(module: ModuleType, pretenders: Path) -> None:
    code, found = _run(module, pretenders, "overhead-steps,overhead-64B-sync-pinned")
    assert code == 0
    assert found["overhead-steps"]["measured"] == "500 us untraced, 500 us traced: +0.00 us, +0.0 %"
    assert found["overhead-64B-sync-pinned"]["bar"] == "<= 3 us a copy more, traced"


@pytest.mark.parametrize(
    ("tiny", "before", "after", "met"),
    [(True, 2e-6, 4.9e-6, True), (True, 2e-6, 5.2e-6, False), (False, 1.0, 1.04, True), (False, 1.0, 1.06, False)],
)
def test_tiny_copies_have_a_bar_in_seconds_and_others_a_share(
    module: ModuleType, tiny: bool, before: float, after: float, met: bool
) -> None:
    assert module
    finding = import_module("finding").Finding("case", "bar")
    finding.turns.samples = {"untraced": [before], "traced": [after]}
    assert import_module("trace_overhead").judged_overhead(finding, tiny).met is met


def test_a_program_that_cannot_be_traced_misses_the_bar(module: ModuleType) -> None:
    assert module
    finding = import_module("finding").Finding("case", "bar")
    finding.turns.samples = {"untraced": [1.0]}
    assert import_module("trace_overhead").judged_overhead(finding, tiny=False).met is False


@pytest.mark.parametrize(
    ("traced", "nsys", "met"),
    [
        ([1.04] * 15, [1.1] * 15, True),
        ([1.06] * 15, [1.1] * 15, False),
        ([1.04] * 15, [1.03] * 15, False),
        ([1.04], [], True),
    ],
)
def test_launches_are_judged_by_pairs_and_against_nsys(
    module: ModuleType, traced: list[float], nsys: list[float], met: bool
) -> None:
    """However the machine drifts from one round to the next."""
    finding = module.Finding("launches", "bar")
    drift = [1.0 + place for place in range(len(traced))]
    finding.turns.samples = {
        "untraced": drift,
        "traced": [each * share for each, share in zip(drift, traced, strict=True)],
        "nsys": [each * share for each, share in zip(drift, nsys, strict=False)],
    }
    assert import_module("trace_overhead").judged_launches(finding).met is met


def test_five_gains_of_six_are_enough(module: ModuleType) -> None:
    problems = import_module("trace_problems")
    assert module

    def judged(*predicted: float) -> object:
        findings = []
        for name, median in zip(problems.PLANTED, predicted, strict=False):
            finding = import_module("finding").Finding(name, "bar")
            gain = Interval(1.0, 0.9, 1.1)
            finding.said = {"measured_gain": gain._asdict(), "predicted_gain": Interval(median, 0.1, 2.0)._asdict()}
            findings.append(finding)
        return problems.judged_gains(findings)

    enough = judged(0.76, 1.24, 1.0, 1.0, 1.0, 1.3)
    assert (enough.met, enough.measured, enough.why_not) == (True, "5 of 6", "not managed_thrash")  # type: ignore[attr-defined]
    assert judged(0.76, 1.24, 1.0, 1.0, 0.7, 1.3).met is False  # type: ignore[attr-defined]
    assert judged() is None


def test_without_a_compiler_nothing_is_measured(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("CUDA_HOME", "/nowhere")
    with pytest.raises(LibraryAbsent, match="no nvcc on the PATH or in /nowhere/bin"):
        module.main(["--only", "right"])


def test_another_device_than_one_of_cuda_is_refused(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "choose_device", lambda _: Device(backend="host", index=0, name="host"))
    with pytest.raises(UsageError, match="host is not"):
        module.main([])


def test_a_group_of_cases_and_one_that_is_not_there(module: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert module._names("counts,right") == ["counts-1000", "counts-100000", "counts-1000000", "right"]
    with pytest.raises(SystemExit):
        module.main(["--only", "pagable_loop"])
    assert "no case pagable_loop; there are pageable_loop" in capsys.readouterr().err


@pytest.mark.parametrize("output", ["", "{}", "[1]", "loading\n{}", '{"seconds": 1, "copies": {"h2d": 3}}'])
def test_what_is_no_line_of_a_program_is_refused(module: ModuleType, output: str) -> None:
    assert module
    with pytest.raises(CallFailed, match="expected a line of JSON"):
        import_module("trace_programs").read_said(output)


@pytest.mark.parametrize("output", ["", "[]", "{}", '{"findings": [{"rule": "pageable"}]}'])
def test_what_is_no_advice_is_refused(module: ModuleType, output: str) -> None:
    assert module
    with pytest.raises(CallFailed, match="expected findings"):
        import_module("trace_programs").read_advice(output)


def test_a_command_that_fails_says_why_and_names_no_folder(module: ModuleType) -> None:
    assert module
    output_of = import_module("trace_programs").output_of
    with pytest.raises(CallFailed, match=r"^sh -c .*: exit code 3: wrong data: the sums$"):
        output_of(["/bin/sh", "-c", "echo wrong data: the sums >&2; exit 3"])
    with pytest.raises(CallFailed, match=r"^absent: No such file"):
        output_of(["/nowhere/absent"])
    with pytest.raises(CallFailed, match="had not ended after"):
        output_of(["/bin/sh", "-c", "sleep 5"], most_seconds=0.1)


def _trace() -> Trace:
    """Three copies of one line, one of another and one of no known line; and a migration, which nobody asked for."""
    h2d, d2h = direction_index("h2d"), direction_index("d2h")
    pageable, pinned, device = map(memory_index, ("pageable", "pinned", "device"))
    times = np.arange(6)
    copies = Copies.filled(
        start_ns=times,
        end_ns=times + 1,
        bytes=np.array([8, 8, 8, 5, 4, 4096]),
        direction=np.array([h2d, h2d, h2d, d2h, h2d, h2d]),
        source=np.array([pinned, pinned, pinned, device, pageable, pageable]),
        destination=np.array([device, device, device, pageable, device, device]),
        migration=np.array([0, 0, 0, 0, 0, 1]),
        call=np.array([0, 0, 0, 1, -1, -1]),
    )
    calls = Calls.filled(start_ns=times[:2], end_ns=times[:2] + 1, name=np.zeros(2, np.int64), site=np.array([0, 1]))
    return Trace(
        path=Path("t"),
        maker="isthmus",
        version="1",
        processes=(Process(1),),
        devices={},
        names=("cudaMemcpyAsync",),
        copies=copies,
        calls=calls,
        kernels=Intervals.empty(),
        memsets=Intervals.empty(),
        synchronizations=Intervals.empty(),
        knows=frozenset({"calls", "call_sites"}),
        sites=(("library.py:3 copy", "/a/b/torch_copies.py:12 main"), ("torch_copies.py:14 main",)),
    )


def test_lines_are_the_innermost_of_the_script_with_the_kind_of_the_hosts_memory(module: ModuleType) -> None:
    assert module
    lines = import_module("trace_lines")
    found = lines.lines_of(_trace(), "torch_copies.py")
    assert found == {(12, "h2d", "pinned"): (3, 24), (14, "d2h", "pageable"): (1, 5)}
    finding = import_module("finding").Finding("lines of torch", "bar")
    assert lines.judged_lines(finding, found, found).met
    expected = {**found, lines.Line(14, "d2h", "pageable"): (2, 10)}
    expected = {line: import_module("trace_programs").Count(*count) for line, count in expected.items()}
    assert lines.judged_lines(finding, expected, found).met is False
    assert finding.why_not == ("not found: line 14, 2 d2h pageable of 10 B; found: line 14, 1 d2h pageable of 5 B")


def test_migrations_are_no_copies_of_the_program(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert module
    programs = import_module("trace_programs")
    monkeypatch.setattr(programs, "open_trace", lambda _: _trace())
    found = programs.counts_of(Path("t"))
    assert found == {"h2d": (4, 28), "d2h": (1, 5)}
    said = programs.Said(1.0, {"h2d": (4, 28), "d2d": programs.Count(1, 2)}, 7)
    assert programs.miscounted("p", said, found) == [
        "p made 0 copies d2h of 0 B, its trace has 1 of 5 B",
        "p made 1 copies d2d of 2 B, its trace has 0 of 0 B",
    ]


def test_a_library_that_is_not_installed_is_no_verdict(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert module
    lines = import_module("trace_lines")
    monkeypatch.setattr(lines, "find_spec", lambda _: None)
    finding = lines.measure_lines(SimpleNamespace(), "cupy")
    assert (finding.met, finding.why_not) == (None, "cupy is not installed")


def _kernels(source: str) -> list[str]:
    return re.findall(r"^__global__.*?^}", source, re.MULTILINE | re.DOTALL)


def test_fixed_versions_have_the_kernels_of_the_others(module: ModuleType) -> None:
    assert module
    for name in import_module("trace_problems").PLANTED:
        kernels = _kernels((PROGRAMS / f"{name}.cu").read_text("utf-8"))
        fixed = _kernels((PROGRAMS / f"{name}_fixed.cu").read_text("utf-8"))
        assert kernels
        assert set(kernels) <= set(fixed), name
