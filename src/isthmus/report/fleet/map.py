"""Every device of every host as a field of a map: hosts with slow devices first, the rest folded where many."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isthmus.analysis.labels import kind_label
from isthmus.analysis.phrases import way_name
from isthmus.fleet import CellKey, Survey
from isthmus.language import say
from isthmus.report.fleet.columns import columns_of

# What a page can show and a browser can draw; more hosts share lines, of which each shows the worst.
_MOST_LINES, _MOST_ALONE = 800, 400
_MOST_COLUMNS = 64
# Per cent of the rate lost, as whole numbers; this one is "not measured".
_MISSING, _LIMIT = -128, 99

Fields = npt.NDArray[np.int8]


@dataclass(frozen=True)
class MapView:
    """One kind of transfer: what each line's devices lose alone and together."""

    name: str
    alone: list[list[int]]
    together: list[list[int]]


@dataclass(frozen=True)
class FleetMap:
    """Lines with their names, columns with theirs, and views to choose from; `folded` hosts share lines with others."""

    lines: list[str]
    columns: list[str]
    views: list[MapView]
    folded: int


def fleet_map(survey: Survey) -> FleetMap:
    """The map of a fleet, of a size that does not grow with it beyond what can be shown."""
    hosts = _ordered(survey)
    names, places_of = columns_of(survey)
    wide = min(len(names), _MOST_COLUMNS)
    lines, starts = _lines(hosts)
    line_of = np.repeat(np.arange(len(lines)), np.diff([*starts, len(hosts)]))
    # Where each device is drawn; what a host has beyond the last column shares it.
    row, column = np.zeros((2, len(survey.gathered.devices)), np.intp)
    for host, line in zip(hosts, line_of, strict=True):
        for place, at in zip(survey.hosts[host], places_of[host], strict=True):
            row[place], column[place] = line, min(at, wide - 1)
    shape = len(lines), wide
    views = [_certain(survey, row, column, shape)]
    for name, cells in _kinds(survey).items():
        fields = {phase: _fields(survey, phase, cells, row, column, shape) for phase in ("alone", "together")}
        views.append(MapView(name, fields["alone"].tolist(), fields["together"].tolist()))
    return FleetMap(lines, names[:wide], views, _folded(hosts, lines, starts))


def _ordered(survey: Survey) -> list[str]:
    devices = survey.gathered.devices
    rank = {host: place for place, host in enumerate(survey.suspects)}
    last = len(rank)
    return sorted(survey.hosts, key=lambda machine: rank.get(devices[survey.hosts[machine][0]].host, last))


def _lines(hosts: Sequence[str]) -> tuple[list[str], list[int]]:
    """Names of lines, and which host each begins with."""
    if len(hosts) <= _MOST_LINES:
        return list(hosts), list(range(len(hosts)))
    rest = hosts[_MOST_ALONE:]
    size = -(-len(rest) // (_MOST_LINES - _MOST_ALONE))
    starts = range(0, len(rest), size)
    names = [
        say("fleet.map_hosts", first=part[0], last=part[-1], count=len(part))
        for part in (rest[start : start + size] for start in starts)
    ]
    return [*hosts[:_MOST_ALONE], *names], [*range(_MOST_ALONE), *(_MOST_ALONE + start for start in starts)]


def _folded(hosts: Sequence[str], lines: Sequence[str], starts: Sequence[int]) -> int:
    return len(hosts) - starts[_MOST_ALONE] if len(lines) < len(hosts) else 0


def _kinds(survey: Survey) -> dict[str, list[tuple[int, CellKey]]]:
    """The cells of each kind of memory and direction, by name, with their places."""
    found: dict[str, list[tuple[int, CellKey]]] = {}
    for place, cell in enumerate(survey.cells):
        kind = cell.kind
        memory = kind_label(kind.host_memory)
        name = say("fleet.map_kind", memory=memory, direction=way_name(kind.direction)) if kind.direction else memory
        method = "" if kind.experiment == "bandwidth" else f"{kind.experiment} {kind.method}: "
        found.setdefault(method + name, []).append((place, cell))
    return found


def _fields(
    survey: Survey,
    phase: str,
    cells: Sequence[tuple[int, CellKey]],
    row: npt.NDArray[np.intp],
    column: npt.NDArray[np.intp],
    shape: tuple[int, int],
) -> Fields:
    """The worst of these cells in one phase."""
    fields = np.full(shape, _MISSING, np.int8)
    places = [place for place, cell in cells if cell.phase == phase]
    for judged in survey.groups if places else []:
        members = np.array(judged.group.members, np.intp)
        worst = np.where(np.isfinite(judged.ratios[places]), judged.ratios[places], -np.inf).max(axis=0)
        known = np.isfinite(worst)
        lost = np.clip(np.rint(-100 * np.expm1(-worst[known])), -_LIMIT, _LIMIT).astype(np.int8)
        np.maximum.at(fields, (row[members[known]], column[members[known]]), lost)
    return fields


def _certain(
    survey: Survey, row: npt.NDArray[np.intp], column: npt.NDArray[np.intp], shape: tuple[int, int]
) -> MapView:
    """What outliers lose, and nothing elsewhere."""
    fields = {}
    for phase in ("alone", "together"):
        measured = [place for place, cell in enumerate(survey.cells) if cell.phase == phase]
        lost = np.full(shape, _MISSING, np.int8)
        for judged in survey.groups if measured else []:
            members = np.array(judged.group.members, np.intp)
            known = members[np.isfinite(judged.ratios[measured]).any(axis=0)]
            np.maximum.at(lost, (row[known], column[known]), np.int8(0))
        for outlier in survey.outliers:
            most = max((each.lost for each in outlier.slow if each.phase == phase), default=0.0)
            place = row[outlier.device], column[outlier.device]
            if lost[place] != _MISSING:
                lost[place] = max(lost[place], min(round(100 * most), _LIMIT))
        fields[phase] = lost.tolist()
    return MapView(say("fleet.map_certain"), fields["alone"], fields["together"])
