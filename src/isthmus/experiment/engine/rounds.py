"""Visits cases in random order, round after round, until each is known well enough or the time is up."""

import random
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from isthmus.errors import IsthmusError
from isthmus.experiment.engine.in_step import ALONE, Pace
from isthmus.experiment.engine.sampling import TIME_UP, Collected, Rules, reason_of
from isthmus.record import LEAST_SAMPLES, MIB, Case, case_key

# The hard limit, as a multiple of the time that a mode gives an experiment, and the least in seconds: what is reached
# only by links so slow that the least number of samples takes longer. A driver's first copy can take a second.
_HARD_LIMIT = 3
_LEAST_HARD_LIMIT_SECONDS = 20.0
# So that a case which needs many samples takes them over several rounds, and an interruption need not wait.
_LONGEST_VISIT_SECONDS = 0.25
# Long enough for a hundred of the shortest transfers.
_FIRST_VISIT_SECONDS = 0.0007
# Likely to be long, see Rules.long_seconds, before it is known.
_LARGE_BYTES = 128 * MIB
# Samples this long are taken one a visit: every case has its first before any has its second, and a run that ends early
# has whole curves. What is likely to be long has half of its least number in a first visit if they fit into twice that,
# and all others can have as much.
_SLOW_SECONDS = 0.5
_FIRST_LONG_SAMPLES = -(-LEAST_SAMPLES // 2)


class Quota(NamedTuple):
    """How much one visit may take: samples, and seconds once there are `least`."""

    warmups: int
    least: int
    most: int
    seconds: float

    @property
    def least_of_own(self) -> int:
        """The least where a visit allocates or starts what it measures, which takes longer than further samples do."""
        return max(self.least, min(self.most, _FIRST_LONG_SAMPLES))


# The note of a case that has too few samples for that.
INTERRUPTED = "the run was interrupted"
# No samples at all.
_MEETING = Quota(0, 0, 0, 0.0)


class Subject(Protocol):
    """Something that can be measured again and again."""

    @property
    def template(self) -> Case:
        """The case without results."""

    def visit(self, quota: Quota, collected: Collected) -> None:
        """Take samples and check what arrived; adds both to `collected`.

        Calls `collected.begin` once all is prepared, before the first sample: devices in step then begin together.
        """


class Clock(NamedTuple):
    """When to stop, on the clock of time.monotonic; separate from it, so that tests can set both."""

    deadline: float
    hard_deadline: float

    def later(self, seconds: float) -> "Clock":
        """The same, put off."""
        return Clock(self.deadline + seconds, self.hard_deadline + seconds)

    def until(self, hard_deadline: float) -> "Clock":
        """The same, with this hard deadline where it is later."""
        return self._replace(hard_deadline=max(self.hard_deadline, hard_deadline))


def hard_limit(budget_seconds: float, *, asked: bool = False) -> float:
    """Seconds after which an experiment that should take `budget_seconds` takes no sample more.

    A time that was `asked` for is kept, if it is not so short that a slow machine would measure nothing in it.
    """
    return max(budget_seconds if asked else _HARD_LIMIT * budget_seconds, _LEAST_HARD_LIMIT_SECONDS)


def run_rounds(
    subjects: Sequence[Subject],
    rules: Rules,
    clock: Clock,
    finish: Callable[[list[Case]], None],
    rng: random.Random,
    pace: Pace = ALONE,
    visited: Callable[[Collected], object] = lambda _: None,
) -> None:
    """Measure all subjects and hand each over to `finish` as it ends; `visited` is shown each after a visit.

    A round visits subjects in an order drawn anew each time, slow ones last: drift (heat, other tenants) then spreads
    over all of them, and methods that are compared alternate. The first rounds visit all until each has its least
    number of samples; later ones those that can still settle in the time that is left, the cheapest first in line for
    it. When the caller interrupts, what has samples is finished before the interruption goes on.

    Devices in step visit what the first of them chooses. One that follows chooses for itself only among what then still
    has too few samples, as where it was busy or the first has no such case, and its pace says so.
    """
    open_cases = {index: Collected(subject.template) for index, subject in enumerate(subjects)}
    followed = pace if pace.follows else None
    try:
        # Allocating does not take as long everywhere, and waiting for others counts for no case and no budget.
        already = pace.waited
        pace.tell(None, _MEETING)
        pace.begin()
        if pace.follows:
            _follow(subjects, open_cases, rules, finish, pace)
            clock = clock.later(pace.waited - already)
            pace, already = ALONE, ALONE.waited
        while chosen := _choose(open_cases, rules, clock.later(pace.waited - already)):
            rng.shuffle(chosen)
            # Where the time ends within a round, it leaves out the fewest.
            chosen.sort(key=lambda index: _is_slow(open_cases[index]))
            first_seconds = _first_seconds(len(chosen), clock.later(pace.waited - already))
            for index in chosen:
                collected = open_cases[index]
                now, (deadline, hard_deadline) = time.monotonic(), clock.later(pace.waited - already)
                is_enough = collected.count >= collected.least(rules)
                if now >= deadline if is_enough else not _fits(collected, now, hard_deadline):
                    continue
                if followed is not None:
                    followed.partly_alone = True
                quota = _quota(collected, rules, pace.visit_seconds, first_seconds)
                pace.tell(subjects[index].template, quota)
                _visit(subjects[index], collected, quota, pace)
                visited(collected)
                if collected.is_done(rules):
                    pace.tell(subjects[index].template, None)
                    finish(open_cases.pop(index).cases(rules))
        pace.tell(None, None)
    except KeyboardInterrupt:
        for collected in open_cases.values():
            if collected.count:
                finish(collected.cases(rules, INTERRUPTED))
        raise
    for collected in open_cases.values():
        if not collected.count:
            collected.failed = TIME_UP
        finish(collected.cases(rules))


def _choose(open_cases: dict[int, Collected], rules: Rules, clock: Clock) -> list[int]:
    """The cases to visit in the next round; none when the time is up or nothing is left that fits into it."""
    now = time.monotonic()
    unfinished = [index for index, collected in open_cases.items() if collected.count < collected.least(rules)]
    if fitting := [index for index in unfinished if _fits(open_cases[index], now, clock.hard_deadline)]:
        return fitting
    chosen: list[int] = []
    left = clock.deadline - now
    costs = {
        index: case.missing(rules) * case.seconds_per_sample
        for index, case in open_cases.items()
        if index not in unfinished
    }
    for index in sorted(costs, key=costs.__getitem__):
        left -= costs[index]
        if left < 0:
            break
        chosen.append(index)
    return chosen


def _is_slow(collected: Collected) -> bool:
    """Whether a sample takes long, or is likely to while there is none."""
    if collected.count:
        return collected.interval.median >= _SLOW_SECONDS
    return collected.template.bytes >= _LARGE_BYTES


def _fits(collected: Collected, now: float, hard_deadline: float) -> bool:
    """Whether one sample more should end in time, by what those before have cost."""
    return now + (collected.seconds_per_sample if collected.count else 0.0) < hard_deadline


def _follow(
    subjects: Sequence[Subject],
    open_cases: dict[int, Collected],
    rules: Rules,
    finish: Callable[[list[Case]], None],
    pace: Pace,
) -> None:
    """Visit what the device that leads visits, and finish what has enough samples when that has ended there.

    Enough is what an interval can be given for, however long a sample takes here: more would be taken without company.
    """
    rules = rules._replace(least_samples=LEAST_SAMPLES)
    places = {case_key(subject.template): index for index, subject in enumerate(subjects)}
    while (instruction := pace.next()) is not None:
        index = places.get(case_key(instruction.case), -1) if instruction.case else -1
        collected = open_cases.get(index)
        if collected is None:
            continue
        if instruction.quota is not None:
            _visit(subjects[index], collected, Quota(*instruction.quota), pace)
        if collected.failed or collected.wrong or (instruction.quota is None and collected.count >= LEAST_SAMPLES):
            finish(open_cases.pop(index).cases(rules))
    for index in [index for index, collected in open_cases.items() if collected.count >= LEAST_SAMPLES]:
        finish(open_cases.pop(index).cases(rules))


def _first_seconds(cases: int, clock: Clock) -> float:
    """Seconds for the first samples of a case that is likely to be slow, of which so many share what is left."""
    return min(2 * _SLOW_SECONDS, (clock.hard_deadline - time.monotonic()) / cases)


def _quota(collected: Collected, rules: Rules, least_seconds: float, first_seconds: float) -> Quota:
    missing, most = collected.missing(rules), _most(collected, rules)
    if collected.count:
        least = missing if collected.count < collected.least(rules) else min(missing, rules.visit_samples)
        least = 1 if _is_slow(collected) else least
        seconds = min(missing * collected.seconds_per_sample, _LONGEST_VISIT_SECONDS)
        if collected.is_short_of_visits(rules):
            least, seconds = max(least, rules.visit_samples), max(seconds, _FIRST_VISIT_SECONDS)
    elif not _is_slow(collected):
        least, seconds = rules.visit_samples, _FIRST_VISIT_SECONDS
    else:
        least, most, seconds = 1, _FIRST_LONG_SAMPLES, max(first_seconds, 0.0)
    return Quota(warmups=_warmups(collected), least=least, most=max(most, least), seconds=max(seconds, least_seconds))


def _visit(subject: Subject, collected: Collected, quota: Quota, pace: Pace) -> None:
    collected.begin = pace.begin
    already, begin = pace.waited, time.monotonic()
    try:
        subject.visit(quota, collected)
    except IsthmusError as error:
        collected.failed = reason_of(error)
    pace.begin()  # Where it failed before that, the others wait for it.
    collected.seconds += time.monotonic() - begin - (pace.waited - already)
    collected.visits += 1


def _most(collected: Collected, rules: Rules) -> int:
    """The samples that a visit may take: while further visits are due, it leaves them their share."""
    left = rules.most_samples - collected.count
    return left if collected.visits >= rules.least_visits else left // (rules.least_visits - collected.visits)


def _warmups(collected: Collected) -> int:
    """A first visit warms up what is slow only once, later ones the caches of short cases; long ones need neither."""
    if collected.count:
        return 1 if collected.interval.median < 1e-3 else 0
    return 2 if collected.template.bytes < _LARGE_BYTES else 0
