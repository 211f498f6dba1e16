"""The document of a plan: the answer, where it is from, the methods in a table, and the calls of the fastest."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from isthmus.document.document import Answer, Block, Bullets, Code, Data, Document, Heading, Item, Prose, Table
from isthmus.document.grid import Grid, text_grid
from isthmus.grouping import grouped
from isthmus.language import say
from isthmus.plan import (
    Method,
    Plan,
    answer_words,
    basis_words,
    beside_words,
    need_words,
    ruled_out_words,
    snippet_languages,
    step_name,
    warning_words,
    way_words,
    worth_words,
)
from isthmus.plan import snippet as snippet_of
from isthmus.record import BufferNeed, Need, format_rate, format_seconds

# More lines of code than this are a page of their own: --snippet shows them.
_MOST_LINES = 12
_LANGUAGES = {"opencl": ("opencl",), "cuda": ("torch", "cupy", "cuda")}


def plan_document(plan: Plan, *, explain: bool = False, snippet: str | None = None) -> Document:
    """The answer, the methods and the calls of the fastest; with `explain` also what was left out and why.

    `snippet` names the language of the calls, of the fastest method that its library has.
    """
    return Document(
        "plan",
        need_words(plan.need),
        tuple(_blocks(plan, explain=explain, snippet=snippet)),
        data=Data(lambda: _data(plan, snippet)),
    )


def _blocks(plan: Plan, *, explain: bool, snippet: str | None) -> Iterator[Block]:
    yield Answer(tuple(filter(None, (answer_words(plan), worth_words(plan)))))
    yield Prose(basis_words(plan), "small")
    if text := beside_words(plan):
        yield Prose(text, "small")
    yield from (Prose(f"! {warning}", "warning") for warning in warning_words(plan))
    if plan.methods:
        uses = plan.need.uses if isinstance(plan.need, BufferNeed) else 1
        moved = plan.need.moved_bytes
        names = ["time", "interval", *(["use"] if uses > 1 else []), *(["rate"] if moved else []), "factor"]
        fastest = min(method.seconds.median for method in plan.methods)
        rows = []
        for method in plan.methods:
            median, low, high = method.seconds
            cells = [format_seconds(median), say("common.range", low=format_seconds(low), high=format_seconds(high))]
            cells += [format_seconds(median / uses)] if uses > 1 else []
            cells += [format_rate(moved / median)] if moved else []
            cells += [f"{median / fastest:.2f}"]
            rows.append((way_words(plan.need, method.name, method.options), cells))
        yield Table(
            (text_grid("", say("labels.corner_method"), (say(f"plan.heading_{each}") for each in names), rows),)
        )
    if text := ruled_out_words(plan):
        yield Prose(text, "small")
    if plan.unpriced:
        yield Heading(say("plan.heading_unpriced"), 3)
        yield _reasons(plan, plan.unpriced)
    if explain and any(method.steps for method in plan.methods):
        yield Heading(say("plan.heading_steps"), 3)
        yield Table((_steps(plan),))
    if plan.unknown and (explain or not plan.methods):
        yield Heading(say("plan.heading_unknown"), 3)
        yield _reasons(plan, plan.unknown)
    yield from _calls(plan, snippet)


def _reasons(plan: Plan, reasons: Mapping[str, str]) -> Bullets:
    """One line a reason, with all the methods that it holds for."""
    comma = say("common.comma")
    by_reason = {
        why: comma.join(dict.fromkeys(way_words(plan.need, name) for name in names))
        for why, names in grouped(reasons, reasons.__getitem__).items()
    }
    return Bullets(tuple(Item(f"{names}: {why}") for why, names in by_reason.items()))


def _calls(plan: Plan, snippet: str | None) -> Iterator[Block]:
    """The calls in the language that was asked for, else those of the fastest method where they are few."""
    method = _with_calls(plan, snippet) if snippet else plan.fastest
    if snippet and plan.methods and method is None:
        yield Prose(say("plan.no_calls", language=snippet))
    if method is None:
        return
    known = snippet_languages(plan.need, method.name)
    for language in _languages(plan, method, snippet):
        if language in known:
            code = snippet_of(plan.need, method, language).rstrip()
            if snippet or len(code.splitlines()) <= _MOST_LINES:
                title = say("plan.calls", language=language, method=way_words(plan.need, method.name, method.options))
                yield Code(title, code, alone=True)
                return
    if known:
        yield Prose(say("plan.more_calls", languages=", ".join(known)), "small")


def _languages(plan: Plan, method: Method, snippet: str | None) -> Sequence[str]:
    """The one that was asked for, the library's own for its own methods, else those of the device's programs."""
    return (
        (snippet,)
        if snippet
        else (method.name,)
        if method.name == "isthmus"
        else _LANGUAGES.get(plan.device.backend, ())
    )


def _with_calls(plan: Plan, language: str) -> Method | None:
    return next((method for method in plan.methods if language in snippet_languages(plan.need, method.name)), None)


def _steps(plan: Plan) -> Grid:
    """What the steps of each method take, and how often they are taken where that is more than once."""
    # In the order of the method with the most steps.
    longest = sorted(plan.methods, key=lambda method: -len(method.steps))
    names = dict.fromkeys(step_name(step.name) for method in longest for step in method.steps)
    rows = []
    for method in plan.methods:
        cells = dict.fromkeys(names, "")
        for step in method.steps:
            took = format_seconds(step.seconds.median)
            cells[step_name(step.name)] = took if step.count == 1 else f"{step.count:g} x {took}"
        rows.append((way_words(plan.need, method.name, method.options), cells.values()))
    return text_grid("", say("labels.corner_method"), names, rows)


def _data(plan: Plan, snippet: str | None) -> Mapping[str, Any]:
    """Names and figures in seconds and bytes, no texts but reasons."""
    method = _with_calls(plan, snippet) if snippet else None
    timed = plan.timed
    return {
        "format": "isthmus.plan",
        "run": plan.run,
        "device": plan.device.spec,
        "device_name": plan.device.name,
        "need": _need(plan.need),
        "measured": timed is not None,
        "measured_need": _need(timed.need) if timed else None,
        "fastest": plan.fastest.name if plan.fastest else None,
        "ways": [
            {
                "name": method.name,
                "options": method.options,
                "seconds": method.seconds._asdict(),
                "samples": method.samples,
                "steps": [
                    {"name": step.name, "count": step.count, "seconds": step.seconds._asdict()} for step in method.steps
                ],
            }
            for method in plan.methods
        ],
        "ruled_out": timed.ruled_out if timed else {},
        "unpriced": plan.unpriced,
        "unknown": plan.unknown,
        "exceeded_bytes": plan.exceeded_bytes,
        "beside": plan.beside,
        "snippet": {"language": snippet, "way": method.name, "code": snippet_of(plan.need, method, snippet)}
        if method and snippet
        else None,
    }


def _need(need: Need) -> Mapping[str, Any]:
    return {"kind": type(need).__name__.removesuffix("Need").lower()} | asdict(need)
