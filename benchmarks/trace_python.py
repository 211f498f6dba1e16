"""Sixteen programs of Python with a planted problem, and eight without: what advice says, what the fixed ones gain.

As trace_problems.py, of which this is the part that runs an interpreter: copies that a library makes of its own accord
are not known to a program, so that a trace has to have at least what the program asked for.
"""

import random
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from finding import Finding, decided, shown
from trace_problems import above_information, is_near, judged_gains_of, judged_problem, measured_gain
from trace_programs import (
    ISTHMUS,
    MOST_SECONDS_PROFILED,
    SOURCES,
    Case,
    Count,
    Programs,
    Said,
    counts_of,
    output_of,
    read_said,
)
from transfer_turns import Contender, take_turns

from isthmus.errors import CallFailed, IsthmusError
from isthmus.trace import DIRECTIONS


class Planted(NamedTuple):
    """The rule that a program is for, and how it is traced."""

    rule: str
    # Options of `isthmus trace` without which nobody can tell.
    options: tuple[str, ...] = ()


PLANTED = {
    "torch_loader": Planted("pageable"),
    "torch_item": Planted("waits"),
    "torch_blocks": Planted("small-copies"),
    "torch_checkpoint": Planted("pageable"),
    "torch_offload": Planted("pageable"),
    "torch_ranks": Planted("pageable"),
    "jax_batches": Planted("waits"),
    # CuPy sends arrays from pinned memory of its own: only contents tell that they are what was fetched.
    "cupy_trips": Planted("round-trip", ("--contents",)),
    "torch_swap": Planted("pageable"),
    "torch_load": Planted("pageable"),
    "torch_host_adam": Planted("pageable"),
    "torch_gather": Planted("pageable"),
    "torch_frames": Planted("pageable"),
    "torch_greedy": Planted("waits"),
    "torch_serving": Planted("pageable"),
    "cupy_images": Planted("pageable"),
}
# By name, how each is run.
RIGHT = {
    "torch_right": ("torch_right",),
    **{f"{name}_fixed": (name, "fixed") for name in ("torch_loader", "torch_item", "torch_greedy", "cupy_trips")},
    **{name: ("right_programs", name) for name in ("torch_resident", "torch_captured", "jax_resident")},
}
RIGHT_BAR = "every copy asked for counted, no finding above information"
# In so many of the programs the predicted gain is to be near to the measured one.
NEAR_SHARE = 7 / 8
GAINS = "predicted gains, Python"
GAIN_BAR = "within 25 % of the measured gain in seven of eight"
ACCELERATED, ACCELERATED_BAR = "predicted gains of accelerate", "within 25 % of the measured gain in each"


def cases() -> dict[str, Case]:
    """A case for each program."""
    planted = {name: Case(_bar(name), partial(measure_problem, name=name)) for name in PLANTED}
    return {**planted, **{name: Case(RIGHT_BAR, partial(measure_right, name=name)) for name in RIGHT}}


def _bar(name: str) -> str:
    profiled = ", of torch.profiler's trace, too" if is_profiled(name) else ""
    return f"every copy asked for counted, `{PLANTED[name].rule}` first{profiled}"


def is_profiled(name: str) -> bool:
    """Whether torch.profiler can record the program, too."""
    return name.startswith("torch_")


def measure_problem(programs: Programs, name: str) -> Finding:
    """The program and its fixed version in turns; then both traced, and advice on the first."""
    finding = Finding(name, _bar(name))
    if lacking := _lacking(name):
        finding.why_not = lacking
        return finding
    fixed = f"{name}_fixed"
    said: dict[str, Said] = {}
    fast = f"{name}_accelerated"
    contenders = [_contender(each, said) for each in (name, fixed, fast)]
    finding.turns = take_turns(contenders, 0.0, random.Random(0))
    gain = measured_gain(finding.turns, name, fixed)
    if gain is None:
        finding.why_not = "a program failed"
        return decided(finding, False)
    if said[name].checksum != said[fixed].checksum:
        finding.turns.wrong[fixed] = f"checksum {said[fixed].checksum}, not {said[name].checksum}"
    wrong: list[str] = []
    advised = []
    try:
        for each in (name, fixed):
            traced, trace = _traced(programs, each)
            wrong += missing(each, traced, counts_of(trace))
            finding.said[f"{each} traced"] = traced.seconds
            if each == name:
                advised = programs.advised(trace)
        if is_profiled(name):
            wrong += _wrong_of_profiler(programs, name, finding)
    except IsthmusError as error:
        wrong.append(str(error))
    if advised and advised[0].accelerate is not None and (by := measured_gain(finding.turns, name, fast)) is not None:
        finding.said["accelerate"] = {"measured": by._asdict(), "predicted": advised[0].accelerate._asdict()}
    return judged_problem(finding, PLANTED[name].rule, gain, advised, wrong)


