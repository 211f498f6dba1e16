"""Every figure of a fleet as one row: read from the files again, so that no fleet is too large for it."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec

from isthmus.files import read_bounded
from isthmus.fleet.reading import DeviceRow
from isthmus.fleet.survey import Survey
from isthmus.record import FLEET_FORMAT, Fleet, Point, Summary, read_run, summaries

# Only ever append: scripts read these by position. `times_typical` is the median over that of the device's group.
FLEET_COLUMNS: dict[str, type] = {
    **dict.fromkeys(("host", "device", "device_name", "pci_address"), str),
    "rank": int,
    **dict.fromkeys(("phase", "experiment", "method", "direction", "host_memory"), str),
    "bytes": int,
    **dict.fromkeys(("metric", "unit"), str),
    "samples": int,
    **dict.fromkeys(("least", "lower_quartile", "median", "upper_quartile", "most", "times_typical"), float),
    **dict.fromkeys(("verified", "note", "parameters"), str),
}

Row = dict[str, str | int | float | None]


def fleet_rows(survey: Survey) -> Iterator[Row]:
    """The rows, a file after the other; None where a column does not apply, times in seconds."""
    rows = {point: row for row, point in enumerate(survey.gathered.points)}
    groups = {place: judged for judged in survey.groups for place in judged.group.members}
    files: dict[Path, list[tuple[int, DeviceRow]]] = defaultdict(list)
    for place, device in (*enumerate(survey.gathered.devices), *survey.gathered.further):
        files[device.path].append((place, device))
    for path, devices in files.items():
        all_pairs = _pairs(path, [device for _, device in devices])
        for (place, device), pairs in zip(devices, all_pairs, strict=True):
            typical = groups[place].typical
            for point, summary in pairs:
                usual = float(typical[rows[point]]) if point in rows else 0.0
                times = summary.median / usual if summary.samples and usual > 0 else None
                yield _row(device, point, summary, times)


def _pairs(path: Path, devices: list[DeviceRow]) -> Iterator[list[tuple[Point, Summary]]]:
    """The points of each of these devices of a file, with what is known of them."""
    if devices[0].member is None:
        yield list(summaries(read_run(path)).items())
        return
    fleet = msgspec.json.decode(read_bounded(path), type=Fleet)
    assert fleet.format == FLEET_FORMAT
    for device in devices:
        assert device.member is not None
        yield list(zip(fleet.points, fleet.members[device.member].summaries, strict=False))


def _row(device: DeviceRow, point: Point, summary: Summary, times_typical: float | None) -> Row:
    known = msgspec.structs.asdict(point) | msgspec.structs.asdict(summary)
    if not summary.samples:
        known |= dict.fromkeys(("least", "lower_quartile", "median", "upper_quartile", "most"))
    known |= {
        "host": device.host,
        "device": device.spec,
        "device_name": device.fact("device"),
        "pci_address": device.pci_address,
        "rank": device.rank,
        "direction": point.direction or "",
        "unit": "s",
        "times_typical": times_typical,
    }
    return {name: known[name] for name in FLEET_COLUMNS}
