"""`isthmus advise` in this process: which run prices, what is written where, and when the gate trips."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from isthmus import advice
from isthmus.advice import Advice
from isthmus.commands._run_choice import kept_run, rates_for
from isthmus.commands.main import main
from isthmus.machine import devices
from isthmus.machine import host as machine
from isthmus.record import Device, Host, Run, keep_run
from isthmus.trace import Trace
from tests.made_traces import made_advice
from tests.synthetic import runs as synthetic
from tests.synthetic.trace_file import block

Advise = Callable[..., tuple[int, str, str]]


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Advice that is always the same; the names of the runs that were to price it."""
    runs: list[str] = []

    def advise(traces: Sequence[Trace], run: Run, library: Run | None, source: str) -> Advice:
        assert traces
        assert library is None or library.run != run.run
        runs.append(f"{run.run} {run.fingerprint.device.name}")
        return replace(made_advice(), priced_by=source)

    monkeypatch.setattr(advice, "advise", advise)
    return runs


@pytest.fixture
def advise(capsys: pytest.CaptureFixture[str], priced: list[str], tmp_path: Path) -> Advise:
    """Runs one command line on a trace: exit code, standard output, standard error."""
    saved = tmp_path / "program.itrace"
    saved.write_bytes(block("copy", [{"start_ns": 1000, "end_ns": 3000, "bytes": 4096, "copy_kind": 1, "source": 2}]))

    def run(*words: str | Path) -> tuple[int, str, str]:
        code = main(["advise", str(saved), *map(str, words)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """This machine, of which nothing is kept and whose only device is its own memory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    host = Device(backend="host", index=0, name="memory", shares_host_memory=True)
    monkeypatch.setattr(devices, "probe", synthetic.probe_of(host))
    monkeypatch.setattr(machine, "read_host", lambda: Host(name="node17"))


@pytest.fixture
def gpu(bare: None, monkeypatch: pytest.MonkeyPatch) -> Device:
    """The same with a GPU."""
    device: Device = synthetic.gpu()
    monkeypatch.setattr(devices, "probe", synthetic.probe_of(device))
    return device


def test_without_a_run_a_reference_prices_and_is_named(advise: Advise, bare: None, priced: list[str]) -> None:
    code, out, err = advise()
    assert (code, err) == (0, "")
    said = " ".join(out.split())
    assert "No device here has memory of its own to measure. Priced with reference:h200-pcie5." in said
    assert "NVIDIA H200" in priced[0]


def test_the_device_whose_runs_are_missing_is_named_though_others_are_kept(advise: Advise, gpu: Device) -> None:
    cases = synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)})
    cpu = Device(backend="opencl", index=0, name="pthread", shares_host_memory=True)
    for name in "abc":
        run = synthetic.run(cases, name=name)
        fingerprint = msgspec.structs.replace(run.fingerprint, host=Host(name="node17"), device=cpu)
        keep_run(msgspec.structs.replace(run, fingerprint=fingerprint))
    said = " ".join(advise()[1].split())
    assert "No run of cuda:0 is kept here: isthmus measure all --device cuda:0 makes one." in said


def test_the_kept_run_of_this_machine_prices(advise: Advise, gpu: Device, priced: list[str]) -> None:
    run = synthetic.run(synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}), name="kept")
    fingerprint = msgspec.structs.replace(run.fingerprint, host=Host(name="node17"), device=gpu)
    keep_run(msgspec.structs.replace(run, fingerprint=fingerprint))
    assert "reference" not in advise()[1]
    assert "reference" not in advise("--device", "cuda:0")[1]
    assert [name.partition(" ")[0] for name in priced] == ["kept", "kept"]


@pytest.mark.parametrize(("sizes", "noise"), [([1 << 20], 0.0), (None, 0.9), (None, 0.0)])
def test_a_noisy_run_or_one_of_one_size_does_not_price_by_itself(
    advise: Advise, gpu: Device, priced: list[str], sizes: list[int] | None, noise: float
) -> None:
    truth = {("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}
    cases = synthetic.cases(truth, sizes) if sizes else synthetic.cases(truth)
    for case in cases:
        for series in case.series:
            series.samples[::2] = [(1 + noise) * each for each in series.samples[::2]]
    run = synthetic.run(cases, name="kept")
    keep_run(
        msgspec.structs.replace(
            run, fingerprint=msgspec.structs.replace(run.fingerprint, host=Host(name="node17"), device=gpu)
        )
    )
    is_fit = not sizes and not noise
    assert ("too few sizes or too noisy" in " ".join(advise()[1].split())) is not is_fit
    assert priced[-1].startswith("kept ") is is_fit
    # Who names the device gets it all the same.
    advise("--device", "cuda:0")
    assert priced[-1].startswith("kept ")


@pytest.mark.parametrize("measured", ["opencl", "cuda"])
def test_of_several_devices_the_one_of_the_kept_run_that_does_not_price_is_named(
    gpu: Device, monkeypatch: pytest.MonkeyPatch, measured: str
) -> None:
    both = {name: msgspec.structs.replace(gpu, backend=name) for name in ("cuda", "opencl")}
    monkeypatch.setattr(devices, "probe", synthetic.probe_of(*both.values()))
    truth = {("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}
    run = synthetic.run(synthetic.cases(truth, [1 << 20]), name="one size")
    fingerprint = msgspec.structs.replace(run.fingerprint, host=Host(name="node17"), device=both[measured])
    keep_run(msgspec.structs.replace(run, fingerprint=fingerprint))
    rates = rates_for(None, None, [gpu.name], "opencl")
    assert rates.is_unfit
    assert rates.unmeasured == (f"{measured}:0",)


@pytest.mark.parametrize("kept", [["cuda", "opencl"], ["cuda"], []])
def test_what_was_measured_through_the_programs_interface_comes_first(
    gpu: Device, monkeypatch: pytest.MonkeyPatch, kept: list[str]
) -> None:
    both = {name: msgspec.structs.replace(gpu, backend=name) for name in ("cuda", "opencl")}
    monkeypatch.setattr(devices, "probe", synthetic.probe_of(*both.values()))
    for name in kept:
        run = synthetic.run(synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}), name=name)
        fingerprint = msgspec.structs.replace(run.fingerprint, host=Host(name="node17"), device=both[name])
        keep_run(msgspec.structs.replace(run, fingerprint=fingerprint))
    for backend in both:
        found = kept_run(None, backend)
        assert (found and found.run) == (backend if backend in kept else kept[0] if kept else None)


def test_a_run_file_prices(advise: Advise, bare: None, priced: list[str], tmp_path: Path) -> None:
    run = synthetic.run(synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}), name="mine")
    (tmp_path / "mine.json").write_bytes(msgspec.json.encode(run))
    assert advise("--run", tmp_path / "mine.json")[0] == 0
    assert advise("--run", "reference:h200-pcie5")[0] == 0
    assert priced[0].startswith("mine ")
    assert "H200" in priced[1]


def test_every_format_and_a_file(advise: Advise, bare: None, tmp_path: Path) -> None:
    assert json.loads(advise("--json")[1])["format"] == "isthmus.advice"
    assert advise("--format", "markdown")[1].startswith("# What to change in program.itrace")
    page = tmp_path / "advice.html"
    assert advise("-o", page)[:2] == (0, f"{page}\n")
    plain = tmp_path / "advice.md"
    assert advise("-o", page, "-o", plain)[:2] == (0, f"{page}\n{plain}\n")
    assert plain.read_text("utf-8").startswith("# What to change")
    assert "timeline" in page.read_text("utf-8")
    assert "変えるべきこと" in advise("--lang", "ja")[1]


def test_code_of_one_language(advise: Advise, bare: None) -> None:
    out = advise("--snippet", "torch")[1]
    assert "pin_memory" in out
    assert "cudaHostAlloc" not in out
    # Known, and not of a program of CUDA.
    code, out, _ = advise("--snippet", "opencl")
    assert code == 0
    assert "pin_memory" not in out
    assert "cudaHostAlloc" not in out


def test_the_gate_trips_with_its_reason(advise: Advise, bare: None) -> None:
    code, out, err = advise("--fail-if", "gain:10%")
    assert code == 1
    assert "Copies from pageable memory" in out
    assert err == "isthmus: gain:10% fails: all changes together gain 16.0 % of the time traced\n"
    assert advise("--fail-if", "gain:20%")[0] == 0
    assert advise("--fail-if", "gain:10ms", "--json")[0] == 1


def test_who_stops_reading_does_not_decide_the_gate(
    advise: Advise, bare: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("isthmus.commands._output.write", closed)
    assert advise("--fail-if", "gain:10%")[0] == 1
    assert advise("--fail-if", "gain:20%")[0] == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--fail-if", "slower:5%"], 2, "expected gain:N%"),
        (["--format", "csv"], 2, "no such format"),
        (["--format", "html", "--json"], 2, "contradict"),
        (["-o", "advice.foo"], 2, "expected one of .htm, .html, .json"),
        (["-o", "advice.html", "--json"], 2, "its suffix says html"),
        (["-o", "advice.csv"], 2, "or name a format with --format"),
        (["--snippet", "fortran"], 2, "expected one of cuda"),
        (["--lang", "fr"], 2, "no such language"),
        (["--run", "nowhere.json"], 2, "nowhere.json"),
        (["--run", "reference:none"], 2, "no such reference"),
        (["--run", "a.json", "--device", "host"], 2, "leave one of them out"),
        (["--device", "host"], 2, "isthmus measure all --device host"),
        (["--device", "cuda:3"], 3, "no cuda device here"),
        (["missing.itrace"], 2, "missing.itrace: cannot be read"),
        (["-o", "/nowhere/x.html"], 2, "cannot be written"),
    ],
)
def test_errors_say_what_fits(
    advise: Advise, bare: None, priced: list[str], words: list[str], code: int, said: str
) -> None:
    found, out, err = advise(*words)
    assert (found, out) == (code, "")
    assert said in err


def test_a_gate_does_not_pass_where_nothing_was_recorded(
    bare: None, priced: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    saved = tmp_path / "nothing.itrace"
    saved.write_bytes(block("process", [{"started_ns": 1, "ended_ns": 9}]))
    assert main(["advise", str(saved), "--fail-if", "gain:1%"]) == 2
    assert "nothing was recorded" in capsys.readouterr().err


def test_a_trace_is_not_overwritten(advise: Advise, bare: None, tmp_path: Path) -> None:
    before = (tmp_path / "program.itrace").read_bytes()
    assert advise("-o", tmp_path / "program.itrace")[0] == 2
    assert (tmp_path / "program.itrace").read_bytes() == before


def test_no_name_drives_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "no\x1b[31mfile"]) == 2
    assert capsys.readouterr().err.startswith("isthmus: no\\x1b[31mfile: ")


def test_a_trace_counts_once(advise: Advise, bare: None, tmp_path: Path) -> None:
    code, _, err = advise(tmp_path / "program.itrace")
    assert code == 2
    assert "named twice" in err
