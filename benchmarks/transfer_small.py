"""Copies through the C interface against the driver's own, by powers of two; and what Python adds to one of them."""

import mmap
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from finding import Finding, decided, shown
from transfer_bench import OURS, POISON, Bench, Case, difference
from transfer_native import ARRIVED, BY_ADDRESS, DRIVER, ISTHMUS, QUEUED
from transfer_peers import Bytes
from transfer_turns import Contender, Turns, take_turns, timed

from isthmus.errors import CallFailed
from isthmus.record import GIB, KIB, MIB, format_bytes

BAR = 0.95
POWERS_BAR = f"never below {BAR} of the driver's own copy"
# Smaller ones go by the driver whatever the table says: what they take beyond its copy is all ours.
SMALL_BYTES, SMALL_RATIO = 64 * KIB, 0.97
SMALL_BAR = f"never below {SMALL_RATIO} of the driver's own copy"
PYTHON_BAR = "<= 3 us more than through the C interface, either way"
# Medians of so little that their noise decides get another go, whose samples join those of the first.
CLOSE = 0.98
# From here on buffers take turns, so that no cache holds them; smaller ones are copied again and again, as small ones
# are in programs.
ROTATED_FROM = MIB
# Copies of one sample, in a row as programs make them: of one alone, reading the clock and code that no cache holds are
# a fair part of what is timed. Fewer where so many bytes are enough.
REPEATS, SAMPLE_BYTES = 64, 16 * MIB
PYTHON_REPEATS, PYTHON_BYTES, PYTHON_SECONDS = 100, KIB, 3e-6
IN_PYTHON, IN_C, THE_DRIVER = "isthmus.copy in Python", "isthmus_copy in C", "driver"
# Which asks the driver what lies at an address: shown, for it is not what the driver's own copies do.
ASKING, ASKED_UP_TO = "isthmus, by address", MIB
# The driver's copies from pageable memory to the device return when the bytes have left where they were. What they are
# compared with returns when the bytes are there; the ratio to their return alone is shown beside it.
IN_FULL = "driver, until it has arrived"
# What the driver's asynchronous copy takes for the same.
AT_ONCE = "driver, queued and waited for"
# What a small copy asks the driver, and what it could ask instead: of the default stream or context where it takes one.
QUESTIONS = {
    "cuCtxGetId": True,
    "cuCtxGetCurrent": False,
    "cuThreadExchangeStreamCaptureMode": False,
    "cuStreamIsCapturing": True,
    "cuStreamGetId": True,
}
ASKED_TIMES = 100_000


class Power(NamedTuple):
    """One size, one way, one kind of the host's memory."""

    bytes: int
    to_device: bool
    pinned: bool
    untouched: bool = False

    @property
    def name(self) -> str:
        """As it is shown and kept."""
        memory, way = "pinned" if self.pinned else "pageable", "h2d" if self.to_device else "d2h"
        return f"{format_bytes(self.bytes)} {memory} {way}" + (", untouched" if self.untouched else "")


def measure_powers(bench: Bench) -> Finding:
    """Every power of two up to 1 GiB; the ratio is that of the driver's median over ours."""
    return _measured(bench, Finding("every power of two, C interface", POWERS_BAR), BAR, GIB)


def measure_small(bench: Bench) -> Finding:
    """Those of small copies alone, for longer; and what each question to the driver takes."""
    case = f"every power of two to {format_bytes(SMALL_BYTES)}, C interface"
    finding = _measured(bench, Finding(case, SMALL_BAR), SMALL_RATIO, SMALL_BYTES, 4.0)
    for name, of_default in QUESTIONS.items():
        try:
            finding.figures[f"{name}, s"] = bench.native.question(name, of_default, ASKED_TIMES)
        except CallFailed as error:
            finding.said[name] = str(error)
    asked = (f"{name[:-3]} {seconds * 1e9:.0f} ns" for name, seconds in finding.figures.items() if name.endswith(", s"))
    finding.measured += f"; a question takes: {', '.join(asked)}"
    return finding


def _measured(bench: Bench, finding: Finding, bar: float, largest: int, factor: float = 1.0) -> Finding:
    device = bench.native.device(bench.within(largest))
    bench.pinned[:] = bench.source
    finding.turns = found = Turns()
    asking: dict[str, float] = {}
    returned: dict[str, float] = {}
    queued: dict[str, float] = {}
    for power in _powers(bench.within(largest)):
        turns = _turns(bench, device, power, factor)
        if _ratio(turns) < CLOSE:
            for name, samples in _turns(bench, device, power, 3 * factor).samples.items():
                turns.samples[name] += samples
        finding.figures[power.name] = _ratio(turns)
        if ASKING in turns.samples:
            asking[power.name] = _ratio(turns, ASKING)
        if IN_FULL in turns.samples:
            returned[power.name] = _ratio(turns, OURS, THE_DRIVER)
        found.samples.update({f"{power.name}, {name}": samples for name, samples in turns.samples.items()})
        found.wrong.update({f"{power.name}, {name}": what for name, what in turns.wrong.items()})
        if AT_ONCE in turns.samples:
            queued[power.name] = _ratio(turns, AT_ONCE)
    below = sum(ratio < bar for ratio in finding.figures.values())
    finding.measured = (
        f"{below} of {len(finding.figures)} below, lowest {_lowest(finding.figures)}; "
        f"where the direction is left to be asked for, lowest {_lowest(asking)}; "
        f"against the return of copies that have not arrived, lowest {_lowest(returned)}"
    )
    finding.figures.update({f"{name}, against its return": ratio for name, ratio in returned.items()})
    finding.figures.update({f"{name}, direction asked for": ratio for name, ratio in asking.items()})
    finding.figures.update({f"{name}, {AT_ONCE}": ratio for name, ratio in queued.items()})
    return decided(finding, not below, bench.meaningless)


