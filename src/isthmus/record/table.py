"""The tidy table of a run: one row a case and metric, with columns in an order that others rely on."""

from collections.abc import Iterable, Iterator

from isthmus.record.interval import median_interval
from isthmus.record.run import Run

# Only ever append: scripts read these by position.
_COLUMNS = (
    *("run", "backend", "device", "experiment", "method", "direction", "host_memory", "bytes", "threads", "streams"),
    *("pieces", "width_bytes", "rows", "pitch_bytes", "stride_bytes", "fraction"),
    *("metric", "unit", "median", "ci_low", "ci_high", "samples", "verified", "note"),
    *("alignment_bytes", "uses", "devices", "target", "peer", "node"),
    *("slices", "slice_pitch_bytes", "device_pitch_bytes", "device_slice_pitch_bytes", "host_layout", "device_layout"),
    *("moved_bytes", "work_ratio", "ranks", "halo", "compiler", "cut"),
    *("blocks", "neighbour", "path", "iterations"),
)

_TEXTS = {
    *("run", "backend", "device", "experiment", "method", "direction", "host_memory", "metric", "unit", "verified"),
    *("note", "target", "peer", "host_layout", "device_layout", "compiler", "cut"),
    *("neighbour", "path"),
}
_FRACTIONS = {"fraction", "median", "ci_low", "ci_high", "work_ratio"}

ColumnType = type[str] | type[int] | type[float]
# In the order of the columns.
COLUMN_TYPES: dict[str, ColumnType] = {
    name: str if name in _TEXTS else float if name in _FRACTIONS else int for name in _COLUMNS
}


def rows(runs: Iterable[Run]) -> Iterator[dict[str, str]]:
    """One dict a row with every column as text, empty where a column does not apply; times in seconds.

    A skipped case is one row with 0 samples, metric ``host_seconds`` and the reason in ``note``.
    """
    for run in runs:
        device = run.fingerprint.device
        for case in run.cases:
            common = {name: _text(getattr(case, name, None)) for name in _COLUMNS}
            common |= {"run": run.run, "backend": device.backend, "device": device.name, "unit": "s"}
            if not case.series:
                yield common | {"metric": "host_seconds", "samples": "0"}
            for series in case.series:
                yield common | _summary(series.metric, series.samples)


def columns(runs: Iterable[Run]) -> dict[str, list[str | int | float | None]]:
    """The same table by columns, numbers as such; None where a column does not apply."""
    table = list(rows(runs))
    return {name: [kind(row[name]) if row[name] else None for row in table] for name, kind in COLUMN_TYPES.items()}


def _summary(metric: str, samples: list[float]) -> dict[str, str]:
    if not samples:
        return {"metric": metric, "samples": "0"}
    interval = median_interval(samples)
    return {
        "metric": metric,
        "median": f"{interval.median:.9g}",
        "ci_low": f"{interval.low:.9g}",
        "ci_high": f"{interval.high:.9g}",
        "samples": str(len(samples)),
    }


def _text(value: object) -> str:
    return "" if value is None or callable(value) else str(value)
