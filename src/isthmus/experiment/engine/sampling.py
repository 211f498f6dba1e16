"""When a case has been measured well enough: the samples of one case, and the rule that ends it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

import msgspec

from isthmus.errors import CallFailed, IsthmusError, OutOfMemory
from isthmus.experiment.engine.in_step import ALONE
from isthmus.record import LEAST_SAMPLES, Case, Interval, Metric, Series, case_key, median_interval

TIME_UP = "the time for this experiment was up before its turn; --time allows more"


def reason_of(error: IsthmusError, where: str = "") -> str:
    """The note of an error, led by where it happened; one that a device should not have made begins with ``failed:``.

    A lack of memory, or of memory that may be locked, is a property of the machine like any other.
    """
    is_failure = isinstance(error, CallFailed) and not isinstance(error, OutOfMemory)
    return f"{'failed: ' if is_failure else ''}{where}{error}"


def skipped_case(case: Case, reason: str) -> Case:
    """The case without results, for this reason."""
    return msgspec.structs.replace(case, skipped=True, note=reason)


class Rules(NamedTuple):
    """A case ends when the interval of its host time is narrow enough, or its time is spent.

    Before its least number of samples it ends only when the hard limit of the whole experiment is reached.
    """

    target_relative_half_width: float = 0.02
    least_samples: int = 10
    # Transfers from `long_seconds` on get by with the fewest samples that an interval can be given for: ten of each of
    # the largest would take most of the time that all other cases need.
    long_seconds: float = 0.005
    # Samples of a first visit; the second completes the least number, so that compared methods alternate at least once.
    visit_samples: int = 5
    # For cases shorter than `short_seconds`, whose samples within one visit agree better than two visits do: how caches
    # and the other side of the link happen to stand lasts longer than a visit.
    least_visits: int = 3
    short_seconds: float = 0.0005
    most_samples: int = 1000
    case_seconds: float = 1.0


def least_seconds(size: int) -> float:
    """What the least number of samples of a transfer should take on a slow link: its share of an experiment's time."""
    return 0.02 + size * Rules().least_samples / 10e9


class Companion(NamedTuple):
    """Another case that the visits of one yield: a phase of the same work, or one direction of two."""

    case: Case
    metric: Metric
    samples: Sequence[float]


@dataclass
class Collected:
    """What has been measured of one case so far."""

    template: Case
    samples: dict[Metric, list[float]] = field(default_factory=dict)
    companions: dict[tuple[object, ...], Companion] = field(default_factory=dict)
    seconds: float = 0.0
    visits: int = 0
    verified: bool = False
    wrong: str = ""
    failed: str = ""
    # Waits until other devices that measure in step are ready, too; called by visits before their first sample.
    begin: Callable[[], None] = ALONE.begin

    def add_companion(self, companion: Companion) -> None:
        """Add samples of another case, of one metric."""
        key = case_key(companion.case)
        earlier = self.companions[key].samples if key in self.companions else ()
        self.companions[key] = companion._replace(samples=[*earlier, *companion.samples])

    @property
    def deciding(self) -> Sequence[float]:
        """The samples that say when the case ends: on the host's clock, or the device's where that alone was read."""
        return self.samples.get("host_seconds") or self.samples.get("device_seconds") or ()

    @property
    def count(self) -> int:
        """Samples taken so far."""
        return len(self.deciding)

    @property
    def interval(self) -> Interval:
        """Interval of the median. Precondition: count > 0."""
        return median_interval(self.deciding)

    def least(self, rules: Rules) -> int:
        """The least number of samples of this case."""
        if not self.count:
            return rules.least_samples
        # What came with it took its time too.
        parts = [companion.samples for companion in self.companions.values() if companion.samples]
        longest = max(self.interval.median, *(median(samples) for samples in parts), 0.0)
        return LEAST_SAMPLES if longest >= rules.long_seconds else rules.least_samples

    def is_short_of_visits(self, rules: Rules) -> bool:
        """Whether its samples come from too few visits to say how well its median is known."""
        return 0 < self.visits < rules.least_visits and self.count > 0 and self.interval.median < rules.short_seconds

    def missing(self, rules: Rules) -> int:
        """How many more samples the case should need, as the interval shrinks with the root of their number."""
        if self.count < self.least(rules):
            return self.least(rules) - self.count
        excess = self.interval.relative_half_width / rules.target_relative_half_width
        return max(int(self.count * (excess**2 - 1)), 1)

    @property
    def seconds_per_sample(self) -> float:
        """What a sample has cost so far, preparation and checks included. Precondition: count > 0."""
        return self.seconds / self.count

    def is_done(self, rules: Rules) -> bool:
        """Whether more samples would not help or are not allowed."""
        if self.wrong or self.failed:
            return True
        if self.count < self.least(rules):
            return False
        if self.count >= rules.most_samples or self.seconds >= rules.case_seconds:
            return True
        if self.is_short_of_visits(rules):
            return False
        return self.interval.relative_half_width <= rules.target_relative_half_width

    def cases(self, rules: Rules, why_few: str = "the time was up; --time allows more") -> list[Case]:
        """The finished case, and those that came with it."""
        if self.failed:
            return [skipped_case(self.template, self.failed)]
        note = self.wrong
        if not note and self.count < self.least(rules):
            note = f"only {self.count} samples: {why_few}"
        verified = "no" if self.wrong else "yes" if self.verified else "n/a"
        series = [Series(metric=metric, samples=values) for metric, values in self.samples.items() if values]
        cases = [_with(self.template, series=series, verified=verified, note=note)]
        for template, metric, values in self.companions.values():
            if values:
                series = [Series(metric=metric, samples=list(values))]
                cases.append(_with(template, series=series, verified=verified, note=note))
        return cases


def _with(case: Case, **changes: object) -> Case:
    return msgspec.structs.replace(case, **changes)
