"""What threads gained where this experiment was first published, beside this machine, and why the answers differ.

Source: "Measuring the transfer rate between SpursEngine and host", cellspe.matrix.jp: 64 MiB of ordinary memory, a
slice for each persistent thread, one session for all of them, PCI Express 1.0 x1.
"""

from collections.abc import Mapping, Sequence

from isthmus.analysis.phrases import factor_digits, link_rate, memory_name, way_name
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.analysis.threads.gain import Gain
from isthmus.analysis.threads.gain_findings import FULL_LINK
from isthmus.analysis.threads.model import REFERENCE_BYTES
from isthmus.analysis.threads.modes import BothWays
from isthmus.document.finding import Finding
from isthmus.language import enumerated, say, sentences
from isthmus.record import MIB, Run

__all__ = ["PUBLISHED_RATES", "published_finding", "published_share"]

# Printed as MB/s, of which its program makes 2**20 bytes: main.cpp multiplies bytes per microsecond by 0.953674.
_PRINTED = {
    "h2d": {1: 145.079269, 2: 162.067934, 4: 162.874685, 8: 162.870955, 16: 162.853548},
    "d2h": {1: 184.843890, 2: 196.956343, 4: 197.653417, 8: 197.660132, 16: 198.501865},
    "both": {1: 181.106558, 2: 192.357914, 4: 191.442456, 8: 193.129940, 16: 193.578570, 32: 193.719781},
}
# Direction -> threads of each direction -> bytes per second, a sum for both ways; one measurement each, no interval.
PUBLISHED_RATES: Mapping[str, Mapping[int, float]] = {
    direction: {count: rate * MIB for count, rate in rates.items()} for direction, rates in _PRINTED.items()
}
_LINK = 250e6


def published_share(direction: str, threads: int) -> float:
    """Their rate over the theoretical one of their link, twice that for both ways."""
    return PUBLISHED_RATES[direction][threads] / (_LINK * (2 if direction == "both" else 1))


def published_finding(run: Run, gains: Sequence[Gain], both: Sequence[BothWays]) -> Finding | None:
    """Their gains and ours for the same size; None where that was not measured."""
    ours = [gain for gain in gains if gain.curve.bytes == REFERENCE_BYTES and gain.curve.direction in PUBLISHED_RATES]
    if not ours:
        return None
    theirs = [
        say("threads.published_gain", factor=factor_digits(_published_gain(way)), way=way_name(way))
        for way in PUBLISHED_RATES
        if any(gain.curve.direction == way for gain in ours)
    ]
    kinds = {
        kind: [gain for gain in ours if gain.curve.host_memory == kind]
        for kind in dict.fromkeys(gain.curve.host_memory for gain in ours)
    }
    here = [
        say("threads.published_with", gained=enumerated([_gained(gain) for gain in chosen]), memory=memory_name(kind))
        for kind, chosen in kinds.items()
        if any(gain.answer == "yes" for gain in chosen)
    ]
    for key, doubt in (("threads.nothing_gained", False), ("threads.nothing_certain", True)):
        without = [
            memory_name(kind)
            for kind, chosen in kinds.items()
            if all(gain.answer != "yes" for gain in chosen) and any(gain.answer != "no" for gain in chosen) == doubt
        ]
        if without:
            here.append(say("threads.published_with", gained=say(key), memory=enumerated(without)))
    text = say("threads.published", theirs=enumerated(theirs), here=enumerated(here))
    return Finding("info", "threads_published", sentences([text, _turns(both)]), cause=_idle(run, ours))


def _published_gain(direction: str) -> float:
    rates = PUBLISHED_RATES[direction]
    return max(rates.values()) / rates[1]


def _gained(gain: Gain) -> str:
    way = way_name(gain.curve.direction)
    if gain.answer == "yes":
        return say("threads.published_factor", factor=factor_digits(gain.factor), way=way)
    key = "threads.nothing_gained" if gain.answer == "no" else "threads.nothing_certain"
    return f"{say(key)} {way}"


def _turns(both: Sequence[BothWays]) -> str:
    """How much of what two ways move alone they moved at once, with one thread each way."""
    ours = [each for each in both if each.curve.bytes == REFERENCE_BYTES and each.threads == 1]
    if not ours:
        return ""
    alone = PUBLISHED_RATES["h2d"][1] + PUBLISHED_RATES["d2h"][1]
    shares = [
        say("threads.share_of", percent=100 * each.share.median, memory=memory_name(each.curve.host_memory))
        for each in _plain(ours)
    ]
    theirs = 100 * PUBLISHED_RATES["both"][1] / alone
    return say("threads.published_both", percent=theirs, shares=enumerated(shares))


def _plain(both: Sequence[BothWays]) -> list[BothWays]:
    """The first of each kind: the plainest to program, which is the way of theirs."""
    found: dict[str, BothWays] = {}
    for each in both:
        found.setdefault(each.curve.host_memory, each)
    return list(found.values())


def _idle(run: Run, gains: Sequence[Gain]) -> str:
    """What one thread leaves of the link, where theirs left room to gain and ours fills it as far as links fill."""
    limit = link_rate(run)
    reached = {
        gain.curve.direction: gain.one.rate.median / limit
        for gain in gains
        if limit
        and gain.curve.host_memory == "pinned"
        and gain.curve.direction in ONE_WAY
        and gain.answer in ("no", "little")
    }
    if not reached or min(reached.values()) < FULL_LINK:
        return ""
    there = enumerated([f"{100 * (1 - published_share(way, 1)):.0f} % {way_name(way)}" for way in reached])
    here = enumerated(list(dict.fromkeys(f"{100 * share:.0f} %" for share in reached.values())))
    return say("threads.published_idle", there=there, here=here)
