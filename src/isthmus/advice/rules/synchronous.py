"""Copies of pinned memory for which the host waits, though what it does next could go on at the same time."""

import numpy as np

from isthmus.advice.code import CALLS, own_code
from isthmus.advice.rates import Rates, saved
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import LEAST_OWN_SECONDS
from isthmus.language import say
from isthmus.plan import Unpriced
from isthmus.record import decimal_bytes, format_seconds
from isthmus.trace import UNKNOWN


def _find(scene: Scene, rates: Rates) -> Draft | None:
    # What comes to the host is what it waits for, so that only copies to the device are sure to need no wait.
    rows = scene.of("h2d", "pinned")
    waits = scene.waits(rows)
    rows, waits = rows[waits >= 0], waits[waits >= 0]
    if not rows.size:
        return None
    own = scene.own_time_after(waits)
    bound = np.minimum(own, scene.exposed(rows))
    useful = (bound > 0) & (own >= LEAST_OWN_SECONDS)
    # Hashes are made after calls, and look like work of the program's own.
    hashed = scene.trace.copies.content[rows] != UNKNOWN
    if (useful & hashed).any():
        raise Unpriced(say("advice.hashed"))
    if not useful.any():
        return None
    gains = saved(scene.cost(rows[useful], rates), np.zeros((int(useful.sum()), 3)), bound[useful])
    return Draft("copies", rows[useful], gains, facts={"own": float(own[useful].sum())})


def _words(summary: Summary) -> Words:
    return Words(
        say("advice.synchronous_title", count=summary.calls, size=decimal_bytes(summary.bytes)),
        say("advice.synchronous_cause", time=format_seconds(summary.facts["own"])),
        say("advice.synchronous_change", call=CALLS["asynchronous"][summary.named_as]),
        snippets=own_code("synchronous", summary.interface),
        lines="synchronous",
    )


RULE = Rule("synchronous", (("calls",),), _find, _words)
