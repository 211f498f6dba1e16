"""benchmarks/tracing.py judges gains, launches and lines of programs; without a GPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from isthmus.record import Device, Interval
from isthmus.trace import Calls, Copies, Intervals, Process, Trace, direction_index, memory_index

pytestmark = pytest.mark.thorough

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


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
