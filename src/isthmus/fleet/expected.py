"""The typical device of a group held against a reference: whether the whole fleet is slow, which no outlier shows."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from isthmus.compare import PREFIX, Checkup, Reference, check, made_reference, read_reference
from isthmus.errors import UsageError
from isthmus.fleet.reading import Floats, run_of
from isthmus.record import Case, Point, Run, Series, read_run

__all__ = ["chosen_reference", "held_against"]


def chosen_reference(name: str) -> Reference:
    """The reference of this name after ``reference:``, or one that a run file makes.

    Raises UsageError for an unknown name, RunFileError for a file that is no run.
    """
    if name.startswith(PREFIX):
        return read_reference(name.removeprefix(PREFIX))
    return made_reference(Path(name).name, [read_run(Path(name))])


def held_against(reference: Reference, fingerprint: bytes, points: Sequence[Point], typical: Floats) -> Checkup | None:
    """A checkup of typical times as one run, measured alone; None where the reference has no figure of them."""
    cases = [
        Case(
            experiment=point.experiment,
            method=point.method,
            host_memory=point.host_memory,
            bytes=point.bytes,
            direction=point.direction,
            series=[Series(metric=point.metric, samples=[float(seconds)])],
        )
        for point, seconds in zip(points, typical, strict=True)
        if point.phase == "alone" and np.isfinite(seconds)
    ]
    run: Run = msgspec.structs.replace(run_of(fingerprint), run="fleet", cases=_as_in(reference, cases))
    try:
        return check(reference, run)
    except UsageError:
        return None


def _as_in(reference: Reference, cases: Sequence[Case]) -> list[Case]:
    """Cases with the alignment that the reference's have, which points do not tell."""
    usual = {case.alignment_bytes for case in reference.run.cases if case.experiment == "bandwidth"}
    alignment = usual.pop() if len(usual) == 1 else None
    return [
        msgspec.structs.replace(case, alignment_bytes=alignment) if case.experiment == "bandwidth" else case
        for case in cases
    ]
