"""What a check against a reference says: whether the run looks right, likely causes where not, and its tables."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from isthmus.analysis.phrases import describe_device, spanned
from isthmus.compare import Checkup, FigureResult
from isthmus.document.document import Block, Prose
from isthmus.document.grid import Cell, Grid, text_grid
from isthmus.language import say
from isthmus.record import format_rate, format_seconds
from isthmus.report.comparison.tables import headed, more
from isthmus.report.comparison.words import group_name, ratio_text, verdict_name, way_memory_name

_MOST_ROWS = 20
# What matters most first: pinned rates say whether the link is right.
_ORDER = {"rate": 0, "latency": 1, "time": 2}


def check_runs(checkup: Checkup) -> list[str]:
    """The reference and the run."""
    reference, run = checkup.reference, checkup.run
    return [
        say(
            "compare.check_reference", name=reference.name, device=describe_device(reference.run), count=reference.runs
        ),
        say("compare.run_new", run=run.run, device=describe_device(run), created=run.created),
    ]


def check_verdict(checkup: Checkup) -> list[str]:
    """Whether it matches the reference."""
    counts, total = checkup.counts, len(checkup.figures)
    answer = "compare.check_right" if checkup.right else "compare.check_wrong"
    texts = [say(answer, right=counts["same"], slow=counts["slower"], fast=counts["faster"], total=total)]
    if checkup.other_device:
        base, new = describe_device(checkup.reference.run), describe_device(checkup.run)
        texts.append(say("compare.other_device", name=checkup.reference.name, expected=base, device=new))
    if checkup.busy_host:
        texts.append(say("compare.busy_host"))
    return texts


def check_left_out(checkup: Checkup) -> list[str]:
    """Figures of the reference that this run says nothing of."""
    return [say("compare.check_unmeasured", count=checkup.unmeasured)] if checkup.unmeasured else []


def check_tables(checkup: Checkup) -> Iterator[Block]:
    """The figures out of range, slow ones first; how many are within it; and all of them but in a terminal."""
    out = sorted((each for each in checkup.figures if each.verdict != "same"), key=_importance)
    if out:
        yield from headed(_grid("compare.check_out", out[:_MOST_ROWS]))
        yield from more(len(out) - _MOST_ROWS)
    if within := checkup.counts["same"]:
        yield Prose(say("compare.check_within", count=within), where="terminal")
    plain = sorted(checkup.figures, key=lambda each: _ORDER[each.expected.quantity])
    yield from (replace(block, where="long") for block in headed(_grid("compare.all", plain)))


def _figure_name(figure: FigureResult) -> str:
    """``H2D pinned``, whose unit says what it is of, or the group whose times it sums up."""
    expected = figure.expected
    return group_name(expected.key) if expected.quantity == "time" else way_memory_name(expected.key)


def _with_unit(figure: FigureResult, value: float) -> str:
    """A value; a ratio has no unit."""
    match figure.expected.quantity:
        case "rate":
            return format_rate(value)
        case "latency":
            return format_seconds(value)
        case _:
            return f"{ratio_text(value)}x"


def _importance(figure: FigureResult) -> tuple[bool, int, bool, bool, float]:
    expected = figure.expected
    return (
        figure.verdict != "slower",
        _ORDER[expected.quantity],
        expected.host_memory != "pinned",
        expected.method != "copy" or expected.direction == "both",
        -abs(math.log(figure.value / expected.typical)),
    )


def _grid(title: str, figures: Sequence[FigureResult]) -> Grid:
    rows = [
        (
            _figure_name(each),
            (
                _with_unit(each, each.value),
                spanned(_with_unit(each, each.expected.low), _with_unit(each, each.expected.high)),
                Cell(
                    say("compare.verdict_right") if each.verdict == "same" else verdict_name(each.verdict),
                    state="failed" if each.verdict == "slower" else "ok",
                ),
            ),
        )
        for each in figures
    ]
    corner, *headings = (say(f"compare.column_{name}") for name in ("case", "new", "expected", "verdict"))
    return text_grid(say(title), corner, headings, rows)
