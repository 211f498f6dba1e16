"""What many devices measured, as summaries: small enough for ten thousand nodes in one report. Plain data.

Raw samples stay in the run files that each rank writes; a fleet file says which.
"""

from typing import Annotated

import msgspec

from isthmus.record.fingerprint import Fingerprint
from isthmus.record.run import Direction, Metric, Phase, Verified

FLEET_FORMAT = "isthmus.fleet"
FLEET_SCHEMA_VERSION = 1

_Count = Annotated[int, msgspec.Meta(ge=0)]
_Seconds = Annotated[float, msgspec.Meta(ge=0)]


class Point(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was measured; the parameters are those of a `Case`, further ones in `parameters` as ``pieces=64 rows=4``."""

    phase: Phase
    experiment: str
    method: str
    host_memory: str
    direction: Direction | None = None
    bytes: _Count = 0
    metric: Metric = "host_seconds"
    parameters: str = ""


class Summary(msgspec.Struct, frozen=True, array_like=True):
    """Samples of one point on one device: how many, and their quantiles in seconds; none of a case that was skipped."""

    samples: _Count
    least: _Seconds = 0.0
    lower_quartile: _Seconds = 0.0
    median: _Seconds = 0.0
    upper_quartile: _Seconds = 0.0
    most: _Seconds = 0.0
    verified: Verified = "n/a"
    note: str = ""


class Member(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One device that was measured, on the host of its fingerprint."""

    fingerprint: Fingerprint
    # As the launcher numbers processes: of all, and of the host; None where there was no launcher.
    rank: _Count | None = None
    local_rank: _Count | None = None
    # The lowest rank on the same machine, since names of hosts may repeat.
    node: _Count | None = None
    # Of each of the fleet's points, in their order; shorter where it ended before.
    summaries: list[Summary]
    # The rank's own run files, with all samples; the last of them where there are several.
    run_file: str = ""
    placement: str = ""
    # Where threads and memory were bound; None where they were not, or where nobody knows.
    bound_node: _Count | None = None


class Missing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rank without results, or without those of its last phase, and why."""

    rank: _Count
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
