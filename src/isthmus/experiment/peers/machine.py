"""The devices that copy to each other, open and with their buffers, and why others cannot."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.buffers import Arena, allocate_largest
from isthmus.experiment.engine.sampling import reason_of
from isthmus.experiment.engine.transfers import Lane
from isthmus.machine.devices import OpenDevice, open_neighbour, path_between
from isthmus.record import Device


class _Ready(NamedTuple):
    """One source that all others read, and a destination for each of them."""

    native: _native.Device
    source: Arena
    destinations: Mapping[str, Arena]
    seed: int


class Machine:
    """The devices by name; one that cannot be used costs the cases that it has part in."""

    def __init__(self, device: OpenDevice, others: Sequence[Device], sizes: Sequence[int], seed: int) -> None:
        self.specs = [other.spec for other in others]
        self._ready: dict[str, _Ready] = {}
        self._unusable: dict[str, str] = {}
        opened: dict[str, _native.Device] = {}
        for other in others:
            try:
                opened[other.spec] = open_neighbour(device, other)
            except IsthmusError as error:
                self._unusable[other.spec] = reason_of(error, f"{other.spec}: ")
        # What copies to no other device needs no memory for that.
        for spec, native in opened.items():
            if reason := device.native.why_no_peer(native):
                self._unusable[spec] = reason
        usable = [spec for spec in opened if spec not in self._unusable]
        for index, spec in enumerate(usable if len(usable) > 1 else []):
            try:
                to = [other for other in usable if other != spec]
                self._ready[spec] = _make_ready(opened[spec], to, sizes, seed + index)
            except IsthmusError as error:
                self._unusable[spec] = reason_of(error, f"{spec}: ")

    def native(self, spec: str) -> _native.Device:
        """The open device. Precondition: why_unusable is None."""
        return self._ready[spec].native

    def why_unusable(self, *specs: str) -> str | None:
        """Why one of the devices cannot be used; None where all can."""
        return next((self._unusable[spec] for spec in specs if spec in self._unusable), None)

    def path(self, source: str, destination: str) -> str:
        """By what copies go from the one to the other, as `Case.path` has it; empty where one cannot be used."""
        if source not in self._ready or destination not in self._ready:
            return ""
        return path_between(self.native(source), self.native(destination))

    def why_no_lane(self, source: str, destination: str, method: str, size: int) -> str | None:
        """Why nothing of this size can be copied so; None where it can."""
        if reason := self.why_unusable(source, destination):
            return reason
        here, there = self._ready[source], self._ready[destination]
        by, other = (there, here) if method.endswith("_read") else (here, there)
        return (
            here.native.why_no_peer(there.native)
            or (by.native.why_no_peer_reach(other.native) if method.startswith("kernel") else None)
            or here.source.too_large.get(size)
            or there.destinations[source].too_large.get(size)
        )

    def lane(self, source: str, destination: str, method: str) -> Lane:
        """One copy. Precondition: why_no_lane is None."""
        here, there = self._ready[source], self._ready[destination]
        begin, end = here.source.buffer, there.destinations[source].buffer
        assert begin is not None, "why_no_lane finds what could not be allocated"
        assert end is not None, "likewise"
        return f"{source} to {destination}", begin, end, here.seed, method.endswith("_read")


def _make_ready(native: _native.Device, others: Sequence[str], sizes: Sequence[int], seed: int) -> _Ready:
    arenas = allocate_largest(native, "device", dict.fromkeys(("", *others), sizes))
    source = arenas.pop("")
    if source.buffer is not None:
        source.buffer.fill_pattern(0, source.usable(0), seed)
    return _Ready(native, source, arenas, seed)
