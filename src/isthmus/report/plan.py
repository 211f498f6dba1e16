"""The document of a plan: the answer, what to beware of, all ways in a table, and on request their arithmetic."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from isthmus.analysis.phrases import describe_device
from isthmus.document.document import Answer, Block, Bullets, Code, Data, Document, Heading, Item, Prose, Table
from isthmus.document.grid import Grid, text_grid
from isthmus.language import say
from isthmus.plan import (
    BufferNeed,
    Plan,
    Way,
    answer_words,
    beyond_words,
    moved_bytes,
    need_words,
    snippet_languages,
    step_words,
    time_words,
    warning_words,
    way_words,
)
from isthmus.plan import snippet as snippet_of
from isthmus.record import Run, format_rate, format_seconds


def plan_document(run: Run, plan: Plan, *, explain: bool = False, snippet: str | None = None) -> Document:
    """The answer and all ways; with `explain` also the arithmetic of each.

    `snippet` names the language in which the calls of the fastest way follow that its library has.
    """
    return Document(
        "plan",
        need_words(plan.need),
        tuple(_blocks(run, plan, explain=explain, snippet=snippet)),
        data=Data(lambda: _data(run, plan, snippet)),
    )


def _blocks(run: Run, plan: Plan, *, explain: bool, snippet: str | None) -> Iterator[Block]:
    yield Prose(say("plan.planned_on", device=describe_device(run), run=run.run), "small")
    yield Answer((answer_words(plan),))
    wrong = sum(case.verified == "no" for case in run.cases)
    warnings = [say("plan.excluded", count=wrong)] if wrong else []
    warnings += [say("plan.quick_run")] if run.settings.mode == "quick" else []
    yield from (Prose(f"! {warning}", "warning") for warning in [*warnings, *warning_words(plan)])
    if plan.extend:
        yield Code(say("plan.extend"), plan.extend)
    if plan.ways:
        yield Table((_ways(plan),))
    if explain:
        yield Heading(say("plan.heading_arithmetic"), 3)
        yield Table(tuple(_arithmetic(plan, way) for way in plan.ways))
    if plan.unknown:
        yield Heading(say("plan.heading_unknown"), 3)
        yield Bullets(tuple(Item(f"{way_words(plan.need, name)}: {why}") for name, why in plan.unknown.items()))
    if snippet and plan.ways:
        way = _with_calls(plan, snippet)
        if way is None:
            yield Prose(say("plan.no_calls", language=snippet))
        else:
            title = say("plan.calls", language=snippet, way=way_words(plan.need, way.name, way.options))
            yield Code(title, snippet_of(plan.need, way, snippet).rstrip(), alone=True)


def _with_calls(plan: Plan, language: str) -> Way | None:
    return next((way for way in plan.ways if language in snippet_languages(plan.need, way.name)), None)


def _ways(plan: Plan) -> Grid:
    uses = plan.need.uses if isinstance(plan.need, BufferNeed) else 1
    moved = moved_bytes(plan.need)
    names = ["time", "interval", *(["use"] if uses > 1 else []), *(["rate"] if moved else []), "factor"]
    is_beyond = any(way.beyond for way in plan.ways)
    names += ["note"] if is_beyond else []
    rows = []
    for way in plan.ways:
        median, low, high = way.seconds
        cells = [format_seconds(median), say("common.range", low=format_seconds(low), high=format_seconds(high))]
        cells += [format_seconds(median / uses)] if uses > 1 else []
        cells += [format_rate(moved / median)] if moved else []
        cells += [f"{median / plan.ways[0].seconds.median:.2f}", *([beyond_words(way)] if is_beyond else [])]
        rows.append((way_words(plan.need, way.name, way.options), cells))
    return text_grid(
        "", say("plan.heading_way"), (say(f"plan.heading_{each}") for each in names), rows, words=is_beyond
    )


def _arithmetic(plan: Plan, way: Way) -> Grid:
    """How often each step is taken, what it takes, and the sum."""
    rows = [(f"{step.count:g} x", (format_seconds(step.seconds.median), step_words(step))) for step in way.steps]
    median = format_seconds(way.seconds.median)
    rows.append(("=", (median, say("plan.sum")) if rows else (time_words(way.seconds), say("plan.whole"))))
    return text_grid(way_words(plan.need, way.name, way.options), "", ("", ""), rows, words=1)


def _data(run: Run, plan: Plan, snippet: str | None) -> Mapping[str, Any]:
    """Names and figures in seconds and bytes, no texts but reasons."""
    way = _with_calls(plan, snippet) if snippet else None
    return {
        "run": run.run,
        "device": run.fingerprint.device.spec,
        "device_name": run.fingerprint.device.name,
        "need": {"kind": type(plan.need).__name__.removesuffix("Need").lower()} | asdict(plan.need),
        "fastest": plan.ways[0].name if plan.ways else None,
        "ways": [
            {
                "name": way.name,
                "options": way.options,
                "seconds": way.seconds._asdict(),
                "beyond": way.beyond,
                "steps": [
                    {"name": step.name, "count": step.count, "seconds": step.seconds._asdict()} for step in way.steps
                ],
            }
            for way in plan.ways
        ],
        "unknown": plan.unknown,
        "missing_experiments": plan.missing_experiments,
        "extend": plan.extend,
        "unmeasured_unit": plan.unmeasured_unit,
        "exceeded_bytes": plan.exceeded_bytes,
        "snippet": {"language": snippet, "way": way.name, "code": snippet_of(plan.need, way, snippet)}
        if way and snippet
        else None,
    }
