"""The document of advice: the verdict, each finding with its price and its evidence, and rules that could not judge."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from isthmus.advice import Advice, Evidence, Finding, Steps, interface_of_all, library_of, lines_for, other_vendor
from isthmus.document.document import Answer, Block, Bullets, Code, Data, Document, Heading, Item, Prose, Table, Where
from isthmus.document.finding import level_word
from isthmus.document.grid import Grid, text_grid
from isthmus.grouping import grouped
from isthmus.language import enumerated, say, sentences
from isthmus.record import Interval, decimal_bytes, format_seconds
from isthmus.report.advice_change import change_blocks, change_data
from isthmus.report.trace.lanes import timeline
from isthmus.trace import Trace, direction_index, union

_MOST_SHORT = 5
# Below this share of the time a gain has a unit of its own; numbers from here on have no digits behind the point.
_LEAST_SHARE = 1e-3
_WHOLE = 999.5
_LEAST_DIGITS = 0.01
# In a terminal, of those that gain most.
_MOST_SHOWN = 3
# Whose author CUDA's code says nothing.
_OF_PYTHON = ("torch", "xpu", "cupy", "jax")


def advice_document(
    advice: Advice,
    traces: Sequence[Trace],
    snippet: str | None = None,
    *,
    everything: bool = False,
    before: Advice | None = None,
) -> Document:
    """The advice on traces, whose timelines a page shows, too.

    A terminal gets the findings that gain most, each with a few lines of code, unless it is to have `everything`. Code
    is shown in the language of `snippet`, else in all; in a terminal in the program's, where that is known. With
    `before`, advice on an earlier trace of the program, what became of that comes first.
    """
    names = enumerated([trace.name for trace in traces])
    notes = tuple(f"{trace.name}: {note}" for trace in traces for note in trace.notes)
    if advice.findings or any(len(trace.copies) for trace in traces):
        blocks = [*_verdict(advice), *_findings(advice, traces, snippet, everything=everything), *_grounds(advice)]
        if not advice.findings:
            blocks += _spent(traces)
    else:
        # What would have to be recorded is all that such a trace tells.
        missed = advice.unseen or any(each.rule == "waits" for each in advice.abstentions)
        kind = "nothing" if missed or not any(len(trace.kernels) for trace in traces) else "kernels"
        blocks = [Answer((say(f"advice_report.verdict_{kind}"), *dict.fromkeys((*notes, *advice.unseen))))]
    if before is not None:
        blocks = [*change_blocks(before, advice), *blocks]
    elif len(traces) == 2:
        blocks.append(Prose(say("advice_report.two_traces", first=traces[0].name, second=traces[1].name), "small"))
    blocks += [timeline(trace) for trace in traces if trace.span_ns[1] > trace.span_ns[0]]
    blocks += _abstentions(advice, everything=everything)
    if notes:
        where = _where(everything)
        blocks += [Heading(say("trace_report.remarks"), where=where), Bullets(tuple(map(Item, notes)), where=where)]
    return Document(
        "advice",
        say("advice_report.title", names=names),
        tuple(blocks),
        data=Data(lambda: _data(advice, traces, notes) | ({"change": change_data(before, advice)} if before else {})),
    )


def advice_blocks(advice: Advice, trace: Trace) -> Iterator[Block]:
    """The advice as a part of the document of its trace."""
    yield from _verdict(advice)
    yield from _findings(advice, (trace,), None, everything=True)
    yield from _grounds(advice)
    yield from _abstentions(advice, everything=True)


def short_blocks(advice: Advice) -> Iterator[Block]:
    """The verdict and a line for each of the first findings."""
    yield from _verdict(advice)
    if advice.findings:
        yield Bullets(tuple(Item(_short(finding, advice)) for finding in advice.findings[:_MOST_SHORT]))
    yield from _grounds(advice)
    if advice.abstentions:
        rules = list(dict.fromkeys(each.rule for each in advice.abstentions))
        yield Prose(say("advice_report.not_judged", rules=enumerated(rules)), "small")


def _verdict(advice: Advice) -> Iterator[Block]:
    """One headline: what all changes gain, and what a step becomes."""
    yield Answer((sentences([*_verdict_sentences(advice), _step(advice.steps)]),))


def _grounds(advice: Advice) -> Iterator[Block]:
    """What the gains rest on, and what the traces do not show: behind the findings."""
    if advice.unseen:
        yield Prose(say("advice_report.unseen", what=" ".join(advice.unseen)), "warning")
    if advice.priced_elsewhere:
        yield Prose(advice.priced_elsewhere, "warning")
    if advice.priced_by:
        yield Prose(say("advice_report.priced_by", run=advice.priced_by), "small")


def _verdict_sentences(advice: Advice) -> Iterator[str]:
    """What all changes gain: of the time traced, or on each of two machines."""
    warnings = sum(finding.level == "ATTENTION" for finding in advice.findings)
    by_trace, by_run = (
        sum(finding.gain_seconds is not None and finding.by_trace == each for finding in advice.findings)
        for each in (True, False)
    )
    if advice.foreign:
        if (gain := advice.gain_by_trace_seconds) is not None:
            kind = _verdict_key(by_trace, gain)
            yield say(kind if warnings else "advice_report.verdict_little", gain=_saved(gain, advice), count=by_trace)
        if (gain := advice.gain_seconds) is not None:
            kind = "advice_report.verdict_elsewhere_one" if by_run == 1 else "advice_report.verdict_elsewhere"
            kind = kind if warnings else "advice_report.verdict_little_elsewhere"
            span = format_seconds(advice.span_seconds)
            yield say(kind, device=advice.priced_on, gain=_saved_elsewhere(gain), count=by_run, span=span)
    elif (gain := advice.gain_seconds) is not None:
        # The sum is over all that have a price, and so is their number.
        count = by_trace + by_run
        kind = _verdict_key(count, gain)
        yield say(kind if warnings else "advice_report.verdict_little", count=count, gain=_saved(gain, advice))
    if (advice.gain_seconds, advice.gain_by_trace_seconds) == (None, None):
        none = "advice_report.verdict_unseen" if advice.unseen else "advice_report.verdict_none"
        yield say("advice_report.verdict_unpriced" if warnings else none, count=warnings)


def _verdict_key(count: int, gain: Interval) -> str:
    """A gain that may be none is no promise."""
    return f"advice_report.verdict{'_may' if gain.low <= 0 else ''}{'_one' if count == 1 else ''}"


def _step(steps: Steps | None) -> str:
    if steps is None:
        return ""
    if steps.gain_seconds is None or not steps.seconds:
        return say("advice_report.steps", count=steps.count, time=format_seconds(steps.seconds))
    # ``28.6 -> 20.7 ms``: the unit of the longer one is behind both.
    text, (new,) = _in_one_unit(steps.seconds, [steps.new_seconds])
    now, _, unit = text.partition(" ")
    if new == now:
        return say("advice_report.steps", count=steps.count, time=text)
    return say("advice_report.steps_gain", count=steps.count, time=now, new=f"{new} {unit}")


def _saved(gain: Interval, advice: Advice) -> str:
    """``156 of 572 ms (27 %; 95 %: 133 to 159)``; ``up to 159 of 572 ms (28 %)`` of what may be none."""
    if gain.median < _LEAST_SHARE * advice.span_seconds:
        span = format_seconds(advice.span_seconds)
        median, low, high = map(format_seconds, gain)
    else:
        span, (median, low, high) = _in_one_unit(advice.span_seconds, list(gain))
    if gain.low <= 0:
        return say("advice_report.saved_most", time=high, span=span, share=_share_of(gain.high, advice))
    return say("advice_report.saved", time=median, span=span, share=_share(gain, advice), low=low, high=high)


def _saved_alone(gain: Interval) -> str:
    """``3.30 ms (95 %: 2.9 to 3.31)``."""
    median, (low, high) = _in_one_unit(gain.median, [gain.low, gain.high])
    return say("advice_report.saved_alone", time=median, low=low, high=high)


def _saved_elsewhere(gain: Interval) -> str:
    if gain.low <= 0:
        return say("advice_report.saved_alone_most", time=format_seconds(gain.high))
    return _saved_alone(gain)


def _in_one_unit(largest: float, others: Sequence[float]) -> tuple[str, list[str]]:
    """A time with its unit, and others in the same unit without it."""
    text = format_seconds(largest)
    number, _, _unit = text.partition(" ")
    scale = float(number) / largest if largest else 0.0
    return text, [_number(scale * each) for each in others]


def _number(value: float) -> str:
    """Three digits, but no more than three behind the point: never in powers of ten."""
    if value < _LEAST_DIGITS:
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return f"{value:.3g}" if value < _WHOLE else f"{value:.0f}"


def _where(everything: bool) -> Where:
    """Where what the first screen leaves out is shown."""
    return "everywhere" if everything else "long"


def _spent(traces: Sequence[Trace]) -> Iterator[Block]:
    """What part of the time copies between host and device were in progress, in the program that copied most."""
    span, copying = max(((_seconds_of(trace), _copying(trace)) for trace in traces), key=lambda each: each[1])
    if span > 0:
        share = f"{100 * copying / span:.1f} %"
        yield Prose(say("advice_report.spent", time=format_seconds(copying), share=share), where="terminal")


def _seconds_of(trace: Trace) -> float:
    return 1e-9 * (trace.span_ns[1] - trace.span_ns[0])


def _copying(trace: Trace) -> float:
    """Seconds in which a copy between host and device, or pages, were in progress."""
    copies = trace.copies
    between = np.isin(copies.direction, [direction_index("h2d"), direction_index("d2h")])
    return 1e-9 * float(union(copies.start_ns[between], copies.end_ns[between]).length)


def _findings(advice: Advice, traces: Sequence[Trace], snippet: str | None, *, everything: bool) -> Iterator[Block]:
    own = snippet or _language_of(traces)
    for number, finding in enumerate(advice.findings, 1):
        shown: Where = "everywhere" if everything or number <= _MOST_SHOWN else "long"
        heading = say("advice_report.finding", number=number, severity=level_word(finding.level), title=finding.title)
        yield Heading(heading, 3, where=shown)
        if finding.gain_seconds is not None:
            yield Answer((_gain(finding, _saved_alone(finding.gain_seconds), advice),), where=shown)
        yield from (Prose(text, where=shown) for text in (finding.cause, finding.change) if text)
        # Who asks for a language wants the code that runs.
        in_full = everything or (snippet is not None and shown == "everywhere")
        if not in_full and shown == "everywhere":
            of_interface = next((name for name in ("opencl", "hip") if name in finding.snippets), "cuda")
            yield from _in_short(finding, own or of_interface)
        # Sorting keeps the order of the others.
        names = sorted((name for name in finding.snippets if snippet in (None, name)), key=lambda name: name != own)
        title_of = partial(say, "advice_report.snippet")
        others = names[1:]
        if snippet and not names and "isthmus" in finding.snippets:
            names = ["isthmus"]
            title_of = partial(say, "advice_report.snippet_instead", wanted=snippet)
        elif not names:
            others = sorted(finding.snippets)
        for place, name in enumerate(names):
            title = title_of(language=name)
            yield Code(title, finding.snippets[name].rstrip(), where="long" if place or not in_full else "everywhere")
        if in_full and others:
            languages = enumerated(others, "or")
            yield Prose(
                say("advice_report.other_snippets", option="--snippet", languages=languages), "small", where="terminal"
            )
        where = _where(everything)
        if finding.evidence:
            yield Table((_evidence(finding.evidence),), where=where)
        if finding.pricing:
            yield Prose(finding.pricing, "small", where=where)
    more = len(advice.findings) - _MOST_SHOWN
    if more > 0 and not everything:
        yield Prose(say("advice_report.more", count=more, option="--all"), "small", where="terminal")


def _in_short(finding: Finding, library: str) -> Iterator[Block]:
    """The place with the most time, and the change in a few lines: what a terminal has of evidence and code."""
    where = ""
    if finding.evidence:
        place, *others = finding.evidence
        where = _spent_at(place)
        if others:
            where = sentences([where, say("advice_report.at_others", count=len(others))])
    # CUDA's say nothing to the author of a program of Python.
    code = lines_for(finding.lines, library)
    if not code and library not in (*_OF_PYTHON, "opencl"):
        code = lines_for(finding.lines, "cuda")
    if code:
        yield Code(where or say("advice_report.snippet", language=library), code, where="terminal")
    elif where:
        yield Prose(where, where="terminal")


def _spent_at(place: Evidence) -> str:
    host, device = place.seconds, place.device_seconds
    if device is None or device == host:
        return say("advice_report.at", place=place.place, time=format_seconds(host))
    words = {"host": format_seconds(host), "device": format_seconds(device)}
    return say("advice_report.at_device", place=place.place, **words)


def _language_of(traces: Sequence[Trace]) -> str | None:
    """The language whose code says most to the author of what was traced: its profiler's, or one that calls name."""
    if interface_of_all(traces) == "opencl":
        return "opencl"
    if library := library_of(traces):
        intel = library == "torch" and all(other_vendor(trace) == "SYCL" for trace in traces)
        return "xpu" if intel else library
    sites = [site for trace in traces for site in trace.sites]
    return "isthmus" if any(".py:" in frame for site in sites for frame in site) else None


