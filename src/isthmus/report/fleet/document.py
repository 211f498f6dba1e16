"""The document of a fleet: the answer, causes, the slow devices, the map, what is usual, and what was read.

As plain data for scripts, keys, causes and severities never change with the language, sentences do.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from isthmus.compare import GroupKey
from isthmus.document.document import (
    Answer,
    Block,
    Bullets,
    Code,
    Data,
    Document,
    Heading,
    HeatMap,
    Item,
    Prose,
    Records,
    Table,
    Where,
)
from isthmus.document.grid import Cell, CellState, Grid, text_grid
from isthmus.fleet import (
    FLEET_COLUMNS,
    LEAST_ALIKE,
    RATE,
    CellKey,
    Judged,
    Outlier,
    Survey,
    fleet_rows,
    host_list,
    is_host_name,
)
from isthmus.language import enumerated, first_few, say
from isthmus.messages import printable
from isthmus.record import format_rate, format_seconds
from isthmus.report.comparison.words import group_name
from isthmus.report.fleet.map import fleet_map
from isthmus.report.fleet.words import (
    about_files,
    beside_reference,
    cause_name,
    cause_why,
    contention,
    device_name,
    devices_text,
    evidence,
    odd_names,
    percent,
    suspect_hosts,
    verdict,
    warnings,
)

# Devices in a table, and kinds of machines whose usual rates are shown.
_MOST_DEVICES, _MOST_BRIEF, _MOST_GROUPS = 100, 20, 4
_MOST_HOSTS = 80


def fleet_document(survey: Survey) -> Document:
    """The whole report; a terminal gets the worst devices and the figures of large transfers."""
    return Document(
        "fleet",
        say("fleet.title", **_counts(survey)),
        tuple(_blocks(survey)),
        subject=survey,
        records=Records(tuple(FLEET_COLUMNS), lambda: fleet_rows(survey)),
        data=Data(lambda: fleet_data(survey)),
    )


def _blocks(survey: Survey) -> Iterator[Block]:
    yield Answer((verdict(survey),))
    yield from (Prose(text, "warning") for text in warnings(survey))
    yield from (Prose(text, "warning" if wrong else "plain") for text, wrong in beside_reference(survey))
    # How many devices have each cause, why it slows them, and the hosts as a list.
    causes: dict[str, list[Outlier]] = defaultdict(list)
    for outlier in survey.outliers:
        causes[outlier.cause].append(outlier)
    ordered = sorted(causes.items(), key=lambda item: -len(item[1]))
    if ordered:
        rows = [_cause_row(survey, cause, outliers) for cause, outliers in ordered]
        yield Table((_grid(("cause", "devices", "lost", "hosts"), rows, words=1),))
        whys = {cause_name(cause): cause_why(cause) for cause, _ in ordered}
        yield Bullets(tuple(Item(say("terminal.labelled", label=name, text=why)) for name, why in whys.items() if why))
    if suspects := suspect_hosts(survey):
        yield Code(say("fleet.suspects"), suspects)
    if odd := odd_names(survey):
        yield Prose(odd, "warning")
    if survey.unjudged < survey.count:
        yield Heading(say("fleet.map"), where="page")
        yield HeatMap(say("fleet.title", **_counts(survey)), partial(fleet_map, survey))
    yield from _slow(survey)
    for judged in survey.groups[:_MOST_GROUPS]:
        yield Heading(say("fleet.usual", device=judged.group.name))
        if text := contention(judged, survey.margin):
            yield Prose(text)
        yield Table((_usual(survey, judged, brief=True),), where="terminal")
        yield Table((_usual(survey, judged, brief=False),), where="long")
    yield Heading(say("fleet.about"))
    yield Bullets(tuple(map(Item, about_files(survey))))
    yield Prose(say("fleet.method", rate=percent(RATE), margin=percent(survey.margin)), "small")


def _counts(survey: Survey) -> dict[str, str]:
    return {"hosts": say("fleet.hosts", count=len(survey.hosts)), "devices": devices_text(survey.count)}


def _cause_row(survey: Survey, cause: str, outliers: Sequence[Outlier]) -> tuple[str, tuple[str, ...]]:
    low, high = min(each.lost for each in outliers), max(each.lost for each in outliers)
    lost = percent(high) if len(outliers) == 1 else say("common.range", low=percent(low), high=percent(high))
    hosts = {survey.gathered.devices[each.device].host for each in outliers}
    names = host_list(host for host in hosts if is_host_name(host))
    shown = names if len(names) <= _MOST_HOSTS else f"{names[:_MOST_HOSTS]}…"
    return cause_name(cause), (str(len(outliers)), lost, shown)


def _slow(survey: Survey) -> Iterator[Block]:
    """The devices that lose most, why, and what to run next; a terminal shows fewer."""
    if not survey.outliers:
        return
    yield Heading(say("fleet.slow_devices"))
    wheres: tuple[tuple[Where, int], ...] = (("terminal", _MOST_BRIEF), ("long", _MOST_DEVICES))
    for where, most in wheres:
        shown = survey.outliers[:most]
        rows = [_slow_row(survey, outlier) for outlier in shown]
        yield Table((_grid(("device", "lost", "when", "cause"), rows, words=1),), where=where)
        if (hidden := len(survey.outliers) - most) > 0:
            yield Prose(say("compare.more", count=hidden), "small", where=where)
        yield Code(say("fleet.next"), _commands(survey, shown), where=where)


def _slow_row(survey: Survey, outlier: Outlier) -> tuple[str, tuple[str | Cell, ...]]:
    state: CellState = "failed" if outlier.severity == "severe" else "wide" if outlier.severity == "clear" else "ok"
    return device_name(survey, outlier.device), (
        Cell(percent(outlier.lost), state=state),
        enumerated([say(f"fleet.column_{phase}") for phase in outlier.phases]),
        evidence(survey, outlier),
    )


def _commands(survey: Survey, shown: Sequence[Outlier]) -> str:
    """One command a line, with the devices that it is for as a comment."""
    devices: dict[str, list[str]] = defaultdict(list)
    for outlier in shown:
        of = survey.gathered.devices[outlier.device]
        devices[outlier.command].append(
            printable(device_name(survey, outlier.device)) if is_host_name(of.host) else of.spec
        )
    return "\n".join(f"{command}  # {first_few(names)}" for command, names in devices.items())


def _usual(survey: Survey, judged: Judged, *, brief: bool) -> Grid:
    """The typical figure of each kind alone and together, and how far devices lie apart: half of them are within."""
    rows = []
    kinds = {cell.kind for cell in survey.cells}
    if brief:
        # A fleet that measured little has nothing else to show.
        kinds = set(filter(_is_brief, kinds)) or kinds
    places = {cell: place for place, cell in enumerate(survey.cells)}
    for kind in sorted(kinds, key=lambda kind: (kind.experiment, kind.host_memory, kind.direction, kind)):
        cells = [CellKey(phase, kind) for phase in ("alone", "together")]
        texts = [_typical(survey, judged, cell) for cell in cells]
        known = [judged.ratios[places[cell]] for cell in cells if cell in places]
        if any(texts):
            rows.append((group_name(kind), (*texts, _spread(known))))
    names = (say(f"fleet.column_{name}") for name in ("alone", "together", "spread"))
    return text_grid("", say("compare.column_case"), names, rows)


def _is_brief(kind: GroupKey) -> bool:
    """What most questions are about: large transfers, without the single directions of those both ways at once."""
    return kind.experiment == "bandwidth" and kind.size == "large" and kind.method != "duplex"


def _typical(survey: Survey, judged: Judged, cell: CellKey) -> str:
    """The largest size's rate, or the smallest's time where calls dominate."""
    points = [
        (survey.gathered.points[place], float(judged.typical[place]))
        for place in survey.cells.get(cell, [])
        if np.isfinite(judged.typical[place])
    ]
    if not points:
        return ""
    if cell.kind.size == "small" or not cell.kind.direction:
        return format_seconds(min(points, key=lambda pair: pair[0].bytes)[1])
    point, seconds = max(points, key=lambda pair: pair[0].bytes)
    return format_rate(point.bytes * (2 if point.direction == "both" else 1) / seconds)


def _spread(cells: Sequence[npt.NDArray[np.float32]]) -> str:
    """The larger median absolute deviation; nothing where too few devices have one."""
    known = [ratios[np.isfinite(ratios)] for ratios in cells]
    spreads = [float(np.median(np.abs(each - np.median(each)))) for each in known if len(each) >= LEAST_ALIKE]
    return f"±{percent(np.expm1(max(spreads)))}" if spreads else ""


def _grid(names: Sequence[str], rows: Iterable[tuple[str, Iterable[str | Cell]]], *, words: int = 0) -> Grid:
    corner, *headings = (say(f"fleet.column_{name}") for name in names)
    return text_grid("", corner, headings, rows, words=words)


def fleet_data(survey: Survey) -> dict[str, Any]:
    """The answer, every outlier, the groups with their typical times, and what was read."""
    everything = survey.gathered
    return {
        "format": "isthmus.survey",
        "schema_version": 1,
        "hosts": len(survey.hosts),
        "devices": survey.count,
        "points": len(everything.points),
        "margin": survey.margin,
        "rate": RATE,
        "verdict": verdict(survey),
        "warnings": warnings(survey),
        "beside_reference": [text for text, _ in beside_reference(survey)],
        "suspects": survey.suspects,
        "wrong": [_device(survey, place) | {"cases": everything.devices[place].wrong} for place in survey.wrong],
        "outliers": [_outlier(survey, outlier) for outlier in survey.outliers],
        "perhaps": [_outlier(survey, outlier) for outlier in survey.perhaps],
        "below_reference": [
            _device(survey, each.device) | {"lost": round(each.lost, 4), **each.kind._asdict()} for each in survey.below
        ],
        "groups": [_group(survey, judged) for judged in survey.groups],
        "reference": survey.reference.name if survey.reference else None,
        "files": everything.files,
        "skipped": dict(everything.skipped),
        "duplicates": [{"host": each.host, "device": each.spec} for each in everything.duplicates],
        "missing": everything.missing,
        "partial": [
            {"fleet": fleet, "here": here, "ranks": ranks} for fleet, (here, ranks) in everything.partial.items()
        ],
        "short_hosts": survey.short_hosts,
        "lacking": [_device(survey, place) for place in survey.lacking],
        "versions": dict(survey.versions),
        "notes": about_files(survey),
    }


def _device(survey: Survey, place: int) -> dict[str, Any]:
    device = survey.gathered.devices[place]
    return {
        "host": device.host,
        "device": device.spec,
        "pci_address": device.pci_address,
        "card": device.card,
        "rank": device.rank,
    }


def _outlier(survey: Survey, outlier: Outlier) -> dict[str, Any]:
    return _device(survey, outlier.device) | {
        "lost": round(outlier.lost, 4),
        "severity": outlier.severity,
        "phases": outlier.phases,
        "directions": outlier.directions,
        "cause": outlier.cause,
        "evidence": evidence(survey, outlier),
        "why": cause_why(outlier.cause),
        "next": outlier.command,
        "neighbours": [survey.gathered.devices[place].spec for place in outlier.neighbours],
        "differences": [
            {**msgspec.to_builtins(cause.difference), "explains": cause.explains, "of": cause.of}
            for cause in outlier.causes
        ]
        + [{**msgspec.to_builtins(fact), "explains": 0, "of": 0} for fact in outlier.others],
        "slow": [{"phase": each.phase, **each.kind._asdict(), "lost": round(each.lost, 4)} for each in outlier.slow],
    }


def _group(survey: Survey, judged: Judged) -> dict[str, Any]:
    group, checkup = judged.group, judged.checkup
    return {
        "device": group.device,
        "link": group.link,
        "cpu": group.cpu,
        "devices": len(group.members),
        "judged": len(judged.judged),
        "looks_right": checkup.right if checkup else None,
        "together": [each.kind._asdict() | {"lost": round(each.lost, 4)} for each in judged.contentions],
        "typical_seconds": [
            msgspec.to_builtins(point) | {"median": float(f"{seconds:.5g}")}
            for point, seconds in zip(survey.gathered.points, judged.typical.tolist(), strict=True)
            if np.isfinite(seconds)
        ],
    }
