"""A device and its neighbours, open, with sessions that go by their links, and memory for the neighbours' own work."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.sampling import reason_of
from isthmus.machine.binding import near, on_node
from isthmus.machine.devices import OpenDevice, open_neighbour
from isthmus.record import MIB, Device

# A kernel that computes needs a word a thread, and some more.
_COMPUTE_BYTES = 4 * MIB
_LONE = "copies can go by one other device alone"


class Load(NamedTuple):
    """Memory for a neighbour's work: device memory, or what copies go to and from."""

    to: _native.Buffer
    source: _native.Buffer | None = None


class Machine:
    """The target of copies, open, and the devices beside it; one that is of no use says why."""

    def __init__(self, device: OpenDevice, target: Device, others: Sequence[Device]) -> None:
        """Open them. Raises an IsthmusError where the target cannot be opened."""
        self.native = open_neighbour(device, target)
        self._cpus = device.allowed_cpus
        self._others = {other.spec: other for other in others}
        self._open: dict[str, _native.Device] = {}
        self._unusable: dict[str, str] = {}
        for other in others:
            try:
                native = open_neighbour(device, other)
            except IsthmusError as error:
                self._unusable[other.spec] = reason_of(error, f"{other.spec}: ")
                continue
            if reason := self.native.why_no_peer(native) or self.native.why_no_peer_reach(native):
                self._unusable[other.spec] = reason
            self._open[other.spec] = native
        self._table = _usable(_native.machine_transfer_table(self.native).text())
        self._sessions: dict[str, _native.Session] = {}
        self._loads: dict[tuple[str, str, int], _native.Buffer] = {}

    def why_not(self, method: str, peer: str) -> str | None:
        """Why nothing can be copied by this way; None where it can. Alone by the own link is a part of comparisons."""
        usable = [spec for spec in self._open if spec not in self._unusable]
        if peer:
            return self._unusable.get(peer)
        if not usable:
            return next(iter(self._unusable.values()), None)
        return _LONE if method == "all" and len(usable) == 1 else None

    def session(self, paths: str) -> _native.Session:
        """The library going by these links, whatever a calibration has found of them."""
        if paths not in self._sessions:
            self._sessions[paths] = _native.Session(self.native, None, 0, self._table, 0, paths)
        return self._sessions[paths]

    def load(self, peer: str, work: str, size: int) -> Load:
        """Memory for a neighbour's work, of so many bytes for its copies. Raises an IsthmusError."""
        if work == "compute":
            return Load(self._memory(peer, "device", _COMPUTE_BYTES))
        host, there = (self._memory(peer, kind, size) for kind in ("pinned", "device"))
        return Load(there, host) if work == "copies_h2d" else Load(host, there)

    def _memory(self, peer: str, kind: str, size: int) -> _native.Buffer:
        """That of the host near the neighbour; got when it is first asked for, and the same for all work."""
        if (peer, kind, size) not in self._loads:
            make = partial(self._open[peer].allocate, kind, size)
            self._loads[peer, kind, size] = on_node(near(self._others[peer], self._cpus), make)
        return self._loads[peer, kind, size]


def _usable(table: str) -> str:
    """Without ways that a calibration has found to gain nothing: here they are measured again."""
    return "".join(f"{line}\n" for line in table.splitlines() if not (line.startswith("way ") and "gains=no" in line))
