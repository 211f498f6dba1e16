"""A fleet's answer, as a whole and in rows: who is slow, in what, why probably, and how far the fleet is all there."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np

from isthmus.compare import Checkup, Reference
from isthmus.files import read_bounded
from isthmus.fleet.causes import with_causes
from isthmus.fleet.cells import (
    BelowReference,
    CellKey,
    cells_of,
    held_against,
    held_one_by_one,
    residuals,
    typical_times,
)
from isthmus.fleet.contention import Contention, contentions, sharing, with_company, with_neighbours
from isthmus.fleet.gathering import Gathered, gathered
from isthmus.fleet.outliers import MARGIN, Outlier, found_outliers, perhaps_slow
from isthmus.fleet.reading import DeviceRow, Floats
from isthmus.fleet.significance import LEAST_ALIKE, Group, groups_of
from isthmus.grouping import grouped
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


@dataclass(frozen=True)
class Judged:
    """A group with its typical seconds a point and, a row a cell and a column a member, how far each is from them.

    `ratios` are logarithms; `judged` has the places of members with some kind of transfer which enough others have;
    `checkup` holds the typical device against the reference, where one was given, and `below` has the devices that are
    slower than that expects, the slowest first. `contentions` are what its devices lose together with others.
    """

    group: Group
    typical: Floats
    ratios: Floats
    judged: tuple[int, ...]
    checkup: Checkup | None
    below: list[BelowReference]
    contentions: list[Contention]


@dataclass(frozen=True)
class Survey:
    """Everything that a report of a fleet shows. Outliers come with the largest loss first."""

    gathered: Gathered
    margin: float
    cells: dict[CellKey, list[int]]
    groups: list[Judged]
    outliers: list[Outlier]
    # Devices that lose much in so few kinds, or among so few, that this may be chance.
    perhaps: list[Outlier]
    reference: Reference | None

    @cached_property
    def hosts(self) -> dict[str, list[int]]:
        """The places of the devices of each machine, by its name, in their order."""
        devices = self.gathered.devices
        return grouped(range(len(devices)), lambda place: devices[place].machine)

    @cached_property
    def suspects(self) -> list[str]:
        """Names of hosts with something to look into, worst first.

        Data that arrived wrong, ranks without results, slow devices, and devices that lack what most have.
        """
        # Ranks that shared a device say nothing of the host.
        slow = [each.device for each in self.outliers if each.cause != "sharing"] + [each.device for each in self.below]
        missing = [each.host for each in self.gathered.missing if each.host]
        wrong, rest = self._hosts_of(self.wrong), self._hosts_of([*slow, *self.lacking])
        return list(dict.fromkeys([*wrong, *missing, *rest]))

    def _hosts_of(self, places: Sequence[int]) -> list[str]:
        return [self.gathered.devices[place].host for place in places]

    @cached_property
    def below(self) -> list[BelowReference]:
        """Devices that are slower than the reference expects, the slowest first."""
        return sorted((each for judged in self.groups for each in judged.below), key=lambda each: -each.lost)

    @property
    def passes(self) -> bool:
        """Whether everything was measured and nothing of it is slow or wrong."""
        everything = self.gathered
        failures = [self.outliers, self.wrong, everything.missing, everything.partial, self.lacking, self.below]
        return not any(failures) and not self.below_reference

    @cached_property
    def short_hosts(self) -> dict[str, int]:
        """Hosts with fewer devices than most, and how many they have."""
        counts = {host: len(self._physical(places)) for host, places in self.hosts.items()}
        usual = Counter(counts.values()).most_common(1)[0][0]
        return {host: count for host, count in counts.items() if count < usual}

    @cached_property
    def versions(self) -> Counter[str]:
        """How many devices were measured by each version of Isthmus."""
        return Counter(device.fact("version") for device in self.gathered.devices)

    @property
    def wrong(self) -> list[int]:
        """The places of devices whose data arrived wrong somewhere."""
        return [place for place, device in enumerate(self.gathered.devices) if device.wrong]

    @cached_property
    def lacking(self) -> list[int]:
        """The places of devices without a kind of transfer that most of their like have: skipped, or cut off."""
        lacking: list[int] = []
        for each in self.groups:
            known = np.isfinite(each.ratios)
            usual = known.mean(axis=1) > 1 / 2
            short = ~known[usual].all(axis=0)
            lacking += [each.group.members[column] for column in np.flatnonzero(short).tolist()]
        return sorted(lacking)

    @property
    def by_reference(self) -> bool:
        """Whether the typical device of a group was held against a reference."""
        return any(each.checkup for each in self.groups)

    @property
    def unjudged(self) -> int:
        """How many devices have too few of their kind to be held against."""
        return self.count - len(self._physical(place for each in self.groups for place in each.judged))

    @cached_property
    def count(self) -> int:
        """How many devices there are; one that several interfaces or ranks measured is one."""
        return len(self._physical(range(len(self.gathered.devices))))

    def _physical(self, places: Iterable[int]) -> set[tuple[str, str]]:
        return {self.gathered.devices[place].physical for place in places}

    @property
    def below_reference(self) -> bool:
        """Whether the typical device of a group is slower than the reference expects."""
        return any(each.checkup is not None and not each.checkup.right for each in self.groups)


def survey(places: Sequence[Path], *, margin: float = MARGIN, reference: Reference | None = None) -> Survey:
    """Read these files and folders, and judge every device by its like.

    Raises UsageError where there is nothing to read, RunFileError where a file that was named cannot be.
    """
    everything = gathered(places)
    cells = cells_of(everything.points)
    judged = []
    outliers: list[Outlier] = []
    perhaps: list[Outlier] = []
    shared = sharing(everything.devices)
    accompanied = with_company(everything, cells) - shared
    for group in groups_of(everything.devices):
        members = np.array(group.members, np.intp)
        typical = typical_times(everything.medians, members)
        ratios = residuals(everything.medians, typical, members, list(cells.values()))
        checkup, below = None, []
        if reference is not None:
            fingerprint = everything.devices[group.members[0]].fingerprint
            checkup = held_against(reference, fingerprint, everything.points, typical)
            below = held_one_by_one(checkup, list(cells), ratios, group.members, margin) if checkup else []
        common = np.isfinite(ratios[np.isfinite(ratios).sum(axis=1) >= LEAST_ALIKE]).any(axis=0)
        judged_members = tuple(group.members[column] for column in np.flatnonzero(common).tolist())
        if judged_members:
            all_outliers = found_outliers(ratios, list(cells), group.members, margin)
            perhaps += perhaps_slow(ratios, list(cells), group.members, all_outliers)
            all_outliers = with_neighbours(all_outliers, everything.devices, shared)
            outliers += with_causes(all_outliers, group, everything.devices, shared)
        lost = contentions(everything, cells, [place for place in group.members if place in accompanied])
        judged.append(Judged(group, typical, ratios.astype(np.float32), judged_members, checkup, below, lost))
    outliers = _one_a_device(outliers, everything.devices)
    slow = {everything.devices[outlier.device].physical for outlier in outliers}
    perhaps = [
        each
        for each in _one_a_device(perhaps, everything.devices)
        if everything.devices[each.device].physical not in slow
    ]
    return Survey(everything, margin, cells, judged, outliers, perhaps, reference)


def _one_a_device(outliers: Iterable[Outlier], devices: Sequence[DeviceRow]) -> list[Outlier]:
    """Those with the largest loss first, and of a device that several ranks or interfaces measured the first alone."""
    kept: dict[tuple[str, str], Outlier] = {}
    for outlier in sorted(outliers, key=lambda outlier: -outlier.lost):
        kept.setdefault(devices[outlier.device].physical, outlier)
    return list(kept.values())


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
