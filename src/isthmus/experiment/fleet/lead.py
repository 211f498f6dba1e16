"""Rank 0 of a fleet: gives the orders, takes the reports in, and writes the fleet file with whatever came."""

import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from isthmus.experiment.fleet import reports as fleet_reports
from isthmus.experiment.fleet.reports import Report
from isthmus.experiment.fleet.schedule import Order, Schedule
from isthmus.experiment.mpi.mailbox import Mailbox
from isthmus.experiment.mpi.ranks import Ranks
from isthmus.grouping import grouped
from isthmus.record import Fleet, Member, Missing, Point, Summary, write_fleet

# Until all ranks that are there have heard that it is over.
_FAREWELL_SECONDS = 5.0
_NAP_SECONDS = 0.01


class Joined(NamedTuple):
    """A rank as it came."""

    host: str
    version: str
    local_rank: int
    node: int


class Ended(NamedTuple):
    """What came of it; `gone` are ranks that no message comes from any more."""

    path: Path
    ranks: int
    measured: int
    missing: int
    wrong: int
    gone: list[int]
    notes: list[str]


class _Kept(NamedTuple):
    """What a rank has measured: a compressed report a phase, since all of a large fleet would not fit otherwise."""

    device: str
    driver: str
    name: str
    messages: list[bytes]


