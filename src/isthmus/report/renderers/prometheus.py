"""A fleet as Prometheus takes it from a text file: gauges by host, device and point."""

from collections.abc import Iterator
from typing import TextIO

import msgspec
import numpy as np

from isthmus.document.document import Document
from isthmus.fleet import Survey
from isthmus.messages import plain

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def write(document: Document, out: TextIO) -> None:
    """Write all gauges to `out`, those of one name together."""
    out.writelines(f"{line}\n" for line in _lines(document.subject))


def _lines(survey: Survey) -> Iterator[str]:
    everything = survey.gathered
    # All that tells devices from one another: hosts may share a name, and ranks a device.
    devices = [
        labels_of(
            host=each.host,
            device=each.spec,
            pci_address=each.pci_address,
            card=each.card,
            rank="" if each.rank is None else each.rank,
        )
        for each in everything.devices
    ]
    yield from head("isthmus_fleet_median_seconds", "Median time of one point on one device.")
    for point, row in zip(everything.points, everything.medians, strict=True):
        labels = labels_of(**msgspec.structs.asdict(point) | {"direction": point.direction or ""})
        for place in np.flatnonzero(np.isfinite(row)).tolist():
            yield f"isthmus_fleet_median_seconds{{{devices[place]},{labels}}} {row[place]:.6g}"
    yield from head("isthmus_fleet_lost_ratio", "Largest share of a rate that a slow device loses; 0 of others.")
    lost = {outlier.device: outlier.lost for outlier in survey.outliers}
    for place, device in enumerate(devices):
        yield f"isthmus_fleet_lost_ratio{{{device}}} {lost.get(place, 0):.4g}"
    yield from head("isthmus_fleet_slow_device", "A slow device with its likely cause.")
    for outlier in survey.outliers:
        labels = labels_of(cause=outlier.cause, severity=outlier.severity)
        yield f"isthmus_fleet_slow_device{{{devices[outlier.device]},{labels}}} 1"
    yield from head("isthmus_fleet_wrong_cases", "Points of a device whose data arrived wrong.")
    for labels, each in zip(devices, everything.devices, strict=True):
        yield f"isthmus_fleet_wrong_cases{{{labels}}} {each.wrong}"
    yield from head("isthmus_fleet_missing_ranks", "Ranks without results.")
    yield f"isthmus_fleet_missing_ranks {len(everything.missing)}"


def head(name: str, about: str) -> Iterator[str]:
    """The lines before all gauges of a name."""
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} gauge"


def labels_of(**values: object) -> str:
    """Labels of a gauge, without their braces."""
    return ",".join(f'{name}="{plain(str(value)).translate(_ESCAPES)}"' for name, value in values.items())
