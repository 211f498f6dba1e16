"""What a plan says, in sentences: the need, the fastest way, the next best and why, and what to beware of."""

import math
from typing import NamedTuple

from isthmus.analysis.phrases import memory_name
from isthmus.analysis.pieces.words import layout_words
from isthmus.analysis.statistics.resample import interval_of
from isthmus.language import can_say, enumerated, say, sentences
from isthmus.plan.answer import Plan, Step, Way
from isthmus.plan.need import BufferNeed, ManagedNeed, Need, PiecesNeed, PipelineNeed, SectionNeed
from isthmus.record import Interval, format_bytes, format_rate, format_seconds, near_bytes

# Steps that are paid once, however often the data is used.
_ONCE = {"allocate", "touch", "register", "unregister", "free"}
# Two times nearer than this are the same to whoever waits for them.
_ALIKE = 1.02
# What is paid once is no reason where it is less than this share of what all uses differ by.
_TRIFLE = 1e-3


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


def way_words(need: Need, way: str, options: dict[str, int] | None = None) -> str:
    """A way as its instruction to the programmer; one that this version has no words for keeps its name."""
    kind = _KINDS[type(need)]
    source = getattr(need, "source", "")
    values = {"threads": say("plan.several"), **(options or {})}
    for key in (f"plan.do_{kind}_{source}_{way}", f"plan.do_{kind}_{way}"):
        if can_say(key):
            return say(key, **values)
    return say("plan.do_buffer_new", memory=memory_name(way)) if (kind, source) == ("buffer", "new") else way


def step_words(step: Step) -> str:
    """What a step does; one that this version has no words for keeps its name."""
    key = f"plan.step_{step.name}"
    return say(key) if can_say(key) else step.name


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
    """The fastest way with its time, the next best and why; what is lacking where there is no way at all."""
    if not plan.ways:
        return say("plan.no_way")
    best, *others = plan.ways
    need, seconds = plan.need, best.seconds
    said = [say("plan.fastest", way=way_words(need, best.name, best.options), time=time_words(seconds))]
    moved = moved_bytes(need)
    if moved:
        said.append(say("plan.rate", rate=format_rate(moved / seconds.median)))
    uses = _uses(need)
    if uses > 1:
        said.append(say("plan.per_use", time=format_seconds(seconds.median / uses)))
    if others:
        said += [_next(need, best, others[0]), _why(need, best, others[0])]
    return sentences(said)


def warning_words(plan: Plan) -> list[str]:
    """What to beware of, a sentence or two each."""
    said = []
    if plan.ways and plan.ways[0].beyond:
        said.append(say(f"plan.beyond_{plan.ways[0].beyond}"))
    elif any(way.beyond for way in plan.ways):
        said.append(say("plan.beyond_some"))
    if plan.exceeded_bytes:
        said.append(say("plan.exceeds_memory", memory=near_bytes(plan.exceeded_bytes)))
    if plan.unmeasured_unit:
        said.append(say("plan.unmeasured_unit", count=plan.unmeasured_unit))
    if plan.missing_experiments:
        said.append(say("plan.missing", names=enumerated(plan.missing_experiments)))
    return said


def beyond_words(way: Way) -> str:
    """Which side of the measured range a way's time lies on, in a word for tables; empty within the range."""
    return say(f"plan.side_{way.beyond}") if way.beyond else ""


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


def _next(need: Need, best: Way, other: Way) -> str:
    key = "plan.next_level" if _level(best, other) else "plan.next"
    factor = other.seconds.median / best.seconds.median
    times = f"{factor:.2f}" if factor < 1.5 else f"{factor:.1f}" if factor < 9.95 else f"{factor:.0f}"
    way = way_words(need, other.name, other.options)
    return say(key, way=way, time=format_seconds(other.seconds.median), factor=times)


def _level(best: Way, other: Way) -> bool:
    """Whether the run cannot tell which of two ways is the faster: by what they differ in, where that is known."""
    if best.draws is None or other.draws is None:
        return other.seconds.low <= best.seconds.high
    return interval_of(other.draws / best.draws).low <= 1


class _Split(NamedTuple):
    """What a way costs once, and with each use, in seconds."""

    once: float
    each: float


def _split(way: Way, uses: int) -> _Split:
    once = sum(step.count * step.seconds.median for step in way.steps if step.name in _ONCE)
    return _Split(once, (way.seconds.median - once) / uses)


def _why(need: Need, best: Way, other: Way) -> str:
    """What makes the difference between two sums of steps; empty where they are none, or it is none that matters."""
    if other.seconds.median < best.seconds.median:
        return ""
    if not isinstance(need, BufferNeed) or not best.steps or not other.steps:
        return ""
    one, two = _split(best, need.uses), _split(other, need.uses)
    each = {"each": format_seconds(one.each), "other_each": format_seconds(two.each)}
    more = format_seconds(abs(one.once - two.once))
    if max(one.each, two.each) <= _ALIKE * min(one.each, two.each):
        return say("plan.why_once", less=more) if one.once < two.once else ""
    if one.each < two.each and abs(one.once - two.once) <= _TRIFLE * need.uses * (two.each - one.each):
        return say("plan.why_each", **each)
    if (one.once > two.once) != (one.each > two.each):
        # The first number of uses at which the one that costs more once is the faster.
        pays = math.floor((one.once - two.once) / (two.each - one.each)) + 1
        return say("plan.why_pays" if one.once > two.once else "plan.why_not_yet", count=pays, more=more, **each)
    return say("plan.why_both", less=more, **each)
