"""Many small copies in a row, each of which costs a latency: pack them into one."""

import numpy as np

from isthmus.advice.code import way_code
from isthmus.advice.loops import Burst, Loop, bursts, looped, packed, pieces_need, source_of
from isthmus.advice.rates import Rates
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.rules.strided import regular_bursts
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import SMALL_COPY_BYTES
from isthmus.language import say
from isthmus.plan import PiecesNeed
from isthmus.record import decimal_bytes, format_seconds, near_bytes


def _find(scene: Scene, rates: Rates) -> Draft | None:
    copies = scene.trace.copies
    rows = scene.copies[(copies.bytes[scene.copies] <= SMALL_COPY_BYTES) & (copies.rows[scene.copies] <= 1)]
    # What lies at regular distances is the other rule's.
    regular = regular_bursts(scene)
    if regular:
        rows = rows[~np.isin(rows, np.concatenate([burst.rows for burst in regular]))]

    def replaced(burst: Burst) -> Loop | None:
        source = source_of(scene, burst)
        if source is None:
            return None
        return Loop(packed(scene, rates, burst, source), {"need": pieces_need(scene, burst, source)})

    return looped(scene, rates, bursts(scene, rows), replaced)


def _words(summary: Summary) -> Words:
    facts = summary.facts
    need: PiecesNeed = facts["need"]
    at_once = facts["new"] * need.pieces / facts["count"]
    return Words(
        say("advice.small_title", count=summary.calls, size=decimal_bytes(summary.bytes)),
        say("advice.small_cause", count=facts["count"], time=format_seconds(facts["each"])),
        say("advice.small_change_apart" if need.device_layout == "scattered" else "advice.small_change"),
        say("advice.small_pricing", size=near_bytes(need.pieces * need.piece_bytes), time=format_seconds(at_once)),
        way_code(need, "pack", summary.interface),
    )


RULE = Rule("small-copies", (), _find, _words)
