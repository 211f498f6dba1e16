"""Traces of torch as people have them: of other vendors and machines, cut short, nameless. Nothing unseen is fine."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

from isthmus.advice import Advice, Finding, advise
from isthmus.commands.main import main
from isthmus.record import Run
from isthmus.report import write
from isthmus.report.advice import advice_document
from isthmus.trace import Maker, open_trace

STEPS, BYTES = 30, 64_000_000
CUDA = ("cuda_runtime", "cudaMemcpyAsync", "cudaLaunchKernel")
HIP = ("cuda_runtime", "hipMemcpyWithStream", "hipLaunchKernel")
XPU = ("xpu_runtime", "urEnqueueUSMMemcpy", "urEnqueueKernelLaunch")


class Torch:
    """What the profiler of torch writes of a program: one thread, one stream."""

    def __init__(self, names: tuple[str, str, str] = CUDA, thread: Any = 4000) -> None:
        self.now, self._number, self.events = 1000.0, 100, list[dict[str, Any]]()
        self._category, self._copies, self._launches = names
        self._thread = thread

    def event(self, category: str, name: str, begin: float, lasts: float, **arguments: Any) -> None:
        on_host = category not in {"gpu_memcpy", "kernel"}
        place = {"pid": 4000, "tid": self._thread} if on_host else {"pid": 0, "tid": 7}
        self.events.append(
            {"ph": "X", "cat": category, "name": name, **place, "ts": begin, "dur": lasts, "args": arguments}
        )

    def copy(
        self,
        name: str,
        lasts: float,
        *,
        before: float = 100,
        on_device: bool = True,
        call: dict[str, Any] | None = None,
        **told: Any,
    ) -> None:
        self._number += 1
        where = {"device": 0, "stream": 7, "correlation": self._number}
        self.event(
            self._category, self._copies, self.now, before + lasts + 50, correlation=self._number, **(call or {})
        )
        if on_device:
            self.event("gpu_memcpy", name, self.now + before, lasts, **where, **told)
        self.now += before + lasts + 60

    def kernel(self, lasts: float) -> None:
        self._number += 1
        self.event(self._category, self._launches, self.now, 8, correlation=self._number)
        self.event("kernel", "gemm", self.now + 12, lasts, device=0, stream=7, correlation=self._number)
        self.now += lasts + 20

    def advice(self, folder: Path, run: Run, device: str | None = "NVIDIA H200") -> Advice:
        return advise([open_trace(self.write(folder, device))], run)

    def write(self, folder: Path, device: str | None = "NVIDIA H200") -> Path:
        path = folder / "trace.json"
        devices = [{"id": 0, "name": device}] if device else []
        path.write_text(
            json.dumps({"schemaVersion": 1, "deviceProperties": devices, "traceEvents": self.events}), "utf-8"
        )
        return path


def of(advice: Advice, rule: str) -> Finding:
    return next(finding for finding in advice.findings if finding.rule == rule)


def pageable(program: Torch, *, steps: int = STEPS, slower: float = 1.0) -> Torch:
    for _ in range(steps):
        program.copy("Memcpy HtoD (Pageable -> Device)", 6000 * slower, bytes=BYTES)
        program.kernel(20_000)
    return program


def test_time_before_the_device_begins_is_not_the_copys(run: Run, tmp_path: Path) -> None:
    """A first call that loads the driver for 40 ms, with nothing queued."""
    plain = of(pageable(Torch()).advice(tmp_path, run), "pageable").gain_seconds
    first = Torch()
    first.copy("Memcpy HtoD (Pageable -> Device)", 6000, before=40_000, bytes=BYTES)
    first.kernel(20_000)
    slow = of(pageable(first, steps=STEPS - 1).advice(tmp_path, run), "pageable").gain_seconds
    assert plain
    assert slow
    assert slow.median == pytest.approx(plain.median, abs=0.5e-3)


@pytest.mark.parametrize("slower", [1.0, 3.0, 10.0])
def test_both_sides_of_a_price_are_of_one_machine(run: Run, tmp_path: Path, slower: float) -> None:
    """However long the copies took there: what another device would gain does not depend on it."""
    found = pageable(Torch(), slower=slower).advice(tmp_path, run, "Tesla T4")
    assert found.foreign == ("Tesla T4",)
    here = pageable(Torch(), slower=1.0).advice(tmp_path, run, "Tesla T4")
    assert found.gain_seconds
    assert here.gain_seconds
    assert found.gain_seconds.median == pytest.approx(here.gain_seconds.median, rel=0.01)


def test_what_pinned_memory_gains_there_is_said_where_it_is_advised(run: Run, tmp_path: Path) -> None:
    device = "NVIDIA A100-SXM4-80GB"
    advised = pageable(Torch()).advice(tmp_path, run, device)
    assert "A100-SXM4-80GB itself would gain" in advised.priced_elsewhere
    program = Torch()
    for _ in range(STEPS):
        for _ in range(50):
            program.copy("Memcpy HtoD (Pageable -> Device)", 30, bytes=4096)
        program.kernel(20_000)
    other = program.advice(tmp_path, run, device)
    assert "pageable" not in {finding.rule for finding in other.findings}
    assert "itself would gain" not in other.priced_elsewhere
    assert other.priced_elsewhere


def test_a_gate_over_another_machine_cannot_be_judged(run: Run, tmp_path: Path) -> None:
    assert _gate(pageable(Torch()).write(tmp_path, "Tesla T4"), run, tmp_path) == 2
    assert _gate(pageable(Torch()).write(tmp_path), run, tmp_path) == 1


def test_a_nameless_device_is_not_called_slow(run: Run, tmp_path: Path) -> None:
    program = Torch()
    for _ in range(STEPS):
        program.copy("Memcpy HtoD (Pinned -> Device)", 20_000, bytes=BYTES)
        program.kernel(500)
    named = program.advice(tmp_path, run)
    assert "slow-copies" in {finding.rule for finding in named.findings}
    nameless = program.advice(tmp_path, run, None)
    assert "slow-copies" not in {finding.rule for finding in nameless.findings}
    assert "slow-copies" in {abstention.rule for abstention in nameless.abstentions}
    assert "does not name" in nameless.priced_elsewhere


def test_copies_of_unknown_memory_are_no_all_clear(run: Run, tmp_path: Path) -> None:
    program = Torch(XPU)
    for _ in range(STEPS):
        program.copy("Memcpy M2D (MEMORY(Unknown) -> DEVICE)", 30, bytes=4096)
        program.kernel(40_000)
    found = program.advice(tmp_path, run, "Intel(R) Data Center GPU Max 1550")
    assert any("pageable or pinned" in each for each in found.unseen)


def test_sizes_on_calls_of_rocm_are_kept(run: Run, tmp_path: Path) -> None:
    program = Torch(HIP)
    for _ in range(STEPS):
        told = {"src": "0x7f0000000000", "dst": "0x7e0000000000", "size": str(BYTES), "kind": "1"}
        program.copy("Memcpy HtoD (Pageable -> Device)", 7300, call=told)
        program.kernel(4000)
    found = program.advice(tmp_path, run, "NVIDIA H200")
    finding = of(found, "pageable")
    assert (finding.calls, finding.bytes) == (STEPS, STEPS * BYTES)
    assert "hip" in finding.snippets
    assert "hipMemcpyAsync" in finding.snippets["hip"]
    assert "cuda" not in finding.snippets
    # Torch names its modules for CUDA on either.
    assert "cuda" not in finding.change + finding.snippets["hip"]


def test_calls_without_records_of_the_device_are_no_all_clear(run: Run, tmp_path: Path) -> None:
    program = Torch()
    for step in range(STEPS):
        program.copy("Memcpy HtoD (Pinned -> Device)", 30, on_device=step % 3 > 0, bytes=4096)
        program.kernel(40_000)
    found = program.advice(tmp_path, run)
    assert any("of what a device did: 10 of 30" in each for each in found.unseen)
    assert found.gain_seconds is None
    assert _gate(program.write(tmp_path), run, tmp_path) == 2


def test_a_trace_that_breaks_off_fails_a_gate(run: Run, tmp_path: Path) -> None:
    program = Torch()
    for _ in range(STEPS):
        program.copy("Memcpy HtoD (Pinned -> Device)", 30, bytes=4096)
        program.kernel(40_000)
    path = program.write(tmp_path)
    assert _gate(path, run, tmp_path) == 0
    path.write_text(path.read_text("utf-8")[:-1000], "utf-8")
    assert _gate(path, run, tmp_path) == 2


def test_pinned_memory_that_is_never_freed_is_found(run: Run, tmp_path: Path) -> None:
    """A caching allocator that gets a block in each step; where it does so only at first, it fills its pool."""
    programs = [Torch(), Torch()]
    for step in range(STEPS):
        for program, until in zip(programs, (STEPS, 4), strict=True):
            if step < until:
                program.event("cuda_runtime", "cudaHostAlloc", program.now, 24_000, correlation=10_000 + step)
                program.now += 24_010
            program.copy("Memcpy HtoD (Pinned -> Device)", 1200, bytes=BYTES)
            program.kernel(12_000)
    growing, filled = (program.advice(tmp_path, run) for program in programs)
    gain = of(growing, "pinned-in-loop").gain_seconds
    assert gain
    assert gain.median == pytest.approx((STEPS - 1) * 24e-3, rel=0.02)
    assert "pinned-in-loop" not in {finding.rule for finding in filled.findings}


def test_the_line_of_the_program_is_named_with_its_operator(run: Run, tmp_path: Path) -> None:
    program = Torch()
    for _ in range(STEPS):
        begin = program.now
        program.copy("Memcpy HtoD (Pageable -> Device)", 6000, bytes=BYTES)
        program.event("python_function", "train.py(12): load", begin - 20, program.now - begin + 30)
        program.event("python_function", "torch/_tensor.py(999): to", begin - 10, program.now - begin + 15)
        program.event("cpu_op", "aten::to", begin - 5, program.now - begin + 5)
        program.kernel(20_000)
    assert of(program.advice(tmp_path, run), "pageable").evidence[0].place == "train.py:12 load (aten::to)"


def test_threads_named_by_text_are_the_same_threads(run: Run, tmp_path: Path) -> None:
    found = []
    for thread in (4000, "4000", "main"):
        program = Torch(thread=thread)
        for _ in range(STEPS):
            program.copy("Memcpy DtoH (Device -> Pageable)", 2, before=9000, bytes=4)
            program.kernel(9000)
        advice = program.advice(tmp_path, run)
        found.append([(finding.rule, finding.calls, finding.gain_seconds) for finding in advice.findings])
    assert found[0] == found[1] == found[2]


def _gate(path: Path, run: Run, folder: Path) -> int:
    kept = folder / "run.json"
    if not kept.exists():
        kept.write_bytes(msgspec.json.encode(run, enc_hook=float))
    return main(["advise", str(path), "--run", str(kept), "--fail-if", "gain:5%"])


@pytest.mark.parametrize(
    ("names", "maker", "shown", "not_shown"),
    [
        (XPU, "kineto", "torch.xpu.stream", "torch.cuda"),
        (HIP, "kineto", "torch.cuda.stream", "torch.xpu"),
        (HIP, "rocprof", "hipMemcpyAsync", "cuda"),
        (CUDA, "xla", "jax.device_put", "cuda"),
    ],
)
def test_code_is_of_the_library_and_the_vendor(
    run: Run, tmp_path: Path, names: tuple[str, str, str], maker: Maker, shown: str, not_shown: str
) -> None:
    program = Torch(names)
    for _ in range(STEPS):
        program.copy("Memcpy HtoD (Pinned -> Device)", 3000, bytes=BYTES)
        program.kernel(3000)
    path = tmp_path / "made.json"
    path.write_text(json.dumps({"traceEvents": program.events}))
    trace = replace(open_trace(path), maker=maker)
    out = StringIO()
    write(advice_document(advise([trace], run), [trace]), "terminal", out)
    code = "".join(line for line in out.getvalue().splitlines() if line.startswith("    "))
    assert shown in code
    assert not_shown not in code


@pytest.mark.parametrize(
    ("direction", "word"), [("HtoD (Pageable -> Device)", "to_device"), ("DtoH (Device -> Pageable)", "to_host")]
)
def test_programs_of_jax_are_not_spoken_to_in_torchs_words(run: Run, tmp_path: Path, direction: str, word: str) -> None:
    program = Torch()
    for _ in range(STEPS):
        program.copy(f"Memcpy {direction}", 12_000, bytes=BYTES)
        program.kernel(300)
    path = tmp_path / "made.json"
    path.write_text(json.dumps({"traceEvents": program.events}))
    change = of(advise([replace(open_trace(path), maker="xla")], run), "pageable").change
    assert f"isthmus.{word}" in change
    assert "PyTorch" not in change
