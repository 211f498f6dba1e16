"""What persistent threads are worth: the time that creating and joining threads for each transfer adds to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isthmus.analysis.labels import kind_label, run_title
from isthmus.analysis.statistics.resample import interval_of, resampled_medians
from isthmus.analysis.threads.labels import direction_word, mode_name, threads_label
from isthmus.analysis.threads.model import REFERENCE_BYTES, ThreadCurve, reference_bytes, thread_curves
from isthmus.document.grid import Cell, Column, Grid, Group, Row, decimals, missing
from isthmus.document.section import Part
from isthmus.language import say
from isthmus.record import MIB, Interval, Run, format_bytes

# A shorter copy takes less than the creation of a thread: its share says how short the copy is.
_LEAST_SHARED_BYTES = MIB
# Few enough threads to be usual, enough to cost something.
_USUAL_THREADS = 16


@dataclass(frozen=True)
class SpawnCost:
    """What creating so many threads of each direction costs one transfer.

    `seconds` is the difference of the medians of created and persistent threads, `share` that over the time with
    persistent threads; both with 95 % intervals from resampling. `curve` is that of the persistent threads.
    """

    curve: ThreadCurve
    threads: int
    seconds: Interval
    share: Interval

    @property
    def is_resolved(self) -> bool:
        """Whether the interval excludes that created threads cost nothing."""
        return self.seconds.low > 0

    @property
    def has_share(self) -> bool:
        """Whether the transfer is long enough for the share to be about the threads: from 1 MiB on."""
        return self.curve.bytes >= _LEAST_SHARED_BYTES


def spawn_costs(curves: Sequence[ThreadCurve]) -> list[SpawnCost]:
    """A cost for each transfer that was measured with persistent and with created threads, by number of threads."""
    workers = {_key(curve): curve for curve in curves if curve.method == "workers"}
    pairs = [
        (workers[_key(curve)], threads, workers[_key(curve)].points[threads].samples, point.samples)
        for curve in curves
        if curve.method == "spawn" and _key(curve) in workers
        for threads, point in curve.points.items()
        if threads in workers[_key(curve)].points
    ]
    # Two seeds: with one, both would be drawn by the same ranks, and their differences look steadier than they are.
    kept = resampled_medians([samples for _, _, samples, _ in pairs], seed=1)
    spawned = resampled_medians([samples for _, _, _, samples in pairs], seed=2)
    return [
        SpawnCost(curve, threads, interval_of(spawned[row] - kept[row]), interval_of(spawned[row] / kept[row] - 1))
        for row, (curve, threads, _, _) in enumerate(pairs)
    ]


def usual_spawn_cost(costs: Sequence[SpawnCost]) -> SpawnCost | None:
    """The cost to name first: of 16 threads, if measured, for the transfer of 64 MiB that suffers the most from it."""
    size = reference_bytes([cost.curve for cost in costs])
    chosen = [cost for cost in costs if cost.curve.bytes == size and cost.curve.direction != "both"]
    counts = {cost.threads for cost in chosen}
    usual = _USUAL_THREADS if _USUAL_THREADS in counts else max(counts, default=0)
    same = [cost for cost in chosen if cost.threads == usual]
    return max(same, key=lambda cost: (cost.is_resolved, cost.share.median), default=None)


def created_part(runs: Sequence[Run]) -> Part:
    """A table for each run; None where created threads were not measured beside persistent ones."""
    grids = [
        _grid(costs, f": {run_title(runs, index)}" if len(runs) > 1 else "")
        for index, run in enumerate(runs)
        if (costs := spawn_costs(thread_curves(run)))
    ]
    return Part(say("threads_report.created_part"), say("threads_report.created_note"), grids=tuple(grids))


def _grid(costs: Sequence[SpawnCost], of_run: str) -> Grid:
    """Threads down, kinds and directions across, a group for each size."""
    names = list(_names(costs))
    columns = tuple(Column(name.replace(" ", "\n", 1), name) for name in dict.fromkeys(names))
    groups = []
    for size in sorted({cost.curve.bytes for cost in costs}, key=lambda size: (size != REFERENCE_BYTES, size)):
        found = {
            (name, cost.threads): cost for name, cost in zip(names, costs, strict=True) if cost.curve.bytes == size
        }
        rows = tuple(
            Row(str(count), tuple(_cell(found.get((column.name, count))) for column in columns))
            for count in sorted({threads for _, threads in found})
        )
        groups.append(Group(say("threads_report.group_added", size=format_bytes(size)), rows))
    corner = say("threads_report.corner_threads")
    return Grid(say("threads_report.created_grid") + of_run, columns, tuple(groups), corner=corner)


def _names(costs: Sequence[SpawnCost]) -> Iterator[str]:
    """Memory kind and direction of each, and the way to divide the work where there are several."""
    several = len({(cost.curve.slicing, cost.curve.streams) for cost in costs}) > 1
    for cost in costs:
        name = f"{kind_label(cost.curve.host_memory)} {direction_word(cost.curve.direction)}"
        yield say("common.comma").join([name, mode_name(cost.curve)]) if several else name


def _cell(cost: SpawnCost | None) -> Cell:
    if cost is None:
        return missing()
    median, half = cost.seconds.median * 1e6, (cost.seconds.high - cost.seconds.low) / 2 * 1e6
    # A difference can be negative, and its interval wider than itself.
    digits = min(decimals(max(abs(median), half)), 2)
    share = f"{100 * cost.share.median:.1f} %" if cost.has_share else ""
    detail = f"{threads_label(cost.curve.direction, cost.threads)} {share}".strip()
    return Cell(f"{median:.{digits}f}", f"{half:.{digits}f}", detail=detail)


def _key(curve: ThreadCurve) -> tuple[object, ...]:
    return *curve.subject, curve.streams, curve.slicing
