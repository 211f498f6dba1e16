"""Applies every rule to every process, puts the findings in order, and says what a trace lacks for a rule."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from isthmus.advice.code import words_of_vendor
from isthmus.advice.combining import gain_together
from isthmus.advice.competing import Drafted, settled
from isthmus.advice.extrapolated import draft_of
from isthmus.advice.finding import Abstention, Advice, Evidence, Finding
from isthmus.advice.links import generation_of, most_to_gain
from isthmus.advice.machines import elsewhere_words, other_devices
from isthmus.advice.places import Spent, call_places, copy_places, gathered, place_evidence
from isthmus.advice.rates import Rates
from isthmus.advice.records import interface_of_all, library_of, other_vendor
from isthmus.advice.rule import Draft, Rule, Summary
from isthmus.advice.rules import RULES
from isthmus.advice.scene import Scene, scenes
from isthmus.advice.steps import steps_of
from isthmus.advice.thresholds import least_gain
from isthmus.language import enumerated, say, sentences
from isthmus.plan import Unpriced
from isthmus.record import Interval, Run, format_seconds
from isthmus.trace import DIRECTIONS, UNKNOWN, Knowledge, Maker, Trace, grouped, vendors

# Rules that look at copies by the kind of the host's memory, and pass over those of which it is not known.
_BY_KIND = ("pageable", "slow-copies")
# How to record what is missing where that is not `isthmus trace`; a maker that cannot record it has no entry.
_COMMANDS: dict[tuple[Knowledge, Maker], str] = {
    ("calls", "nsys"): "nsys profile --trace=cuda",
    ("kernels", "nsys"): "nsys profile --trace=cuda",
    ("migrations", "nsys"): "nsys profile --cuda-um-cpu-page-faults=true --cuda-um-gpu-page-faults=true",
    ("calls", "rocprof"): vendors.ROCPROFV3,
    ("kernels", "rocprof"): vendors.ROCPROFV3,
    ("calls", "kineto"): "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
    ("kernels", "kineto"): "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
}


def advise(traces: Sequence[Trace], run: Run, library: Run | None = None, source: str = "") -> Advice:
    """What to change in the program of these traces, priced with the rates of a run, in the language spoken.

    `library` has what the library reaches on such a link, for a run without; `source` is what the run is called. Traces
    are of the processes of one program; their clocks are kept apart. Processes run at the same time, so that a
    change gains what it gains the one that gains most.
    """
    rates = Rates(run, library)
    every = scenes(traces, rates)
    span = max((scene.span_seconds for scene in every), default=0.0)
    drafted: list[tuple[Rule, Scene, Draft]] = []
    abstentions: dict[tuple[str, str], Abstention] = {}
    in_few_windows: list[str] = []
    for rule in RULES:
        drafts: list[tuple[Scene, Draft]] = []
        for trace in traces:
            if lacking := next((each for each in rule.needs if trace.knows.isdisjoint(each)), None):
                why = missing_words(lacking[0], trace)
                abstentions[rule.name, why] = Abstention(rule.name, why)
        try:
            for scene in every:
                if _can_judge(rule, scene) and (draft := draft_of(rule, scene, rates)) is not None:
                    drafts.append((scene, draft))
        except Unpriced as unpriced:
            abstentions[rule.name, str(unpriced)] = Abstention(rule.name, str(unpriced))
            # What may be found in the whole time is not reported to be all right.
            if rule.windows == "each" and any(scene.sample for scene in every):
                in_few_windows.append(str(unpriced))
            continue
        drafted += [(rule, *each) for each in drafts]
    if unknown := unknown_kinds_words(every):
        for name in _BY_KIND:
            abstentions[name, unknown] = Abstention(name, unknown)
    kept = settled(drafted)
    # What pinned memory gains at most matters where that is advised.
    is_pageable = any(rule.name == "pageable" for rule, *_ in kept)
    findings = []
    for rule in RULES:
        if of_rule := [each for each in kept if each[0] is rule]:
            also = frozenset[str]().union(*(others for *_, others in of_rule))
            findings.append(_finding(rule, [(scene, draft) for _, scene, draft, _ in of_rule], span, also))
    gaining = [(rule, scene, draft) for rule, scene, draft, _ in kept]
    foreign = tuple(other_devices(traces, run))
    # With rates of another machine, what the trace's own times say is summed up apart.
    of_trace = [each for each in gaining if foreign and each[0].by_trace]
    of_run = [each for each in gaining if not (foreign and each[0].by_trace)]
    of_one_machine = of_trace if foreign else of_run
    return Advice(
        findings=tuple(sorted(findings, key=_rank)),
        abstentions=tuple(abstentions.values()),
        span_seconds=span,
        gain_seconds=gain_together(of_run),
        gain_by_trace_seconds=gain_together(of_trace),
        priced_by=_source(source, run),
        priced_on=run.fingerprint.device.name,
        priced_elsewhere=sentences(
            [elsewhere_words(traces, run), *(_at_most(name, every, is_pageable) for name in foreign)]
        ),
        foreign=foreign,
        unseen=(*unseen(traces, every), *dict.fromkeys(in_few_windows)),
        steps=steps_of(_leading(every, gaining), of_one_machine) if every else None,
    )


def _source(source: str, run: Run) -> str:
    """What the run is called, and its device in short."""
    device = run.fingerprint.device.name
    return say("advice.priced_by", run=source, device=device) if source else device


def _at_most(device: str, every: Sequence[Scene], is_pageable: bool) -> str:
    """What a traced device other than the run's gains at most by copies of pageable memory."""
    generation = generation_of(device)
    if generation is None:
        return say("advice.elsewhere_unknown", traced=device)
    most = max((most_to_gain(scene, generation) for scene in every), default=0.0) if is_pageable else 0.0
    if most == 0:
        return ""
    return say("advice.elsewhere_most", traced=device, time=format_seconds(most), link=f"PCIe {generation}.0 x16")


