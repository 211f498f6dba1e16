"""Unmodified programs as they are and under `isthmus accelerate`, in turns, against their bars.

python benchmarks/accelerated.py [--only NAME,NAME] [--turns 3] [-o FOLDER]

Builds the programs of benchmarks/accelerated, for which nvcc and g++ are needed, and runs each plain and accelerated;
prints a line a figure, and -o writes accelerated.md, a table, and accelerated.json.gz, all samples. Programs whose
packages are not installed are left out, with why. Exit code 1: a bar was missed or data was wrong.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from finding import Finding
from finding_table import line, summary, write

from isthmus import __version__
from isthmus.python import python_command
from isthmus.record import Interval, median_interval

HERE = Path(__file__).resolve().parent / "accelerated"
PLAIN, ACCELERATED = "plain", "accelerated"
LIMIT_SECONDS = 240.0
Samples = dict[str, list[float]]


class Bar(NamedTuple):
    """What is asked of one figure: its words, and whether its samples of both ways, in turns, meet that."""

    figure: str
    words: str
    is_met: Callable[[Sequence[float], Sequence[float]], bool]
    # Of the plain program, where that is another figure.
    before: str = ""


def rate(figure: str, least: float) -> Bar:
    """So many GB/s under the library."""
    return Bar(figure, f">= {least:g} GB/s", lambda _, now: median(now) >= least)


def factor(figure: str, least: float) -> Bar:
    """So many times as fast: of a rate, or of seconds."""
    return Bar(figure, f">= {least:g}x", lambda before, now: gain(figure, before, now) >= least)


def at_most(figure: str, share: float) -> Bar:
    """So much slower and no more."""
    return Bar(figure, f"<= {100 * share:g} % slower", lambda before, now: gain(figure, before, now) >= 1 - share)


def beside(figure: str, other: str, share: float) -> Bar:
    """Under the library so much slower, and no more, than another figure without it."""
    words = f"<= {100 * share:g} % slower than {other} plain"
    return Bar(figure, words, lambda before, now: gain(figure, before, now) >= 1 - share, other)


def added(figure: str, seconds: float) -> Bar:
    """So many seconds more, each."""
    return Bar(figure, f"<= {1e6 * seconds:g} us more", lambda before, now: median(now) - median(before) <= seconds)


def pairs_at_most(figure: str, share: float) -> Bar:
    """So much slower and no more, at the other end of the interval of the median ratio of one turn's two runs."""
    words = f"<= {100 * share:g} % slower, with 95 % confidence"
    return Bar(figure, words, lambda before, now: paired_gain(figure, before, now).low >= 1 / (1 + share))


def paired_gain(figure: str, before: Sequence[float], now: Sequence[float]) -> Interval:
    """How many times as fast the second run of a pair is, of programs that print a figure once."""
    return median_interval([gain(figure, [old], [new]) for old, new in zip(before, now, strict=True)])


def gain(figure: str, before: Sequence[float], now: Sequence[float]) -> float:
    """How many times as fast its median is."""
    old, new = median(before), median(now)
    return new / old if figure.endswith("_gbs") else old / new


class Case(NamedTuple):
    """A program with its words, its surroundings, and what is asked of it."""

    words: tuple[str, ...]
    bars: tuple[Bar, ...]
    # Together with others of itself, or on few processors.
    copies: int = 1
    processors: int = 0
    # Runs of each in a turn, of which the shortest counts: some programs run at one of two speeds, library or not.
    runs: int = 1


