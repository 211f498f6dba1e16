"""One fleet file or run file as rows of devices: who they are, and the median of every point."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from isthmus.compare import facts
from isthmus.errors import RunFileError, as_text
from isthmus.files import read_bounded
from isthmus.own_files import mixed_up
from isthmus.record import (
    FLEET_FORMAT,
    FLEET_SCHEMA_VERSION,
    FORMAT,
    SCHEMA_VERSION,
    End,
    Fingerprint,
    Header,
    Launch,
    Missing,
    Point,
    Run,
    Summary,
    read_run,
    summaries,
)

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class DeviceRow:
    """One device of one file.

    `facts` are what can explain a figure, but for what differs from device to device anyway. `fingerprint` is kept as
    the bytes of its JSON, which take a fifth of the memory. `wrong` counts points whose data arrived wrong.
    """

    host: str
    spec: str
    # What tells the devices of a host from one another: a process that sees one of eight calls it 0.
    card: str
    pci_address: str
    created: str
    facts: tuple[tuple[str, str], ...]
    fingerprint: bytes
    device_node: int | None
    bound_node: int | None
    rank: int | None
    # The launch that it was measured in, empty of a run file by itself; how many ranks that had, 0 where unknown;
    # and the lowest rank on the same machine, since names of hosts may repeat.
    fleet: str
    ranks: int
    node: int | None
    path: Path
    # Its place among the members of a fleet file; None of a run file.
    member: int | None
    wrong: int
    # Counts the machines of one name from 0.
    twin: int = 0

    @property
    def machine(self) -> str:
        """The host's name, with a number where another machine has the same."""
        return f"{self.host} #{self.twin + 1}" if self.twin else self.host

    @property
    def physical(self) -> tuple[str, str]:
        """The same for one device that several interfaces, or several ranks, measured; parts of a card are devices."""
        is_part = self.card.startswith("MIG") or "MIG" in self.fact("device")
        return self.machine, self.card if is_part else self.pci_address or self.card

    def fact(self, topic: str) -> str:
        """The value of a topic of `facts`; empty where unknown."""
        return dict(self.facts).get(topic, "")


@dataclass(frozen=True)
class FilePart:
    """A file's devices and their medians, a row a device and a column a point; NaN where there is none."""

    points: tuple[Point, ...]
    devices: list[DeviceRow]
    medians: Floats
    missing: list[Missing]
    run_files: frozenset[str]
    # What the launch noticed that does not fit together.
    notes: tuple[str, ...] = ()


class _Summary(msgspec.Struct, array_like=True, gc=False):
    """As `Summary`, up to its median: a large fleet has a hundred million, and reading the rest takes longer."""

    samples: int
    least: float = 0.0
    lower_quartile: float = 0.0
    median: float = 0.0


class _Checked(msgspec.Struct):
    summaries: list[Summary]


class _CheckedFleet(msgspec.Struct):
    """The same, whole: for files in which some data arrived wrong."""

    members: list[_Checked]


class _Member(msgspec.Struct):
    fingerprint: msgspec.Raw
    summaries: list[_Summary]
    rank: int | None = None
    run_file: str = ""
    node: int | None = None
    bound_node: int | None = None


class _Fleet(msgspec.Struct):
    format: str
    schema_version: int
    created: str
    points: msgspec.Raw
    members: list[_Member]
    fleet: str = ""
    missing: list[Missing] = []
    notes: list[str] = []


# What differs from device to device of any host, and what is no property of a machine.
OF_ONE = {"card", "device_node", "placement", "schema", "mode"}


