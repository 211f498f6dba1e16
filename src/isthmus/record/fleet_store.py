"""Fleet files, written member by member: all of a large fleet at once would need room for millions of points."""

import gzip
from collections.abc import Iterable
from pathlib import Path

import msgspec

from isthmus.errors import RunFileError
from isthmus.record.fleet import Fleet, Member


def write_fleet(path: Path, fleet: Fleet, members: Iterable[Member]) -> None:
    """Write a fleet with these members in place of its own; the file is there when it is whole.

    A name that ends in ``.gz`` is compressed. Raises RunFileError where the file cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        with gzip.GzipFile(part, "wb", mtime=0) if path.suffix == ".gz" else part.open("wb") as file:
            fields = msgspec.to_builtins(fleet)
            del fields["members"]
            file.write(msgspec.json.encode(fields)[:-1] + b',"members":[\n')
            separator = b""
            for member in members:
                file.write(separator + msgspec.json.encode(member))
                separator = b",\n"
            file.write(b"\n]}\n")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise RunFileError(
            f"{path}: cannot be written: {error.strerror or error}; name another place with -o"
        ) from error
