"""What was measured: runs, cases and fingerprints as plain data, their files and their table."""

from isthmus.record.cache import cached_run, joined, keep_run
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
from isthmus.record.fleet import (
    FLEET_FORMAT,
    FLEET_SCHEMA_VERSION,
    Fleet,
    Member,
    Missing,
    Point,
    Summary,
    summaries,
    write_fleet,
)
from isthmus.record.interval import LEAST_SAMPLES, Interval, median_interval
from isthmus.record.memory_kinds import MEMORY_KINDS, MemoryKind, kind_rank, memory_kind
from isthmus.record.need import (
    BufferNeed,
    BufferSource,
    BufferWay,
    ManagedNeed,
    Need,
    OneWay,
    PiecesNeed,
    PiecesSource,
    PipelineNeed,
    SectionNeed,
    Timed,
    buffer_ways_of,
)
from isthmus.record.run import (
    FORMAT,
    PARAMETERS,
    SCHEMA_VERSION,
    Case,
    CommandMetric,
    Direction,
    End,
    Faults,
    Launch,
    LayoutName,
    Metric,
    Migrations,
    Phase,
    Run,
    Series,
    Settings,
    Span,
    StageName,
    Verified,
    case_key,
)
from isthmus.record.store import Header, RunWriter, read_run
from isthmus.record.table import COLUMN_TYPES, columns, rows
from isthmus.record.units import (
    GIB,
    KIB,
    MIB,
    decimal_bytes,
    format_bytes,
    format_rate,
    format_seconds,
    near_bytes,
    parse_bytes,
    parse_seconds,
    parse_share,
    parse_sizes,
    three_figures,
)
