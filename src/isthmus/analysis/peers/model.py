"""The figures of a run between devices, as matrices: from each device to each other one."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from isthmus.analysis.figures import Figure, figures
from isthmus.record import Interval, Run

# As nvbandwidth's tests end: _write_ce, _read_ce, _write_sm, _read_sm.
METHODS = ("copy_write", "copy_read", "kernel_write", "kernel_read")
DIRECTIONS = ("peer", "both")
Pair = tuple[str, str]
Kind: TypeAlias = Literal["all_pairs", "to_all", "to_one"]


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


class AtOnce(NamedTuple):
    """Copies between one device and all others at once, or of all pairs; the sums by method and device."""

    kind: Kind
    devices: int
    bytes: int
    figures: Mapping[tuple[str, str], Figure]


def specs_of(names: Iterable[str]) -> list[str]:
    """Devices in the order of their numbers."""
    return sorted(set(names), key=lambda spec: (len(spec), spec))


def paths(run: Run) -> dict[Pair, str]:
    """By what each pair is joined, as `Case.path` has it; empty where that is not known."""
    by_pair: dict[Pair, str] = {}
    for case in run.cases:
        if case.experiment == "peers" and case.target and case.peer:
            by_pair[case.target, case.peer] = by_pair.get((case.target, case.peer)) or case.path
            if case.direction == "both":
                by_pair[case.peer, case.target] = by_pair.get((case.peer, case.target)) or case.path
    return by_pair


def copies_of(run: Run) -> list[Copies]:
    """A matrix for each method, direction and size; the largest size of a direction first."""
    groups: dict[tuple[str, str, int], dict[Pair, Figure]] = {}
    for figure in figures(run, "peers"):
        case = figure.case
        # Those of two devices at work are one direction of both each.
        if case.method in METHODS and case.direction and case.target and case.peer and case.devices is None:
            pairs = groups.setdefault((case.method, case.direction, case.bytes), {})
            pairs[case.target, case.peer] = figure
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


def at_once(run: Run) -> list[AtOnce]:
    """All pairs, one to all, then all to one, of the largest size; the device of all pairs is empty."""
    groups: dict[tuple[Kind, int, int], dict[tuple[str, str], Figure]] = {}
    for figure in figures(run, "peers"):
        case = figure.case
        if case.method in METHODS and case.direction == "peer" and case.devices and not (case.target and case.peer):
            kind: Kind = "to_all" if case.target else "to_one"
            sums = groups.setdefault((kind if case.target or case.peer else "all_pairs", case.devices, case.bytes), {})
            sums[case.method, case.target or case.peer] = figure
    return [AtOnce(*key, groups[key]) for key in sorted(groups)]


def accesses(run: Run) -> dict[Pair, Figure]:
    """What one access of the first device to the other's memory takes; `latency`'s where there are no others."""
    return {
        (figure.case.target, figure.case.peer): figure
        for experiment in ("latency", "peers")
        for figure in figures(run, experiment)
        if figure.case.method == "access" and figure.case.target and figure.case.peer
    }
