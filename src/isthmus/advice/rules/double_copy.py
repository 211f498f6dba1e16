"""What is fetched into pageable memory, and from there copied into pinned memory: `.cpu().pin_memory()`."""

import numpy as np

from isthmus.advice.code import CALLS
from isthmus.advice.rates import Rates, saved
from isthmus.advice.records import Mask
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import LEAST_OF_SECOND_COPY, LONGEST_BURST_GAP_SECONDS, MOST_ROUNDED_UP
from isthmus.language import say
from isthmus.record import decimal_bytes, format_seconds
from isthmus.trace import UNKNOWN, Integers, memory_index, own_frame, vendors


def _find(scene: Scene, rates: Rates) -> Draft | None:
    rows = scene.of("d2h", "pageable")
    rows = rows[(scene.call(rows) != UNKNOWN) & ~_used(scene, rows)]
    if not rows.size:
        return None
    pins = _pinned_next(scene, scene.call(rows))
    rows, pins = rows[pins != UNKNOWN], pins[pins != UNKNOWN]
    # Bytes that each call allocated, UNKNOWN where the trace does not say.
    allocations = scene.trace.allocations
    buffers = np.full(len(scene.trace.calls), UNKNOWN)
    known = (allocations.call >= 0) & (allocations.call < buffers.size) & (allocations.release != 1)
    buffers[allocations.call[known]] = allocations.bytes[known]
    held, sizes = buffers[pins], scene.trace.copies.bytes[rows]
    # Rounded up, as allocators do.
    alike = np.where(held > 0, (held >= sizes) & (held <= MOST_ROUNDED_UP * sizes), _of_its_line(scene, rows, pins))
    # Whether a thread did nothing of its own to speak of before each call.
    began = scene.moments(scene.trace.calls.start_ns[pins])
    soon: Mask = began - scene.occupied(rows)[1] < LONGEST_BURST_GAP_SECONDS
    again = soon & alike
    if not again.any():
        return None
    # Who only gets memory goes on at once; several threads copy faster than one, but not by any factor.
    second, own = rates.memcpy(sizes), scene.own_time_after(pins)
    again &= own >= LEAST_OF_SECOND_COPY * second[:, 0]
    rows, pins, sizes, second, own = rows[again], pins[again], sizes[again], second[again], own[again]
    if not rows.size:
        return None
    fetched = saved(scene.cost(rows, rates), rates.copy("pinned", "d2h", sizes), scene.exposed(rows))
    # The memory is allocated as before. During work of a device, the second copy costs the program nothing.
    begin = scene.moments(scene.trace.calls.end_ns[pins])
    spared = np.minimum(scene.own_time(begin, begin + own)[:, np.newaxis], second)
    gains = fetched + spared
    useful = gains[:, 0] > 0
    if not useful.any():
        return None
    facts = {"again": float(spared[useful, 0].sum())}
    bound = scene.exposed_together(rows[useful]) + float(spared[useful, 2].sum())
    return Draft("copies", rows[useful], gains[useful], bound=bound, facts=facts)


def _used(scene: Scene, rows: Integers) -> Mask:
    """Whether what each copy fetched was sent to the device from where it had come to."""
    every, host = scene.copies, scene.host_address(scene.copies)
    order = np.lexsort((np.arange(every.size), host))
    sent = np.isin(every, scene.of("h2d"))
    same = (host[order][1:] == host[order][:-1]) & (host[order][1:] != UNKNOWN)
    return np.isin(rows, every[order[:-1][same & sent[order[1:]]]])


def _pinned_next(scene: Scene, calls: Integers) -> Integers:
    """For each call the next of its thread that gets pinned memory, UNKNOWN where it copies or launches before that."""
    trace, table = scene.trace, scene.trace.calls
    pins = _pins(scene)
    used = np.concatenate([pins, trace.copies.call, trace.kernels.call])
    used = np.unique(used[(used >= 0) & (used < len(table))])
    order = used[np.lexsort((table.start_ns[used], table.thread[used], table.process[used]))]
    first, then = order[:-1], order[1:]
    same = (table.thread[first] == table.thread[then]) & (table.process[first] == table.process[then])
    same &= np.isin(then, pins)
    following = np.full(len(table), UNKNOWN)
    following[first[same]] = then[same]
    return following[calls]


def _pins(scene: Scene) -> Integers:
    """Calls that get pinned memory; to pin what is there is none."""
    trace, allocations = scene.trace, scene.trace.allocations
    allocating_calls = allocations.call[(allocations.kind == memory_index("pinned")) & (allocations.release != 1)]
    names = [place for place, name in enumerate(trace.names) if vendors.pins(name)]
    pins = np.union1d(np.flatnonzero(np.isin(trace.calls.name, names)), allocating_calls)
    pins = pins[(pins >= 0) & (pins < len(trace.calls))]
    registers = [place for place, name in enumerate(trace.names) if "Register" in name]
    return pins[~np.isin(trace.calls.name[pins], registers)]


def _of_its_line(scene: Scene, rows: Integers, calls: Integers) -> Mask:
    """Whether one line of the program made each copy and allocated the memory."""
    lines = [own_frame(site) for site in scene.trace.sites]
    numbers = {line: number for number, line in enumerate(lines) if ".py:" in line}
    of_site = np.array([*(numbers.get(line, UNKNOWN) for line in lines), UNKNOWN])
    sites = [scene.trace.calls.site[each] for each in (scene.call(rows), calls)]
    there, here = (of_site[np.where((site >= 0) & (site < len(lines)), site, UNKNOWN)] for site in sites)
    same: Mask = (there == here) & (there != UNKNOWN)
    return same


def _words(summary: Summary) -> Words:
    again = format_seconds(summary.facts["again"])
    return Words(
        say("advice.double_title", count=summary.calls, size=decimal_bytes(summary.bytes)),
        say("advice.double_cause"),
        say("advice.double_change", call=CALLS["pin"][summary.named_as]),
        say("advice.double_pricing", time=again),
        lines="double-copy",
    )


RULE = Rule("double-copy", (("calls",),), _find, _words)
