"""The same content sent to the device again: it is there already."""

import numpy as np

from isthmus.advice.code import own_code
from isthmus.advice.places import previous
from isthmus.advice.rates import Rates
from isthmus.advice.rule import Draft, Rule, Summary, Words, removed
from isthmus.advice.scene import Scene
from isthmus.language import say
from isthmus.record import decimal_bytes
from isthmus.trace import UNKNOWN


def _find(scene: Scene, rates: Rates) -> Draft | None:
    copies = scene.trace.copies
    rows = scene.of("h2d")
    rows = rows[copies.content[rows] != UNKNOWN]
    again = previous(np.arange(rows.size), copies.content[rows], copies.bytes[rows], copies.device[rows]) >= 0
    distinct = np.unique(copies.content[rows[again]]).size
    return removed(scene, rates, rows[again], {"distinct": distinct})


def _words(summary: Summary) -> Words:
    return Words(
        say("advice.duplicate_title", count=summary.calls, size=decimal_bytes(summary.bytes)),
        say("advice.duplicate_cause", count=summary.facts["distinct"]),
        say("advice.duplicate_change"),
        say("advice.removed_pricing"),
        own_code("duplicate", summary.interface),
    )


RULE = Rule("duplicate", (("contents",),), _find, _words)
