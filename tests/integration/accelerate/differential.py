"""Runs random programs as they are, and under the library: whether anything that they can see differs.

By hand on a GPU: ``python tests/integration/accelerate/differential.py --programs 10000 --alone 300``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Of a hundred programs, and of one.
HANGS_SECONDS, ALONE_SECONDS = 300, 60
PLAIN_RUNS = 3
# Programs that share a process.
TOGETHER = 100
# What was seen of random programs on an H200: 4 of 10,300.
MOST_WAITING_ELSEWHERE = 0.001
# What a program notes where it could not tell.
DOUBTFUL = "?"
# Each fact of a program by its step and name.
Facts = dict[tuple[str, str], str]
Environment = Mapping[str, str]


@dataclass(frozen=True)
class Runner:
    """A way to run the programs: what is in the environment beside what is there."""

    program: Path
    environment: Environment = field(default_factory=dict)
    words: tuple[str, ...] = ()

    def lines(self, *words: str, seconds: float = HANGS_SECONDS) -> tuple[list[str], str]:
        """What was printed, and how it ended."""
        environment = {**os.environ, **self.environment}
        command = [str(self.program), *words, *self.words]
        try:
            done = subprocess.run(
                command, capture_output=True, env=environment, text=True, check=False, timeout=seconds
            )
        except subprocess.TimeoutExpired as hung:
            out = hung.stdout.decode() if isinstance(hung.stdout, bytes) else hung.stdout or ""
            return out.splitlines(), "hangs"
        return done.stdout.splitlines(), str(done.returncode)

    def programs(self, first: int, count: int) -> dict[int, Facts]:
        """Programs that share a process, which begins anew behind one that ended it."""
        found: dict[int, Facts] = {}
        at = first
        while at < first + count:
            lines, ended = self.lines("run", str(at), str(first + count - at))
            part = facts_of(lines)
            last = max(part, default=at)
            found |= part
            if ended == "0":
                break
            # The last one wrote its end, or ended the process.
            at = last if not any(step == "end" for step, _ in part.get(last, {})) else last + 1
            found.setdefault(at, {})["process", "ended"] = ended
            at += 1
        return found

    def alone(self, seed: int) -> dict[int, Facts]:
        """One in a process of its own, which may end in any way."""
        lines, ended = self.lines("own", str(seed), seconds=ALONE_SECONDS)
        return {seed: facts_of(lines).get(seed, {}) | {("process", "ended"): ended}}


def facts_of(lines: Sequence[str]) -> dict[int, Facts]:
    found: dict[int, Facts] = {}
    for line in lines:
        place, *pairs = line.split()
        seed, _, step = place.partition(".")
        facts = found.setdefault(int(seed), {})
        names: Counter[str] = Counter()
        for pair in pairs:
            name, _, value = pair.partition("=")
            # What a step does several times is told apart.
            facts[step, f"{name}#{names[name]}" if names[name] else name] = value
            names[name] += 1
    return found


@dataclass
class Comparison:
    programs: int = 0
    compared: int = 0
    left_out: int = 0
    differences: list[tuple[int, str, str]] = field(default_factory=list)  # program, how it was run, what differs
    # Programs of which a copy waited for one of another stream, where it did not in the plain runs.
    waited_elsewhere: set[int] = field(default_factory=set)

    @property
    def share_left_out(self) -> float:
        return self.left_out / max(self.left_out + self.compared, 1)

    def __iadd__(self, other: Comparison) -> Comparison:
        self.programs += other.programs
        self.compared += other.compared
        self.left_out += other.left_out
        self.differences += other.differences
        self.waited_elsewhere |= other.waited_elsewhere
        return self

    @property
    def is_right(self) -> bool:
        return not self.differences and len(self.waited_elsewhere) <= MOST_WAITING_ELSEWHERE * self.programs

    def summary(self) -> str:
        return (
            f"{self.programs} programs, {self.compared} facts compared, {self.share_left_out:.2%} left out, "
            f"{len({program for program, *_ in self.differences})} programs with differences, "
            f"{len(self.waited_elsewhere)} that waited for another stream"
        )


def is_as(plain: str, other: str | None) -> bool:
    return other in (plain, DOUBTFUL)


# What the driver has too little of may keep a copy, for which it is none of a program's business to wait.
MAY_RETURN_EARLIER = ("returned_elsewhere", "returned_to_device")


def waits(facts: Facts, step: str) -> set[str]:
    return {name for name in MAY_RETURN_EARLIER if facts.get((step, name)) == "late"}


def compared(plain: Sequence[dict[int, Facts]], others: Mapping[str, dict[int, Facts]]) -> Comparison:
    """Of facts in which all plain runs agree, those that are otherwise; the first of each program."""
    seeds = sorted(set().union(*plain))
    result = Comparison(programs=len(seeds))
    for seed in seeds:
        runs = [run.get(seed, {}) for run in plain]
        keys = list(dict.fromkeys(key for run in runs for key in run))
        same = {key for key in keys if len({run.get(key) for run in runs}) == 1 and runs[0][key] != DOUBTFUL}
        result.left_out += len(keys) - len(same)
        for name, programs in others.items():
            other = programs.get(seed, {})
            result.compared += len(same)
            unlike = [key for key in keys if key in same and not is_as(runs[0][key], other.get(key))]
            plain_waits, other_waits = (waits(run, unlike[0][0]) if unlike else set() for run in (runs[0], other))
            if other_waits != plain_waits and "returned_to_device" not in other_waits:
                if other_waits:
                    result.waited_elsewhere.add(seed)
                # Waiting opened the gates, so that later steps found none closed; what is there at the end is the same.
                unlike = [key for key in unlike if key[0].endswith("end") or key[0] == "process"]
            unlike += [key for key in other if key not in keys and key[0] == "process"]
            if unlike:
                step, what = unlike[0]
                text = f"step {step}, {what}: plain {runs[0].get((step, what))}, {name} {other.get((step, what))}"
                if ended := other.get(("process", "ended")):
                    text += f"; ended with {ended}"
                result.differences.append((seed, name, text))
    return result


Task = Callable[[], Comparison]


def tasks(plain: Runner, others: Mapping[str, Runner], seeds: range, alone: range) -> list[Task]:
    """Alternately of both kinds: single ones wait for the driver's start, hundreds for their gates."""

    def run(one: Callable[[Runner], dict[int, Facts]]) -> Task:
        return lambda: compared(
            [one(plain) for _ in range(PLAIN_RUNS)], {name: one(way) for name, way in others.items()}
        )

    def together(first: int, count: int) -> Task:
        return run(lambda runner: runner.programs(first, count))

    def by_itself(seed: int) -> Task:
        return run(lambda runner: runner.alone(seed))

    hundreds = []
    at = seeds.start
    while at < seeds.stop:
        # Each hundred gets at the driver's functions in its own way.
        end = min(seeds.stop, (at // TOGETHER + 1) * TOGETHER)
        hundreds.append(together(at, end - at))
        at = end
    kinds = hundreds, [by_itself(seed) for seed in alone]
    placed = [(at / len(kind), task) for kind in kinds for at, task in enumerate(kind)]
    return [task for _, task in sorted(placed, key=itemgetter(0))]


def compare_all(plain: Runner, others: Mapping[str, Runner], seeds: range, alone: range, jobs: int) -> Comparison:
    """All programs; differences are on standard error as soon as they are seen, as a long run may be cut off."""
    result = Comparison()
    with ThreadPoolExecutor(jobs) as pool:
        for ended in as_completed([pool.submit(task) for task in tasks(plain, others, seeds, alone)]):
            one = ended.result()
            for seed, _, text in one.differences:
                print(f"program {seed}: {text}", file=sys.stderr, flush=True)
            result += one
            if result.programs // 100 != (result.programs - one.programs) // 100:
                print(f"{result.programs} programs", file=sys.stderr, flush=True)
    result.differences.sort()
    return result


def shortest(plain: Runner, other: Runner, seed: int, most: int = 40) -> str:
    """The first steps of a program that show a difference by themselves, as text."""
    for steps in range(most):
        words = ("--steps", str(steps))
        runners = [Runner(each.program, each.environment, (*each.words, *words)) for each in (plain, other)]
        runs = [runners[0].programs(seed, 1) for _ in range(PLAIN_RUNS)]
        if compared(runs, {"other": runners[1].programs(seed, 1)}).differences:
            return "\n".join(runners[0].lines("list", str(seed))[0])
    return "\n".join(plain.lines("list", str(seed))[0])


def ways(program: Path, names: Sequence[str], library: Path, folder: Path, words: tuple[str, ...]) -> dict[str, Runner]:
    """How the programs are run beside plainly: `accelerated`, with `-small` or `-huge` behind that, `trace`, `both`."""
    options = {
        "accelerated": "eager",
        "accelerated-small": "eager,min=4096",
        "accelerated-huge": "eager,pinned=huge",
        "both": "eager",
    }
    runners = {}
    for name in names:
        environment: dict[str, str] = {}
        if name in options:
            preloaded = " ".join(filter(None, [os.environ.get("LD_PRELOAD", ""), str(library)]))
            counted = {"ISTHMUS_ACCELERATE_OPTIONS": options[name], "ISTHMUS_ACCELERATE_FOLDER": str(folder)}
            environment = {"LD_PRELOAD": preloaded, **counted}
        if name in ("trace", "both"):
            from isthmus.launch import traced_environment

            environment |= traced_environment({**os.environ, **environment}, folder, ())
        runners[name] = Runner(program, environment, words)
    return runners


def build(folder: Path) -> Path:
    built = folder / "differential"
    words = ["g++", "-std=c++20", "-O2", f"-I{HERE.parents[2] / 'native'}", str(HERE / "differential.cpp"), "-pthread"]
    subprocess.run([*words, "-o", str(built)], check=True)
    return built


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000, help="that share processes")
    parser.add_argument("--alone", type=int, default=30, help="in processes of their own")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--ways", default="accelerated", help="accelerated, accelerated-small, accelerated-huge, trace, both"
    )
    parser.add_argument("--without", default="", help="what is left out, as differential.cpp names it")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 2, 16))
    parser.add_argument("--library", type=Path, help="libisthmus_accelerator.so, where isthmus is not installed")
    parser.add_argument("--binary", type=Path, help="differential, where it is built")
    parser.add_argument("--listings", type=int, default=3, help="shortest listings of programs that differ")
    asked = parser.parse_args()
    library = asked.library
    if library is None:
        from isthmus import _native

        library = Path(_native.__file__).parent / "libisthmus_accelerator.so"
    with tempfile.TemporaryDirectory() as folder:
        program = asked.binary or build(Path(folder))
        words = ("--without", asked.without) if asked.without else ()
        plain = Runner(program, words=words)
        others = ways(program, asked.ways.split(","), library.resolve(), Path(folder), words)
        seeds = range(asked.seed, asked.seed + asked.programs)
        result = compare_all(plain, others, seeds, range(asked.seed, asked.seed + asked.alone), asked.jobs)
        for seed, name, _ in result.differences[: asked.listings]:
            print(shortest(plain, others[name], seed))
        print(result.summary())
    return 0 if result.is_right else 1


if __name__ == "__main__":
    sys.exit(main())
