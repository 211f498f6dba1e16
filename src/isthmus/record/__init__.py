"""What was measured: runs, cases and fingerprints as plain data, their files and their table."""

from isthmus.record.fingerprint import (
    Backend,
    Cpu,
    Device,
    Fingerprint,
    Host,
    Limits,
    Link,
    Memory,
    NumaNode,
    Placement,
)
from isthmus.record.interval import LEAST_SAMPLES, Interval, median_interval
from isthmus.record.run import FORMAT, SCHEMA_VERSION, Case, Direction, End, Metric, Run, Series, Settings, Verified
from isthmus.record.store import RunWriter, read_run
from isthmus.record.table import COLUMNS, rows
from isthmus.record.units import GIB, KIB, MIB, format_bytes, format_rate, format_seconds, parse_bytes, parse_sizes

__all__ = [
    "COLUMNS",
    "FORMAT",
    "GIB",
    "KIB",
    "LEAST_SAMPLES",
    "MIB",
    "SCHEMA_VERSION",
    "Backend",
    "Case",
    "Cpu",
    "Device",
    "Direction",
    "End",
    "Fingerprint",
    "Host",
    "Interval",
    "Limits",
    "Link",
    "Memory",
    "Metric",
    "NumaNode",
    "Placement",
    "Run",
    "RunWriter",
    "Series",
    "Settings",
    "Verified",
    "format_bytes",
    "format_rate",
    "format_seconds",
    "median_interval",
    "parse_bytes",
    "parse_sizes",
    "read_run",
    "rows",
]
