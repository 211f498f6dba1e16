"""All files of a fleet as columns: its devices, its points, and the median of each point on each device."""

import gc
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from isthmus.errors import RunFileError, UsageError
from isthmus.fleet.files import FoundFiles, found_files
from isthmus.fleet.reading import DeviceRow, FilePart, Floats, Reader
from isthmus.record import Missing, Point

__all__ = ["Gathered", "gathered"]

# Files that one process reads before it hands over what they hold, and from how many on a second process is worth it.
_BATCH, _WORTH_PROCESSES = 64, 256
_MOST_PROCESSES = 8
_MOST_UNREADABLE = 5


@dataclass(frozen=True)
class Gathered:
    """`medians` has a row a point and a column a device, in seconds; NaN where there is none.

    `further` are other files of some devices, with their other phases: places among `devices`, and the rows.

    `unreadable` tells why the first files of a folder could not be used, `skipped` counts all, by what they are.
    """

    devices: list[DeviceRow]
    further: list[tuple[int, DeviceRow]]
    points: list[Point]
    medians: Floats
    missing: list[Missing]
    files: int
    skipped: Counter[str]
    unreadable: list[str]
    duplicates: list[DeviceRow]
    of_ranks: int
    # Launches of which some ranks' files are not here: how many are there of how many.
    partial: dict[str, tuple[int, int]]
    # What launches noticed that does not fit together, each once.
    notes: list[str]


@dataclass(frozen=True)
class _Batch:
    parts: list[FilePart]
    unreadable: list[str]


def gathered(places: Sequence[Path]) -> Gathered:
    """Everything that these files, and those in these folders, say.

    Raises UsageError where there is nothing to read, RunFileError where a file that was named cannot be.
    """
    found = found_files(places)
    parts: list[FilePart] = []
    unreadable: list[str] = []
    for batch in _batches(found):
        parts += batch.parts
        unreadable += batch.unreadable
    if not parts:
        why = f"; the first: {unreadable[0]}" if unreadable else ""
        raise UsageError(
            f"no fleet files and no run files in {', '.join(map(str, places))}: {len(found.paths)} JSON files looked at"
            f", {found.skipped.total()} others passed over{why}"
        )
    if not any(part.devices for part in parts):
        missing = sum(len(part.missing) for part in parts)
        raise UsageError(
            f"no devices in {', '.join(map(str, places))}: {len(found.paths)} files, with {missing} ranks that are "
            "missing; the log of the job that wrote them says why"
        )
    skipped = found.skipped + Counter({"unreadable": len(unreadable)} if unreadable else {})
    return _joined(parts, len(found.paths), skipped, unreadable[:_MOST_UNREADABLE])


def _batches(found: FoundFiles) -> Iterator[_Batch]:
    chunks = [found.paths[first : first + _BATCH] for first in range(0, len(found.paths), _BATCH)]
    work = partial(_read, named=found.named)
    processes = min(_MOST_PROCESSES, len(os.sched_getaffinity(0)))
    if len(found.paths) < _WORTH_PROCESSES or processes < 2:
        yield from map(work, chunks)
        return
    # Fresh processes: a fork would copy whatever threads of the caller hold.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield from pool.map(work, chunks)


def _read(paths: list[Path], named: set[Path]) -> _Batch:
    reader = Reader()
    parts, unreadable = [], []
    # Millions of short-lived values without cycles: looking for some would take half of the time.
    gc.disable()
    try:
        for path in paths:
            try:
                parts.append(reader.read(path))
            except RunFileError as error:
                if path in named:
                    raise
                unreadable.append(str(error))
    finally:
        gc.enable()
    return _Batch(_merged(parts), unreadable)


def _merged(parts: list[FilePart]) -> list[FilePart]:
    """Neighbours with the same points as one part: fewer, larger arrays."""
    merged: list[list[FilePart]] = []
    for part in parts:
        if merged and merged[-1][0].points == part.points:
            merged[-1].append(part)
        else:
            merged.append([part])
    return [
        FilePart(
            points=group[0].points,
            devices=[device for part in group for device in part.devices],
            medians=np.concatenate([part.medians for part in group]),
            missing=[each for part in group for each in part.missing],
            run_files=frozenset().union(*(part.run_files for part in group)),
            notes=tuple(note for part in group for note in part.notes),
        )
        for group in merged
    ]