COPIES = ("copies", "1024", "5")
NOT_SLOWER = (at_most("h2d_gbs", 0.05), at_most("d2h_fresh_gbs", 0.05))
CASES = {
    "copies": Case(COPIES, (rate("h2d_gbs", 45), rate("d2h_fresh_gbs", 25))),
    "opencl": Case(("opencl", "1024", "5"), (factor("h2d_gbs", 2), factor("d2h_fresh_gbs", 4))),
    "moves": Case(("workloads.py", "moves"), (rate("to_gbs", 42), rate("cpu_gbs", 25), factor("to_between_gbs", 1))),
    "state_dict": Case(("workloads.py", "state_dict"), (factor("steps_and_state_seconds", 7.5),)),
    "batches": Case(("workloads.py", "batches"), (factor("pass_seconds", 2),)),
    "offload": Case(("workloads.py", "offload"), (factor("forward_seconds", 1.9),)),
    "weights": Case(("workloads.py", "weights"), (factor("load_seconds", 4),)),
    "transformers": Case(
        ("transformers_model.py",),
        (
            factor("from_pretrained_to_seconds", 1.5),
            factor("device_map_seconds", 1.2),
            factor("model_offload_seconds", 3),
            factor("layer_offload_seconds", 2),
        ),
    ),
    "cupy": Case(("arrays.py", "cupy"), (factor("h2d_gbs", 4), factor("d2h_gbs", 2))),
    "jax": Case(("arrays.py", "jax"), (factor("h2d_gbs", 4), factor("d2h_gbs", 2))),
    "numba": Case(("arrays.py", "numba"), (factor("h2d_gbs", 4), factor("d2h_gbs", 2))),
    "loader": Case(
        ("workloads.py", "loader"),
        (beside("pageable_epoch_seconds", "pinned_epoch_seconds", 0.05), at_most("pinned_epoch_seconds", 0.05)),
    ),
    "right": Case(("workloads.py", "right"), (at_most("right_seconds", 0.01),)),
    "small": Case(("small",), (added("copy_seconds", 0.2e-6), at_most("launch_seconds", 0.01))),
    "serving": Case(("serving",), (pairs_at_most("request_seconds", 0.02),), processors=2, runs=3),
    "two-processes": Case(COPIES, NOT_SLOWER, copies=2),
    "four-cpus": Case(COPIES, NOT_SLOWER, processors=4),
    "two-cpus": Case(COPIES, NOT_SLOWER, processors=2),
    "sixteen-processes": Case(("copies", "64", "12"), NOT_SLOWER, copies=16),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print and write; 1 where a bar was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(CASES))
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args(arguments)
    findings: list[Finding] = []
    gpu = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
        capture_output=True,
        check=False,
        text=True,
    ).stdout.strip()
    command = shlex.join(["benchmarks/accelerated.py", *(sys.argv[1:] if arguments is None else arguments)])
    about = {"command": command, "device": gpu, "isthmus_version": __version__}
    with tempfile.TemporaryDirectory() as scratch:
        for name in given.only:
            findings += measured(name, CASES[name], given.turns, Path(scratch))
            if given.output:
                write(given.output, "accelerated", [f"`{command}` on {gpu}"], about, findings)
    print(summary(findings))
    return 1 if any(each.met is False for each in findings) else 0


def shortest_of(runs: int, samples: list[float]) -> list[float]:
    """The shortest of each so many runs that follow one another, or all samples of one."""
    return samples if runs == 1 else [min(samples[at : at + runs]) for at in range(0, len(samples), runs)]


def measured(name: str, case: Case, turns: int, scratch: Path) -> list[Finding]:
    """A finding for each bar of a case."""
    samples: dict[str, Samples] = {PLAIN: defaultdict(list), ACCELERATED: defaultdict(list)}
    wrong, why_not = 0.0, ""
    for turn in range(turns * case.runs):
        for way in (PLAIN, ACCELERATED) if turn % 2 == 0 else (ACCELERATED, PLAIN):
            found, why_not = run(case, way, scratch)
            wrong += sum(found.pop("wrong", [0.0]))
            for figure, values in found.items():
                samples[way][figure] += values
            if why_not:
                break
    findings = []
    for bar in case.bars:
        before, now = samples[PLAIN][bar.before or bar.figure], samples[ACCELERATED][bar.figure]
        finding = Finding(f"{name} {bar.figure}", bar.words, name=name, why_not=why_not)
        finding.said = {PLAIN: before, ACCELERATED: now}
        before, now = shortest_of(case.runs, before), shortest_of(case.runs, now)
        if before and now:
            finding.measured = f"{median(before):.4g} -> {median(now):.4g}, {gain(bar.figure, before, now):.3g}x"
            if len(before) == len(now):
                pairs = paired_gain(bar.figure, before, now)
                finding.measured += f" ({pairs.low:.3f} to {pairs.high:.3f} in pairs)"
            finding.met = bar.is_met(before, now) and not wrong
            finding.why_not = f"{wrong:g} results were wrong" if wrong else ""
        print(line(finding), flush=True)
        findings.append(finding)
    return findings


def run(case: Case, way: str, scratch: Path) -> tuple[Samples, str]:
    """The figures of all copies of a program that run at once, and why there are none."""
    command = program(case.words, scratch)
    if way == ACCELERATED:
        command = [*python_command("isthmus", "accelerate", "--"), *command]
    if case.processors:
        command = ["taskset", "--cpu-list", f"0-{case.processors - 1}", *command]
    environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        for _ in range(case.copies)
    ]
    found: Samples = defaultdict(list)
    why_not = ""
    for each in running:
        out, err = each.communicate(timeout=LIMIT_SECONDS)
        for words in map(str.split, out.splitlines()):
            if len(words) == 2:
                found[words[0]].append(float(words[1]))
        if each.returncode and "wrong" not in found:
            why_not = (err.strip().splitlines() or [f"exit code {each.returncode}"])[-1]
    return found, why_not


def program(words: tuple[str, ...], scratch: Path) -> list[str]:
    """The command of a program, which is built when it is first needed."""
    name, *rest = words
    if name.endswith(".py"):
        return [sys.executable, str(HERE / name), *rest]
    built = scratch / name
    if not built.exists():
        compiler, source = ["nvcc", "-O2", "-cudart", "static"], HERE / f"{name}.cu"
        if not source.exists():
            native = HERE.parents[1] / "native"
            compiler, source = ["g++", "-std=c++20", "-O2", f"-I{native}"], HERE / f"{name}.cpp"
        subprocess.run([*compiler, str(source), "-o", str(built), "-ldl"], check=True)
    return [str(built), *rest]


if __name__ == "__main__":
    sys.exit(main())
