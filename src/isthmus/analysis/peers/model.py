"""The figures of a run between devices, as matrices: from each device to each other one."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from isthmus.analysis.statistics.once import once
from isthmus.record import Case, Interval, Run, median_interval

# As nvbandwidth's tests end: _write_ce, _read_ce, _write_sm, _read_sm.
METHODS = ("copy_write", "copy_read", "kernel_write", "kernel_read")
DIRECTIONS = ("peer", "both")
Pair = tuple[str, str]


class Figure(NamedTuple):
    """One case: seconds of a copy or an access, and of copies their rate in bytes per second.

    Both are None where nothing arrived right (`is_wrong`) or nothing was measured; `note` says why.
    """

    seconds: Interval | None
    rate: Interval | None
    wide: bool
    is_wrong: bool
    note: str


class Copies(NamedTuple):
    """Copies of one size, method and direction between devices; those in both directions count for either order."""

    method: str
    direction: str
    bytes: int
    pairs: Mapping[Pair, Figure]

    @property
    def rates(self) -> Mapping[Pair, Interval]:
        """The rates that were measured."""
        return {pair: figure.rate for pair, figure in self.pairs.items() if figure.rate}


class OneAndAll(NamedTuple):
    """Copies between one device and all others at once, the sums by method and device."""

    to_one: bool
    devices: int
    bytes: int
    figures: Mapping[tuple[str, str], Figure]


@once()
def cases_of(run: Run) -> Sequence[Case]:
    """The run's cases of this experiment."""
    return [case for case in run.cases if case.experiment == "peers"]


def specs_of(names: Iterable[str]) -> list[str]:
    """Devices in the order of their numbers."""
    return sorted(set(names), key=lambda spec: (len(spec), spec))


def paths(run: Run) -> dict[Pair, str]:
    """By what each pair is joined, as `Case.path` has it; empty where that is not known."""
    by_pair: dict[Pair, str] = {}
    for case in cases_of(run):
        if case.target and case.peer:
            by_pair[case.target, case.peer] = by_pair.get((case.target, case.peer)) or case.path
            if case.direction == "both":
                by_pair[case.peer, case.target] = by_pair.get((case.peer, case.target)) or case.path
    return by_pair


def copies_of(run: Run) -> list[Copies]:
    """A matrix for each method, direction and size; the largest size of a direction first."""
    groups: dict[tuple[str, str, int], dict[Pair, Figure]] = {}
    for case in cases_of(run):
        # Those of two devices at work are one direction of both each.
        if case.method in METHODS and case.direction and case.target and case.peer and case.devices is None:
            pairs = groups.setdefault((case.method, case.direction, case.bytes), {})
            pairs[case.target, case.peer] = figure = figure_of(run, case)
            if case.direction == "both":
                pairs[case.peer, case.target] = figure
    all_copies = [Copies(*key, pairs) for key, pairs in groups.items()]
    return sorted(
        all_copies, key=lambda each: (DIRECTIONS.index(each.direction), -each.bytes, METHODS.index(each.method))
    )


def whole(run: Run, direction: str) -> list[Copies]:
    """The matrices of the largest size of a direction, by method."""
    of_direction = [each for each in copies_of(run) if each.direction == direction]
    return [each for each in of_direction if each.bytes == of_direction[0].bytes]


def one_and_all(run: Run) -> list[OneAndAll]:
    """One to all, then all to one, of the largest size."""
    groups: dict[tuple[bool, int, int], dict[tuple[str, str], Figure]] = {}
    for case in cases_of(run):
        if (
            case.method in METHODS
            and case.direction == "peer"
            and case.devices
            and bool(case.target) != bool(case.peer)
        ):
            figures = groups.setdefault((not case.target, case.devices, case.bytes), {})
            figures[case.method, case.target or case.peer] = figure_of(run, case)
    return [OneAndAll(*key, groups[key]) for key in sorted(groups)]


def accesses(run: Run) -> dict[Pair, Figure]:
    """What one access of the first device to the other's memory takes; `latency`'s where there are no others."""
    by_pair: dict[Pair, Figure] = {}
    for case in run.cases:
        if case.method == "access" and case.target and case.peer and case.experiment in ("peers", "latency"):
            pair = case.target, case.peer
            if case.experiment == "peers" or pair not in by_pair:
                by_pair[pair] = figure_of(run, case)
    return by_pair


def figure_of(run: Run, case: Case) -> Figure:
    """A case as a figure."""
    samples = case.samples("device_seconds")
    if case.skipped or not samples or min(samples) <= 0:
        return Figure(None, None, False, False, case.note)
    if case.verified == "no":
        return Figure(None, None, False, True, case.note)
    seconds, moved = median_interval(samples), case.moved_bytes or case.bytes_moved
    return Figure(
        seconds,
        Interval(moved / seconds.median, moved / seconds.high, moved / seconds.low),
        seconds.relative_half_width > run.settings.target_relative_half_width,
        False,
        case.note,
    )
