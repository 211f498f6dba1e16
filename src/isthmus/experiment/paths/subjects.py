"""Copies over several links that can be visited again and again, alone and beside work of the neighbour."""

from collections.abc import Sequence

import msgspec

from isthmus import _native
from isthmus.experiment.engine.buffers import TransferLane, wrong_data
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected
from isthmus.experiment.paths.machine import Load
from isthmus.record import MIB, Case

_ALWAYS_CHECKED_BYTES = 16 * MIB
# Of the neighbour's work, alone; at least four of our copies.
_WORK_SECONDS = 0.01
# The neighbour's own copies have other contents than ours.
_LOAD_SEED = 2


class WaySubject:
    """Copies of a session, and what each link took of them."""

    def __init__(self, template: Case, lanes: Sequence[TransferLane], session: _native.Session, seed: int) -> None:
        self.template = template
        self._lanes, self._session, self._seed = list(lanes), session, seed
        self._transfer: _native.TimedTransfer | None = None
        self._carried: dict[str, int] = {}

    def visit(self, quota: Quota, collected: Collected) -> None:
        """Take samples; the first visit, and each of small sizes, checks every byte that arrived.

        That is of the last copy, and at first of one before all others, of which each link takes its part even if it is
        found slow later.
        """
        if self._transfer is None:
            # Memory that is used again and again, as buffers of programs are.
            self._transfer = _native.create_transfer(
                "isthmus", self._lanes, 0, self.template.bytes, self._seed, True, session=self._session
            )
            self._transfer.poison()
            self._transfer.run(0, 1, 1, 0.0)
            self._check(self._transfer, collected)
        checked = not collected.count or self.template.bytes <= _ALWAYS_CHECKED_BYTES
        if checked:
            self._transfer.poison()
        before = self._session.ways
        collected.begin()
        samples = self._transfer.run(*quota)
        for spec, taken in self._session.ways.items():
            self._carried[spec] = self._carried.get(spec, 0) + taken - before.get(spec, 0)
        collected.samples.setdefault("host_seconds", []).extend(samples["host_seconds"])
        collected.template = msgspec.structs.replace(self.template, carried=dict(self._carried))
        if checked:
            self._check(self._transfer, collected)

    def _check(self, transfer: _native.TimedTransfer, collected: Collected) -> None:
        collected.verified = True
        for words, first in transfer.verify():
            if words and not collected.wrong:
                collected.wrong = wrong_data(str(self.template.direction), words, first, self.template.bytes)


class BesideSubject:
    """Turns of a neighbour's work alone, beside copies of a session, and alone."""

    def __init__(
        self, template: Case, lanes: Sequence[TransferLane], session: _native.Session, load: Load, seed: int
    ) -> None:
        self.template = template
        ((way, host, device),) = lanes
        assert device is not None, "copies have two sides"
        to, source = (device, host) if way == "h2d" else (host, device)
        self._load, self._seed = load, seed + _LOAD_SEED
        self._turns = _native.create_interference(
            template.neighbour.partition("_")[0],
            load.to,
            "isthmus",
            to,
            source,
            template.bytes,
            seed + (way == "d2h"),
            _WORK_SECONDS,
            session=session,
            load_source=load.source,
        )

    def visit(self, quota: Quota, collected: Collected) -> None:
        """Take turns; the first visit checks every byte that was copied last, also of the neighbour's own copies."""
        checked = not collected.count
        if checked:
            self._turns.poison()
            if self._load.source is not None:
                self._load.source.fill_pattern(0, self.template.bytes, self._seed)
                self._load.to.set_bytes(0, self.template.bytes, 0)
        collected.begin()
        for metric, samples in self._turns.run(*quota).items():
            collected.samples.setdefault(metric, []).extend(samples)  # type: ignore[arg-type]
        collected.verified = True
        if not checked:
            return
        words, first = self._turns.verify()
        way, size = str(self.template.direction), self.template.bytes
        if not words and self._load.source is not None:
            way = self.template.neighbour
            words, first = self._load.to.verify_pattern(0, size, self._seed)
        if words:
            collected.wrong = wrong_data(way, words, first, size)
