"""What a check against a reference says: whether the run looks right, likely causes where not, and its tables."""

import math
from collections.abc import Iterator, Sequence

from isthmus.analysis.phrases import describe_device, spanned
from isthmus.compare import Checkup, FigureResult
from isthmus.document.document import Block
from isthmus.document.grid import Cell, Grid, text_grid
from isthmus.language import first_few, say
from isthmus.record import format_rate, format_seconds
from isthmus.report.comparison.tables import folded, noted
from isthmus.report.comparison.words import group_name, ratio_text, way_memory_name

_MOST_NAMES = 3
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
        say("compare.check_run", run=run.run, device=describe_device(run), created=run.created),
    ]


def check_verdict(checkup: Checkup) -> list[str]:
    """Whether it matches the reference, and what does not."""
    counts, total = checkup.counts, len(checkup.figures)
    slow = sorted((each for each in checkup.figures if each.position == "slow"), key=_importance)
    answer = "compare.check_right" if checkup.right else "compare.check_wrong"
    found = [say(answer, right=counts["right"], slow=counts["slow"], total=total)]
    if slow:
        found.append(say("compare.check_slow", names=first_few(slow, _told, _MOST_NAMES)))
    if counts["fast"]:
        found.append(say("compare.check_fast", count=counts["fast"], total=total))
    if checkup.other_device:
        base, new = describe_device(checkup.reference.run), describe_device(checkup.run)
        found.append(say("compare.other_device", base=base, new=new))
    if checkup.busy_host:
        found.append(say("compare.busy_host"))
    return found


def check_left_out(checkup: Checkup) -> list[str]:
    """Figures of the reference that this run says nothing of."""
    return [say("compare.check_unmeasured", count=checkup.unmeasured)] if checkup.unmeasured else []


def check_tables(checkup: Checkup) -> Iterator[Block]:
    """Rates and latencies of plain transfers, the other figures that are farthest out of range, and all others."""
    plain = [each for each in checkup.figures if each.expected.quantity != "time" and each.expected.method != "duplex"]
    plain.sort(key=lambda each: each.expected.quantity == "latency")
    times = [each for each in checkup.figures if each.expected.quantity == "time"]
    out = [each for each in times if each.position != "right"]
    out.sort(key=lambda each: -abs(math.log(each.value / each.expected.typical)))
    if plain:
        yield from noted(_grid("compare.check_rates", plain), say("compare.check_rates_note"))
    if out:
        yield from noted(_grid("compare.check_out", out[:_MOST_ROWS]), say("compare.check_times_note"))
    if times:
        yield folded(_grid("compare.check_times", times))


def _figure_name(figure: FigureResult) -> str:
    """``copy H2D pinned, rate``, or the group whose times it stands for."""
    expected = figure.expected
    if expected.quantity == "time":
        return group_name(expected.key)
    key = "compare.quantity_rate" if expected.quantity == "rate" else "compare.quantity_latency"
    return say(key, name=way_memory_name(expected.key))


def _expected_text(figure: FigureResult) -> str:
    """The range with its unit."""
    return spanned(_with_unit(figure, figure.expected.low), _with_unit(figure, figure.expected.high))


def _with_unit(figure: FigureResult, value: float) -> str:
    """A value; a ratio has no unit."""
    match figure.expected.quantity:
        case "rate":
            return format_rate(value)
        case "latency":
            return format_seconds(value)
        case _:
            return ratio_text(value)


def _told(figure: FigureResult) -> str:
    value, expected = _with_unit(figure, figure.value), _expected_text(figure)
    return say("compare.check_figure", name=_figure_name(figure), value=value, range=expected)


def _importance(figure: FigureResult) -> tuple[int, bool, bool, float]:
    expected = figure.expected
    return (
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
                _expected_text(each),
                Cell(say(f"compare.position_{each.position}"), state="failed" if each.position == "slow" else "ok"),
            ),
        )
        for each in figures
    ]
    corner, *headings = (say(f"compare.column_{name}") for name in ("figure", "value", "expected", "verdict"))
    return text_grid(say(title), corner, headings, rows)