def _evidence(evidence: Sequence[Evidence]) -> Grid:
    on_device = any(each.device_seconds is not None for each in evidence)
    rows = []
    for each in evidence:
        device = ("" if each.device_seconds is None else format_seconds(each.device_seconds),) if on_device else ()
        size = decimal_bytes(each.bytes) if each.bytes else ""
        rows.append((format_seconds(each.seconds), (*device, str(each.calls), size, each.place)))
    columns = [say(f"trace_report.column_{name}") for name in ("number", "bytes")]
    devices = [say("advice_report.column_device")] if on_device else []
    host = say("advice_report.column_host") if on_device else say("trace_report.column_time")
    return text_grid("", host, [*devices, *columns, say("advice_report.column_place")], rows, words=1)


def _abstentions(advice: Advice, *, everything: bool) -> Iterator[Block]:
    if not advice.abstentions:
        return
    if not everything:
        names = list(dict.fromkeys(each.rule for each in advice.abstentions))
        yield Prose(say("advice_report.not_judged_why", rules=enumerated(names), option="--all"), where="terminal")
    yield Heading(say("advice_report.abstentions"), where=_where(everything))
    lines = (
        say("advice_report.abstention", rule=enumerated([each.rule for each in alike]), why=why)
        for why, alike in grouped(advice.abstentions, lambda each: each.why).items()
    )
    yield Bullets(tuple(map(Item, lines)), where=_where(everything))


