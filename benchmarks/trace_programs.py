"""Builds and runs the programs of benchmarks/traced, as they are and under `isthmus trace`, and reads what is said."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from os import cpu_count, environ
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from finding import Finding

from isthmus.errors import CallFailed, LibraryAbsent
from isthmus.record import Interval
from isthmus.trace import DIRECTIONS, Copies, Trace, direction_index, open_trace

SOURCES = Path(__file__).with_name("traced")
ISTHMUS: Sequence[str] = (sys.executable, "-m", "isthmus")
# What advice prices gains with.
EXPERIMENTS = ("allocation", "bandwidth", "batching", "breakeven", "managed", "overlap", "strided")
# No program takes so long, nor does a command that reads a trace of a million copies.
MOST_SECONDS = 300
MOST_SECONDS_MEASURING = 3600
# torch.profiler writes long after the program has ended.
MOST_SECONDS_PROFILED = 600
# Of what a program that failed said.
MOST_CHARACTERS = 500


class Count(NamedTuple):
    """Copies one way."""

    calls: int
    bytes: int


class Said(NamedTuple):
    """The line that a program of benchmarks/traced prints."""

    seconds: float
    # By direction, without those of no copies.
    copies: dict[str, Count]
    checksum: int


class Advised(NamedTuple):
    """A finding of `isthmus advise`."""

    rule: str
    severity: str
    gain: Interval | None
    # What `isthmus accelerate` alone is to gain.
    accelerate: Interval | None = None


class Case(NamedTuple):
    """One that --only can name: its bar as the table words it, and what measures it."""

    bar: str
    measure: Callable[["Programs"], Finding]
    # Of benchmarks/traced, that it runs.
    programs: Sequence[str] = ()


class Programs:
    """The programs, built into a scratch folder, and the run that advice prices gains with."""

    def __init__(self, scratch: Path, device: str, run: Path | None, kept: Path) -> None:
        """Without a `run`, one is measured for `device` when it is first needed, and lands in the folder `kept`."""
        self._scratch = scratch
        self._device = device
        self._given_run = run
        self._kept = kept

    @property
    def scratch(self) -> Path:
        """Where programs are built, and what they write may lie."""
        return self._scratch

    @cached_property
    def run(self) -> Path:
        """The run file that was named, or one measured now, which takes a minute or two."""
        if self._given_run is not None:
            return self._given_run
        self._kept.mkdir(parents=True, exist_ok=True)
        measured = self._kept / "trace-run.json.gz"
        command = [*ISTHMUS, "measure", *EXPERIMENTS, "--quick", "--device", self._device, "-o", str(measured)]
        output_of(command, MOST_SECONDS_MEASURING)
        return measured

    def build(self, names: Sequence[str]) -> None:
        """Build these, side by side. Raises LibraryAbsent without nvcc, and CallFailed where it cannot build one."""
        if not names:
            return
        command = [_nvcc(), "-O3", "-std=c++20", "-arch=native", "-Xcompiler=-pthread"]

        def build(name: str) -> None:
            output_of([*command, "-o", str(self._scratch / name), str(SOURCES / f"{name}.cu")])

        with ThreadPoolExecutor(cpu_count()) as pool:
            list(pool.map(build, names))

    def said(self, name: str, *arguments: object) -> Said:
        """What a program says that runs as it is."""
        return read_said(output_of([str(self._scratch / name), *map(str, arguments)]))

    def traced(self, name: str, *arguments: object) -> tuple[Said, Path]:
        """What it says under `isthmus trace`, and the trace."""
        output, trace = self.traced_output(name, [str(self._scratch / name), *map(str, arguments)])
        return read_said(output), trace

    def traced_output(self, name: str, command: Sequence[str], options: Sequence[str] = ()) -> tuple[str, Path]:
        """What a command writes to stdout under `isthmus trace`, and the trace, which replaces one of the same name."""
        trace = self._scratch / f"{name}.itrace"
        trace.unlink(missing_ok=True)
        output = output_of([*ISTHMUS, "trace", "--quiet", *options, "-o", str(trace), "--", *command])
        if not trace.exists():
            raise CallFailed(f"isthmus trace wrote no {trace.name}")
        return output, trace

    def folder(self, name: str) -> Path:
        """An empty folder for files of a program."""
        folder = self._scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def advised(self, *traces: Path) -> list[Advised]:
        """The findings of `isthmus advise` on traces of one program, the largest gain first."""
        return read_advice(output_of([*ISTHMUS, "advise", *map(str, traces), "--json", "--run", str(self.run)]))


def _nvcc() -> str:
    home = environ.get("CUDA_HOME") or environ.get("CUDA_PATH") or "/usr/local/cuda"
    found = shutil.which("nvcc") or shutil.which("nvcc", path=f"{home}/bin")
    if found is None:
        raise LibraryAbsent(f"no nvcc on the PATH or in {home}/bin: install the CUDA toolkit, or set CUDA_HOME to it")
    return found


def output_of(command: Sequence[str], most_seconds: float = MOST_SECONDS) -> str:
    """What a command writes to stdout. Raises CallFailed where it fails, with the end of what it wrote to stderr."""
    # Without folders, which mean nothing to who reads the table elsewhere.
    words = " ".join(Path(each).name for each in command)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=most_seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise CallFailed(f"{words}: had not ended after {most_seconds:g} s") from None
    except OSError as error:
        raise CallFailed(f"{words}: {error.strerror}") from error
    if done.returncode:
        end = " ".join(done.stderr[-MOST_CHARACTERS:].split())
        raise CallFailed(f"{words}: exit code {done.returncode}: {end or 'nothing on stderr'}")
    return done.stdout


def read_said(output: str) -> Said:
    """The line of a program. Raises CallFailed where it is another one."""
    try:
        line = json.loads(output)
        copies = {direction: Count(each["calls"], each["bytes"]) for direction, each in line["copies"].items()}
        return Said(
            float(line["seconds"]), {name: count for name, count in copies.items() if count.calls}, line["checksum"]
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unexpected("a line of JSON with seconds, copies and checksum", output) from error


def read_advice(output: str) -> list[Advised]:
    """The findings in what `isthmus advise --json` writes. Raises CallFailed where it is something else."""
    try:
        findings: list[dict[str, Any]] = json.loads(output)["findings"]
        return [
            Advised(each["rule"], each["severity"], _gain(each["gain_seconds"]), _gain(each["accelerate_seconds"]))
            for each in findings
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise _unexpected("findings of isthmus advise as JSON", output) from error


def _gain(gain: dict[str, float] | None) -> Interval | None:
    return None if gain is None else Interval(gain["median"], gain["low"], gain["high"])


def _unexpected(expected: str, output: str) -> CallFailed:
    return CallFailed(f"expected {expected}, found {output[:MOST_CHARACTERS].strip() or 'nothing'}")


def counts_of(trace: Path) -> dict[str, Count]:
    """Copies that the program asked for, by direction."""
    copies = asked_for(open_trace(trace))
    counts = {}
    for direction in DIRECTIONS:
        chosen = copies.direction == direction_index(direction)
        if chosen.any():
            counts[direction] = Count(int(np.count_nonzero(chosen)), int(copies.bytes[chosen].sum(dtype=np.int64)))
    return counts


def asked_for(trace: Trace) -> Copies:
    """Copies without the migrations of managed memory."""
    return trace.copies.taken(trace.copies.migration != 1)


def miscounted(name: str, said: Said, found: Mapping[str, Count]) -> list[str]:
    """Where a trace's totals are not what the program said, a sentence each."""
    wrong = []
    for direction in DIRECTIONS:
        made, traced = said.copies.get(direction, Count(0, 0)), found.get(direction, Count(0, 0))
        if made != traced:
            wrong.append(
                f"{name} made {made.calls} copies {direction} of {made.bytes} B, "
                f"its trace has {traced.calls} of {traced.bytes} B"
            )
    return wrong
