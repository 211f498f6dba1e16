"""What `isthmus plan` prints: the answer in sentences, a table of all ways, their arithmetic, or one JSON document."""

import shutil
from collections.abc import Iterator
from typing import Any, TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from isthmus.analysis.phrases import describe_device
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
from isthmus.record import Interval, Run, format_rate, format_seconds

_PIPE_WIDTH = 10_000
_PROSE_WIDTH = 100


def write(run: Run, plan: Plan, out: TextIO, *, explain: bool = False, snippet: str | None = None) -> None:
    """Write the answer and the table of all ways; with `explain` also the arithmetic of each.

    `snippet` names the language in which the calls of the fastest way follow that its library has.
    """
    columns = shutil.get_terminal_size().columns if out.isatty() else _PIPE_WIDTH
    console = Console(file=out, width=columns, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        for part in _parts(run, plan, explain=explain):
            console.print(part, width=min(columns, _PROSE_WIDTH) if isinstance(part, Text) else columns)
    out.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())
    if snippet is not None and plan.ways:
        # As it is, to be pasted.
        out.write(f"\n{_calls(plan, snippet)}")


def _parts(run: Run, plan: Plan, *, explain: bool) -> Iterator[RenderableType]:
    yield Text(need_words(plan.need), style="bold")
    yield Text(say("plan.planned_on", device=describe_device(run), run=run.run), style="dim")
    yield Text(f"\n{answer_words(plan)}")
    for warning in [*_excluded(run), *_quick(run), *warning_words(plan)]:
        yield Text(f"! {warning}", style="yellow")
    if plan.extend:
        yield Text(say("plan.extend"), style="yellow")
        # Not as prose, which would wrap what is to be pasted.
        yield Padding(Text(plan.extend, style="cyan", no_wrap=True, overflow="ignore"), (0, 0, 0, 2))
    if plan.ways:
        yield Text("")
        yield _table(plan)
    if explain:
        yield Text(f"\n{say('plan.heading_arithmetic')}", style="bold")
        for way in plan.ways:
            yield Text(way_words(plan.need, way.name, way.options))
            yield Padding(_arithmetic(way), (0, 0, 0, 2))
    if plan.unknown:
        yield Text(f"\n{say('plan.heading_unknown')}", style="bold")
        for name, reason in plan.unknown.items():
            yield Padding(Text(f"{way_words(plan.need, name)}: {reason}"), (0, 0, 0, 2))


def _calls(plan: Plan, language: str) -> str:
    """The calls of the fastest way that the language's library has, after what way that is."""
    way = _with_calls(plan, language)
    if way is None:
        return say("plan.no_calls", language=language) + "\n"
    title = say("plan.calls", language=language, way=way_words(plan.need, way.name, way.options))
    return f"{title}\n\n{snippet_of(plan.need, way, language).rstrip()}\n"


def _with_calls(plan: Plan, language: str) -> Way | None:
    return next((way for way in plan.ways if language in snippet_languages(plan.need, way.name)), None)


def _excluded(run: Run) -> list[str]:
    wrong = sum(case.verified == "no" for case in run.cases)
    return [say("plan.excluded", count=wrong)] if wrong else []


def _quick(run: Run) -> list[str]:
    return [say("plan.quick_run")] if run.settings.mode == "quick" else []


def _table(plan: Plan) -> Table:
    uses = plan.need.uses if isinstance(plan.need, BufferNeed) else 1
    moved = moved_bytes(plan.need)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    table.add_column(say("plan.heading_way"), ratio=1 if len(plan.ways) > 1 else None)
    headings = [say("plan.heading_time"), say("plan.heading_interval")]
    headings += [say("plan.heading_use")] if uses > 1 else []
    headings += [say("plan.heading_rate")] if moved else []
    for heading in (*headings, say("plan.heading_factor")):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column(say("plan.heading_note") if any(way.beyond for way in plan.ways) else "")
    fastest = plan.ways[0].seconds.median
    for way in plan.ways:
        median, low, high = way.seconds
        cells = [format_seconds(median), say("common.range", low=format_seconds(low), high=format_seconds(high))]
        cells += [format_seconds(median / uses)] if uses > 1 else []
        cells += [format_rate(moved / median)] if moved else []
        name = way_words(plan.need, way.name, way.options)
        table.add_row(name, *cells, f"{median / fastest:.2f}", beyond_words(way))
    return table


def _arithmetic(way: Way) -> RenderableType:
    """How often each step is taken, what it takes, and the sum."""
    if not way.steps:
        return Text(f"{say('plan.whole')}: {time_words(way.seconds)}")
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_header=False)
    for justify in ("right", "right", "left"):
        table.add_column(justify=justify, no_wrap=justify == "right")
    for step in way.steps:
        table.add_row(f"{step.count:g} x", format_seconds(step.seconds.median), step_words(step))
    table.add_row("=", format_seconds(way.seconds.median), say("plan.sum"))
    return table


def document(run: Run, plan: Plan, snippet: str | None = None) -> dict[str, Any]:
    """The plan for scripts: names and figures in seconds and bytes, no texts but reasons.

    `snippet` names a language; the calls are of the fastest way that its library has.
    """
    kind = type(plan.need).__name__.removesuffix("Need").lower()
    return {
        "run": run.run,
        "device": run.fingerprint.device.spec,
        "device_name": run.fingerprint.device.name,
        "need": {"kind": kind} | {name: getattr(plan.need, name) for name in plan.need.__dataclass_fields__},
        "fastest": plan.ways[0].name if plan.ways else None,
        "ways": [
            {
                "name": way.name,
                "options": way.options,
                "seconds": _interval(way.seconds),
                "beyond": way.beyond,
                "steps": [
                    {"name": step.name, "count": step.count, "seconds": _interval(step.seconds)} for step in way.steps
                ],
            }
            for way in plan.ways
        ],
        "unknown": plan.unknown,
        "missing_experiments": plan.missing_experiments,
        "extend": plan.extend,
        "unmeasured_unit": plan.unmeasured_unit,
        "exceeded_bytes": plan.exceeded_bytes,
        "snippet": _snippet_document(plan, snippet) if snippet else None,
    }


def _snippet_document(plan: Plan, language: str) -> dict[str, str] | None:
    way = _with_calls(plan, language)
    return {"language": language, "way": way.name, "code": snippet_of(plan.need, way, language)} if way else None


def _interval(seconds: Interval) -> dict[str, float]:
    return {"median": seconds.median, "low": seconds.low, "high": seconds.high}
