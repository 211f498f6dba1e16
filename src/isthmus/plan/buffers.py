"""Methods to move one contiguous buffer, as often as it is used, with everything that this costs around the transfers.

The time runs from before the first call to after the last; every transfer is waited for (docs/planning.md). Producing
and consuming the data is the program's and not counted, nor is opening the device.
"""

from isthmus.plan.answer import Method, Plan
from isthmus.plan.prices import PriceList, Unpriced
from isthmus.plan.ways import Part, by_time, way_of
from isthmus.record import BufferNeed, BufferWay, OneWay, Run, buffer_ways_of, memory_kind


def buffer_ways(run: Run, need: BufferNeed) -> Plan:
    """Every method to meet the need, the fastest first; those that the run cannot price with the reason."""
    if not need.experiments:
        return Plan(need, ())
    prices = PriceList(run)
    methods: list[Method] = []
    unknown: dict[str, str] = {}
    unpriced: dict[str, str] = {}
    for candidate in buffer_ways_of(need.source, need.direction):
        # OpenCL hands mapped and managed memory from host to kernel and back by calls that no experiment times alone.
        if run.fingerprint.device.backend == "opencl" and candidate.memory in {"mapped", "managed"}:
            continue
        # Copies of pinned memory are the driver's in the library too, so that no run times them apart.
        if (candidate.source, candidate.method) == ("pinned", "isthmus"):
            continue
        try:
            uses = _staged(prices, need, candidate.memory) if candidate.staged else _moves(prices, need, candidate)
            methods.append(
                way_of(candidate.name, around(holding(prices, candidate.held_for(need.bytes), need.bytes), uses))
            )
        except Unpriced as reason:
            if not candidate.silent:
                (unpriced if reason.can_be else unknown)[candidate.name] = str(reason)
    return Plan(need, by_time(methods), unknown, unpriced)


def holding(prices: PriceList, held: tuple[str, ...], size: int) -> list[Part]:
    """Getting memory of these kinds, its first touch, and giving it back. Raises Unpriced."""
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


def around(held: list[Part], uses: list[Part]) -> list[Part]:
    """The uses of memory between getting memory and giving it back, as they come."""
    setup = [part for part in held if part.name not in {"free", "unregister"}]
    return [*setup, *uses, *held[len(setup) :]]


def _moves(prices: PriceList, need: BufferNeed, candidate: BufferWay) -> list[Part]:
    if candidate.method != "prefetch":
        verb = "kernel" if candidate.method == "kernel" else "copy"
        return [
            Part(f"{verb}_{each}", need.uses, prices.move(candidate.memory, each, need.bytes, candidate.method))
            for each in _directions(need)
        ]
    # Pages go where they are used next: after a use that leaves them on the device, back for the next.
    back = need.uses if need.direction == "both" else need.uses - 1
    parts = [Part("prefetch_h2d", need.uses, prices.move("managed", "h2d", need.bytes))]
    return [*parts, Part("prefetch_d2h", back, prices.move("managed", "d2h", need.bytes))] if back else parts


def _staged(prices: PriceList, need: BufferNeed, memory: str) -> list[Part]:
    parts = []
    for direction in _directions(need):
        memcpy: Part = Part(f"memcpy_{direction}", need.uses, prices.memcpy(need.bytes))
        copy = Part(f"copy_{direction}", need.uses, prices.move(memory, direction, need.bytes))
        parts += [memcpy, copy] if direction == "h2d" else [copy, memcpy]
    return parts


def _directions(need: BufferNeed) -> tuple[OneWay, ...]:
    return ("h2d", "d2h") if need.direction == "both" else (need.direction,)
