"""Interference: what each method of copying cost each neighbour, and the rate at which it copied meanwhile."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from isthmus.analysis.figures import Figure, figures, paired
from isthmus.analysis.labels import run_title
from isthmus.analysis.phrases import memory_name, percent_cell, percent_words
from isthmus.analysis.statistics.once import once
from isthmus.document.finding import Finding
from isthmus.document.grid import Column, interval_cell
from isthmus.document.pivot import Entry, pivot
from isthmus.document.section import Part, Section, section_of
from isthmus.language import say, sentences
from isthmus.record import Interval, Run, format_bytes, format_rate

NEIGHBOURS = ("compute", "memory", "thread")
DIRECTIONS = ("h2d", "d2h")
# Each method with the memory that it copies, as tables and charts show them.
WAYS = (("copy", "pinned"), ("kernel", "pinned"), ("copy", "pageable"), ("isthmus", "pageable"))
# The rate of a kernel that fills the link as well as any.
_AS_GOOD = 0.97


class Cost(NamedTuple):
    """One method against one neighbour: `slowdown` is the share by which its work took longer, the rate bytes/s."""

    neighbour: str
    method: str
    memory: str
    direction: str
    bytes: int
    blocks: int | None  # of a kernel; 0 for as many as fill the device
    threads: int | None  # of the library
    slowdown: Interval
    rate: Interval
    wide: bool

    @property
    def key(self) -> tuple[str, str, int, int]:
        """The method, whatever the neighbour, direction and size; kernels by blocks, all of the device last."""
        return self.method, self.memory, self.blocks or (0 if self.blocks is None else 1 << 30), self.threads or 0


@once()
def costs(run: Run) -> Sequence[Cost]:
    """In the order of the table; without those whose data was wrong."""
    all_costs = [cost for figure in figures(run, "interference") if (cost := _cost(run, figure))]
    return sorted(all_costs, key=_order)


def _order(cost: Cost) -> tuple[object, ...]:
    method, memory, blocks, threads = cost.key
    place = WAYS.index((method, memory)), blocks, threads
    return cost.bytes, DIRECTIONS.index(cost.direction), place, NEIGHBOURS.index(cost.neighbour)


def _cost(run: Run, figure: Figure) -> Cost | None:
    case, ratio = figure.case, paired(figure.case, "beside_seconds", "alone_seconds")
    known = (case.method, case.host_memory) in WAYS and case.direction in DIRECTIONS and case.neighbour in NEIGHBOURS
    if not known or ratio is None or figure.rate is None:
        return None
    return Cost(
        neighbour=case.neighbour,
        method=case.method,
        memory=case.host_memory,
        direction=str(case.direction),
        bytes=case.bytes,
        blocks=case.blocks,
        threads=case.threads,
        slowdown=Interval(ratio.median - 1, ratio.low - 1, ratio.high - 1),
        rate=figure.rate,
        wide=ratio.relative_half_width > run.settings.target_relative_half_width,
    )


def largest(all_costs: Sequence[Cost]) -> Sequence[Cost]:
    """Those of the largest copies, which are what answers rest on."""
    size = max((cost.bytes for cost in all_costs), default=0)
    return [cost for cost in all_costs if cost.bytes == size]


def telling(all_costs: Sequence[Cost]) -> Sequence[Cost]:
    """The methods that tell most of one neighbour, direction and size.

    The driver's copies, the kernel with the fewest blocks that is as fast as any and that with all, and the library
    with the most threads.
    """
    kernels = [cost for cost in all_costs if cost.method == "kernel"]
    best = max((cost.rate.median for cost in kernels), default=0.0)
    enough = [cost for cost in kernels if cost.rate.median >= _AS_GOOD * best][:1]
    packed = [cost for cost in all_costs if cost.method == "isthmus"][-1:]
    chosen = {id(cost) for cost in [*enough, *kernels[-1:], *packed]}
    return [cost for cost in all_costs if cost.method == "copy" or id(cost) in chosen]


def way_words(cost: Cost) -> str:
    """``a kernel of 2 blocks``, ``the driver's copy of pinned memory``, ``isthmus.copy with 12 threads``."""
    if cost.method == "kernel":
        return say("interference.kernel", count=cost.blocks) if cost.blocks else say("interference.kernel_all")
    if cost.method == "isthmus":
        return say("interference.isthmus", count=cost.threads or 1)
    return say("interference.copy", memory=memory_name(cost.memory))


def cost_words(cost: Cost) -> str:
    """``a kernel of 2 blocks 10 % at 49.6 GB/s``."""
    percent, rate = percent_words(cost.slowdown.median), format_rate(cost.rate.median)
    return say("interference.cost", method=way_words(cost), percent=percent, rate=rate)


def findings(run: Run) -> list[Finding]:
    """One for each neighbour: both directions, the methods that tell most, of the largest copies."""
    pairs = ((neighbour, _sentence(run, neighbour)) for neighbour in NEIGHBOURS)
    return [Finding("note", f"interference_{neighbour}", text) for neighbour, text in pairs if text]


def takeaway(run: Run) -> Finding | None:
    """What the first neighbour that was measured pays; None where none was."""
    candidates = findings(run)
    return Finding("note", "interference", candidates[0].text) if candidates else None


def _sentence(run: Run, neighbour: str) -> str:
    texts = []
    for direction in DIRECTIONS:
        of_both = [cost for cost in largest(costs(run)) if (cost.neighbour, cost.direction) == (neighbour, direction)]
        if methods := say("common.comma").join(map(cost_words, telling(of_both))):
            texts.append(say(f"interference.beside_{neighbour}", direction=direction.upper(), methods=methods))
    return sentences(texts)


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of it; None where that is nothing but skips.

    A row for each method, a pair of columns for each neighbour, a group for each run, size and direction.
    """
    title = say("interference_report.grid")
    columns = [
        Column(_heading(neighbour, name), _column(neighbour, name), minor=name == "rate")
        for neighbour in NEIGHBOURS
        for name in ("slowdown", "rate")
    ]
    grid = pivot(title, say("labels.corner_method"), columns, _entries(runs))
    table = Part(title, say("interference_report.grid_note"), grids=(grid,)) if grid else None
    return section_of("interference", [table], ("load",))


def _column(neighbour: str, name: str) -> str:
    return f"{say(f'interference_report.neighbour_{neighbour}')}: {_heading(neighbour, name)}"


def _heading(neighbour: str, name: str) -> str:
    return f"{say(f'interference_report.heading_{neighbour}')}\n{say(f'interference_report.heading_{name}')}"


def _entries(runs: Sequence[Run]) -> Iterator[Entry]:
    for index, run in enumerate(runs):
        for cost in costs(run):
            words = [run_title(runs, index)] if len(runs) > 1 else []
            group = say("common.comma").join([*words, cost.direction.upper(), format_bytes(cost.bytes)])
            slowdown = percent_cell(cost.slowdown, wide=cost.wide)
            for name, cell in (("slowdown", slowdown), ("rate", interval_cell(cost.rate, scale=1e-9))):
                yield Entry(group, way_words(cost), _column(cost.neighbour, name), cell)
