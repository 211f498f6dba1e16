"""Visits cases in random order, round after round, until each is known well enough or the time is up."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from isthmus.errors import CallFailed, IsthmusError
from isthmus.experiment.sampling import Collected, Rules
from isthmus.record import Case

__all__ = ["Clock", "Quota", "Subject", "run_rounds"]

# The hard limit, as a multiple of the time that an experiment should take: what is reached only by links so slow that
# the least number of samples takes longer.
_HARD_LIMIT = 3


class Quota(NamedTuple):
    """How much one visit may take: samples, and seconds once there are `least`."""

    warmups: int
    least: int
    most: int
    seconds: float


class Subject(Protocol):
    """Something that can be measured again and again."""

    @property
    def template(self) -> Case:
        """The case without results."""

    def visit(self, quota: Quota, collected: Collected) -> None:
        """Take samples and check what arrived; adds both to `collected`."""


class Clock(NamedTuple):
    """When to stop, on the clock of time.monotonic; separate from it, so that tests can set both."""

    deadline: float
    hard_deadline: float

    @classmethod
    def starting_now(cls, seconds: float) -> "Clock":
        """A deadline after `seconds`, and the hard one after a multiple of them."""
        now = time.monotonic()
        return cls(now + seconds, now + _HARD_LIMIT * seconds)


def run_rounds(
    subjects: Sequence[Subject],
    rules: Rules,
    clock: Clock,
    finish: Callable[[list[Case]], None],
    rng: random.Random,
) -> None:
    """Measure all subjects and hand each over to `finish` as it ends.

    Every subject is visited once a round, in an order drawn anew each time: drift (heat, other tenants) then spreads
    over all of them, and methods that are compared alternate. When the caller interrupts, what has samples is finished
    before the interruption goes on.
    """
    open_cases = {index: Collected(subject.template) for index, subject in enumerate(subjects)}
    try:
        for round_number in _rounds():
            order = list(open_cases)
            rng.shuffle(order)
            visited = 0
            for index in order:
                collected = open_cases[index]
                if not _may_visit(collected, rules, clock):
                    continue
                visited += 1
                _visit(subjects[index], collected, rules, round_number)
                if collected.is_done(rules):
                    finish(open_cases.pop(index).cases(rules))
            if not visited:
                break
    except KeyboardInterrupt:
        for collected in open_cases.values():
            if collected.count:
                finish(collected.cases(rules, "the run was interrupted"))
        raise
    for collected in open_cases.values():
        if not collected.count:
            collected.failed = "the time for this experiment was up before its turn; --time allows more"
        finish(collected.cases(rules))


def _rounds() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def _may_visit(collected: Collected, rules: Rules, clock: Clock) -> bool:
    now = time.monotonic()
    if collected.count < rules.least_samples:
        return now < clock.hard_deadline
    return now + rules.visit_samples * collected.interval.median < clock.deadline


def _visit(subject: Subject, collected: Collected, rules: Rules, round_number: int) -> None:
    quota = Quota(
        # A first visit warms up what is slow only once; later ones refill the caches of small cases.
        warmups=_warmups(collected),
        least=rules.visit_samples,
        most=max(rules.most_samples - collected.count, rules.visit_samples),
        # Short at first, since most cases settle at once; each further round doubles it.
        seconds=min(0.004 * 2**round_number, rules.case_seconds),
    )
    begin = time.monotonic()
    try:
        subject.visit(quota, collected)
    except CallFailed as error:
        collected.failed = f"failed: {error}"
    except IsthmusError as error:
        collected.failed = str(error)
    collected.seconds += time.monotonic() - begin


def _warmups(collected: Collected) -> int:
    if not collected.count:
        return 2
    return 1 if collected.interval.median < 1e-3 else 0
