"""What tracing adds to a program: loops of equal copies, and steps with a kernel, traced and untraced in turns."""

import random
import shutil
import statistics
import sys
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from finding import Finding, decided
from trace_programs import SOURCES, Case, Programs, output_of, read_said
from transfer_turns import Contender, take_turns

from isthmus.record import KIB, MIB, format_bytes, format_seconds

# From this size on a share of the time, below it a time a copy.
SMALL_BYTES = 64 * KIB
MOST_SHARE, MOST_SECONDS = 0.05, 3e-6
SHARE_BAR, SECONDS_BAR = f"<= {100 * MOST_SHARE:g} % longer traced", f"<= {1e6 * MOST_SECONDS:g} us a copy more, traced"
# A few per cent show only in the medians of many runs: those of equal programs differ by as much.
SHARE_SECONDS = 12.0
UNTRACED, TRACED = "untraced", "traced"
PROGRAM = "overhead"


class Loop(NamedTuple):
    """So many copies of so many bytes, or steps of copies and a kernel."""

    copies: int
    bytes: int
    waits: bool
    pinned: bool

    @property
    def arguments(self) -> tuple[int, int, str, str]:
        """As the program takes them."""
        sync, memory = "sync" if self.waits else "async", "pinned" if self.pinned else "pageable"
        return self.copies, self.bytes, sync, memory

    @property
    def name(self) -> str:
        """As it is kept and named by --only."""
        _, _, sync, memory = self.arguments
        return f"overhead-{format_bytes(self.bytes).replace(' ', '')}-{sync}-{memory}"


# Sized for some 0.2 s each on an H200.
LOOPS = (
    Loop(30_000, 64, waits=True, pinned=True),
    Loop(30_000, 64, waits=True, pinned=False),
    Loop(60_000, 64, waits=False, pinned=True),
    Loop(20_000, 64 * KIB, waits=True, pinned=True),
    Loop(10_000, 64 * KIB, waits=True, pinned=False),
    Loop(60_000, 64 * KIB, waits=False, pinned=True),
    Loop(8_000, MIB, waits=True, pinned=True),
    Loop(600, 16 * MIB, waits=False, pinned=True),
)
STEPS = 2000
# Programs that launches bound are judged by the median of so many pairs of runs, one right after the other.
LAUNCHES, PAIRS = ("launches", "decoding", "graphs"), 15
LAUNCHES_BAR = f"<= {100 * MOST_SHARE:g} % longer by the median of {PAIRS} pairs, and not longer than under nsys"


def cases() -> dict[str, Case]:
    """A case for each loop, and one for the steps."""
    loops = {
        loop.name: Case(
            SHARE_BAR if loop.bytes >= SMALL_BYTES else SECONDS_BAR,
            partial(
                measure_overhead,
                words=" ".join([format_bytes(loop.bytes), *map(str, loop.arguments[2:])]),
                count=loop.copies,
                arguments=loop.arguments,
                tiny=loop.bytes < SMALL_BYTES,
            ),
            (PROGRAM,),
        )
        for loop in LOOPS
    }
    steps = partial(measure_overhead, words="steps with a kernel", count=STEPS, arguments=(STEPS,), tiny=False)
    return {
        **loops,
        "overhead-steps": Case(SHARE_BAR, steps, (PROGRAM,)),
        **{f"overhead-{name}": Case(LAUNCHES_BAR, partial(measure_launches, name=name)) for name in LAUNCHES},
    }


def measure_overhead(programs: Programs, words: str, count: int, arguments: Sequence[object], tiny: bool) -> Finding:
    """One loop, traced and untraced in turns; the program's own clock counts."""
    finding = Finding(f"tracing {words}", SECONDS_BAR if tiny else SHARE_BAR)

    def untraced(_: int) -> float:
        return programs.said(PROGRAM, *arguments).seconds / count

    def traced(_: int) -> float:
        said, trace = programs.traced(PROGRAM, *arguments)
        trace.unlink()
        return said.seconds / count

    contenders = [Contender(UNTRACED, untraced, lambda: ""), Contender(TRACED, traced, lambda: "")]
    finding.turns = take_turns(contenders, 0.0 if tiny else SHARE_SECONDS, random.Random(0))
    return judged_overhead(finding, tiny)


def judged_overhead(finding: Finding, tiny: bool) -> Finding:
    """The finding with its verdict, by medians; a program that fails misses it, too."""
    before, after = finding.turns.seconds(UNTRACED), finding.turns.seconds(TRACED)
    if before is None or after is None:
        finding.why_not = "the program failed"
        return decided(finding, False)
    share = after / before - 1
    finding.measured = (
        f"{format_seconds(before)} untraced, {format_seconds(after)} traced: "
        f"{(after - before) * 1e6:+.2f} us, {100 * share:+.1f} %"
    )
    return decided(finding, after - before <= MOST_SECONDS if tiny else share <= MOST_SHARE)


def measure_launches(programs: Programs, name: str) -> Finding:
    """A program of torch that launches bound: plain, traced, and under nsys where that is installed, in turns."""
    finding = Finding(f"tracing {name} of torch", LAUNCHES_BAR)
    plain = [sys.executable, str(SOURCES / f"torch_{name}.py")]
    under_nsys = ["nsys", "profile", "--trace=cuda", "--force-overwrite=true", "-o", str(programs.scratch / "launches")]

    def untraced(_: int) -> float:
        return read_said(output_of(plain)).seconds

    def traced(_: int) -> float:
        output, trace = programs.traced_output(name, plain)
        trace.unlink()
        return read_said(output).seconds

    def by_nsys(_: int) -> float:
        lines = output_of([*under_nsys, *plain]).splitlines()
        return read_said(next((line for line in lines if line.startswith("{")), "")).seconds

    contenders = [Contender(UNTRACED, untraced, lambda: ""), Contender(TRACED, traced, lambda: "")]
    if shutil.which("nsys"):
        contenders.append(Contender("nsys", by_nsys, lambda: ""))
    finding.turns = take_turns(contenders, 0.0, random.Random(0), least_rounds=PAIRS)
    return judged_launches(finding)


def judged_launches(finding: Finding) -> Finding:
    """The finding with its verdict: by how much each way was slower than the plain run of its round."""
    samples = finding.turns.samples
    if not all(samples.get(name) for name in (UNTRACED, TRACED)):
        finding.why_not = "the program failed"
        return decided(finding, False)
    shares = {
        name: statistics.median(after / before - 1 for before, after in zip(samples[UNTRACED], of, strict=False))
        for name, of in samples.items()
        if name != UNTRACED and of
    }
    finding.said["shares"] = shares
    finding.measured = ", ".join(f"{name} {100 * share:+.1f} %" for name, share in shares.items())
    return decided(finding, shares[TRACED] <= MOST_SHARE and shares[TRACED] <= shares.get("nsys", MOST_SHARE))