def _short(finding: Finding, advice: Advice) -> str:
    if finding.gain_seconds is None:
        return finding.title
    gain = _gain(finding, format_seconds(finding.gain_seconds.median), advice)
    return say("advice_report.short", title=finding.title, gain=gain)


def _gain(finding: Finding, time: str, advice: Advice) -> str:
    if advice.foreign and not finding.by_trace:
        return say("advice_report.gain_elsewhere", time=time)
    return say("advice_report.gain", time=time, share=_share(finding.gain_seconds, advice))


def _share(seconds: Interval | None, advice: Advice) -> str:
    return _share_of(seconds.median, advice) if seconds else "-"


def _share_of(seconds: float, advice: Advice) -> str:
    return f"{100 * seconds / advice.span_seconds:.1f} %" if advice.span_seconds > 0 else "-"


def _data(advice: Advice, traces: Sequence[Trace], notes: Sequence[str]) -> dict[str, Any]:
    """Findings with their prices, what could not be judged, and which traces they are of."""
    return {
        "format": "isthmus.advice",
        "schema_version": 1,
        "traces": [
            {"name": trace.name, "maker": trace.maker, "processes": [asdict(each) for each in trace.processes]}
            for trace in traces
        ],
        "priced_by": advice.priced_by,
        "priced_elsewhere": advice.priced_elsewhere,
        "foreign": advice.foreign,
        "unseen": advice.unseen,
        "span_seconds": advice.span_seconds,
        "steps": advice.steps and asdict(advice.steps) | {"gain_seconds": _seconds(advice.steps.gain_seconds)},
        "gain_seconds": _seconds(advice.gain_seconds),
        "gain_by_trace_seconds": _seconds(advice.gain_by_trace_seconds),
        "findings": list(map(_found, advice.findings)),
        "abstentions": [asdict(abstention) for abstention in advice.abstentions],
        "notes": notes,
    }


def _found(finding: Finding) -> dict[str, Any]:
    """The levels by the names that scripts know since the first version."""
    severity = "warning" if finding.level == "ATTENTION" else "information"
    intervals = {name: _seconds(getattr(finding, name)) for name in ("gain_seconds", "accelerate_seconds")}
    values = asdict(finding) | {"level": severity} | intervals
    return {"severity" if name == "level" else name: value for name, value in values.items() if name != "also"}


def _seconds(interval: Interval | None) -> Mapping[str, float] | None:
    return interval and interval._asdict()
