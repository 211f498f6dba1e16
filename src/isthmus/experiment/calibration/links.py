"""Finds which other devices' links make large copies faster beside the own one, from which size on, in turns."""

import random
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from isthmus import _native
from isthmus.errors import CallFailed, IsthmusError, OutOfMemory
from isthmus.experiment.calibration.turns import gain, loses
from isthmus.experiment.engine.buffers import wrong_data
from isthmus.machine.devices import OpenDevice, neighbours, open_neighbour, probe
from isthmus.record import MIB, Direction, Interval

# The first is hardly more than what sessions do not divide.
_SIZES = (9 * MIB, 16 * MIB, 64 * MIB, 256 * MIB)
_DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h")
_ROUNDS, _QUICK_ROUNDS = 15, 9
# Less is not worth a part of another device's link.
_GAINS = 1.05
_OWN, _BOTH, _RULED = "own", "both", "ruled"


class LinkChoice(NamedTuple):
    """Whether copies are divided between the own link and another device's, and from so many bytes on.

    While they were, so many bytes took so many seconds on the other one. `ratios` are how many times as fast as by the
    own link alone copies were, by size.
    """

    direction: Direction
    device: str  # its address on the PCI bus
    gains: bool
    from_bytes: int
    bytes: int
    seconds: float
    ratios: Mapping[int, Interval]

    @property
    def line(self) -> str:
        """As native/transfer/table/transfer_table_text.cpp reads it."""
        gains = "yes" if self.gains else "no"
        return (
            f"way direction={self.direction} device={self.device} gains={gains} from={self.from_bytes}"
            f" bytes={self.bytes} seconds={self.seconds:.4g}"
        )


class Taken(NamedTuple):
    """By size the seconds of copies of one round by the own link, and by both; and what the other one had of these."""

    seconds: Mapping[int, tuple[Sequence[float], Sequence[float]]]
    bytes: int  # of one copy of the largest size


def reaching(device: OpenDevice) -> list[tuple[str, str]]:
    """Names and addresses of the devices by which copies of this one can go."""
    if device.native.why_not("pinned"):
        return []
    usable = []
    for other in neighbours(device.description, probe()):
        if other.spec == device.description.spec or not other.pci_address:
            continue
        try:
            native = open_neighbour(device, other)
        except IsthmusError:
            continue
        if device.native.why_no_peer(native) is None and device.native.why_no_peer_reach(native) is None:
            usable.append((other.spec, other.pci_address))
    return usable


def choose_link(direction: Direction, address: str, taken: Taken) -> LinkChoice | None:
    """What a table is to say; None where noise leaves it open, so that it stays as without a table."""
    ratios = {size: gain(own, both) for size, (own, both) in taken.seconds.items()}
    largest = max(ratios)
    start = None
    for size in sorted(ratios, reverse=True):
        if ratios[size].median < _GAINS or ratios[size].low <= 1:
            break
        start = size
    if taken.bytes == 0 or (start is None and ratios[largest].median >= _GAINS):
        return None
    seconds = median(taken.seconds[largest][1])
    return LinkChoice(direction, address, start is not None, start or largest, taken.bytes, seconds, ratios)


def choose_links(device: OpenDevice, other: tuple[str, str], table: str, quick: bool, seed: int) -> list[LinkChoice]:
    """The links over one neighbour, to the device and from it, beside what a table without links says of all else.

    None where memory is lacking. Raises CallFailed for a copy that fails or moves wrong data.
    """
    spec, address = other
    try:
        turns = _Turns(device.native, _QUICK_ROUNDS if quick else _ROUNDS, seed)
    except OutOfMemory:
        return []
    chosen = []
    for direction in _DIRECTIONS:
        taken = turns.taken(direction, spec, {_OWN: ("own", table), _BOTH: (spec, table)})
        link = choose_link(direction, address, taken)
        if link is not None and link.gains:
            ruled = table.replace("\nend\n", f"\n{link.line}\nend\n")
            again = turns.taken(direction, spec, {_BOTH: (spec, table), _RULED: (spec, ruled)}, link.from_bytes)
            if loses([gain(*seconds) for seconds in again.seconds.values()]):
                # A rate that was known beforehand divides them worse than one that is found while they run.
                link = None
        chosen += [link] if link is not None else []
    return chosen


class _Turns:
    """Page-locked memory and the device's for copies that take turns; all are verified first."""

    def __init__(self, device: _native.Device, rounds: int, seed: int) -> None:
        """Raises an IsthmusError where memory is lacking."""
        self._device, self._rounds, self._seed = device, rounds, seed
        self._random = random.Random(seed)
        self._host, self._there = (device.allocate(kind, _SIZES[-1]) for kind in ("pinned", "device"))

    def taken(self, direction: Direction, spec: str, by: Mapping[str, tuple[str, str]], least: int = 0) -> Taken:
        """Two sessions in turns, each with its paths and table; the second one's bytes over the device of this name."""
        if direction == "h2d":
            self._host.fill_pattern(0, _SIZES[-1], self._seed)
        else:
            self._there.fill_pattern(0, _SIZES[-1], self._seed + 1)
        sessions = {
            name: _native.Session(self._device, None, 0, table, 0, paths) for name, (paths, table) in by.items()
        }
        last = sessions[list(by)[-1]]
        seconds, bytes_taken = {}, 0
        try:
            for size in (size for size in _SIZES if size >= least):
                copies = {name: self._made(direction, size, session) for name, session in sessions.items()}
                for name, copy in copies.items():
                    what = f"{direction} by {name}"
                    copy.poison()
                    copy.run(1, 1, 1, 0.0)
                    for words, first in copy.verify():
                        if words:
                            raise CallFailed(wrong_data(what, words, first, size))
                before = last.ways.get(spec, 0)
                seconds[size] = self._in_turns(copies)
                bytes_taken = (last.ways.get(spec, 0) - before) // self._rounds
        finally:
            for session in sessions.values():
                session.close()
        return Taken(seconds, bytes_taken)

    def _in_turns(self, copies: Mapping[str, _native.Timed]) -> tuple[list[float], list[float]]:
        samples: dict[str, list[float]] = {name: [] for name in copies}
        for _ in range(self._rounds):
            for name in self._random.sample(list(copies), len(copies)):
                samples[name] += copies[name].run(0, 1, 1, 0.0)["host_seconds"]
        first, second = samples.values()
        return first, second

    def _made(self, direction: Direction, size: int, session: _native.Session) -> _native.Timed:
        lane = (direction, self._host, self._there)
        return _native.create_transfer("isthmus", [lane], 0, size, self._seed, True, session=session)