def _leading(every: Sequence[Scene], gaining: Sequence[Drafted]) -> Scene:
    """The process that gains most, which is the one that all others wait for."""
    gains = {id(scene): gain_together([each for each in gaining if each[1] is scene]) for scene in every}
    return max(every, key=lambda scene: (gains[id(scene)] or (0.0,))[0])


def _can_judge(rule: Rule, scene: Scene) -> bool:
    knows = scene.trace.knows if scene.in_windows is None else scene.in_windows.trace.knows
    return not any(knows.isdisjoint(each) for each in rule.needs)


def _finding(rule: Rule, drafts: Sequence[tuple[Scene, Draft]], span: float, also: frozenset[str]) -> Finding:
    # As the headline counts it: kernels remain.
    gains = [gain_together([(rule, *each)]) or Interval(0.0, 0.0, 0.0) for each in drafts]
    leading = max(range(len(drafts)), key=lambda at: gains[at].median)
    gain, (scene, draft) = gains[leading], drafts[leading]
    records = [_records(*each) for each in drafts]
    calls, moved = sum(each.calls for each in records), sum(each.bytes for each in records)
    words = rule.words(Summary(calls, moved, draft.facts, scene.interface, library_of([scene.trace])))
    words = words_of_vendor(words, other_vendor(scene.trace))
    matters = gain.median >= least_gain(span)
    return Finding(
        rule=rule.name,
        level=draft.level or ("ATTENTION" if matters else "note"),
        title=words.title,
        cause=sentences([words.cause, *_beside(len(drafts), also)]),
        change=words.change,
        pricing=sentences([words.pricing, *_from_windows(draft)]),
        snippets=words.snippets,
        lines=words.lines,
        evidence=gathered([evidence for each in records for evidence in each.evidence]),
        calls=calls,
        bytes=moved,
        gain_seconds=gain if gain.median > 0 else None,
        by_trace=rule.by_trace,
        accelerate_seconds=draft.facts.get("accelerate"),
        also=also,
    )


def _beside(processes: int, also: frozenset[str]) -> Iterator[str]:
    if processes > 1:
        yield say("advice.of_leading_process", count=processes)
    if also:
        yield say("advice.also", rules=enumerated(sorted(also)))


def _from_windows(draft: Draft) -> Iterator[str]:
    if draft.windows:
        yield say("advice.windows_pricing", count=draft.windows)


class _Records(NamedTuple):
    """What the records of a draft come to."""

    calls: int
    bytes: int
    evidence: list[Evidence]


