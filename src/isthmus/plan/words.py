"""What a plan says, in sentences: the need, the fastest method, what it gains, and what to beware of."""

from collections.abc import Mapping

from isthmus.analysis.managed.model import MANAGED_WAYS
from isthmus.analysis.managed.words import way_label
from isthmus.analysis.phrases import memory_label, memory_name, percent_words
from isthmus.analysis.pieces.words import layout_words, method_name
from isthmus.analysis.statistics.resample import interval_of
from isthmus.language import can_say, enumerated, in_brackets, say, sentences
from isthmus.plan.answer import Method, Plan
from isthmus.plan.managed import managed_name
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

_COPY = "isthmus.copy"


def need_words(need: Need) -> str:
    """The need as a sentence."""
    match need:
        case BufferNeed():
            direction = say("plan.way_both") if need.direction == "both" else need.direction.upper()
            return say(
                "plan.need_buffer",
                count=need.uses,
                size=format_bytes(need.bytes),
                direction=direction,
                memory=_memory(need),
            )
        case PiecesNeed():
            return say(
                "plan.need_pieces",
                count=need.pieces,
                size=format_bytes(need.piece_bytes),
                direction=need.direction.upper(),
                memory=_memory(need),
                layout=layout_words(need.host_layout, need.device_layout),
            )
        case SectionNeed():
            return say(
                "plan.need_section",
                count=need.rows,
                size=format_bytes(need.width_bytes),
                pitch=format_bytes(need.pitch_bytes),
                direction=need.direction.upper(),
                memory=_memory(need),
            )
        case ManagedNeed() if need.stride_bytes is not None:
            return say("plan.need_stride", size=format_bytes(need.bytes), stride=format_bytes(need.stride_bytes))
        case ManagedNeed():
            return say("plan.need_part", size=format_bytes(need.bytes), percent=f"{100 * (need.fraction or 0):g}")
    compute = format_seconds(need.compute_seconds)
    return say("plan.need_pipeline", size=format_bytes(need.bytes), compute=compute, memory=_memory(need))


def way_words(need: Need, method: str, options: Mapping[str, int] | None = None) -> str:
    """A method as tables of its experiment call it; one that this version has no words for keeps its name."""
    match need:
        case BufferNeed():
            return _buffer_way(need, method)
        case PiecesNeed() | SectionNeed():
            if method == "copy_rows":
                return "isthmus.copy_rows"
            library = "isthmus.copy_batch" if isinstance(need, PiecesNeed) else _COPY
            return library if method == "isthmus" else method_name(method, **options or {})
        case ManagedNeed():
            return next((way_label(each) for each in MANAGED_WAYS if managed_name(each) == method), method)
    kind, _, how = method.rpartition("_")
    key = "plan.do_chunks" if how == "pipeline" and not options else f"plan.do_{how}"
    return say(key, memory=_new_memory(kind), **options or {}) if can_say(key) else method


def _buffer_way(need: BufferNeed, method: str) -> str:
    if need.source == "new":
        return _new_memory("pageable_isthmus" if method == "isthmus" else method)
    if method == need.source:
        return say("plan.do_copy")
    key = f"plan.do_{method}"
    if need.source == "pageable" and can_say(key):
        return say(key)
    return _COPY if method == "isthmus" else method_name("mapped_kernel") if method == "mapped" else method


def _new_memory(kind: str) -> str:
    """Kinds of memory that the library gives are called by its name for them."""
    name = memory_name(kind)
    return say("plan.do_pinned_empty", memory=name) if kind == "touched_registered_huge" else name


def time_words(seconds: Interval) -> str:
    """``1.22 ms (1.20 ms to 1.25 ms)``; without the interval where it reads the same as the time."""
    median, low, high = map(format_seconds, seconds)
    return median if low == high else median + in_brackets(say("common.range", low=low, high=high))


