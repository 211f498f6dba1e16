"""Copies over several links, alone and during work of the neighbour."""

from collections.abc import Sequence
from typing import cast

import msgspec

from isthmus import _native
from isthmus.experiment.engine.buffers import TransferLane, first_wrong, wrong_data
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sweep import Samples, Timed, checks_of
from isthmus.experiment.paths.machine import Load
from isthmus.record import Case

# The neighbour's work takes this long alone; at least four of our copies.
_WORK_SECONDS = 0.01
# The neighbour's own copies have other contents than ours.
_LOAD_SEED = 2


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
        wrong = first_wrong([str(case.direction)], [self._made.verify()], case.bytes)
        if not wrong and load.source is not None:
            words, first = load.to.verify_pattern(0, case.bytes, self._seed)
            wrong = wrong_data(case.neighbour, words, first, case.bytes) if words else ""
        return wrong
