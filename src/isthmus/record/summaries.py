"""From a run with all its samples to what a fleet keeps of it: a summary a point."""

from collections.abc import Sequence

import msgspec

from isthmus.record.fleet import Point, Summary
from isthmus.record.run import Case, Run

# Parameters that a point has by name, and what came of the case; all others are named in its text.
_NAMED = {"experiment", "method", "host_memory", "direction", "bytes"}
_RESULTS = {"series", "verified", "skipped", "note", "migrations", "faults", "spans", "moved_bytes"}
_FURTHER = tuple(field.name for field in msgspec.structs.fields(Case) if field.name not in _NAMED | _RESULTS)
_PLAIN = Case(experiment="", method="", host_memory="", bytes=0)


def summaries(run: Run) -> dict[Point, Summary]:
    """A summary of every case of the run, of its time on the host, or of the first that was taken where that was not.

    Times have five significant digits, a hundredth of what a median is known to. A run that no launcher started was
    measured alone.
    """
    return {_point(run, case): _summary(case) for case in run.cases}


def _point(run: Run, case: Case) -> Point:
    further = ((name, getattr(case, name)) for name in _FURTHER)
    return Point(
        phase=run.launch.phase if run.launch else "alone",
        experiment=case.experiment,
        method=case.method,
        host_memory=case.host_memory,
        direction=case.direction,
        bytes=case.bytes,
        metric="host_seconds" if case.samples("host_seconds") or not case.series else case.series[0].metric,
        parameters=" ".join(f"{name}={value}" for name, value in further if value != getattr(_PLAIN, name)),
    )


def _summary(case: Case) -> Summary:
    samples = sorted(case.samples("host_seconds") or (case.series[0].samples if case.series else ()))
    if not samples:
        return Summary(samples=0, verified=case.verified, note=case.note)
    least, lower, median, upper, most = (_quantile(samples, quarter / 4) for quarter in range(5))
    return Summary(
        samples=len(samples),
        least=least,
        lower_quartile=lower,
        median=median,
        upper_quartile=upper,
        most=most,
        verified=case.verified,
        note=case.note,
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Between the two samples that it falls between, in proportion."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    value = ordered[below] + (place - below) * (ordered[above] - ordered[below])
    return float(f"{value:.5g}")
