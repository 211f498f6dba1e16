"""How much slower than its like each device is, by kind of transfer: the sizes of a kind taken together.

A device's times of one size vary by a few per cent from one measurement to the next; the middle one of many sizes
hardly does, so that kinds tell slow devices from unlucky ones where single sizes do not.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from isthmus.compare import (
    PREFIX,
    Checkup,
    GroupKey,
    Reference,
    check,
    group_key,
    known_references,
    made_reference,
    read_reference,
)
from isthmus.errors import UsageError
from isthmus.fleet.reading import Floats, run_of
from isthmus.record import Case, Phase, Point, Run, Series, memory_kind, read_run

# What machines of one kind differ by, as far as is known before looking: what the link bounds little, what CPUs and
# their neighbours bound much (docs/statistics.md).
_BY_LINK, _BY_OTHERS = 0.03, 0.10


class CellKey(NamedTuple):
    """A kind of transfer, alone or together with the other devices of the host."""

    phase: Phase
    kind: GroupKey


def cells_of(points: Sequence[Point]) -> dict[CellKey, list[int]]:
    """The places of the points of each kind, in the order of the points."""
    cells: dict[CellKey, list[int]] = defaultdict(list)
    for place, point in enumerate(points):
        cells[CellKey(point.phase, group_key(case_of(point)))].append(place)
    return dict(cells)


def case_of(point: Point, seconds: Sequence[float] = ()) -> Case:
    """The case of a point, with these samples if any."""
    return Case(
        experiment=point.experiment,
        method=point.method,
        host_memory=point.host_memory,
        bytes=point.bytes,
        direction=point.direction,
        series=[Series(metric=point.metric, samples=list(seconds))] if seconds else [],
    )


def unseen_spread(kind: GroupKey) -> float:
    """The standard deviation of a kind's times between machines before one has looked at any."""
    return _BY_LINK if is_link_bound(kind) else _BY_OTHERS


def is_link_bound(kind: GroupKey) -> bool:
    """Whether the link is the limit, rather than what CPUs copy, pages that move, or the calls."""
    return kind.size == "large" and memory_kind(kind.host_memory).link_bound


def typical_times(medians: Floats, members: npt.NDArray[np.intp]) -> Floats:
    """The median over these devices of each point; NaN where none of them has it."""
    return np.array([_median(row[members]) for row in medians], np.float32)


def residuals(
    medians: Floats, typical: Floats, members: npt.NDArray[np.intp], cells: Sequence[Sequence[int]]
) -> npt.NDArray[np.float64]:
    """For each cell and device the logarithm of its times over the typical ones: the median over the cell's points.

    NaN for devices that have less than half of the points which the fleet has.
    """
    values = np.full((len(cells), len(members)), np.nan)
    for row, places in enumerate(cells):
        known = [place for place in places if np.isfinite(typical[place])]
        if not known:
            continue
        ratios = np.stack([np.log(medians[place][members] / typical[place]) for place in known], axis=1)
        ratios.sort(axis=1)  # NaN comes last.
        counts = np.isfinite(ratios).sum(axis=1)
        enough = 2 * counts >= len(known)
        each = np.arange(len(members))
        below, above = np.maximum(counts - 1, 0) // 2, np.minimum(counts // 2, len(known) - 1)
        middle = (ratios[each, below] + ratios[each, above]) / 2
        values[row] = np.where(enough, middle, np.nan)
    return values


def _median(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else np.nan


@dataclass(frozen=True)
class BelowReference:
    """A device, by its place in the fleet, and the share of the expected rate that it loses in its worst kind."""

    device: int
    kind: GroupKey
    lost: float


def chosen_reference(name: str) -> Reference:
    """The reference of this name, after ``reference:`` or alone, or one that a run file makes.

    Raises UsageError for an unknown name, RunFileError for a file that is no run.
    """
    if name.startswith(PREFIX) or name in known_references():
        return read_reference(name)
    return made_reference(Path(name).name, [read_run(Path(name))])


def held_against(reference: Reference, fingerprint: bytes, points: Sequence[Point], typical: Floats) -> Checkup | None:
    """A checkup of typical times as one run, measured alone; None where the reference has no figure of them."""
    cases = [
        case_of(point, [float(seconds)])
        for point, seconds in zip(points, typical, strict=True)
        if point.phase == "alone" and np.isfinite(seconds)
    ]
    run: Run = msgspec.structs.replace(run_of(fingerprint), run="fleet", cases=_as_in(reference, cases))
    try:
        return check(reference, run)
    except UsageError:
        return None


def held_one_by_one(
    checkup: Checkup, cells: Sequence[CellKey], ratios: npt.NDArray[np.float64], members: Sequence[int], margin: float
) -> list[BelowReference]:
    """The devices of a group with a settled rate alone below the expected range, and by more than the margin.

    `ratios` has a row a cell and a column for each of `members`: logarithms of times over the typical ones, of which
    `checkup` knows how they compare with the reference.
    """
    worst: dict[int, BelowReference] = {}
    rows = {cell.kind: row for row, cell in enumerate(cells) if cell.phase == "alone"}
    for figure in checkup.figures:
        expected = figure.expected
        if expected.quantity != "rate" or expected.key not in rows:
            continue
        rates = figure.value * np.exp(-ratios[rows[expected.key]])
        low = min(expected.low, (1 - margin) * expected.typical)
        # NaN is below nothing.
        for column in np.flatnonzero(rates < low).tolist():
            lost = 1 - float(rates[column]) / expected.typical
            before = worst.get(members[column])
            if before is None or lost > before.lost:
                worst[members[column]] = BelowReference(members[column], expected.key, lost)
    return sorted(worst.values(), key=lambda each: -each.lost)


def _as_in(reference: Reference, cases: Sequence[Case]) -> list[Case]:
    """Cases with the alignment that the reference's have, which points do not tell."""
    usual = {case.alignment_bytes for case in reference.run.cases if case.experiment == "bandwidth"}
    alignment = usual.pop() if len(usual) == 1 else None
    return [
        msgspec.structs.replace(case, alignment_bytes=alignment) if case.experiment == "bandwidth" else case
        for case in cases
    ]
