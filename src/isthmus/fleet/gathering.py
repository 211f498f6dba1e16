"""The files of a fleet, and all of them as columns: devices, points, and the median of each point on each device."""

import gc
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from isthmus.errors import RunFileError, UsageError
from isthmus.files import of_address
from isthmus.fleet.reading import DeviceRow, FilePart, Floats, Reader
from isthmus.fleet.sorting import order, partial_launches, sorted_out, told_apart
from isthmus.python import worker_pool
from isthmus.record import Missing, Point

_SUFFIXES = (".json", ".json.gz")
# Files that one process reads before it hands over what they hold, and from how many on a second process is worth it.
_BATCH, _WORTH_PROCESSES = 64, 256
_MOST_PROCESSES = 8
_MOST_UNREADABLE = 5


@dataclass
class FoundFiles:
    """Files to be read; `named` are those that the caller named one by one, which must be readable.

    `skipped` counts files of folders that were not read, by what they are.
    """

    paths: list[Path] = field(default_factory=list)
    named: set[Path] = field(default_factory=set)
    skipped: Counter[str] = field(default_factory=Counter)


def found_files(places: Sequence[Path]) -> FoundFiles:
    """The files that are named, and all in the folders that are, each file once.

    Raises UsageError where a place does not exist.
    """
    files = FoundFiles()
    seen = set()
    for place in places:
        if not place.exists():
            lacks = f"{place}: no such file or folder; expected fleet files, run files or a folder of them"
            raise UsageError(of_address(place) or lacks)
        # A pipe is read as it is, and has no other names.
        if not place.is_dir():
            files.named.add(place)
        for path in _in_folder(place) if place.is_dir() else [place]:
            real = path.resolve()
            if real in seen:
                continue
            seen.add(real)
            if path in files.named or path.name.lower().endswith(_SUFFIXES):
                files.paths.append(path)
            else:
                files.skipped[path.suffix.lower() or path.name] += 1
    return files


def _in_folder(folder: Path) -> Iterator[Path]:
    """Every file below a folder in the order of names; links to folders are not followed, since they may lead back."""
    for parent, folders, files in os.walk(folder):
        folders.sort()
        yield from (path for name in sorted(files) if (path := Path(parent) / name).is_file())


@dataclass(frozen=True)
class Gathered:
    """`medians` has a row a point and a column a device, in seconds; NaN where there is none.

    `further` are other files of some devices, with their other phases: places among `devices`, and the rows.

    `unreadable` tells why the first files could not be used, `skipped` counts all, by what they are.
    """

    devices: list[DeviceRow]
    further: list[tuple[int, DeviceRow]]
    points: list[Point]
    medians: Floats
    missing: list[Missing]
    files: int
    skipped: Counter[str]
    unreadable: list[str]
    # Those of them that were named.
    refused: list[str]
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
    refused: list[str]


def gathered(places: Sequence[Path]) -> Gathered:
    """Everything that these files, and those in these folders, say.

    Raises UsageError where there is nothing to read, RunFileError where none of the files that were named can be.
    """
    files = found_files(places)
    parts: list[FilePart] = []
    unreadable: list[str] = []
    refused: list[str] = []
    for batch in _batches(files):
        parts += batch.parts
        unreadable += batch.unreadable
        refused += batch.refused
    if not parts and refused:
        raise RunFileError(refused[0])
    if not parts:
        why = f"; the first: {unreadable[0]}" if unreadable else ""
        raise UsageError(
            f"no fleet files and no run files in {', '.join(map(str, places))}: {len(files.paths)} JSON files looked at"
            f", {files.skipped.total()} others passed over{why}"
        )
    if not any(part.devices for part in parts):
        missing = sum(len(part.missing) for part in parts)
        raise UsageError(
            f"no devices in {', '.join(map(str, places))}: {len(files.paths)} files, with {missing} ranks that are "
            "missing; the log of the job that wrote them says why"
        )
    skipped = files.skipped + Counter({"unreadable": len(unreadable)} if unreadable else {})
    joined = _joined(parts, len(files.paths), skipped, unreadable[:_MOST_UNREADABLE])
    return replace(joined, refused=refused)


def _batches(files: FoundFiles) -> Iterator[_Batch]:
    chunks = [files.paths[first : first + _BATCH] for first in range(0, len(files.paths), _BATCH)]
    work = partial(_read, named=files.named)
    processes = min(_MOST_PROCESSES, len(os.sched_getaffinity(0)))
    if len(files.paths) < _WORTH_PROCESSES or processes < 2:
        yield from map(work, chunks)
        return
    # Fresh processes where they can be isolated: a fork copies whatever threads of the caller hold.
    with worker_pool(processes) as pool:
        yield from pool.map(work, chunks)


def _read(paths: list[Path], named: set[Path]) -> _Batch:
    reader = Reader()
    parts, unreadable, refused = [], [], []
    # Millions of short-lived values without cycles: looking for some would take half of the time.
    gc.disable()
    try:
        for path in paths:
            try:
                parts.append(reader.read(path))
            except RunFileError as error:
                unreadable.append(str(error))
                if path in named:
                    refused.append(str(error))
    finally:
        gc.enable()
    return _Batch(_merged(parts), unreadable, refused)


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
    rows_kept = sorted_out(parts)
    kept = sorted(rows_kept.newest, key=order)
    places = {id(device): place for place, device in enumerate(kept)}
    places |= {id(device): places[id(of)] for device, of in rows_kept.further if id(of) in places}
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
        devices=told_apart(kept),
        further=[(places[id(of)], device) for device, of in rows_kept.further if id(of) in places],
        points=points,
        medians=medians,
        missing=missing,
        files=files,
        skipped=skipped,
        unreadable=unreadable,
        refused=[],
        duplicates=rows_kept.duplicates,
        of_ranks=rows_kept.of_ranks,
        partial=partial_launches(kept, rows_kept),
        notes=list(notes),
    )
