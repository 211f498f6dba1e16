"""What many devices measured, as summaries: small enough for ten thousand nodes in one report.

Raw samples stay in the run files that each rank writes; a fleet file says which.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from isthmus.errors import RunFileError
from isthmus.files import write_whole
from isthmus.record.fingerprint import Fingerprint
from isthmus.record.run import PARAMETERS, Case, Count, Direction, Metric, Phase, Run, Seconds, Verified

FLEET_FORMAT = "isthmus.fleet"
FLEET_SCHEMA_VERSION = 1

# Parameters that a point has by name; all others are named in its text.
_NAMED = {"experiment", "method", "host_memory", "direction", "bytes"}
_FURTHER = tuple(name for name in PARAMETERS if name not in _NAMED)
_PLAIN = Case(experiment="", method="", host_memory="", bytes=0)


class Point(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was measured; the parameters are those of a `Case`, further ones in `parameters` as ``pieces=64 rows=4``."""

    phase: Phase
    experiment: str
    method: str
    host_memory: str
    direction: Direction | None = None
    bytes: Count = 0
    metric: Metric = "host_seconds"
    parameters: str = ""


class Summary(msgspec.Struct, frozen=True, array_like=True):
    """Samples of one point on one device: how many, and their quantiles in seconds; none of a case that was skipped."""

    samples: Count
    least: Seconds = 0.0
    lower_quartile: Seconds = 0.0
    median: Seconds = 0.0
    upper_quartile: Seconds = 0.0
    most: Seconds = 0.0
    verified: Verified = "n/a"
    note: str = ""


class Member(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One device that was measured, on the host of its fingerprint."""

    fingerprint: Fingerprint
    # As the launcher numbers processes: of all, and of the host; None where there was no launcher.
    rank: Count | None = None
    local_rank: Count | None = None
    # The lowest rank on the same machine, since names of hosts may repeat.
    node: Count | None = None
    # One for each of the fleet's points, in their order; fewer where it ended before.
    summaries: list[Summary]
    # The rank's own run files, with all samples; the last of them where there are several.
    run_file: str = ""
    placement: str = ""
    # Where threads and memory were bound; None where they were not, or where unknown.
    bound_node: Count | None = None


class Missing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rank without results, or without those of its last phase, and why."""

    rank: Count
    host: str = ""
    why: str


class Fleet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A fleet file. `fleet` names it, `created` is UTC in ISO 8601."""

    format: str
    schema_version: Annotated[int, msgspec.Meta(ge=1)]
    fleet: str
    created: str
    command: list[str] = []
    points: list[Point]
    members: list[Member]
    missing: list[Missing] = []
    # What does not fit together: ranks that share a device, several versions of the package.
    notes: list[str] = []


def write_fleet(path: Path, fleet: Fleet, members: Iterable[Member]) -> None:
    """Write a fleet with these members in place of its own, one by one: a large fleet has millions of points.

    The file is there when it is whole.

    A name that ends in ``.gz`` is compressed. Raises RunFileError where the file cannot be written.
    """
    try:
        with write_whole(path, packed=path.suffix == ".gz") as file:
            fields = msgspec.to_builtins(fleet)
            del fields["members"]
            file.write(msgspec.json.encode(fields)[:-1] + b',"members":[\n')
            separator = b""
            for member in members:
                file.write(separator + msgspec.json.encode(member))
                separator = b",\n"
            file.write(b"\n]}\n")
    except OSError as error:
        raise RunFileError(
            f"{path}: cannot be written: {error.strerror or error}; name another place with -o"
        ) from error


def summaries(run: Run) -> dict[Point, Summary]:
    """A summary of every case: of its host time, or of its first metric where that was not taken.

    Times have five significant digits. A run that no launcher started was measured alone.
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
    return Summary(len(samples), least, lower, median, upper, most, case.verified, case.note)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Between the two samples that it falls between, in proportion."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    value = ordered[below] + (place - below) * (ordered[above] - ordered[below])
    return float(f"{value:.5g}")
