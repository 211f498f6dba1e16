"""What `isthmus check` says of devices: the verdict first, at most fifteen lines; a line alone under a launcher."""

import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from isthmus.analysis.machine import host_line, link_line, links_of, machine_strip, replays_of
from isthmus.analysis.phrases import describe_device, direction_word
from isthmus.compare import Health, Rate
from isthmus.document.document import Block, Data, Document, Labelled, Prose, Table
from isthmus.document.finding import Finding
from isthmus.document.grid import Grid, text_grid
from isthmus.language import clauses, say
from isthmus.record import Direction, Run, format_bytes, three_figures

_MOST_LINES = 15
_DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h", "both")
# A run, the verdict on its device, and the name of the reference that it was held against.
Checked = tuple[Run, Health, str]


def check_document(checked: Sequence[Checked], *, columns: int = 0) -> Document:
    """The verdict on each device, what to do, the rates beside what is normal, the link and the host.

    With `columns` it is a screen of so many for one device, and the least important is left out of more than 15 lines.
    """
    from isthmus.report.renderers import terminal

    for brief in range(_HOST_LEFT_OUT + max((len(health.points) for _, health, _ in checked), default=1)):
        blocks = [
            block for run, health, _ in checked for block in device_blocks(run, health, brief, _facts(run, brief))
        ]
        title = "\n".join(dict.fromkeys(describe_device(run) for run, _, _ in checked))
        document = Document("check", title, tuple(blocks), data=Data(lambda: [check_data(*each) for each in checked]))
        out = io.StringIO()
        if columns:
            terminal.write(document, out, width=columns)
        if out.getvalue().count("\n") <= _MOST_LINES:
            break
    return document


# What a screen leaves out where it has too many lines, one after the other; then the last findings.
_APART_LEFT_OUT, _ADVICE_LEFT_OUT, _HOST_LEFT_OUT = 1, 2, 3


def _facts(run: Run, brief: int) -> dict[str, str]:
    place = [run.fingerprint.host.name, run.created, host_line(run) if brief < _HOST_LEFT_OUT else ""]
    return {say("health.link"): link_line(run), say("health.host"): clauses(place)}


def device_blocks(run: Run, health: Health, brief: int, facts: Mapping[str, str], host: str = "") -> Iterator[Block]:
    """The verdict on a device with its advice and rates, then named facts, less of it the higher `brief` is.

    `host` is named first where there are devices of several.
    """
    mark, points = health.mark, health.troubles or health.points
    shown = points[: max(len(points) - max(brief - _HOST_LEFT_OUT, 0), 1)]
    texts = [point.text for point in shown]
    if len(shown) < len(points):
        texts[-1] += " ..."
    yield Labelled(mark, (" · ".join(filter(None, (host, machine_strip(run)))), texts[0]), health.level)
    # At last the likeliest cause or cure alone.
    yield from list(_advice(shown[0], mark))[: 1 if brief > _HOST_LEFT_OUT + len(points) else None]
    for text, (before, point) in zip(texts[1:], pairwise(shown), strict=True):
        same = point.level == health.level
        yield Prose(text, under=mark) if same else Labelled(point.level, (text,), point.level, under=mark)
        if point.do != before.do and brief < _ADVICE_LEFT_OUT:
            yield from _advice(point, mark)
    apart = [Prose("", where="terminal")] if brief < _APART_LEFT_OUT else []
    if health.rates:
        yield from (*apart, Table((_rates(health.rates),), narrow=True, under=mark))
    yield from apart if any(facts.values()) else ()
    yield from (Labelled(name, (text,), under=mark) for name, text in facts.items() if text)


def _advice(point: Finding, mark: str) -> Iterator[Block]:
    """Its cause, too, where that is known."""
    return (Labelled("->", (text,), under=mark) for text in (point.cause, *point.do) if text)


def check_line(run: Run, health: Health) -> str:
    """All of it in one line, for a device among many."""
    rates = "/".join(
        three_figures(rate.rate / 1e9) for rate in health.rates if rate.memory == "pinned" and rate.direction != "both"
    )
    found = [point.text for point in health.troubles[:1]]
    parts = [run.fingerprint.host.name, health.mark, machine_strip(run), f"{rates} GB/s" if rates else "", *found]
    return "  ".join(filter(None, parts))


class CheckedDevice(msgspec.Struct, frozen=True, kw_only=True):
    """One device as ``--json`` has it; rates in bytes per second, of large copies by the driver; "both" is a sum."""

    format: str = "isthmus.check"
    device: str
    name: str
    uuid: str
    host: str
    level: str
    reference: str
    points: list[dict[str, Any]]
    link: dict[str, Any] | None
    replays: int | None
    rates: list[dict[str, Any]]


def check_data(run: Run, health: Health, reference: str) -> CheckedDevice:
    """The verdict and what it rests on, as plain data."""
    device, links = run.fingerprint.device, links_of(run)
    return CheckedDevice(
        device=device.spec,
        name=device.name,
        uuid=device.uuid,
        host=run.fingerprint.host.name,
        level=health.level,
        reference=reference,
        points=[
            {"level": point.level, "topic": point.topic, "text": point.text, "do": list(point.do)}
            for point in health.points
        ],
        link=msgspec.to_builtins(links[-1]) if links else None,
        replays=replays_of(run),
        rates=[
            {
                "memory": rate.memory,
                "direction": rate.direction,
                "bytes": rate.bytes,
                "bytes_per_second": rate.rate,
                "normal": [rate.normal.low, rate.normal.high] if rate.normal else None,
                "evidence": [each._asdict() for each in rate.normals],
            }
            for rate in health.rates
        ],
    )


def _rates(rates: Sequence[Rate]) -> Grid:
    """``pinned  55.4  55.3  101  >= 54.4  >= 54.1  >= 93.5``, without what is normal where that is not known."""
    directions = [each for each in _DIRECTIONS if any(rate.direction == each for rate in rates)]
    known = [each for each in directions if any(rate.normals for rate in rates if rate.direction == each)]
    rows, size = [], rates[0].bytes
    for memory in dict.fromkeys(rate.memory for rate in rates):
        of_memory = {rate.direction: rate for rate in rates if rate.memory == memory}
        row = [_rate(of_memory[each], size) if each in of_memory else "-" for each in directions]
        row += [_normal(of_memory.get(each)) for each in known]
        rows.append((say(f"memory.label_{memory}"), row))
    normal = [say("health.normal", direction=direction_word(each)) for each in known]
    corner = say("bandwidth_report.glance_at", what="GB/s", size=rates[0].size)
    return text_grid("", corner, [*map(direction_word, directions), *normal], rows, words=len(normal))


def _rate(rate: Rate, size: int) -> str:
    text = _digits(rate.rate)
    return text if rate.bytes == size else say("bandwidth_report.glance_at", what=text, size=format_bytes(rate.bytes))


def _normal(rate: Rate | None) -> str:
    return f">= {_digits(rate.normals[0].low)}" if rate and rate.normals else "-"


def _digits(rate: float) -> str:
    return three_figures(rate / 1e9)
