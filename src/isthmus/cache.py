"""The user's cache and state: where they are, that they belong to the user, and that what is cached was put there.

The transfer library finds its tables by the same rules, in native/transfer/table/table_file.cpp.
"""

import errno
import hashlib
import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from isthmus.errors import RunFileError
from isthmus.files import read_bounded

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_CACHE, _STATE = "XDG_CACHE_HOME", "XDG_STATE_HOME"
_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class CacheRefused(PermissionError):
    """The cache is a folder that somebody else may write to; `strerror` says why and what to do."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(errno.EPERM, why, str(path))


def cache_root(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Where the cache is, which may go at any time; None without a home."""
    return _root(_CACHE, ".cache", environment)


def state_root(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Where runs, their pages and traces stay that no -o put elsewhere; None without a home."""
    return _root(_STATE, ".local/state", environment)


def _root(variable: str, otherwise: str, environment: Mapping[str, str]) -> Path | None:
    """A relative path counts for nothing, as the XDG specification has it."""
    given = Path(environment.get(variable, ""))
    if given.is_absolute():
        return given / "isthmus"
    home = Path(environment.get("HOME", ""))
    if not home.is_absolute():
        try:
            home = Path(pwd.getpwuid(os.getuid()).pw_dir)
        except KeyError:
            return None
    return home / otherwise / "isthmus" if home.is_absolute() else None


def cache_folder(kind: str, environment: Mapping[str, str] = os.environ) -> Path:
    """A folder of the cache, made where it is absent, which only the user reads or writes.

    Raises OSError where it cannot be made, and CacheRefused where somebody else owns it or may write to it.
    """
    return _made(cache_root(environment), kind, _CACHE)


def state_folder(kind: str, environment: Mapping[str, str] = os.environ) -> Path:
    """The same of the state."""
    return _made(state_root(environment), kind, _STATE)


def _made(root: Path | None, kind: str, variable: str) -> Path:
    if root is None:
        raise FileNotFoundError(errno.ENOENT, "there is no home directory to keep it in", "~")
    for folder in (*reversed(root.parents), root, root / kind):
        # Also where nothing can be made, what exists is found to exist.
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
    for folder in (root, root / kind):
        _check(folder, variable)
    return root / kind


def found_folder(kind: str, environment: Mapping[str, str] = os.environ) -> Path | None:
    """The same to read from; None where there is none."""
    root = cache_root(environment)
    return cache_folder(kind, environment) if root and os.access(root / kind, os.R_OK) else None


def kept(kind: str, key: str, make: Callable[[Path], None], environment: Mapping[str, str] = os.environ) -> Path:
    """A folder with what `make` put into the one it was given: now, or before under the same key.

    The files are to be executed or embedded, so the folder is named after the hash of all that is in it, and what was
    altered since is made again. Raises OSError as `cache_folder` does, also where others could put another folder in
    the place of the cache, and what `make` raises.
    """
    folder = cache_folder(kind, environment)
    _check_way_to(folder)
    for entry in folder.glob(f"{key}-*"):
        if entry.name == f"{key}-{_hash(entry)}":
            return entry
        shutil.rmtree(entry, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        make(made)
        whole = folder / f"{key}-{_hash(made)}"
        # Where another process was first, its files are the same.
        if not whole.is_dir():
            made.rename(whole)
    return whole


def reason(error: OSError, *, of_state: bool = False) -> str:
    """Why something cannot be kept, and what to do."""
    variable = _STATE if of_state else _CACHE
    advice = "" if isinstance(error, CacheRefused) else f"; set {variable} to a folder that can be written"
    return f"{error.filename}: {error.strerror or error}{advice}"


def _check(folder: Path, variable: str) -> None:
    user = os.geteuid()
    # A link that somebody else put there may lead to a folder of the user's that holds something else.
    link, target = folder.lstat(), folder.stat()
    owner = next((each.st_uid for each in (link, target) if each.st_uid != user), user)
    if owner != user:
        raise CacheRefused(
            folder, f"it belongs to user {owner}, and what is used from there must be user {user}'s; remove it, or set "
            f"{variable} to a folder of your own"
        )  # fmt: skip
    if not stat.S_ISDIR(target.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "it is no folder", str(folder))
    if target.st_mode & _WRITABLE_BY_OTHERS:
        raise CacheRefused(
            folder, f"others may write to it (its mode is {target.st_mode & 0o7777:o}), so what lies there may be "
            "anybody's; remove it, or look at what is in it and `chmod 700` it"
        )  # fmt: skip
    if target.st_mode & _OF_OTHERS:
        folder.chmod(0o700)


def _check_way_to(folder: Path) -> None:
    """Raises CacheRefused where others could move the folder away and put another in its place."""
    user = os.geteuid()
    # Who owns the root of all folders owns the machine, under whatever name a container shows him.
    trusted = {0, user, Path("/").stat().st_uid}
    for parent in reversed(folder.resolve().parents):
        status = parent.stat()
        if status.st_uid == user and not status.st_mode & _OF_OTHERS:
            return  # Nobody else gets further.
        if status.st_uid not in trusted or (status.st_mode & _WRITABLE_BY_OTHERS and not status.st_mode & stat.S_ISVTX):
            raise CacheRefused(
                folder, f"others may replace it, since they may write to {parent}; nothing is run from there: set "
                "XDG_CACHE_HOME to a folder of your own, or take that right away from them"
            )  # fmt: skip


def _hash(folder: Path) -> str:
    """A hash of the names and contents of the user's own files; empty where there is anything else."""
    whole = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return ""
        try:
            content = read_bounded(path)
        except RunFileError:
            return ""
        whole.update(f"{path.name}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()
