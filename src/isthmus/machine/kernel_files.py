"""Files of /proc and /sys, read so that one that is absent, unreadable or empty is no answer and never an error."""

from pathlib import Path


def exists(path: Path) -> bool:
    """Whether the path leads to something that this process may look at; `Path.exists` raises where it may not."""
    try:
        path.stat()
    except OSError:
        return False
    return True


def read_text(path: Path) -> str:
    """The file's text without surrounding blanks and NULs (device trees end in one); empty when it cannot be read."""
    try:
        data = path.read_bytes()
    except OSError:
        # Not only ENOENT and EACCES: attributes of a sleeping or departed device answer EINVAL, EIO or ENODEV.
        return ""
    return data.decode(errors="replace").strip(" \t\r\n\0")


def read_int(path: Path) -> int | None:
    """The whole number that the file holds; None when it holds none."""
    try:
        return int(read_text(path))
    except ValueError:
        return None


def read_fields(path: Path, separator: str = ":") -> dict[str, str]:
    """Lines of ``key: value``; the first of equal keys wins, which makes /proc/cpuinfo that of its first processor."""
    fields: dict[str, str] = {}
    for line in read_text(path).splitlines():
        key, separated, value = line.partition(separator)
        if separated:
            fields.setdefault(key.strip(), value.strip())
    return fields


def names(directory: Path) -> list[str] | None:
    """Sorted names in the directory; None when it cannot be listed."""
    try:
        return sorted(entry.name for entry in directory.iterdir())
    except OSError:
        return None