class FleetLead:
    """`joined` are the ranks in their order; `tell` prints what a user should know at once."""

    def __init__(
        self,
        joined: Sequence[Joined],
        orders: Mailbox,
        reports: Mailbox,
        silence_seconds: float,
        tell: Callable[[str], object],
    ) -> None:
        self._joined = joined
        self._orders = orders
        self._reports = reports
        self._silence = silence_seconds
        self._tell = tell
        self._schedule = Schedule(grouped(range(len(joined)), lambda rank: joined[rank].node))
        self._heard = dict.fromkeys(range(len(joined)), time.monotonic())
        self._kept: dict[int, _Kept] = {}
        self._points: dict[Point, int] = {}
        # What ranks noted of their own measuring, and which of them.
        self._noted: dict[str, list[int]] = {}
        self.missing: dict[int, Missing] = {}
        self.silent: set[int] = set()
        self.has_news = False  # Since the fleet file was written.
        self.interrupted = False  # So that what ranks then say is no news.

    def begin(self) -> None:
        """Give the first orders."""
        self._give(self._schedule.begin())

    def step(self) -> bool:
        """Take in what has come, without waiting; False once nobody has anything left to do."""
        now = time.monotonic()
        for rank, message in self._reports.take():
            if rank not in self.silent:
                self._heard[rank] = now
                if message != fleet_reports.BEAT:
                    self._take(rank, message)
        for rank, heard in list(self._heard.items()):
            if now - heard > self._silence:
                self.silent.add(rank)
                self._lose(rank, f"not heard of for {now - heard:.0f} s, so it has died or hangs")
        return not self._schedule.over

    def end(self, path: Path, own_step: Callable[[], object]) -> Ended:
        """Let all end that are there; gives what came of it, which is in the fleet file at `path`."""
        present = set(self._heard)
        self._give([Order(rank, "end") for rank in present])
        deadline = time.monotonic() + _FAREWELL_SECONDS
        while (present or self._orders.oldest_seconds()) and time.monotonic() < deadline:
            present -= {rank for rank, message in self._reports.take() if message == fleet_reports.BYE}
            own_step()
            time.sleep(_NAP_SECONDS)
        return Ended(
            path=path,
            ranks=len(self._joined),
            measured=self._count(lambda each: each.samples),
            missing=len(self.missing),
            wrong=self._count(lambda each: each.verified == "no"),
            gone=sorted(self.silent),
            notes=self.notes(),
        )

    def write(self, path: Path, fleet: Fleet) -> None:
        """Write the fleet file: `fleet` with points, members, missing ranks and notes.

        Before it is over, ranks that have not ended are missing, too. Raises RunFileError where it cannot be written.
        """
        self.has_news = False
        still = {
            rank: Missing(rank=rank, host=each.host, why="had not ended when this file was written")
            for rank, each in enumerate(self._joined)
            if self._schedule.stage(rank) != "over"
        }
        missing = sorted((still | self.missing).values(), key=lambda each: each.rank)
        fleet = msgspec.structs.replace(fleet, points=list(self._points), missing=missing, notes=self.notes())
        write_fleet(path, fleet, self._members())

    def notes(self) -> list[str]:
        """What does not fit together."""
        shared = grouped(self._kept, lambda rank: (self._joined[rank].node, self._kept[rank].device))
        notes = [
            f"ranks {_list(ranks)} share {device} of {self._joined[ranks[0]].host}; together each had a part of it"
            for (_, device), ranks in shared.items()
            if len(ranks) > 1
        ]
        for note, ranks in self._noted.items():
            one = Ranks.name_of(ranks[0], self._joined[ranks[0]].host)
            notes.append(f"{one if len(ranks) == 1 else f'ranks {_list(sorted(ranks))}'}: {note}")
        for what, values in (
            ("versions of isthmus", {rank: each.version for rank, each in enumerate(self._joined)}),
            ("devices", {rank: kept.name for rank, kept in self._kept.items()}),
            ("drivers", {rank: kept.driver for rank, kept in self._kept.items()}),
        ):
            if len(set(values.values())) > 1:
                notes.append(f"the ranks have different {what}: {self._who_has_what(values)}")
        names: dict[str, set[int]] = {}
        for each in self._joined:
            names.setdefault(each.host, set()).add(each.node)
        notes += [f"{len(nodes)} machines call themselves {host}" for host, nodes in names.items() if len(nodes) > 1]
        return notes

    def _count(self, holds: Callable[[Summary], object]) -> int:
        """Ranks with a summary of which this holds."""
        return sum(
            any(holds(each) for message in kept.messages for each in fleet_reports.decode(message).summaries)
            for kept in self._kept.values()
        )

    def _take(self, rank: int, message: bytes) -> None:
        try:
            report = fleet_reports.decode(message)
        except (msgspec.DecodeError, zlib.error) as error:
            version = self._joined[rank].version
            self._lose(rank, f"its results cannot be read here: {error}; it runs isthmus {version}")
            return
        if report.kind == "ended":
            self._keep(rank, report, message)
        if report.why:
            self._lose(rank, f"{report.phase}: {report.why}")
        else:
            self._give(self._schedule.done(rank))

    def _keep(self, rank: int, report: Report, message: bytes) -> None:
        if report.fingerprint is None:
            return
        device = report.fingerprint.device
        kept = self._kept.setdefault(
            rank,
            _Kept(
                device=" ".join(filter(None, (device.spec, device.uuid or device.pci_address))),
                driver=device.driver_version,
                name=device.name,
                messages=[],
            ),
        )
        kept.messages.append(message)
        if report.note:
            self._noted.setdefault(report.note, []).append(rank)
        self.has_news = True
        for point in report.points:
            self._points.setdefault(point, len(self._points))

    def _lose(self, rank: int, why: str) -> None:
        host = self._joined[rank].host
        if rank in self.silent:
            del self._heard[rank]
        self.missing.setdefault(rank, Missing(rank=rank, host=host, why=why))
        if not self.interrupted:
            self._tell(f"{Ranks.name_of(rank, host)}: {why}; the others go on")
        self._give(self._schedule.out(rank))

    def _give(self, orders: Sequence[Order]) -> None:
        for order in orders:
            self._orders.post(order.word.encode(), order.rank)

    def _members(self) -> Iterator[Member]:
        for rank in sorted(self._kept):
            reports = [fleet_reports.decode(message) for message in self._kept[rank].messages]
            found = {
                self._points[point]: summary
                for report in reports
                for point, summary in zip(report.points, report.summaries, strict=True)
            }
            last = reports[-1]
            assert last.fingerprint is not None
            yield Member(
                fingerprint=last.fingerprint,
                rank=rank,
                local_rank=self._joined[rank].local_rank,
                node=self._joined[rank].node,
                summaries=[found.get(index, Summary(samples=0)) for index in range(max(found, default=-1) + 1)],
                run_file=last.run_file,
                placement=last.placement,
                bound_node=last.bound_node,
            )

    def _who_has_what(self, values: Mapping[int, str]) -> str:
        """The first rank with each value, and how many have it."""
        return ", ".join(
            f"{value or 'none'} on {len(ranks)}, such as {Ranks.name_of(ranks[0], self._joined[ranks[0]].host)}"
            for value, ranks in grouped(values, values.__getitem__).items()
        )


def _list(ranks: Sequence[int]) -> str:
    most = 16
    named = ", ".join(map(str, ranks[:most]))
    return named if len(ranks) <= most else f"{named} and {len(ranks) - most} more"
