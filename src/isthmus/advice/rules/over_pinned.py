"""Pinned memory that copies hardly touch: it is lost for everybody else on the machine."""

import numpy as np

from isthmus.advice.finding import Severity
from isthmus.advice.rates import Rates
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import PINNED_BYTES, PINNED_SHARE_OF_HOST, UNUSED_PINNED_SHARE
from isthmus.language import say
from isthmus.record import near_bytes
from isthmus.trace import UNKNOWN, memory_index, union


def _find(scene: Scene, rates: Rates) -> Draft | None:
    table = scene.trace.allocations
    mine = (table.process == scene.process) & (table.kind == memory_index("pinned")) & (table.release != 1)
    rows = np.flatnonzero(mine & (table.address != UNKNOWN) & (table.bytes > 0))
    if not rows.size:
        return None
    # On either side: what a device works on may be pinned memory, too.
    copies = scene.trace.copies.taken(scene.copies)
    begin = np.concatenate([copies.source_address, copies.destination_address])
    sizes = np.tile(copies.bytes, 2)[begin != UNKNOWN]
    begin = begin[begin != UNKNOWN].astype(np.float64)
    touched = union(begin, begin + sizes)
    start = table.address[rows].astype(np.float64)
    used = np.minimum(touched.covered(start, start + table.bytes[rows]), table.bytes[rows])
    held, unused = int(table.bytes[rows].sum()), int((table.bytes[rows] - used).sum())
    if held < PINNED_BYTES or unused < UNUSED_PINNED_SHARE * held:
        return None
    idle = rows[used < UNUSED_PINNED_SHARE * table.bytes[rows]]
    host = rates.run.fingerprint.host.memory.total_bytes
    severity: Severity = "warning" if host and unused >= PINNED_SHARE_OF_HOST * host else "information"
    return Draft("allocations", idle, np.zeros((idle.size, 3)), severity=severity, facts={"held": held, "idle": unused})


def _words(summary: Summary) -> Words:
    opencl = summary.interface == "opencl"
    held, idle = near_bytes(summary.facts["held"]), near_bytes(summary.facts["idle"])
    return Words(
        say("advice.over_pinned_title", idle=idle, held=held),
        say("advice.over_pinned_cause"),
        say("advice.over_pinned_change_opencl" if opencl else "advice.over_pinned_change"),
    )


RULE = Rule("over-pinned", (("allocations",), ("addresses",)), _find, _words)
