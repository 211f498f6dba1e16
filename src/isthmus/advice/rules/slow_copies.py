"""Large copies that take longer than the run says of their size: contention, a far NUMA node, a link trained down."""

import numpy as np

from isthmus.advice.machines import names_devices
from isthmus.advice.rates import Range, Rates, saved
from isthmus.advice.records import ONE_WAY
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import SLOW_PAGEABLE_TIMES, SLOW_TIMES, TRACED_BYTES
from isthmus.language import say, sentences
from isthmus.plan import Unpriced
from isthmus.record import decimal_bytes, format_rate
from isthmus.trace import Integers

# Of the slow copies, beside copies of another device.
_MOST = 0.5
_TIMES = {"pinned": SLOW_TIMES, "pageable": SLOW_PAGEABLE_TIMES}


def _find(scene: Scene, rates: Rates) -> Draft | None:
    copies = scene.trace.copies
    if scene.other is not None:
        raise Unpriced(say("advice.slow_elsewhere"))
    if not names_devices(scene.trace):
        raise Unpriced(say("advice.slow_nameless"))
    rows: list[Integers] = []
    gains: list[Range] = []
    expected = 0.0
    for direction in ONE_WAY:
        for kind, times in _TIMES.items():
            wanted = scene.of(direction, kind)
            # Narrow rows are slow by themselves, and estimates are made from other copies.
            wanted = wanted[(copies.bytes[wanted] >= TRACED_BYTES) & (copies.rows[wanted] <= 1)]
            wanted = wanted[copies.estimated[wanted] != 1]
            wanted = wanted[~scene.beside_others(wanted)]
            if not wanted.size:
                continue
            price = rates.copy(kind, direction, copies.bytes[wanted])
            lasted = scene.device_end(wanted) - scene.device_begin(wanted)
            slow = lasted > times * price[:, 2]
            rows.append(wanted[slow])
            gains.append(saved(lasted[slow], price[slow], scene.exposed(wanted[slow])))
            expected += float(price[slow, 0].sum())
    every = np.concatenate(rows) if rows else np.zeros(0, np.int64)
    if not every.size:
        return None
    lasted = scene.device_end(every) - scene.device_begin(every)
    moved = float(copies.bytes[every].sum())
    facts = {"seen": moved / float(lasted.sum()), "expected": moved / expected}
    facts["beside"] = float(scene.beside_others(every, elsewhere=True).mean())
    return Draft("copies", every, np.concatenate(gains), facts=facts)


def _words(summary: Summary) -> Words:
    facts = summary.facts
    rates = {"seen": format_rate(facts["seen"]), "expected": format_rate(facts["expected"])}
    shared = say("advice.slow_beside") if facts["beside"] > _MOST else ""
    return Words(
        say("advice.slow_title", count=summary.calls, size=decimal_bytes(summary.bytes)),
        sentences([say("advice.slow_cause", **rates), shared]),
        say("advice.slow_change"),
    )


RULE = Rule("slow-copies", (), _find, _words)
