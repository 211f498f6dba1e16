"""Which cases of two runs are the same point, and which of those have times on both sides that can be compared."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from isthmus.record import Case, Metric, Run, case_key

# The first that there is: to completion on the host's clock, else on the device's, else until the call returns.
_METRICS: tuple[Metric, ...] = ("host_seconds", "device_seconds", "enqueue_seconds")


@dataclass(frozen=True)
class CasePair:
    """One point of two runs; `metric` is what both have samples of, None where they have none in common."""

    base: Case
    new: Case
    metric: Metric | None = None

    @property
    def base_samples(self) -> list[float]:
        """Seconds in the base run."""
        return self.base.samples(self.metric) if self.metric else []

    @property
    def new_samples(self) -> list[float]:
        """Seconds in the new run."""
        return self.new.samples(self.metric) if self.metric else []


@dataclass(frozen=True)
class Pairing:
    """Every case of two runs in exactly one place.

    `timed` can be compared. `broken` had wrong data in the new run only, `wrong` in the base or in both. `now_skipped`
    and `now_measured` changed between the runs; `untimed` were skipped by both or lack a time greater than zero.
    """

    timed: tuple[CasePair, ...]
    broken: tuple[CasePair, ...]
    wrong: tuple[CasePair, ...]
    now_skipped: tuple[CasePair, ...]
    now_measured: tuple[CasePair, ...]
    untimed: tuple[CasePair, ...]
    only_base: tuple[Case, ...]
    only_new: tuple[Case, ...]

    @property
    def common(self) -> int:
        """How many cases both runs have, whatever became of them."""
        return sum(
            len(part)
            for part in (self.timed, self.broken, self.wrong, self.now_skipped, self.now_measured, self.untimed)
        )


def paired(base: Run, new: Run) -> Pairing:
    """The cases of both runs by what became of them, in the order of the base run."""
    waiting: dict[tuple[object, ...], list[Case]] = defaultdict(list)
    for case in new.cases:
        waiting[case_key(case)].append(case)
    places: dict[str, list[CasePair]] = {
        name: [] for name in ("timed", "broken", "wrong", "now_skipped", "now_measured", "untimed")
    }
    only_base = []
    for case in base.cases:
        others = waiting.get(case_key(case))
        if not others:
            only_base.append(case)
            continue
        other = others.pop(0)
        pair = CasePair(case, other, timed_metric(case, other))
        places[_place(pair)].append(pair)
    rest = [case for cases in waiting.values() for case in cases]
    pairs_of = {name: tuple(pairs) for name, pairs in places.items()}
    return Pairing(**pairs_of, only_base=tuple(only_base), only_new=tuple(rest))


def timed_metric(*cases: Case) -> Metric | None:
    """The first metric of which all these cases have samples with a median above zero; None for no such."""
    return next((metric for metric in _METRICS if all(_positive(case.samples(metric)) for case in cases)), None)


def _positive(samples: Sequence[float]) -> bool:
    return bool(samples) and median(samples) > 0


def _place(pair: CasePair) -> str:
    base, new = pair.base, pair.new
    if "no" in (base.verified, new.verified):
        return "broken" if base.verified != "no" else "wrong"
    if base.skipped != new.skipped:
        return "now_skipped" if new.skipped else "now_measured"
    return "timed" if pair.metric else "untimed"
