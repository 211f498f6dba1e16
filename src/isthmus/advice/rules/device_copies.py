"""Small copies within a device, or between two, made one by one in a loop: one kernel gathers or scatters them all."""

import numpy as np

from isthmus.advice.loops import Burst, Loop, bursts, looped
from isthmus.advice.rates import Rates
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import ONE_LAUNCH_SECONDS, SMALL_COPY_BYTES, least_gain
from isthmus.language import say, sentences
from isthmus.record import Interval, decimal_bytes, format_seconds
from isthmus.trace import direction_index

_BETWEEN_DEVICES = ("d2d", "peer")


def _find(scene: Scene, rates: Rates) -> Draft | None:
    copies = scene.trace.copies
    wanted = (copies.process == scene.process) & (copies.migration != 1) & (copies.bytes > 0)
    wanted &= np.isin(copies.direction, [direction_index(each) for each in _BETWEEN_DEVICES])
    small = np.flatnonzero(wanted & (copies.bytes <= SMALL_COPY_BYTES) & (copies.rows <= 1))
    # What makes them fills a queue: a larger one between them is work of its own.
    others = np.flatnonzero(wanted & ~np.isin(np.arange(len(copies)), small))
    before = np.searchsorted(np.sort(scene.device_begin(others)), scene.device_begin(small))

    def replaced(burst: Burst) -> Loop:
        # A kernel that moves as much takes about as long as its launch.
        seconds = max(ONE_LAUNCH_SECONDS, (burst.elapsed + burst.between) / burst.rows.size)
        return Loop(Interval(seconds, seconds, seconds), {})

    draft = looped(scene, rates, bursts(scene, small, before, copies.device[small]), replaced)
    if draft is None or draft.gains[:, 0].sum() < least_gain(scene.span_seconds):
        return None
    return draft


def _words(summary: Summary) -> Words:
    facts = summary.facts
    return Words(
        say("advice.within_title", count=summary.calls, size=decimal_bytes(summary.bytes)),
        say("advice.within_cause", count=facts["count"], time=format_seconds(facts["each"])),
        sentences([say("advice.within_change"), say("advice.within_batch") if summary.interface == "cuda" else ""]),
        say("advice.within_pricing", time=format_seconds(facts["new"])),
        lines="device-copies",
    )


RULE = Rule("device-copies", (("calls",),), _find, _words, by_trace=True)
