"""Whole buffers between pageable memory and the device, beside the pinned rate and what users call today."""

import mmap
from functools import partial
from typing import NamedTuple

import numpy as np
from finding import Finding, decided, shown
from transfer_bench import OURS, POISON, Bench, Case, best_of, difference, names_of
from transfer_peers import Peer
from transfer_turns import Contender, take_turns, timed

from isthmus.record import GIB, MIB, format_bytes

PINNED = "pinned"
DRIVER = "driver"
BARE_PAGES = "isthmus, bare mmap"
# Of buffers that caches may hold in part: what a loop over one of them sees, beside memory that nobody used lately.
AGAIN, AGAIN_TIMES, AGAIN_BYTES = "isthmus, the same memory again", 4, 64 * MIB
# Once per round; the destinations of all contenders of a case are one another's.
WORDS = {"h2d": "pageable -> device", "d2h": "device -> warm pageable", "new": "device -> untouched memory"}


class Buffer(NamedTuple):
    """One case: how many bytes which way, and the bar, as shares of the pinned rate, times the driver's, or GB/s."""

    name: str
    bytes: int
    way: str
    share: float = 0.0
    times: float = 0.0
    rate: float = 0.0

    @property
    def bar(self) -> str:
        """The bar as the table words it."""
        if self.share:
            return f">= {self.share:.2f} of the pinned rate"
        return f">= {self.times:g} x the driver" if self.times else f">= {self.rate:g} GB/s"


BUFFERS = (
    Buffer("pageable-h2d", GIB, "h2d", share=0.93),
    Buffer("pageable-d2h", GIB, "d2h", share=0.93),
    Buffer("untouched", GIB, "new", rate=30),
    Buffer("64mib-h2d", 64 * MIB, "h2d", share=0.80),
    Buffer("64mib-d2h", 64 * MIB, "d2h", share=0.80),
    Buffer("4mib-h2d", 4 * MIB, "h2d", times=1.9),
    Buffer("4mib-d2h", 4 * MIB, "d2h", times=1.4),
)


def measure_buffer(bench: Bench, buffer: Buffer) -> Finding:
    """Let all that copy such a buffer take turns, and hold Isthmus against the bar."""
    size = bench.within(buffer.bytes)
    finding = Finding(f"{format_bytes(size)} {WORDS[buffer.way]}", buffer.bar, bytes=size)
    peers, absent = bench.peers(size)
    ways = {"h2d": _sends, "d2h": _receives, "new": _fetches}
    contenders = [each for peer in peers if (each := ways[buffer.way](bench, size, peer))]
    if buffer.way == "new":
        # Page-locked memory is never new; it is here for its rate.
        contenders += [each for peer in peers if peer.own and (each := _receives(bench, size, peer))]
        contenders.append(_into_bare_pages(bench, size, peers[0]))
    elif size <= AGAIN_BYTES:
        contenders.append(_again(contenders[0]))
    finding.turns = take_turns(contenders, bench.seconds, bench.order)
    finding.turns.left_out.update(absent)
    bench.free()
    return _held(bench, buffer, finding)


def _held(bench: Bench, buffer: Buffer, finding: Finding) -> Finding:
    turns, size = finding.turns, finding.bytes
    finding.best_peer = best_of(turns, names_of(turns, (OURS, PINNED, BARE_PAGES, AGAIN)), size)
    ours = turns.seconds(OURS)
    against = turns.seconds(PINNED if buffer.share else DRIVER) if not buffer.rate else size / buffer.rate / 1e9
    if ours is None or against is None:
        missing = OURS if ours is None else PINNED if buffer.share else DRIVER
        finding.why_not = f"{missing}: {turns.left_out.get(missing, 'not there to compare with')}"
        return finding
    ratio = against / ours
    words = (
        f", {ratio:.2f} of the pinned rate" if buffer.share else f", {ratio:.2f} x the driver" if buffer.times else ""
    )
    again = turns.seconds(AGAIN)
    finding.measured = shown(ours, size) + words + (f"; the same memory again {shown(again, size)}" if again else "")
    finding.figures["ratio"] = ratio
    return decided(finding, ratio >= (buffer.share or buffer.times or 1.0), bench.meaningless)


def _sends(bench: Bench, size: int, peer: Peer) -> Contender | None:
    send = peer.send
    if send is None:
        return None
    host = peer.own or partial(bench.slot, bench.source, size)

    def check() -> str:
        poison = bench.slot(bench.sink, size, 0)
        poison[:] = POISON
        peer.fill(poison)
        send(host(0))
        return difference(peer.look(), bench.slot(bench.source, size, 0))

    return Contender(peer.name, lambda number: timed(partial(send, host(number))), check)


def _receives(bench: Bench, size: int, peer: Peer) -> Contender | None:
    receive = peer.receive
    if receive is None:
        return None
    host = peer.own or partial(bench.slot, bench.sink, size)
    expected = bench.slot(bench.source, size, 0)

    def check() -> str:
        peer.fill(expected)
        host(0)[:] = POISON
        receive(host(0))
        return difference(host(0), expected)

    return Contender(peer.name, lambda number: timed(partial(receive, host(number))), check)


def _fetches(bench: Bench, size: int, peer: Peer) -> Contender | None:
    fetch = peer.fetch
    if fetch is None:
        return None
    expected = bench.slot(bench.source, size, 0)

    def check() -> str:
        peer.fill(expected)
        peer.renew()
        return difference(fetch(), expected)

    def once(_: int) -> float:
        peer.renew()
        # What was fetched is kept until the clock has stopped: giving memory back is no part of getting data.
        fetched = []
        return timed(lambda: fetched.append(fetch()))

    return Contender(peer.name, once, check)


def _again(ours: Contender) -> Contender:
    """The same copy of the same memory, after one of it that is not timed."""

    def once(_: int) -> float:
        ours.once(0)
        return sum(ours.once(0) for _ in range(AGAIN_TIMES)) / AGAIN_TIMES

    return Contender(AGAIN, once, ours.check)


def _into_bare_pages(bench: Bench, size: int, ours: Peer) -> Contender:
    """Into pages straight from the system, for which nobody asked for huge ones; NumPy asks for its own."""
    receive = ours.receive
    assert receive is not None

    def new() -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        return np.frombuffer(mmap.mmap(-1, size), np.uint8)

    def check() -> str:
        ours.fill(bench.slot(bench.source, size, 0))
        arrived = new()
        receive(arrived)
        return difference(arrived, bench.slot(bench.source, size, 0))

    def once(_: int) -> float:
        arrived = new()
        return timed(partial(receive, arrived))

    return Contender(BARE_PAGES, once, check)


def cases() -> dict[str, Case]:
    """The cases by the names that --only takes."""
    return {buffer.name: Case(buffer.bar, partial(measure_buffer, buffer=buffer)) for buffer in BUFFERS}
