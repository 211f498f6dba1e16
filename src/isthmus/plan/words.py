"""What a plan says, in sentences: the need, the fastest way, what it gains, and what to beware of."""

from collections.abc import Mapping

from isthmus.analysis.phrases import memory_name
from isthmus.analysis.pieces.words import layout_words
from isthmus.analysis.statistics.resample import interval_of
from isthmus.language import can_say, enumerated, say, sentences
from isthmus.plan.answer import Plan, Way
from isthmus.record import (
    BufferNeed,
    Interval,
    ManagedNeed,
    Need,
    PiecesNeed,
    PipelineNeed,
    SectionNeed,
    format_bytes,
    format_seconds,
    near_bytes,
)

# What programs do that know of nothing else.
_OBVIOUS = {"pageable", "copies", "section", "explicit_whole_pageable", "pageable_serial", "pinned_serial"}


def need_words(need: Need) -> str:
    """The need as a sentence."""
    match need:
        case BufferNeed():
            way = say(f"plan.way_{need.direction}")
            return say(
                "plan.need_buffer", count=need.uses, size=format_bytes(need.bytes), way=way, source=_source(need)
            )
        case PiecesNeed():
            return say(
                "plan.need_pieces",
                count=need.pieces,
                size=format_bytes(need.piece_bytes),
                way=say(f"plan.way_{need.direction}"),
                memory=memory_name(need.source),
                layout=layout_words(need.host_layout, need.device_layout),
            )
        case SectionNeed():
            return say(
                "plan.need_section",
                count=need.rows,
                width=format_bytes(need.width_bytes),
                pitch=format_bytes(need.pitch_bytes),
                way=say(f"plan.way_{need.direction}"),
                memory=memory_name(need.source),
            )
        case ManagedNeed() if need.stride_bytes is not None:
            return say("plan.need_stride", size=format_bytes(need.bytes), stride=format_bytes(need.stride_bytes))
        case ManagedNeed():
            return say("plan.need_part", size=format_bytes(need.bytes), percent=f"{100 * (need.fraction or 0):g}")
    compute = format_seconds(need.compute_seconds)
    return say("plan.need_pipeline", size=format_bytes(need.bytes), compute=compute, source=_source(need))


def way_words(need: Need, way: str, options: Mapping[str, int] | None = None) -> str:
    """A way as its instruction to the programmer; one that this version has no words for keeps its name."""
    kind = _KINDS[type(need)]
    source = getattr(need, "source", "")
    values = dict.fromkeys(("threads", "chunks", "streams"), say("plan.several")) | dict(options or {})
    for key in (f"plan.do_{kind}_{source}_{way}", f"plan.do_{kind}_{way}"):
        if can_say(key):
            return say(key, **values)
    return say("plan.do_buffer_new", memory=memory_name(way)) if (kind, source) == ("buffer", "new") else way


def time_words(seconds: Interval) -> str:
    """``1.22 ms (1.20 ms to 1.25 ms)``; without the interval where it reads the same as the time."""
    median, low, high = map(format_seconds, seconds)
    return median if low == high else say("plan.within", time=median, range=say("common.range", low=low, high=high))


def moved_bytes(need: Need) -> int | None:
    """Bytes that the need moves in all; None where they are not its measure."""
    match need:
        case BufferNeed():
            return need.bytes * need.uses * (2 if need.direction == "both" else 1)
        case PiecesNeed():
            return need.pieces * need.piece_bytes
        case SectionNeed():
            return need.rows * need.width_bytes
    return None


def answer_words(plan: Plan) -> str:
    """The fastest way with its time and what it gains over the plainest, or why none can be named."""
    if not plan.ways:
        return say("plan.no_way")
    best = plan.ways[0]
    uses = _uses(plan.need)
    way, took = way_words(plan.need, best.name, best.options), time_words(best.seconds)
    if uses > 1:
        each = time_words(Interval(*(end / uses for end in best.seconds)))
        took = say("plan.uses", each=each, time=format_seconds(best.seconds.median))
    if plan.fastest is None:
        return say("plan.unnamed", count=len(plan.unpriced), way=way, time=took)
    said = [say("plan.fastest", way=way, time=took)]
    others = plan.ways[1:]
    level = [other for other in others if _level(best, other)]
    obvious = next((way for way in others if way.name in _OBVIOUS), None)
    if obvious is not None and obvious not in level:
        other = way_words(plan.need, obvious.name, obvious.options)
        said.append(say("plan.gain", factor=_times(obvious, best), way=other))
    elif others and others[0] not in level:
        other = way_words(plan.need, others[0].name, others[0].options)
        said.append(say("plan.next", factor=_times(others[0], best), way=other))
    if level:
        names = enumerated([way_words(plan.need, other.name, other.options) for other in level])
        said.append(say("plan.level", ways=names))
    return sentences(said)


def basis_words(plan: Plan) -> str:
    """Where the times are from: measured now, on data of which size, or predicted from a run."""
    device = say("common.device", name=plan.device.name or say("common.unnamed_device"), spec=plan.device.spec)
    if plan.timed is None:
        return say("plan.predicted", device=device, run=plan.run)
    text = say("plan.measured", device=device, count=len(plan.ways), seconds=format_seconds(plan.timed.seconds))
    if plan.timed.need == plan.need:
        return text
    said = [text, say("plan.instead", need=need_words(plan.timed.need))]
    if plan.scale != 1:
        said.append(say("plan.scaled", factor=_factor(plan.scale)))
    return sentences(said)


def warning_words(plan: Plan) -> list[str]:
    """What to beware of, a sentence each."""
    said = []
    if plan.exceeded_bytes:
        said.append(say("plan.exceeds_memory", memory=near_bytes(plan.exceeded_bytes)))
    if plan.wrong:
        said.append(say("plan.excluded", count=plan.wrong))
    if plan.is_quick:
        said.append(say("plan.quick_run"))
    return said


def ruled_out_words(plan: Plan) -> str:
    """The ways that were only tried, and how much slower each was; empty where all were measured."""
    ruled_out = plan.timed.ruled_out if plan.timed else {}
    if not ruled_out:
        return ""
    slower = sorted(ruled_out.items(), key=lambda pair: pair[1])
    told = [say("plan.slower", way=way_words(plan.need, name), factor=_factor(times)) for name, times in slower]
    return say("plan.ruled_out", ways=say("common.comma").join(told))


_KINDS: dict[type, str] = {
    BufferNeed: "buffer",
    PiecesNeed: "pieces",
    SectionNeed: "rows",
    ManagedNeed: "array",
    PipelineNeed: "pipeline",
}


def _source(need: BufferNeed | PipelineNeed) -> str:
    return say(f"plan.source_{need.source}")


def _uses(need: Need) -> int:
    return need.uses if isinstance(need, BufferNeed) else 1


def _level(best: Way, other: Way) -> bool:
    """Whether noise may have put the two ways into this order: by what they differ in, where that is known."""
    if best.draws is None or other.draws is None:
        return other.seconds.low <= best.seconds.high
    return interval_of(other.draws / best.draws).low <= 1


def _times(slow: Way, fast: Way) -> str:
    return _factor(slow.seconds.median / fast.seconds.median)


def _factor(times: float) -> str:
    return f"{times:.2f}" if times < 1.5 else f"{times:.1f}" if times < 9.95 else f"{times:.0f}"
