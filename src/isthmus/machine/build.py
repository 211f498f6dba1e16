"""Which build of Isthmus this is, and the GPU driver that is loaded: what a report of a fault needs."""

import re
from contextlib import suppress
from pathlib import Path

from isthmus.installing import installed_file
from isthmus.machine.kernel_files import read_text

_NVIDIA = Path("/proc/driver/nvidia/version")


def described_build() -> list[str]:
    """The commit, where the package was built in a clone, and NVIDIA's driver; a line each. Opens no driver."""
    commit = ""
    with suppress(FileNotFoundError):
        commit = read_text(installed_file("commit.txt"))
    return [*([f"commit {commit}"] if commit else []), _driver()]


def _driver() -> str:
    text = read_text(_NVIDIA)
    if not text:
        return f"no NVIDIA driver is loaded ({_NVIDIA} is not there)"
    found = re.search(r"\b\d+\.\d+(\.\d+)?\b", text)
    return f"NVIDIA driver {found[0] if found else 'of an unknown version'}"
