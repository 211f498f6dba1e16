"""The typical device of a group held against a reference: whether the whole fleet is slow, which no outlier shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from isthmus.compare import (
    PREFIX,
    Checkup,
    GroupKey,
    Reference,
    check,
    known_references,
    made_reference,
    read_reference,
)
from isthmus.errors import UsageError
from isthmus.fleet.cells import CellKey, case_of
from isthmus.fleet.reading import Floats, run_of
from isthmus.record import Case, Point, Run, read_run


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
