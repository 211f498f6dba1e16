"""Which build of Isthmus this is, and the GPU driver that is loaded: what a report of a fault needs."""

import importlib.util
import re
from pathlib import Path

from isthmus.machine.kernel_files import read_text

_NVIDIA = Path("/proc/driver/nvidia/version")


def described_build() -> list[str]:
    """The commit, where the package was built in a clone, and NVIDIA's driver; a line each. Opens no driver."""
    native = importlib.util.find_spec("isthmus._native")
    commit = read_text(Path(native.origin).with_name("commit.txt")) if native and native.origin else ""
    return [*([f"commit {commit}"] if commit else []), _driver()]


def _driver() -> str:
    text = read_text(_NVIDIA)
    if not text:
        return f"no NVIDIA driver is loaded ({_NVIDIA} is not there)"
    found = re.search(r"\b\d+\.\d+(\.\d+)?\b", text)
    return f"NVIDIA driver {found[0] if found else 'of an unknown version'}"
