"""What single steps cost on the measured machine at any size, with draws that carry how little is known of each."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from isthmus.analysis.bandwidth.prediction import Predictor
from isthmus.analysis.breakeven.measured import Term, measured_totals, step_costs
from isthmus.analysis.phrases import memory_name
from isthmus.analysis.statistics.resample import Draws
from isthmus.language import say
from isthmus.record import KIB, Direction, Run, format_bytes

_PINNED = Term("bandwidth", "copy", "pinned", "h2d")
# So small a memcpy takes nothing next to the calls around it.
_SMALL_BYTES = 4 * KIB
_FIXED_UP_TO = 64 * KIB
# How memory that is not copied moves, as the bandwidth experiment calls it.
_METHODS = {"mapped": "kernel", "managed": "prefetch"}


class Unpriced(Exception):
    """A run does not say what a step costs; the message says why, in the language spoken.

    `can_be` is False for what the device does not have or does wrong: such methods are no rivals.
    """

    def __init__(self, message: str, *, can_be: bool = True) -> None:
        super().__init__(message)
        self.can_be = can_be


class Price(NamedTuple):
    """Seconds of one step as an estimate with its draws, whether the size is beyond the measured ones, and those."""

    draws: Draws
    beyond: bool = False
    held: str = ""


class PriceList:
    """The costs of a run's allocation, bandwidth and breakeven experiments, by step and size.

    Copies are of data that the CPU's caches may hold, where the run measured those: a program has just written what it
    sends. Between the measured sizes and beyond them a `Predictor` says what a step takes.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._costs = step_costs(run)
        self._memcpy = _predictor(memcpy_seconds(run, self._costs))
        self._known: dict[Term, Predictor] = {}

    def has_touch(self, kind: str) -> bool:
        """Whether the run measured a first touch of such memory."""
        return Term("allocation", "touch", kind) in self._costs

    def phase(self, phase: str, kind: str, size: int) -> Price:
        """Getting memory (``allocate``), touching it first (``touch``) or giving it back (``free``)."""
        return self._price(Term("allocation", phase, kind), size)

    def move(self, kind: str, direction: Direction, size: int, method: str = "") -> Price:
        """One transfer until it is complete: a copy, or for memory that moves otherwise, its kernel or prefetch."""
        return self._price(Term("bandwidth", method or _METHODS.get(kind, "copy"), kind, direction), size)

    def memcpy(self, size: int) -> Price:
        """One thread's memcpy between pageable and pinned memory."""
        if self._memcpy is None:
            raise Unpriced(say("plan.unpriced", experiment="breakeven", memory=memory_name("staging")))
        first = self._memcpy.sizes[0]
        if size < first:
            # Too short to be seen in what was measured, but for its bytes.
            return Price(self._memcpy.at(first).draws * (size / first))
        return _price_of(self._memcpy, size)

    def _price(self, term: Term, size: int) -> Price:
        if term not in self._known:
            known = _predictor(self._costs.get(term, {}))
            if known is None:
                raise self._why_not(term)
            self._known[term] = known
        return _price_of(self._known[term], size)

    def _why_not(self, term: Term) -> Unpriced:
        """The reason that the run itself gives, or that it did not measure such a thing."""
        for case in self._run.cases:
            about = (case.experiment, case.host_memory) == (term.experiment, term.host_memory)
            about = about and (case.method == "isthmus") == (term.method == "isthmus")
            if about and case.skipped and term.direction in {case.direction, None}:
                return Unpriced(case.note, can_be=False)
        wrong = any(
            case.verified == "no" and case.host_memory == term.host_memory and case.experiment == term.experiment
            for case in self._run.cases
        )
        if wrong:
            return Unpriced(say("labels.wrong_data"), can_be=False)
        memory = memory_name(f"{term.host_memory}_isthmus" if term.method == "isthmus" else term.host_memory)
        return Unpriced(say("plan.unpriced", experiment=term.experiment, memory=memory))


def _predictor(rows: dict[int, Draws]) -> Predictor | None:
    sizes = sorted(rows)
    return Predictor(tuple(sizes), np.array([rows[size] for size in sizes])) if sizes else None


def _price_of(known: Predictor, size: int) -> Price:
    estimate = known.at(size)
    held = say("common.range", low=format_bytes(known.sizes[0]), high=format_bytes(known.sizes[-1]))
    return Price(estimate.draws, bool(estimate.beyond), held)


def memcpy_seconds(run: Run, costs: Mapping[Term, Mapping[int, Draws]]) -> dict[int, Draws]:
    """Seconds by size, as estimates with their draws; empty where the run does not say.

    A further use of a kept staging buffer, whose data a kernel adds up, takes a memcpy, a copy, and what hardly depends
    on the size: the kernel's launch and the copy of its result. That is what remains of the smallest trip without its
    copy, so it is taken off the larger ones; those in which the memcpy is no larger than it are left out as too
    uncertain. Where the device shares the host's memory its kernel takes as long as a memcpy; but there a copy to the
    device is one.
    """
    copies = dict(sorted(costs.get(_PINNED, {}).items()))
    if run.fingerprint.device.shares_host_memory:
        return _growing({size: seconds for size, seconds in copies.items() if size >= _SMALL_BYTES})
    staging = measured_totals(run).get(("reduction", "staging"))
    further = staging.further if staging else {}
    return _growing({size: further[size] - copies[size] for size in further if size in copies})


def _growing(rest: dict[int, Draws]) -> dict[int, Draws]:
    """Times less the fixed cost (that of the smallest); entries below twice that cost are dropped."""
    smallest = min(rest, default=0)
    if not _SMALL_BYTES <= smallest <= _FIXED_UP_TO:
        return {}
    fixed = rest[smallest]
    growing = {size: np.maximum(seconds - fixed, fixed / 2) for size, seconds in rest.items() if size != smallest}
    return {size: seconds for size, seconds in growing.items() if seconds[0] >= fixed[0]}
