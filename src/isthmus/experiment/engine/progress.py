"""How far a run has come, and when it will have ended."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from isthmus.experiment.engine.sampling import Collected, Rules
from isthmus.record import MIB

# What a run takes in times of its budgets: checks, and buffers to allocate and fill.
OVERHEAD = 1.5
# So many seconds of budgets have to be measured before the run's own pace counts as much as that.
_KNOWN_AFTER_SECONDS = 5.0
# Such a part of a batch's least samples says how long the others will take; the first ones begin with warm-ups.
_KNOWN_AFTER_SHARE = 0.1


class Moment(NamedTuple):
    """Where a run is: experiment `number` of `experiments`, cases that ended of those that can be measured.

    `rate` is that of the copies that were timed last, in bytes per second, or None; `ends_at` is on the clock of
    time.monotonic.
    """

    experiment: str
    number: int
    experiments: int
    ended: int
    total: int
    ends_at: float
    rate: float | None = None


Progress = Callable[[Moment], None]

# What goes through the link says how fast it is; shorter copies say what a call costs.
_LEAST_RATED_BYTES = MIB


def rate_of_last(collected: Collected) -> float | None:
    """Bytes per second of the last sample of a copy one way; None for anything else, and for short ones."""
    case, seconds = collected.template, collected.deciding
    is_copy = case.direction in ("h2d", "d2h") and case.bytes >= _LEAST_RATED_BYTES
    return case.bytes / seconds[-1] if is_copy and seconds and seconds[-1] > 0 else None


class Estimate:
    """When a run will have ended, by the budgets of its batches in seconds and by how long those behind it took.

    A machine that is slow or busy takes longer than a batch's budget for the least number of samples of each case; then
    the time that the first of them took counts.
    """

    def __init__(self, budgets: Sequence[float], clock: Callable[[], float]) -> None:
        self._left, self._clock = list(budgets), clock
        self._began = self._batch_began = clock()
        self._done = self._batch = 0.0
        self._timing_began = self._needed_until = self._began
        # On the same clock, when the last sample of all begins at the latest.
        self.latest = math.inf

    def begin_batch(self) -> None:
        """The next batch begins, and the one before it has ended."""
        self._done += self._batch
        self._batch, self._batch_began = self._left.pop(0), self._clock()
        self._timing_began = self._needed_until = self._batch_began

    def begin_timing(self) -> None:
        """The batch's buffers are there, and its first sample is next."""
        self._timing_began = self._clock()

    def sampled(self, share: float) -> None:
        """So much of the least samples of the batch's cases are there, of 1."""
        now = self._clock()
        if share >= _KNOWN_AFTER_SHARE:
            self._needed_until = self._timing_began + (now - self._timing_began) / min(share, 1.0)

    def ends_at(self) -> float:
        """On the clock that it was given; never in the past."""
        spent = self._batch_began - self._began
        pace = (OVERHEAD * _KNOWN_AFTER_SECONDS + spent) / (_KNOWN_AFTER_SECONDS + self._done)
        batch_ends = max(self._batch_began + pace * self._batch, self._needed_until, self._clock())
        return max(min(batch_ends + pace * sum(self._left), self.latest), self._clock())


class Sampled:
    """Says how much of the least samples of a batch's cases are there, as they are taken."""

    def __init__(self, cases: int, rules: Rules, estimate: Estimate, after: Callable[[Collected], object]) -> None:
        self._cases, self._rules, self._estimate, self._after = cases, rules, estimate, after
        self._shares: dict[int, float] = {}
        self._sum = 0.0

    def __call__(self, collected: Collected) -> None:
        """After each visit."""
        had, has = self._shares.get(id(collected), 0.0), min(1.0, collected.count / collected.least(self._rules))
        # What failed takes no sample more.
        self._shares[id(collected)] = has = 1.0 if collected.failed else has
        self._sum += has - had
        self._estimate.sampled(self._sum / self._cases)
        self._after(collected)
