"""Large copies that take longer than the run says of their size: contention, a far NUMA node, a link trained down."""

import numpy as np

from isthmus.advice.machines import names_devices
from isthmus.advice.new_pages import into_new_pages
from isthmus.advice.rates import Range, Rates, Seconds, saved
from isthmus.advice.records import ONE_WAY
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import SLOW_PAGEABLE_TIMES, SLOW_TIMES, TRACED_BYTES
from isthmus.language import say
from isthmus.plan import Unpriced
from isthmus.record import decimal_bytes, format_rate
from isthmus.trace import Integers

# The share of slow copies that run during copies of another device.
_MOST = 0.5
_TIMES = {"pinned": SLOW_TIMES, "pageable": SLOW_PAGEABLE_TIMES}


def _find(scene: Scene, rates: Rates) -> Draft | None:
    if scene.other is not None:
        raise Unpriced(say("advice.slow_elsewhere"))
    rows: list[Integers] = []
    gains: list[Range] = []
    expected = 0.0
    for direction in ONE_WAY:
        for kind, times in _TIMES.items():
            wanted = _large(scene, scene.of(direction, kind))
            wanted = wanted[~scene.beside_others(wanted)]
            # What is slow by its pages is not by the machine.
            wanted = wanted[~into_new_pages(scene, rates, wanted)]
            if not wanted.size:
                continue
            price = rates.copy(kind, direction, scene.trace.copies.bytes[wanted])
            lasted = _lasted(scene, wanted)
            slow = lasted > times * price[:, 2]
            rows.append(wanted[slow])
            gains.append(saved(lasted[slow], price[slow], scene.exposed(wanted[slow])))
            expected += float(price[slow, 0].sum())
    every = np.concatenate(rows) if rows else np.zeros(0, np.int64)
    concurrent = float(scene.beside_others(every, elsewhere=True).mean()) if every.size else 0.0
    all_gains = np.concatenate(gains) if gains else np.zeros((0, 3))
    if not names_devices(scene.trace):
        # Beside another device a copy is slow by what that takes, whatever the device is.
        if concurrent <= _MOST:
            raise Unpriced(say("advice.slow_nameless"))
        all_gains[:, 1] = 0.0
    if not every.size:
        return None
    alone = float(scene.trace.copies.bytes[every].sum()) / expected
    facts = {"seen": _rate(scene, every), "expected": alone, "beside": concurrent}
    facts |= _beside_facts(scene, every)
    return Draft("copies", every, all_gains, facts=facts)


def _large(scene: Scene, rows: Integers) -> Integers:
    """Those of these copies whose rate tells something: narrow rows are slow by themselves, estimates no times."""
    copies = scene.trace.copies
    large: Integers = rows[
        (copies.bytes[rows] >= TRACED_BYTES) & (copies.rows[rows] <= 1) & (copies.estimated[rows] != 1)
    ]
    return large


def _lasted(scene: Scene, rows: Integers) -> Seconds:
    return scene.device_end(rows) - scene.device_begin(rows)


def _rate(scene: Scene, rows: Integers) -> float:
    """Bytes per second of all these copies."""
    return float(scene.trace.copies.bytes[rows].sum()) / max(float(_lasted(scene, rows).sum()), 1e-9)


def _beside_facts(scene: Scene, slow: Integers) -> dict[str, float]:
    """What such copies reach in the trace without another device at work, and of all devices together; 0 if none."""
    copies = scene.trace.copies
    most = int(np.bincount(copies.direction[slow]).argmax())
    of_direction = np.flatnonzero((copies.direction == most) & (copies.migration != 1))
    alike = _large(scene, of_direction)
    concurrent = scene.beside_others(alike, elsewhere=True)
    mine = np.isin(copies.device[alike], copies.device[slow]) & np.isin(scene.host_kind(alike), scene.host_kind(slow))
    alone = alike[mine & ~concurrent]
    together = [
        _rate(scene, alike[concurrent & (copies.device[alike] == device)])
        for device in np.unique(copies.device[alike[concurrent]])
    ]
    return {"alone": _rate(scene, alone) if alone.size else 0.0, "together": sum(together)}


def _words(summary: Summary) -> Words:
    facts = summary.facts
    rates = {name: format_rate(facts[name]) for name in ("seen", "expected", "alone", "together")}
    title = say("advice.slow_title", count=summary.calls, size=decimal_bytes(summary.bytes))
    if facts["beside"] <= _MOST:
        return Words(
            title, say("advice.slow_cause", seen=rates["seen"], expected=rates["expected"]), say("advice.slow_change")
        )
    alone = rates["alone"] if facts["alone"] > facts["seen"] else rates["expected"]
    whose = say("advice.slow_alone_trace" if facts["alone"] > facts["seen"] else "advice.slow_alone_run")
    cause = say("advice.slow_beside", seen=rates["seen"], alone=alone, whose=whose, together=rates["together"])
    return Words(title, cause, say("advice.slow_beside_change"))


RULE = Rule("slow-copies", (), _find, _words)
