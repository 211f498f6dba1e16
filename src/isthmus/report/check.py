"""What `isthmus check` says of one device: the verdict first, at most fifteen lines; a line alone under a launcher."""

from collections.abc import Sequence
from typing import Any

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from isthmus.analysis.strip import machine_strip
from isthmus.compare import Health, Rate, links_of, replays_of
from isthmus.language import say
from isthmus.record import Direction, Run, format_bytes, three_figures

_MOST_LINES = 15
_DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h")
_LEAST_COLUMNS = 40


def check_lines(run: Run, health: Health, width: int) -> list[str]:
    """The verdict, what to do, the rates beside what is normal, the link and the host."""
    indent = " " * (len(health.mark) + 2)
    lines = _wrapped(f"{health.mark}  ", indent, machine_strip(run), width)
    link, host = (_wrapped(indent, f"{indent}  ", text, width) if text else [] for text in (_link(run), _host(run)))
    table = [f"{indent}{line}" for line in _table(health.rates, width - len(indent))]
    body = _body(health, indent, width, advised=len(health.points))
    room = _MOST_LINES - len(lines) - len(table) - len(link)
    if len(body) + len(host) > room:
        # What was found counts more than what to do about the least of it, and than what the host is like.
        body = _body(health, indent, width, advised=1)
        host = host if len(body) + len(host) <= room else []
    if len(body) > room:
        body = body[: max(room, 2)]
        body[-1] += " ..."
    parts = [lines + body, table, link + host]
    spare = _MOST_LINES - sum(map(len, parts))
    found: list[str] = []
    for part in filter(None, parts):
        # Apart where there is room.
        found += ["", *part] if found and spare >= 2 else part
    return found


def _body(health: Health, indent: str, width: int, *, advised: int) -> list[str]:
    """What was found, from bad to good, and for the first of it what to do."""
    lines: list[str] = []
    done: tuple[str, ...] = ()
    for number, point in enumerate(health.troubles or health.points):
        lead = "" if point.level == health.level else f"{point.level}  "
        lines += _wrapped(f"{indent}{lead}", indent, point.text, width)
        for do in point.do if point.do != done and number < advised else ():
            lines += _wrapped(f"{indent}-> ", f"{indent}   ", do, width)
        done = point.do
    return lines


def check_line(run: Run, health: Health) -> str:
    """All of it in one line, for a device among many."""
    rates = "/".join(three_figures(rate.rate / 1e9) for rate in health.rates if rate.memory == "pinned")
    found = [point.text for point in health.troubles[:1]]
    parts = [run.fingerprint.host.name, health.mark, machine_strip(run), f"{rates} GB/s" if rates else "", *found]
    return "  ".join(filter(None, parts))


class CheckedDevice(msgspec.Struct, frozen=True, kw_only=True):
    """One device as ``--json`` has it; rates in bytes per second, H2D and D2H of large copies by the driver."""

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
        points=[{"level": point.level, "text": point.text, "do": list(point.do)} for point in health.points],
        link=msgspec.to_builtins(links[-1]) if links else None,
        replays=replays_of(run),
        rates=[
            {
                "memory": rate.memory,
                "direction": rate.direction,
                "bytes_per_second": rate.rate,
                "normal": [rate.normal.low, rate.normal.high] if rate.normal else None,
            }
            for rate in health.rates
        ],
    )


def _table(rates: tuple[Rate, ...], width: int) -> list[str]:
    """``pinned  55.4  55.3  54.4 to 56.4  54.1 to 56.2``, without ranges that are not known or for which is no room."""
    if not rates:
        return []
    known = any(rate.normal for rate in rates)
    rows = [["GB/s", "H2D", "D2H", *(say("health.normal", way=way.upper()) for way in _DIRECTIONS if known)]]
    for memory in dict.fromkeys(rate.memory for rate in rates):
        of_memory = {rate.direction: rate for rate in rates if rate.memory == memory}
        row = [say(f"memory.label_{memory}")]
        row += [_digits(of_memory[way].rate) if way in of_memory else "-" for way in _DIRECTIONS]
        if known:
            row += [_range(of_memory.get(way)) for way in _DIRECTIONS]
        rows.append(row)
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + 2 * (len(widths) - 1) > width:
        rows, widths = [row[:3] for row in rows], widths[:3]
    return [_row(row, widths) for row in rows]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """The first cell to the left, figures to the right, ranges to the left."""
    first, *others = zip(cells, widths, strict=True)
    figures = [f"{' ' * (width - cell_len(cell))}{cell}" for cell, width in others[:2]]
    ranges = [set_cell_size(cell, width) for cell, width in others[2:]]
    return "  ".join([set_cell_size(*first), *figures, *ranges]).rstrip()


def _range(rate: Rate | None) -> str:
    if rate is None or rate.normal is None:
        return "-"
    return say("common.range", low=_digits(rate.normal.low), high=_digits(rate.normal.high))


def _digits(rate: float) -> str:
    return three_figures(rate / 1e9)


def _link(run: Run) -> str:
    links = links_of(run)
    if not links:
        return ""
    last = links[-1]
    loaded = (last.generation_under_load, last.width_under_load) if last.read_under_load else (None, None)
    told = say(
        "health.link_fact",
        idle=_lanes(last.generation, last.width),
        most=_lanes(last.max_generation, last.max_width),
        loaded=_lanes(*loaded),
    )
    if last.replays is None:
        return told
    counted = say("health.replays_counted", all=last.replays, more=replays_of(run) or 0)
    return say("common.comma").join([told, counted])


def _lanes(generation: int | None, width: int | None) -> str:
    """``5.0 x16``."""
    return f"{generation}.0 x{width or '?'}" if generation else "?"


def _host(run: Run) -> str:
    host, device = run.fingerprint.host, run.fingerprint.device
    limit = host.limits.locked_memory_bytes
    near = next((node.cpus for node in host.numa_nodes if node.id == device.numa_node), "")
    facts = [say("health.near_cpus", cpus=near)] if near and not device.shares_host_memory else []
    named = {
        "huge_pages": host.memory.transparent_huge_pages or "?",
        "locked_memory": "unlimited" if limit is None else format_bytes(limit),
        "iommu": host.iommu,
        "confidential": device.conditions.get("confidential_computing"),
    }
    facts += [
        say("labels.told", name=_within(say(f"compare_causes.name_{topic}")), value=value)
        for topic, value in named.items()
        if value
    ]
    return say("health.host_fact", facts=say("common.between_clauses").join(facts))


def _within(name: str) -> str:
    """A name in the middle of a line; that of letters alone, as IOMMU, stays."""
    return name[:1].lower() + name[1:] if name[1:2].islower() else name


def _wrapped(first: str, others: str, text: str, width: int) -> list[str]:
    """The text in lines; ideographs take two columns and part anywhere."""
    room = max(width, _LEAST_COLUMNS) - cell_len(first)
    lines = Text(text).wrap(Console(width=room), room)
    return [f"{others if number else first}{line.plain.rstrip()}" for number, line in enumerate(lines)]