def measure_right(programs: Programs, name: str) -> Finding:
    """A program that does everything right, traced."""
    finding = Finding(name, RIGHT_BAR)
    if lacking := _lacking(name):
        finding.why_not = lacking
        return finding
    wrong: list[str] = []
    advised = []
    try:
        finding.measured = shown(read_said(output_of(command_of(name))).seconds)
        traced, trace = _traced(programs, name)
        wrong += missing(name, traced, counts_of(trace))
        advised = programs.advised(trace)
    except IsthmusError as error:
        wrong.append(str(error))
    return above_information(finding, advised, wrong)


def command_of(name: str, *options: str) -> list[str]:
    """How a program is run; the name says which version, or that it is accelerated."""
    if (plain := name.removesuffix("_accelerated")) != name:
        return [*ISTHMUS, "accelerate", "--", *command_of(plain, *options)]
    stem = name.removesuffix("_fixed")
    program, *words = RIGHT.get(name, (stem, *(["fixed"] if name != stem else [])))
    return [sys.executable, str(SOURCES / f"{program}.py"), *words, *options]


def missing(name: str, said: Said, found: Mapping[str, Count]) -> list[str]:
    """Where a trace has less than the program asked for, a sentence each; more may be its library's."""
    wrong = []
    for direction in DIRECTIONS:
        made, traced = said.copies.get(direction, Count(0, 0)), found.get(direction, Count(0, 0))
        if traced.calls < made.calls or traced.bytes < made.bytes:
            wrong.append(
                f"{name} asked for {made.calls} copies {direction} of {made.bytes} B, "
                f"its trace has {traced.calls} of {traced.bytes} B"
            )
    return wrong


def judged_gains(findings: Sequence[Finding]) -> Finding | None:
    """Of how many of the programs the gain was predicted well; None where no program was measured."""
    mine = [each for each in findings if each.case in PLANTED]
    return judged_gains_of(mine, Finding(GAINS, GAIN_BAR, "gains-python"), NEAR_SHARE)


def judged_accelerate(findings: Sequence[Finding]) -> Finding | None:
    """Whether what accelerate gains was predicted well; None where nothing was predicted."""
    judged = {each.case: each.said["accelerate"] for each in findings if "accelerate" in each.said}
    if not judged:
        return None
    far = [name for name, gain in judged.items() if not is_near(gain["predicted"], gain["measured"])]
    finding = Finding(ACCELERATED, ACCELERATED_BAR, "gains-accelerate")
    finding.measured = f"{len(judged) - len(far)} of {len(judged)}"
    finding.why_not = f"not {', '.join(far)}" if far else ""
    return decided(finding, not far)


def _lacking(name: str) -> str:
    library = name.partition("_")[0]
    return f"{library} is not installed" if find_spec(library) is None else ""


def _contender(name: str, said: dict[str, Said]) -> Contender:
    def once(_: int) -> float:
        said[name] = read_said(output_of(command_of(name)))
        return said[name].seconds

    # The program itself checks what it computes.
    return Contender(name, once, lambda: "")


def _traced(programs: Programs, name: str) -> tuple[Said, Path]:
    planted = PLANTED.get(name.removesuffix("_fixed"))
    options = planted.options if planted else ()
    output, trace = programs.traced_output(name, command_of(name), options)
    return read_said(output), trace


def _wrong_of_profiler(programs: Programs, name: str, finding: Finding) -> list[str]:
    """What advice on torch.profiler's trace says first, where it is something else than the planted problem."""
    folder = programs.folder(f"{name}.profiled")
    output_of(command_of(name, "--profiler", str(folder)), MOST_SECONDS_PROFILED)
    traces = sorted(folder.glob("*.json"))
    if not traces:
        raise CallFailed(f"torch.profiler wrote nothing of {name}")
    rules = [each.rule for each in programs.advised(*traces)]
    finding.said["rules of torch.profiler's trace"] = rules
    first = rules[0] if rules else "nothing"
    return [] if first == PLANTED[name].rule else [f"of torch.profiler's trace `{first}` came first"]
