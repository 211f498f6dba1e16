"""Ways to move one contiguous buffer, as often as it is used, with everything that this costs around the transfers.

The time runs from before the first call to after the last. Every transfer is waited for before the next begins; there
and back are two of them. Producing and consuming the data is the program's and not counted, nor is opening the device.

Data that is in pageable memory and stays there (source ``pageable``):
- ``pageable``: each use is a copy from or to it.
- ``registered``: it is page-locked in place once, copied at each use, and unlocked at the end.
- ``staging``: each use is a memcpy by one thread to or from a pinned buffer that is kept for good, and its copy.
- ``pinned``: the same with a pinned buffer that is got for the purpose and given back.

Data in pinned memory (source ``pinned``): ``pinned``, each use is a copy; ``mapped``, a kernel reads or writes the
host's memory over the link.

Memory that the program is still to get (source ``new``); it is got, its pages touched once where they come only then,
used, and given back:
- ``pageable`` (as malloc gives it: recycled below 128 KiB, fresh pages from there on), ``pageable_huge``, ``pinned``,
  ``write_combined`` (for what the CPU only writes), ``mapped``.
- ``registered``: pages touched by one thread, then page-locked; ``touched_registered``, ``touched_registered_huge``:
  touched by many threads.
- ``managed_prefetch``: managed memory, prefetched to where it is used next; before it is written again, it is
  prefetched back.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from isthmus.plan.answer import Plan, Way
from isthmus.plan.need import BufferNeed, BufferSource, OneWay, PipelineNeed
from isthmus.plan.prices import PriceList, Unpriced
from isthmus.plan.ways import Part, by_time, size_option, way_of
from isthmus.record import KIB, MEMORY_KINDS, Run, memory_kind

BUFFER_EXPERIMENTS: Mapping[BufferSource, tuple[str, ...]] = {
    "pageable": ("allocation", "bandwidth", "breakeven"),
    "pinned": ("bandwidth",),
    "new": ("allocation", "bandwidth", "breakeven"),
}
# What is got, touched and given back, in this order, for a way with memory of its own.
_HELD: Mapping[str, tuple[str, ...]] = {"registered": ("pageable", "registered"), "managed_prefetch": ("managed",)}
# Below glibc's M_MMAP_THRESHOLD (mallopt(3)) malloc gives memory that was in use before, from there on fresh pages.
_FRESH_FROM = 128 * KIB


def buffer_ways(run: Run, need: BufferNeed) -> Plan:
    """Every way to meet the need, the fastest first; those that the run cannot price with the reason."""
    prices = PriceList(run)
    ways: list[Way] = []
    unknown: dict[str, str] = {}
    for name, parts_of in _recipes(run, need).items():
        try:
            ways.append(way_of(name, parts_of(prices)))
        except Unpriced as unpriced:
            unknown[name] = str(unpriced)
    ways = list(by_time(ways))
    missing = missing_experiments(run, BUFFER_EXPERIMENTS[need.source])
    return Plan(need, tuple(ways), unknown, missing, extension(need, ways, missing))


def missing_experiments(run: Run, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Those of which the run holds no sample."""
    measured = {case.experiment for case in run.cases if case.series}
    return tuple(name for name in wanted if name not in measured)


def extension(need: BufferNeed | PipelineNeed, ways: Sequence[Way], missing: tuple[str, ...]) -> str:
    """The command that measures what a plan lacks; empty where it lacks nothing."""
    if missing:
        return f"isthmus measure {' '.join(missing)}"
    if not any(way.beyond for way in ways):
        return ""
    return f"isthmus measure {' '.join(BUFFER_EXPERIMENTS[need.source])} --sizes {size_option(need.bytes)}"


def transfer_kind(way: str) -> str:
    """The kind of memory whose transfers a way makes."""
    return memory_kind(way).copied_as or way