def _records(scene: Scene, draft: Draft) -> _Records:
    trace, rows = scene.trace, draft.rows
    if draft.table == "copies":
        places, sizes, calls = copy_places(scene, rows), trace.copies.bytes[rows], scene.call(rows)
        device = (scene.device_begin(rows), scene.device_end(rows))
        engines = trace.copies.device[rows] * len(DIRECTIONS) + trace.copies.direction[rows]
        spent = Spent(scene.in_calls(calls), scene.threads(calls), device, engines)
    elif draft.table == "calls":
        places, sizes = call_places(scene, rows), np.zeros(rows.size, np.int64)
        spent = Spent(scene.in_calls(rows), scene.threads(rows))
    else:
        calls = trace.allocations.call[rows]
        places, sizes = call_places(scene, calls), trace.allocations.bytes[rows]
        spent = Spent(scene.in_calls(calls), scene.threads(calls))
    known = np.maximum(sizes, 0)
    return _Records(int(rows.size), int(known.sum()), place_evidence(scene, places, known, spent, draft.took))


def _rank(finding: Finding) -> tuple[bool, float]:
    return finding.level != "ATTENTION", -(finding.gain_seconds.median if finding.gain_seconds else 0.0)


def unseen(traces: Sequence[Trace], every: Sequence[Scene]) -> tuple[str, ...]:
    """What was lost or cannot be known, each a sentence; nothing where all that the program copied is in the traces."""
    sentences = [f"{trace.name}: {lost}" for trace in traces for lost in trace.lost]
    for trace in traces:
        sentences += _of_trace(trace)
    if unknown := unknown_kinds_words(every):
        sentences.append(unknown)
    return tuple(sentences)


def _of_trace(trace: Trace) -> Iterator[str]:
    copies = trace.copies
    if count := int((copies.direction == UNKNOWN).sum()):
        yield say("advice.unseen_directions", count=count)
    called = np.zeros(len(trace.calls), np.bool_)
    called[copies.call[(copies.call >= 0) & (copies.call < called.size)]] = True
    copying = [place for place, name in enumerate(trace.names) if vendors.copies(name)]
    # For each of these calls that is in none of the others, whether it or one within made a copy on a device.
    rows = np.flatnonzero(np.isin(trace.calls.name, copying))
    calls = trace.calls
    order = rows[np.lexsort((-calls.end_ns[rows], calls.start_ns[rows], calls.thread[rows], calls.process[rows]))]
    outer = np.ones(order.size, np.bool_)
    for group in grouped(calls.process[order], calls.thread[order]):
        ends = np.maximum.accumulate(calls.end_ns[order[group]])
        outer[group[1:]] = calls.end_ns[order[group[1:]]] > ends[:-1]
    made = np.zeros(int(outer.sum()), np.bool_)
    np.logical_or.at(made, np.cumsum(outer) - 1, called[order])
    if count := int((~made).sum()):
        yield say("advice.unseen_copies", count=count, of=made.size)
    if "calls" in trace.knows and (count := int((copies.call[copies.migration != 1] == UNKNOWN).sum())):
        yield say("advice.unseen_calls", count=count)


def missing_words(knowledge: Knowledge, trace: Trace) -> str:
    """What is missing in a trace, and the option of recording that gives it, where there is one."""
    if knowledge == "migrations" and interface_of_all([trace]) == "opencl":
        return say("advice.lacks_migrations_opencl")
    vendor = other_vendor(trace)
    if vendor and (knowledge, trace.maker) not in _COMMANDS:
        return say("advice.lacks_vendor", what=say(f"trace_report.known_{knowledge}"), vendor=vendor)
    isthmus = "isthmus trace --contents" if knowledge == "contents" else "isthmus trace"
    command = _COMMANDS.get((knowledge, trace.maker), isthmus)
    return say("advice.lacks", what=say(f"trace_report.known_{knowledge}"), command=command)


def unknown_kinds_words(every: Sequence[Scene]) -> str:
    """That some copies do not tell the kind of the host's memory; empty where all do."""
    count = sum(int((scene.host_kind(scene.copies) == UNKNOWN).sum()) for scene in every)
    if not count:
        return ""
    vendors = [vendor for scene in every if (vendor := other_vendor(scene.trace))]
    if vendors:
        return say("advice.lacks_kinds_vendor", count=count, vendor=vendors[0])
    return say("advice.lacks_kinds", count=count)
