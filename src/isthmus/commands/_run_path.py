"""Where runs and traces go: the file that -o names, one of its own name in a folder that many share, or the state."""

import errno
import os
import tempfile
from datetime import datetime, timezone
from pathlib import Path

from isthmus.cache import reason, state_folder
from isthmus.commands._own_files import check_replaceable
from isthmus.errors import UsageError
from isthmus.messages import to_stderr

_SUFFIXES = (".json", ".json.gz")


def check_output(output: str, *, force: bool) -> None:
    """Raises UsageError for what is neither a run file's name nor a folder.

    So it does for a file in no folder, and for one that is there and not Isthmus's, which `force` replaces.
    """
    if output and not _is_folder(output) and not output.endswith(_SUFFIXES):
        raise UsageError(
            f"not a name for a run file: {output}; expected one that ends in .json or .json.gz, or a folder with / at "
            "its end"
        )
    if is_named(output):
        folder = Path(output).parent
        if not folder.exists():
            raise UsageError(f"{folder}: no such folder for the run file; make it, or name another place with -o")
        check_replaceable(Path(output), force=force)


def is_named(output: str) -> bool:
    """Whether -o says which file it is to be, and not only the folder."""
    return bool(output) and not _is_folder(output)


def file_in(output: str, name: str, otherwise: str) -> Path:
    """The file that `output` is, or the one of this `name` in the folder that it is, which is made where it is missing.

    Without `output` it is `otherwise` among the runs that are kept.

    Raises UsageError where it cannot be made.
    """
    if not output:
        return kept_place("runs", otherwise)
    if is_named(output):
        return Path(output)
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made: {error.strerror or error}; name another folder with -o") from error
    return folder / name


def kept_place(kind: str, name: str) -> Path:
    """Where a file goes that no -o puts elsewhere: the user's state folder, else a temporary one, which is then named.

    Raises UsageError where neither can be written.
    """
    try:
        folder = state_folder(kind)
        if os.access(folder, os.W_OK):
            return folder / name
        why = reason(PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder)), of_state=True)
    except OSError as error:
        why = reason(error, of_state=True)
    try:
        folder = Path(tempfile.mkdtemp(prefix="isthmus-"))
    except OSError as error:
        raise UsageError(f"nothing can be kept: {why}; nor in {tempfile.gettempdir()}: name a file with -o") from error
    to_stderr(f"isthmus: nothing is kept in the state folder: {why}, or name a file with -o; {folder} is used now")
    return folder / name


def stamped(name: str) -> str:
    """A file's name with the time, UTC."""
    return f"{name}-{datetime.now(timezone.utc):%Y%m%d-%H%M%S}.json"


def member_name(device: str, rank: int | None) -> str:
    """The name of one run file among many: by host, device and, if any, rank or index of the job."""
    from isthmus.experiment.fleet.measure import safe_name

    index = os.environ.get("JOB_COMPLETION_INDEX", "")
    parts = [os.uname().nodename, device.replace(":", "")]
    parts += [f"rank{rank}"] if rank is not None else [f"index{index}"] if index else []
    return stamped(safe_name("-".join(parts)))


def _is_folder(output: str) -> bool:
    # A folder whose name is a run file's is in the way, and not meant.
    return output.endswith("/") or (not output.endswith(_SUFFIXES) and Path(output).is_dir())
