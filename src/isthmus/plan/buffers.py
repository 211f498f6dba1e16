"""Methods to move one contiguous buffer, as often as it is used, with everything that this costs around the transfers.

The time runs from before the first call to after the last; every transfer is waited for (docs/planning.md). Producing
and consuming the data is the program's and not counted, nor is opening the device.
"""

from functools import partial
from itertools import takewhile

import numpy as np

from isthmus.analysis.overlap.pipeline import PipelineModel, pipeline_model
from isthmus.analysis.phrases import memory_name
from isthmus.analysis.statistics.resample import DRAWS
from isthmus.language import say
from isthmus.plan.answer import Method, Part, Plan, by_time, way_of
from isthmus.plan.prices import Price, PriceList, Unpriced
from isthmus.record import (
    KIB,
    BufferNeed,
    BufferWay,
    OneWay,
    PipelineNeed,
    Run,
    buffer_ways_of,
    format_bytes,
    memory_kind,
)

_COUNTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
# Smaller chunks are all latency.
_LEAST_CHUNK_BYTES = 64 * KIB
# More chunks than it takes to be so near to the fastest are not worth their events.
_NEAR = 1.01


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


def pipeline_ways(run: Run, need: PipelineNeed) -> Plan:
    """One chunk and the best number of them, or the number wanted, through every kind of memory that fits the source.

    Raises UsageError for what the prices of its memory raise it for.
    """
    prices = PriceList(run)
    methods: list[Method] = []
    unknown: dict[str, str] = {}
    unpriced: dict[str, str] = {}
    for candidate in buffer_ways_of(need.source, "both"):
        if candidate.name not in need.kinds[need.source]:
            continue
        model = pipeline_model(run, candidate.memory)
        if model is None:
            memory = memory_name(candidate.memory)
            unpriced[f"{candidate.name}_serial"] = say("plan.unpriced", experiment="bandwidth", memory=memory)
            continue
        try:
            held = holding(prices, candidate.held_for(need.bytes), need.bytes)
            counts = [1] if model.occupied else [1, _chunks(model, need)]
            methods += [_way(candidate.name, model, need, count, held) for count in dict.fromkeys(counts)]
        except Unpriced as reason:
            (unpriced if reason.can_be else unknown)[f"{candidate.name}_serial"] = str(reason)
    return Plan(need, by_time(methods), unknown, unpriced)


def _chunks(model: PipelineModel, need: PipelineNeed) -> int:
    """The number wanted, or the least of those that come near to the fastest."""
    if need.chunks is not None:
        return need.chunks
    fitting = list(takewhile(lambda count: count * _LEAST_CHUNK_BYTES <= need.bytes, _COUNTS))
    at = partial(model.at, need.bytes, need.compute_seconds)
    seconds = {count: float(at(count, _streams(count)).draws[0]) for count in fitting}
    fastest = min(seconds.values(), default=0.0)
    return next((count for count in fitting if seconds[count] <= _NEAR * fastest), 1)


def _streams(chunks: int) -> int:
    return min(chunks, PipelineNeed.most_streams)


def _held_sizes(model: PipelineModel) -> str:
    sizes = model.into.sizes
    return say("common.range", low=format_bytes(sizes[0]), high=format_bytes(sizes[-1]))


def _way(kind: str, model: PipelineModel, need: PipelineNeed, chunks: int, held: list[Part]) -> Method:
    streams = _streams(chunks)
    whole = model.at(need.bytes, need.compute_seconds, chunks, streams)
    chunk = need.bytes / chunks
    stages = [
        Part("chunk_h2d", 1, Price(model.into.at(chunk).draws)),
        Part("chunk_work", 1, Price(np.full(1 + DRAWS, need.compute_seconds / chunks))),
        Part("chunk_d2h", 1, Price(model.out.at(chunk).draws)),
    ]
    first = np.sum([part.price.draws for part in stages], axis=0)
    if chunks == 1:
        sizes, beyond = _held_sizes(model), bool(whole.beyond)
        parts = [part._replace(price=part.price._replace(beyond=beyond, held=sizes)) for part in stages]
        return way_of(f"{kind}_serial", around(held, parts), {"chunks": 1, "streams": 1})
    # What the model says of the whole beyond its first chunk, so that the sum is the model's with all its uncertainty.
    further = Price((whole.draws - first) / (chunks - 1), bool(whole.beyond), _held_sizes(model))
    parts = [*stages, Part("chunk_turn", chunks - 1, further)]
    return way_of(f"{kind}_pipeline", around(held, parts), {"chunks": chunks, "streams": streams})
