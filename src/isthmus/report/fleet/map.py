"""Every device of every host as a field of a map: hosts with slow devices first, the rest folded where many."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from isthmus.analysis.phrases import direction_name, memory_label
from isthmus.document.section import FleetMap, MapView
from isthmus.fleet import CellKey, Survey, natural
from isthmus.language import in_brackets, say

# What a page can show and a browser can draw; more hosts share lines, of which each shows the worst.
_MOST_LINES, _MOST_ALONE = 800, 400
_MOST_COLUMNS = 64
# Per cent of the rate lost, as whole numbers; this one is "not measured".
_MISSING, _LIMIT = -128, 99

Fields = npt.NDArray[np.int8]


def fleet_map(survey: Survey) -> FleetMap:
    """The map of a fleet, of a size that does not grow with it beyond what can be shown."""
    devices = survey.gathered.devices
    rank = {host: place for place, host in enumerate(survey.suspects)}
    last = len(rank)
    hosts = sorted(survey.hosts, key=lambda machine: rank.get(devices[survey.hosts[machine][0]].host, last))
    names, places_of = _columns_of(survey)
    wide = min(len(names), _MOST_COLUMNS)
    lines, starts = _lines(hosts)
    line_of = np.repeat(np.arange(len(lines)), np.diff([*starts, len(hosts)]))
    # Where each device is drawn; what a host has beyond the last column shares it.
    row, column = np.zeros((2, len(survey.gathered.devices)), np.intp)
    for host, line in zip(hosts, line_of, strict=True):
        for place, at in zip(survey.hosts[host], places_of[host], strict=True):
            row[place], column[place] = line, min(at, wide - 1)
    shape = len(lines), wide
    views = [_outliers(survey, row, column, shape)]
    for name, cells in _kinds(survey).items():
        fields = {phase: _fields(survey, phase, cells, row, column, shape) for phase in ("alone", "together")}
        views.append(MapView(name, fields["alone"].tolist(), fields["together"].tolist()))
    return FleetMap(lines, names[:wide], views)


def _lines(hosts: Sequence[str]) -> tuple[list[str], list[int]]:
    """Names of lines, and which host each begins with."""
    if len(hosts) <= _MOST_LINES:
        return list(hosts), list(range(len(hosts)))
    rest = hosts[_MOST_ALONE:]
    size = -(-len(rest) // (_MOST_LINES - _MOST_ALONE))
    starts = range(0, len(rest), size)
    names = [
        f"{say('common.range', low=part[0], high=part[-1])}{in_brackets(say('fleet.hosts', count=len(part)))}"
        for part in (rest[start : start + size] for start in starts)
    ]
    return [*hosts[:_MOST_ALONE], *names], [*range(_MOST_ALONE), *(_MOST_ALONE + start for start in starts)]


def _kinds(survey: Survey) -> dict[str, list[tuple[int, CellKey]]]:
    """The cells of each kind of memory and direction, by name, with their places."""
    kinds: dict[str, list[tuple[int, CellKey]]] = {}
    for place, cell in enumerate(survey.cells):
        kind = cell.kind
        memory = memory_label(kind.host_memory)
        name = say("common.comma").join([memory, direction_name(kind.direction)] if kind.direction else [memory])
        method = "" if kind.experiment == "bandwidth" else f"{kind.experiment} {kind.method}: "
        kinds.setdefault(method + name, []).append((place, cell))
    return kinds


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


def _outliers(
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
    return MapView(say("fleet.slow_devices"), fields["alone"], fields["together"])


def _columns_of(survey: Survey) -> tuple[list[str], dict[str, list[int]]]:
    """The names of columns, and for each machine the column of each of its devices.

    A device's number says where it is. Processes that see one device each all call it 0: then its address does,
    among those that most hosts have; and where that tells nothing, its place among the host's devices.
    """
    named = {
        machine: [survey.gathered.devices[place].spec for place in places] for machine, places in survey.hosts.items()
    }
    usual = _usual_addresses(survey)
    for machine, specs in named.items():
        if len(set(specs)) < len(specs):
            addresses = [survey.gathered.devices[place].pci_address for place in survey.hosts[machine]]
            by_address = len(set(addresses)) == len(addresses) and set(addresses) <= usual.keys()
            numbers = [usual[address] for address in addresses] if by_address else range(len(specs))
            named[machine] = [f"{_backend(spec)}:{number}" for spec, number in zip(specs, numbers, strict=True)]
    columns = sorted({spec for specs in named.values() for spec in specs}, key=natural)
    at = {spec: column for column, spec in enumerate(columns)}
    one_kind = len({_backend(spec) for spec in columns}) == 1
    names = [spec.partition(":")[2] or "0" for spec in columns] if one_kind else columns
    return names, {machine: [at[spec] for spec in specs] for machine, specs in named.items()}


def _usual_addresses(survey: Survey) -> dict[str, int]:
    """The addresses that most hosts have, of those with most devices, each with its number."""
    devices = survey.gathered.devices
    counted = Counter(
        tuple(sorted({devices[place].pci_address for place in places} - {""})) for places in survey.hosts.values()
    )
    usual = max(counted, key=lambda addresses: (counted[addresses] * len(addresses), addresses), default=())
    return {address: number for number, address in enumerate(usual)}


def _backend(spec: str) -> str:
    return spec.partition(":")[0]