def holding(prices: PriceList, way: str, size: int) -> list[Part]:
    """Getting the memory of a way, its first touch, and giving it back. Raises Unpriced."""
    held = _HELD.get(way, (way,))
    if way == "pageable" and size < _FRESH_FROM:
        held = ("malloc",)
    parts = []
    for kind in held:
        lock = kind == "registered"
        parts.append(Part("register" if lock else "allocate", 1, prices.phase("allocate", kind, size)))
        if memory_kind(kind).late or prices.has_touch(kind):
            parts.append(Part("touch", 1, prices.phase("touch", kind, size)))
    for kind in reversed(held):
        lock = kind == "registered"
        parts.append(Part("unregister" if lock else "free", 1, prices.phase("free", kind, size)))
    return parts


def locking(prices: PriceList, size: int) -> list[Part]:
    """Page-locking memory that is there, and unlocking it. Raises Unpriced."""
    lock, unlock = (prices.phase(phase, "registered", size) for phase in ("allocate", "free"))
    return [Part("register", 1, lock), Part("unregister", 1, unlock)]


Recipe = Callable[[PriceList], list[Part]]


def _recipes(run: Run, need: BufferNeed) -> dict[str, Recipe]:
    size = need.bytes
    if need.source == "pinned":
        return {kind: partial(_moves, need=need, kind=kind) for kind in ("pinned", "mapped") if _can(run, kind)}
    if need.source == "pageable":
        return {
            "pageable": partial(_moves, need=need, kind="pageable"),
            "registered": lambda prices: around(locking(prices, size), _moves(prices, need, "registered")),
            "staging": partial(_staged, need=need),
            "pinned": lambda prices: around(holding(prices, "pinned", size), _staged(prices, need)),
        }
    ways = [
        kind.name
        for kind in MEMORY_KINDS.values()
        if kind.planned and _can(run, kind.name) and _makes_sense(kind.name, need)
    ]
    return {way: partial(_new, need=need, way=way) for way in ways}


def _can(run: Run, way: str) -> bool:
    # OpenCL hands mapped and managed memory from host to kernel and back by calls that no experiment times alone.
    return run.fingerprint.device.backend != "opencl" or transfer_kind(way) not in {"mapped", "managed"}


def _makes_sense(way: str, need: BufferNeed) -> bool:
    # The CPU reads write-combined memory a hundred times slower; and what the device writes first into managed memory
    # is never touched by the host, which no experiment times.
    never = {"d2h": {"write_combined", "managed_prefetch"}, "both": {"write_combined"}}
    return way not in never.get(need.direction, ())


def _new(prices: PriceList, need: BufferNeed, way: str) -> list[Part]:
    moves = _managed_moves(prices, need) if way == "managed_prefetch" else _moves(prices, need, transfer_kind(way))
    return around(holding(prices, way, need.bytes), moves)


def _moves(prices: PriceList, need: BufferNeed, kind: str) -> list[Part]:
    verb = {"mapped": "kernel", "managed": "prefetch"}.get(kind, "copy")
    return [Part(f"{verb}_{way}", need.uses, prices.move(kind, way, need.bytes)) for way in _directions(need)]


def _managed_moves(prices: PriceList, need: BufferNeed) -> list[Part]:
    """Pages go where they are used next: after a use that leaves them on the device, back for the next."""
    back = need.uses if need.direction == "both" else need.uses - 1
    parts = [Part("prefetch_h2d", need.uses, prices.move("managed", "h2d", need.bytes))]
    return [*parts, Part("prefetch_d2h", back, prices.move("managed", "d2h", need.bytes))] if back else parts


def _staged(prices: PriceList, need: BufferNeed) -> list[Part]:
    parts = []
    for way in _directions(need):
        memcpy: Part = Part(f"memcpy_{way}", need.uses, prices.memcpy(need.bytes))
        copy = Part(f"copy_{way}", need.uses, prices.move("pinned", way, need.bytes))
        parts += [memcpy, copy] if way == "h2d" else [copy, memcpy]
    return parts


def around(holding: list[Part], uses: list[Part]) -> list[Part]:
    """The uses of memory between getting memory and giving it back, as they come."""
    got = [part for part in holding if part.name not in {"free", "unregister"}]
    return [*got, *uses, *holding[len(got) :]]


def _directions(need: BufferNeed) -> tuple[OneWay, ...]:
    return ("h2d", "d2h") if need.direction == "both" else (need.direction,)
