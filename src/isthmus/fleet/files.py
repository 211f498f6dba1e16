"""Which files of a list and of folders may hold devices of a fleet."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from isthmus.errors import UsageError

_SUFFIXES = (".json", ".json.gz")


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
    found = FoundFiles()
    seen = set()
    for place in places:
        if not place.exists():
            raise UsageError(f"{place}: no such file or folder; expected fleet files, run files or a folder of them")
        # A pipe is read as it is, and has no other names.
        if not place.is_dir():
            found.named.add(place)
        for path in _in_folder(place) if place.is_dir() else [place]:
            real = path.resolve()
            if real in seen:
                continue
            seen.add(real)
            if path in found.named or path.name.lower().endswith(_SUFFIXES):
                found.paths.append(path)
            else:
                found.skipped[path.suffix.lower() or path.name] += 1
    return found


def _in_folder(folder: Path) -> Iterator[Path]:
    """Every file below a folder in the order of names; links to folders are not followed, since they may lead back."""
    for parent, folders, files in os.walk(folder):
        folders.sort()
        yield from (path for name in sorted(files) if (path := Path(parent) / name).is_file())