def _joined(parts: list[FilePart], files: int, skipped: Counter[str], unreadable: list[str]) -> Gathered:
    """One table of all parts; of a device that is there twice the newest counts. Empties `parts` on its way."""
    sorted_out = _sorted_out(parts)
    kept = sorted(sorted_out.newest, key=_order)
    places = {id(device): place for place, device in enumerate(kept)}
    places |= {id(device): places[id(of)] for device, of in sorted_out.further if id(of) in places}
    points = list(dict.fromkeys(point for part in parts for point in part.points))
    rows = {point: row for row, point in enumerate(points)}
    medians = np.full((len(points), len(kept)), np.nan, np.float32)
    missing = []
    notes: dict[str, None] = {}
    parts.reverse()
    while parts:
        part = parts.pop()
        inside = [(index, places[id(device)]) for index, device in enumerate(part.devices) if id(device) in places]
        source, target = np.array(inside, np.intp).reshape(-1, 2).T
        medians[np.ix_([rows[point] for point in part.points], target)] = part.medians[source].T
        missing += part.missing
        notes |= dict.fromkeys(part.notes)
    return Gathered(
        devices=_told_apart(kept),
        further=[(places[id(of)], device) for device, of in sorted_out.further if id(of) in places],
        points=points,
        medians=medians,
        missing=missing,
        files=files,
        skipped=skipped,
        unreadable=unreadable,
        duplicates=sorted_out.duplicates,
        of_ranks=sorted_out.of_ranks,
        partial=_partial(kept, sorted_out),
        notes=list(notes),
    )


@dataclass
class _SortedOut:
    """Which rows count: the `newest` of each device, and `further` phases of some of them, each with its row."""

    newest: list[DeviceRow]
    further: list[tuple[DeviceRow, DeviceRow]]
    duplicates: list[DeviceRow]
    of_ranks: int


def _sorted_out(parts: list[FilePart]) -> _SortedOut:
    """Of a device that was measured again the newest row; what a fleet file says counts before its ranks' own files.

    Ranks of one launch that share a device are told apart: by its first rank, its second, and so on.
    """
    rows = [device for part in parts for device in part.devices]
    run_files = frozenset().union(*(part.run_files for part in parts))
    gathered_ranks = {(row.fleet, row.rank) for row in rows if row.member is not None}
    sharing: dict[tuple[str, str, str], set[int]] = {}
    for row in rows:
        sharing.setdefault((row.fleet, row.host, row.card), set()).add(row.rank or 0)
    turns = {key: {rank: turn for turn, rank in enumerate(sorted(ranks))} for key, ranks in sharing.items()}
    newest: dict[tuple[str, str, int], DeviceRow] = {}
    found = _SortedOut([], [], [], 0)
    for row in rows:
        in_launch = (row.fleet, row.rank) in gathered_ranks if row.fleet else row.path.name in run_files
        if row.member is None and in_launch:
            found.of_ranks += 1
            continue
        key = row.host, row.card, turns[row.fleet, row.host, row.card][row.rank or 0]
        other = newest.get(key)
        if other is not None and other.member is None and row.member is None and row.fleet and row.fleet == other.fleet:
            found.further.append((row, other))
            continue
        if other is None or _when(row) > _when(other):
            newest[key] = row
        if other is not None:
            found.duplicates.append(other if newest[key] is row else row)
    found.newest = list(newest.values())
    return found


def _when(row: DeviceRow) -> datetime:
    """When its file says that it was measured; what is no time is older than any."""
    try:
        found = datetime.fromisoformat(row.created.replace("Z", "+00:00"))
    except ValueError:
        return datetime.min.replace(tzinfo=timezone.utc)
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)


def _partial(kept: Sequence[DeviceRow], found: _SortedOut) -> dict[str, tuple[int, int]]:
    """Launches that are known by their ranks' files alone, and not by all."""
    seen: dict[tuple[str, int], set[int | None]] = {}
    for row in (*kept, *found.duplicates):
        if row.fleet and row.member is None:
            seen.setdefault((row.fleet, row.ranks), set()).add(row.rank)
    whole = {row.fleet for row in kept if row.member is not None}
    here = {row.fleet for row in kept}
    return {fleet: (len(ranks), of) for (fleet, of), ranks in seen.items() if len(ranks) < of and fleet in here - whole}


def _told_apart(devices: Sequence[DeviceRow]) -> list[DeviceRow]:
    """The same devices, those of different machines with one name numbered by machine.

    Machines are different where one launch counted them as such, or where two cards have one address.
    """
    machines: dict[str, list[dict[tuple[str, str], str]]] = {}
    found = []
    for device in devices:
        marks = {}
        if device.fleet and device.node is not None:
            marks["launch", device.fleet] = str(device.node)
        # Parts of a card are several at its address.
        if device.pci_address and device.card.startswith("GPU-") and "MIG" not in device.fact("device"):
            marks["address", device.pci_address] = device.card
        known = machines.setdefault(device.host, [])
        fitting = (at for at, each in enumerate(known) if all(each.get(key) in (None, marks[key]) for key in marks))
        number = next(fitting, len(known))
        if number == len(known):
            known.append({})
        known[number] |= marks
        found.append(device.as_twin(number) if number else device)
    return found


def _order(device: DeviceRow) -> tuple[object, ...]:
    """Hosts as people count them, and the devices of each as they stand on its bus."""
    from isthmus.fleet.hosts import natural

    return natural(device.host), device.host, device.pci_address, device.spec, device.card
