"""How much managed memory moves at a time, from what touches take: where pages stop having come along."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from isthmus.analysis.statistics.curve import is_resolved
from isthmus.language import say
from isthmus.record import KIB, Case, Interval, Run, format_seconds, median_interval

# A touch that waits must take this many times as long as one that does not, or it shows nothing.
_LEAST_CONTRAST = 2.0
# Nothing moves in less.
_PAGE_BYTES = 4 * KIB

State = Literal["near", "far", "unclear"]


@dataclass(frozen=True)
class Unit:
    """So many bytes move at a time, or `why` that is unknown (then `bytes` is None).

    `beyond` says that it is more than `bytes`, the most that was looked at, or `reached` as much at least. `more_than`
    bounds it from below where what was measured leaves a gap, and is 0 where it does not.
    """

    bytes: int | None = None
    beyond: bool = False
    more_than: int = 0
    reached: bool = False
    why: str = ""


@dataclass(frozen=True)
class Touches:
    """Touches by one side, `direction`, of pages that `mover` brought over (device, host or prefetch).

    By distance, part or stride in bytes the seconds of one touch; `there` are those of a page that is there, `waiting`
    those of one that has to be fetched, each None where it was not measured.
    """

    mover: str
    direction: str
    neighbour: Mapping[int, Interval]
    grown: Mapping[int, Interval]
    stride: Mapping[int, Interval]
    waiting: Interval | None
    skipped: str = ""

    @property
    def there(self) -> Interval | None:
        """A page that was touched just before."""
        return self.neighbour.get(0)


def touches(run: Run) -> list[Touches]:
    """What was probed by touches, each mover and direction; nothing of cases whose data was wrong."""
    cases = [
        case
        for case in run.cases
        if case.experiment == "managed"
        and case.host_memory == "managed"
        # Why nothing was counted is no reason not to time.
        and not case.method.startswith("counted_")
    ]
    all_touches = []
    for mover, direction in (("device", "h2d"), ("host", "d2h"), ("prefetch", "h2d"), ("prefetch", "d2h")):
        of_mover = [case for case in cases if case.direction == direction and case.method.endswith(f"_{mover}")]
        toucher = "device" if direction == "h2d" else "host"
        strides = _times([case for case in cases if case.method == f"stride_{toucher}"])
        neighbour = _times([case for case in of_mover if case.method.startswith("neighbour_")])
        skipped = next((case.note for case in of_mover if case.skipped), "")
        if not neighbour and not skipped:
            continue
        grown = _times([case for case in of_mover if case.method.startswith("grown_")])
        waiting = strides[max(strides)] if strides else None
        own = strides if mover == toucher else {}
        all_touches.append(Touches(mover, direction, neighbour, grown, own, waiting, skipped))
    return all_touches


def _times(cases: Sequence[Case]) -> dict[int, Interval]:
    """Seconds of one touch by distance, part or stride."""
    times = {}
    for case in cases:
        if is_resolved(case) and case.verified != "no" and case.pieces and case.stride_bytes is not None:
            times[case.stride_bytes] = Interval(
                *(each / case.pieces for each in median_interval(case.samples("host_seconds")))
            )
    return dict(sorted(times.items()))


def unit_by_timing(of: Touches) -> Unit:
    """What comes along with one page: the distance from which on neighbours are not there."""
    threshold = _threshold(of)
    if isinstance(threshold, str):
        return Unit(why=threshold)
    return _last_near({span: _state(seconds, threshold) for span, seconds in of.neighbour.items() if span}, after=True)


def grown_by_timing(of: Touches, unit: Unit) -> Unit | None:
    """The largest part that is completed once more than half of it is in use; the unit itself where none is.

    None where no part was probed.
    """
    if not of.grown:
        return None
    threshold = _threshold(of)
    if isinstance(threshold, str):
        return Unit(why=threshold)
    if unit.bytes is None or unit.beyond:
        return Unit(why=unit.why or say("granularity.unmeasured"))
    reach = _last_near({part: _state(seconds, threshold) for part, seconds in of.grown.items()}, after=False)
    # More than half of a part of two units is both units, so nothing was added to those; or not even the smallest part
    # that may be completed was.
    smallest = min(of.grown)
    is_far = smallest <= 4 * unit.bytes and _state(of.grown[smallest], threshold) == "far" and reach.bytes is None
    if is_far or (reach.bytes is not None and reach.bytes <= 2 * unit.bytes):
        return unit
    if reach.more_than and reach.more_than <= unit.bytes:
        return Unit(why=say("granularity.unmeasured"))
    return reach


def _threshold(of: Touches) -> float | str:
    """Seconds halfway, as a factor, between a touch of what is there and one that waits; else why there is none."""
    if of.skipped and not of.neighbour:
        return of.skipped
    if of.there is None or of.waiting is None:
        return say("granularity.unmeasured")
    if of.waiting.low < _LEAST_CONTRAST * of.there.high:
        waiting, there = format_seconds(of.waiting.median), format_seconds(of.there.median)
        return say("granularity.no_contrast", waiting=waiting, there=there)
    return math.sqrt(of.there.median * of.waiting.median)


def _state(seconds: Interval, threshold: float) -> State:
    if seconds.high < threshold:
        return "near"
    return "far" if seconds.low > threshold else "unclear"


def _last_near(states: Mapping[int, State], *, after: bool) -> Unit:
    """Up to where pages are there: the first that is not, with `after`, or the last that is.

    Unknown where pages are there again beyond that, or the step itself is not clear.
    """
    spans = sorted(states)
    if not spans:
        return Unit(why=say("granularity.unmeasured"))
    order = [states[span] for span in spans]
    if "far" not in order and "unclear" not in order:
        return Unit(spans[-1], beyond=True, reached=not after)
    step = next(place for place, state in enumerate(order) if state != "near")
    if order[step] == "unclear" or any(b == "near" for _, b in pairwise(order[step:])):
        return Unit(why=say("granularity.no_step"))
    if step == 0:
        # Not even the nearest page, or the smallest part, is there.
        is_page = after and spans[0] <= _PAGE_BYTES
        return Unit(spans[0]) if is_page else Unit(why=say("granularity.unmeasured"))
    last, first = spans[step - 1], spans[step]
    has_gap = first > 2 * last
    if after:
        return Unit(first, more_than=last if has_gap else 0)
    # A part of `first` was not completed, so half of it is the most; one of `last` was, so that is the least.
    return Unit(first // 2, more_than=last // 2) if has_gap else Unit(last)