class Reader:
    """Reads files one after the other and keeps what many of them share once."""

    def __init__(self) -> None:
        self._points: dict[bytes, tuple[Point, ...]] = {}
        self._facts: dict[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]] = {}

    def read(self, path: Path) -> FilePart:
        """The devices of a file.

        Raises RunFileError for a file that is unreadable, damaged, of another program or of a newer version.
        """
        data = read_bounded(path)
        try:
            fleet = msgspec.json.decode(data, type=_Fleet)
        except msgspec.DecodeError as error:
            return self._other(path, data, error)
        if fleet.format != FLEET_FORMAT or fleet.schema_version > FLEET_SCHEMA_VERSION:
            return self._other(path, data, None)
        return self._fleet_file(path, fleet, _wrong(path, data))

    def _other(self, path: Path, data: bytes, why: msgspec.DecodeError | None) -> FilePart:
        """A run file, or what is wrong with one that is no fleet file."""
        if mixed := mixed_up(path, data, "fleet or run file", "fleet", "run"):
            raise RunFileError(mixed)
        try:
            header = msgspec.json.decode(data, type=Header)
        except msgspec.DecodeError as error:
            raise RunFileError(
                f"{path}: neither a fleet file nor a run file: {error}; expected JSON with format "
                f"{FLEET_FORMAT!r} or {FORMAT!r}"
            ) from error
        if header.format == FORMAT:
            return self._run(path, read_run(path))
        if header.format != FLEET_FORMAT:
            raise RunFileError(f"{path}: {header.words}; expected {FLEET_FORMAT!r} or {FORMAT!r}")
        header.check_version(path, FLEET_SCHEMA_VERSION)
        assert why is not None
        raise header.misfit(path, why) from why

    def _fleet_file(self, path: Path, fleet: _Fleet, wrong: dict[int, list[int]]) -> FilePart:
        """The members of a fleet file; `wrong` names the points of a member whose data arrived wrong."""
        raw = bytes(fleet.points)
        if raw not in self._points:
            try:
                self._points[raw] = tuple(msgspec.json.decode(raw, type=list[Point]))
            except msgspec.ValidationError as error:
                raise RunFileError(f"{path}: points are not as the schema says: {error}") from error
        points = self._points[raw]
        medians = np.full((len(fleet.members), len(points)), np.nan, np.float32)
        devices = []
        for place, member in enumerate(fleet.members):
            summaries = member.summaries
            if len(summaries) > len(points):
                raise RunFileError(
                    f"{path}: member {place} has {len(summaries)} summaries for {len(points)} points; "
                    "the file is damaged: copy it again"
                )
            # Values that are not times, such as 1e300, are sorted out below.
            with np.errstate(over="ignore"):
                medians[place, : len(summaries)] = [each.median for each in summaries]
            failed = wrong.get(place, [])
            medians[place, failed] = np.nan
            devices.append(self._row(path, place, member, fleet.created, len(failed), fleet.fleet, 0))
        # Without samples the median is 0; and nothing takes less than that but in a file that was edited.
        medians[~(medians > 0) | ~np.isfinite(medians)] = np.nan
        run_files = frozenset(Path(member.run_file).name for member in fleet.members if member.run_file)
        return FilePart(points, devices, medians, fleet.missing, run_files, tuple(fleet.notes))

    def _run(self, path: Path, run: Run) -> FilePart:
        """A run file as a device: what a rank measured in one phase, or what was measured alone."""
        part = summaries(run)
        launch = run.launch or Launch(fleet="", phase="alone", rank=0, ranks=0, local_rank=0, node=0)
        member = _Member(
            msgspec.Raw(msgspec.json.encode(run.fingerprint)),
            [_Summary(each.samples) for each in part.values()],
            rank=run.launch.rank if run.launch else None,
            node=run.launch.node if run.launch else None,
            bound_node=run.end.placement.bound_node if run.end and run.end.placement else None,
        )
        wrong = sum(each.verified == "no" for each in part.values())
        row = self._row(path, None, member, run.created, wrong, launch.fleet, launch.ranks)
        notes = (f"{row.host} {row.spec}: {run.end.note}",) if run.end and run.end.note else ()
        times = [each.median if each.verified != "no" and each.median > 0 else np.nan for each in part.values()]
        return FilePart(tuple(part), [row], np.array([times], np.float32).reshape(1, len(part)), [], frozenset(), notes)

    def _row(
        self, path: Path, place: int | None, member: _Member, created: str, wrong: int, fleet: str, ranks: int
    ) -> DeviceRow:
        raw = bytes(member.fingerprint)
        try:
            run = run_of(raw)
        except msgspec.ValidationError as error:
            raise RunFileError(
                f"{path}: the fingerprint of member {place} is not as the schema says: {error}"
            ) from error
        device, host = run.fingerprint.device, run.fingerprint.host
        known = facts(run, device.conditions.keys())
        shared = tuple((topic, value) for topic, value in known.items() if topic not in OF_ONE)
        return DeviceRow(
            # In parentheses, which no name of a host has, so that no tool of a cluster is given it.
            host=host.name or f"({as_text(path.name)})",
            spec=device.spec,
            card=device.uuid or device.pci_address or device.spec,
            pci_address=device.pci_address,
            created=created,
            facts=self._facts.setdefault(shared, shared),
            fingerprint=raw,
            device_node=device.numa_node,
            bound_node=member.bound_node,
            rank=member.rank,
            fleet=fleet,
            ranks=ranks,
            node=member.node,
            path=path,
            member=place,
            wrong=wrong,
        )


def _wrong(path: Path, data: bytes) -> dict[int, list[int]]:
    """The places of members of a fleet file, with those of their points whose data arrived wrong."""
    if b'"no"' not in data:
        return {}
    try:
        members = msgspec.json.decode(data, type=_CheckedFleet).members
    except msgspec.DecodeError as error:
        raise Header(FLEET_FORMAT, FLEET_SCHEMA_VERSION).misfit(path, error) from error
    wrong = {
        place: [at for at, each in enumerate(member.summaries) if each.verified == "no"]
        for place, member in enumerate(members)
    }
    return {place: points for place, points in wrong.items() if points}


@lru_cache(maxsize=4096)
def run_of(fingerprint: bytes) -> Run:
    """A run without cases on this fingerprint, as what compares machines takes them; decoded once for most fleets.

    Raises msgspec.ValidationError for anything but a fingerprint.
    """
    return Run(
        format=FORMAT,
        schema_version=SCHEMA_VERSION,
        run="",
        created="",
        fingerprint=msgspec.json.decode(fingerprint, type=Fingerprint),
        end=End(status="complete"),
    )