def answer_words(plan: Plan) -> str:
    """The fastest method with its time and what it gains over the plainest, or the best where none is the fastest."""
    if not plan.methods:
        return say("plan.no_way")
    best, *others = plan.methods
    uses = plan.need.uses if isinstance(plan.need, BufferNeed) else 1
    took = time_words(best.seconds)
    if uses > 1:
        each = time_words(best.seconds.scaled(1 / uses))
        took = say("plan.uses", each=each, time=format_seconds(best.seconds.median))
    if plan.fastest is None:
        return say("plan.unnamed", method=_named(plan, best), time=took)
    parts = [say("plan.fastest", method=_named(plan, best), time=took)]
    level = [other for other in others if _level(best, other)]
    slower = [other for other in others if other not in level]
    if slower and (slower[0] is others[0] or any(other.name in _OBVIOUS for other in slower)):
        other = next((each for each in slower if each.name in _OBVIOUS), slower[0])
        factor = factor_words(other.seconds.median / best.seconds.median)
        parts.append(say("plan.gain", factor=factor, method=_named(plan, other)))
    if level:
        parts.append(say("plan.level", methods=enumerated([_named(plan, other) for other in level])))
    return sentences(parts)


def basis_words(plan: Plan) -> str:
    """Where the times are from: measured now, on data of which size, or predicted from a run."""
    device = say("common.device", name=plan.device.name or say("common.unnamed_device"), spec=plan.device.spec)
    if plan.timed is None:
        return say("plan.predicted", device=device, run=plan.run)
    text = say("plan.measured", device=device, seconds=format_seconds(plan.timed.seconds))
    if plan.timed.need == plan.need:
        return text
    # Within a sentence, without the end of its own.
    need = need_words(plan.timed.need).rstrip(".。")
    return sentences([text, say("plan.instead", need=need, factor=factor_words(plan.scale))])


def beside_words(plan: Plan) -> str:
    """What the first method costs concurrent work; empty where that is not known."""
    if not plan.beside:
        return ""
    costs = [say(f"plan.beside_{name}", percent=percent_words(share)) for name, share in plan.beside.items()]
    return say("plan.beside", costs=say("common.comma").join(costs))


def warning_words(plan: Plan) -> list[str]:
    """What to beware of, a sentence each."""
    parts = []
    if plan.exceeded_bytes:
        parts.append(say("plan.exceeds_memory", memory=near_bytes(plan.exceeded_bytes)))
    if plan.wrong:
        parts.append(say("plan.excluded", count=plan.wrong))
    return parts


def ruled_out_words(plan: Plan) -> str:
    """The methods that were only tried, and how much slower each was; empty where all were measured."""
    ruled_out = plan.timed.ruled_out if plan.timed else {}
    if not ruled_out:
        return ""
    slower = sorted(ruled_out.items(), key=lambda pair: pair[1])
    names = [way_words(plan.need, name) + in_brackets(f"{factor_words(times)}x") for name, times in slower]
    return say("plan.ruled_out", methods=say("common.comma").join(names))


def factor_words(times: float) -> str:
    """``1.31``, ``4.6``, ``52``."""
    return f"{times:.2f}" if times < 1.5 else f"{times:.1f}" if times < 9.95 else f"{times:.0f}"


def worth_words(plan: Plan) -> str:
    """Whether to move work to the device, copies included, given what the CPU takes for it; empty unless asked."""
    need, best = plan.need, plan.fastest
    if not isinstance(need, PipelineNeed) or need.cpu_seconds is None or best is None:
        return ""
    cpu, device = need.cpu_seconds, best.seconds
    answer = "no" if device.low > cpu else "yes" if device.high < cpu else "unknown"
    return say(
        f"plan.worth_{answer}",
        cpu=format_seconds(cpu),
        device=format_seconds(device.median),
        copies=format_seconds(max(device.median - need.compute_seconds, 0.0)),
        factor=factor_words(cpu / device.median),
    )


def _memory(need: BufferNeed | PiecesNeed | SectionNeed | PipelineNeed) -> str:
    return say("plan.source_new") if need.source == "new" else memory_label(need.source)


def _named(plan: Plan, method: Method) -> str:
    return way_words(plan.need, method.name, method.options)


def _level(best: Method, other: Method) -> bool:
    """Whether noise may have put the two methods into this order: by what they differ in, where that is known."""
    if best.draws is None or other.draws is None:
        return other.seconds.low <= best.seconds.high
    return interval_of(other.draws / best.draws).low <= 1