def _lowest(ratios: dict[str, float]) -> str:
    worst = min(ratios, key=lambda name: ratios[name])
    return f"{ratios[worst]:.3f} ({worst})"


def _powers(largest: int) -> Iterator[Power]:
    size = 1
    while size <= largest:
        for to_device in (True, False):
            for pinned in (False, True):
                yield Power(size, to_device, pinned)
        if size >= mmap.PAGESIZE:
            yield Power(size, False, False, untouched=True)
        size *= 2


def _ratio(turns: Turns, name: str = OURS, against: str = "") -> float:
    """The driver's time over ours, of the driver's copies that are over when ours are unless others are named."""
    driver, ours = turns.seconds(against or (IN_FULL if IN_FULL in turns.samples else THE_DRIVER)), turns.seconds(name)
    assert driver is not None
    assert ours is not None
    return driver / ours


def _turns(bench: Bench, device: int, power: Power, factor: float = 1.0) -> Turns:
    size, to_device = power.bytes, power.to_device
    arena = bench.pinned if power.pinned else bench.source if to_device else bench.sink
    rotated = bench.slots(size) if size >= ROTATED_FROM else 1
    repeats = max(min(SAMPLE_BYTES // size, REPEATS), 1)
    host = arena[:size]

    def once(way: int, number: int) -> float:
        first = number * repeats
        if power.untouched:
            # Pages that nobody wrote to, which are got before the clock runs.
            new = np.frombuffer(mmap.mmap(-1, size * repeats), np.uint8)
            return bench.native.copy(way, False, device, new.ctypes.data, size, size, repeats, 0, repeats)
        return bench.native.copy(way, to_device, device, host.ctypes.data, size, size, rotated, first, repeats)

    def to_host(way: int, arrived: Bytes) -> Bytes:
        arrived[:] = POISON
        bench.native.copy(way, False, device, arrived.ctypes.data, size)
        return arrived

    def check(way: int) -> str:
        # There by the way that is checked and back by the driver, or the other way round.
        if not to_device:
            bench.native.copy(DRIVER, True, device, bench.source.ctypes.data, size)
            return difference(to_host(way, host), bench.source[:size])
        poison = bench.sink[:size]
        poison[:] = POISON
        bench.native.copy(DRIVER, True, device, poison.ctypes.data, size)
        bench.native.copy(way, True, device, host.ctypes.data, size)
        return difference(to_host(DRIVER, poison), host)

    ways = [(OURS, ISTHMUS), (THE_DRIVER, DRIVER)]
    if size <= ASKED_UP_TO:
        ways.append((ASKING, BY_ADDRESS))
    if size <= SMALL_BYTES and not to_device:
        ways.append((AT_ONCE, QUEUED))
    if to_device and not power.pinned:
        ways.append((IN_FULL, ARRIVED))
    contenders = [Contender(name, partial(once, way), partial(check, way)) for name, way in ways]
    found = take_turns(contenders, factor * bench.seconds / 20, bench.order)
    if found.left_out:
        raise CallFailed(f"{power.name}: {found.left_out}")
    return found


def measure_python(bench: Bench) -> Finding:
    """1 KiB of pinned memory: what the call from Python takes beyond the one from C."""
    size, repeats = PYTHON_BYTES, PYTHON_REPEATS
    finding = Finding(f"{format_bytes(size)} pinned, from Python", PYTHON_BAR, bytes=size)
    bench.pinned[:] = bench.source
    host: Bytes = bench.pinned[:size]
    ours = bench.ours(size)
    device_array, copy = bench.device_bytes(size), bench.session.copy
    device = bench.native.device(size)
    contenders = []
    for way, to_device in (("h2d", True), ("d2h", False)):
        destination, source = (device_array, host) if to_device else (host, device_array)

        def in_python(_: int, destination: object = destination, source: object = source) -> float:
            return timed(partial(copy, destination, source), repeats)

        def check() -> str:
            ours.fill(bench.source[:size])
            return difference(ours.look(), bench.source[:size])

        contenders.append(Contender(f"{IN_PYTHON}, {way}", in_python, check))
        for name, way_in_c in ((IN_C, ISTHMUS), (THE_DRIVER, DRIVER)):
            once = partial(_in_c, bench, way_in_c, to_device, device, host)
            contenders.append(Contender(f"{name}, {way}", once, lambda: ""))
    turns = finding.turns = take_turns(contenders, bench.seconds / 2, bench.order)
    bench.free()
    words = []
    for way in ("h2d", "d2h"):
        python, c = turns.seconds(f"{IN_PYTHON}, {way}"), turns.seconds(f"{IN_C}, {way}")
        if python is None or c is None:
            finding.why_not = str(turns.left_out)
            return finding
        finding.figures[way] = python - c
        words.append(f"{way} {shown(python)} against {shown(c)}, {(python - c) * 1e6:+.2f} us")
    finding.measured = "; ".join(words)
    return decided(finding, max(finding.figures.values()) <= PYTHON_SECONDS, bench.meaningless)


def _in_c(bench: Bench, way: int, to_device: bool, device: int, host: Bytes, _: int) -> float:
    return bench.native.copy(way, to_device, device, host.ctypes.data, host.size, repeats=PYTHON_REPEATS)


def cases() -> dict[str, Case]:
    """The cases by the names that --only takes."""
    return {
        "powers": Case(POWERS_BAR, measure_powers),
        "small": Case(SMALL_BAR, measure_small),
        "python": Case(PYTHON_BAR, measure_python),
    }
