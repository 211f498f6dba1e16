"""Copies over several links, alone and during work of the neighbour."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, cast

import msgspec

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.buffers import TransferLane, first_wrong, wrong_data
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import reason_of
from isthmus.experiment.engine.sweep import Samples, Timed, checks_of
from isthmus.machine.binding import near, on_node
from isthmus.machine.devices import OpenDevice, open_neighbour
from isthmus.record import MIB, Case, Device

# The neighbour's work takes this long alone; at least four of our copies.
_WORK_SECONDS = 0.01
# The neighbour's own copies have other contents than ours.
_LOAD_SEED = 2
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


class Copies(Timed):
    """Copies of a session, and how many bytes each link took of them."""

    def __init__(self, case: Case, lanes: Sequence[TransferLane], session: _native.Session, seed: int) -> None:
        """Checks a copy before all others, of which each link takes its part even if it proves slow later."""
        self.checks = checks_of(case.bytes)
        self._case, self._session, self._carried = case, session, dict[str, int]()
        # Memory that is used again and again, as buffers of programs are.
        self._transfer = _native.create_transfer("isthmus", list(lanes), 0, case.bytes, seed, True, session=session)
        self._transfer.poison()
        self._transfer.run(0, 1, 1, 0.0)
        self._wrong_at_first = self._wrong()

    def poison(self) -> None:
        """Overwrite the destination."""
        self._transfer.poison()

    def run(self, quota: Quota) -> Samples:
        """Seconds of a copy on the host's clock."""
        before = self._session.ways
        samples = self._transfer.run(*quota)
        for spec, carried in self._session.ways.items():
            self._carried[spec] = self._carried.get(spec, 0) + carried - before.get(spec, 0)
        return {"host_seconds": samples["host_seconds"]}

    def described(self, case: Case) -> Case:
        """With what each link took."""
        return msgspec.structs.replace(case, carried=dict(self._carried))

    def verify(self) -> str:
        """Whether the first copy, or the last, left something else than was sent."""
        return self._wrong_at_first or self._wrong()

    def _wrong(self) -> str:
        return first_wrong([str(self._case.direction)], self._transfer.verify(), self._case.bytes)


class NeighbourWork(Timed):
    """A neighbour's work alone, during copies of a session, and alone; the copies of both are checked."""

    def __init__(
        self, case: Case, lanes: Sequence[TransferLane], session: _native.Session, load: Load, seed: int
    ) -> None:
        """Raises the errors of `isthmus.errors`."""
        self._case, self._load, self._seed = case, load, seed + _LOAD_SEED
        ((direction, host, device),) = lanes
        assert device is not None, "copies have two sides"
        to, source = (device, host) if direction == "h2d" else (host, device)
        self._made = _native.create_interference(
            case.neighbour.partition("_")[0],
            load.to,
            "isthmus",
            to,
            source,
            case.bytes,
            seed + (direction == "d2h"),
            _WORK_SECONDS,
            session=session,
            load_source=load.source,
        )

    def poison(self) -> None:
        """Overwrite both destinations; what the neighbour copies from is filled."""
        self._made.poison()
        if self._load.source is not None:
            self._load.source.fill_pattern(0, self._case.bytes, self._seed)
            self._load.to.set_bytes(0, self._case.bytes, 0)

    def run(self, quota: Quota) -> Samples:
        """Seconds of the work alone and during copies, and of a copy meanwhile."""
        return cast(Samples, self._made.run(*quota))

    def verify(self) -> str:
        """Every byte that was copied last, also of the neighbour's own copies."""
        case, load = self._case, self._load
        wrong = first_wrong([str(case.direction)], self._made.verify(), case.bytes)
        if not wrong and load.source is not None:
            words, first = load.to.verify_pattern(0, case.bytes, self._seed)
            wrong = wrong_data(case.neighbour, words, first, case.bytes) if words else ""
        return wrong
