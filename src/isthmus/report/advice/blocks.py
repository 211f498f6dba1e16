"""Advice as blocks: the verdict, each finding with its price and its evidence, and rules that could not judge."""

from collections.abc import Iterator, Sequence

from isthmus.advice import Advice, Evidence, Finding
from isthmus.document.grid import Cell, Column, Grid, Group, Row
from isthmus.language import enumerated, say
from isthmus.record import Interval, decimal_bytes, format_seconds
from isthmus.report.blocks.blocks import Block, Bullets, Code, Heading, Picture, Prose, Table
from isthmus.trace import Trace

_MOST_SHORT = 5


def advice_blocks(
    advice: Advice, traces: Sequence[Trace], snippet: str | None = None, *, brief: bool = False
) -> Iterator[Block]:
    """The whole report; code is shown in the language of `snippet`, else in all, or if `brief` in the first."""
    names = enumerated([trace.path.name for trace in traces])
    yield Heading(say("advice_report.title", names=names), 1)
    if advice.findings or any(len(trace.copies) for trace in traces):
        yield from _verdict(advice)
        yield from _findings(advice, snippet, brief=brief)
    else:
        yield Prose(say("advice_report.verdict_nothing"), "answer")
    for trace in traces:
        if trace.span_ns[1] > trace.span_ns[0]:
            yield Picture(trace)
    yield from _abstentions(advice)
    if notes := [f"{trace.path.name}: {note}" for trace in traces for note in trace.notes]:
        yield Heading(say("advice_report.notes"), 2)
        yield Bullets(tuple(notes))


def finding_blocks(advice: Advice) -> Iterator[Block]:
    """The advice as a part of a report of its trace."""
    yield Heading(say("advice_report.findings"), 2)
    yield from _verdict(advice)
    yield from _findings(advice, None, brief=False)
    yield from _abstentions(advice)


def short_blocks(advice: Advice) -> Iterator[Block]:
    """The verdict and a line for each of the first findings."""
    yield Heading(say("advice_report.findings"), 2)
    yield from _verdict(advice)
    if advice.findings:
        yield Bullets(tuple(_short(finding, advice) for finding in advice.findings[:_MOST_SHORT]))


def _verdict(advice: Advice) -> Iterator[Block]:
    gain, count = advice.gain_seconds, sum(finding.severity == "warning" for finding in advice.findings)
    if gain is not None:
        span = format_seconds(advice.span_seconds)
        words = {"time": _interval(gain), "share": _share(gain, advice), "span": span}
        # The sum is of all, and so is their number.
        priced = sum(finding.gain_seconds is not None for finding in advice.findings)
        yield Prose(
            say("advice_report.verdict" if count else "advice_report.verdict_little", count=priced, **words), "answer"
        )
    else:
        yield Prose(
            say("advice_report.verdict_unpriced" if count else "advice_report.verdict_none", count=count), "answer"
        )
    if advice.abstentions:
        rules = list(dict.fromkeys(each.rule for each in advice.abstentions))
        yield Prose(say("advice_report.not_judged", rules=enumerated(rules)), "small")
    if advice.priced_by:
        yield Prose(say("advice_report.priced_by", run=advice.priced_by), "small")
    if advice.priced_elsewhere:
        yield Prose(advice.priced_elsewhere, "warning")


def _findings(advice: Advice, snippet: str | None, *, brief: bool) -> Iterator[Block]:
    for number, finding in enumerate(advice.findings, 1):
        severity = say(f"page.severity_{'warning' if finding.severity == 'warning' else 'info'}")
        yield Heading(say("advice_report.finding", number=number, severity=severity, title=finding.title), 3)
        if finding.gain_seconds is not None:
            time, share = _interval(finding.gain_seconds), _share(finding.gain_seconds, advice)
            yield Prose(say("advice_report.gain", time=time, share=share), "answer")
        yield from (Prose(text) for text in (finding.cause, finding.change) if text)
        yield from _snippets(finding, snippet, brief=brief)
        if finding.evidence:
            yield Table(_evidence(finding.evidence))
        if finding.pricing:
            yield Prose(finding.pricing, "small")


def _snippets(finding: Finding, snippet: str | None, *, brief: bool) -> Iterator[Block]:
    names = [name for name in finding.snippets if snippet in (None, name)]
    shown = names[:1] if brief else names
    for name in shown:
        yield Code(say("advice_report.snippet", language=name), finding.snippets[name].rstrip())
    if others := [name for name in names if name not in shown]:
        yield Prose(
            say("advice_report.other_snippets", option="--snippet", languages=enumerated(others, "or")), "small"
        )


def _evidence(evidence: Sequence[Evidence]) -> Grid:
    rows = tuple(
        Row(
            format_seconds(each.seconds),
            (Cell(str(each.calls)), Cell(decimal_bytes(each.bytes) if each.bytes else ""), Cell(each.place)),
        )
        for each in evidence
    )
    calls, size, place = (say(f"advice_report.column_{name}") for name in ("calls", "bytes", "place"))
    columns = (Column(calls, calls), Column(size, size), Column(place, place, prose=True))
    return Grid("", columns, (Group("", rows),), corner=say("advice_report.column_time"))


def _abstentions(advice: Advice) -> Iterator[Block]:
    if advice.abstentions:
        yield Heading(say("advice_report.abstentions"), 2)
        yield Bullets(
            tuple(say("advice_report.abstention", rule=each.rule, why=each.why) for each in advice.abstentions)
        )


def _short(finding: Finding, advice: Advice) -> str:
    if finding.gain_seconds is None:
        return finding.title
    time, share = format_seconds(finding.gain_seconds.median), _share(finding.gain_seconds, advice)
    return say("advice_report.short", title=finding.title, gain=say("advice_report.gain", time=time, share=share))


def _interval(seconds: Interval) -> str:
    median, low, high = map(format_seconds, seconds)
    return say("plan.within", time=median, range=say("common.range", low=low, high=high))


def _share(seconds: Interval, advice: Advice) -> str:
    return f"{100 * seconds.median / advice.span_seconds:.1f} %" if advice.span_seconds > 0 else "-"
