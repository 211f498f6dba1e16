"""How programs are run as they are and accelerated, on the fake driver."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from isthmus import _native
from isthmus.ledger import Counts, read_counts

LIBRARY = Path(_native.__file__).parent / "libisthmus_accelerator.so"
PRELOADED = LIBRARY.with_name("libisthmus_accelerator_preload.so")
OPENCL_TRACER = LIBRARY.with_name("libisthmus_opencl_tracer_preload.so")
# A library with a sanitizer leaves dlsym and memcpy to that.
IS_SANITIZED = "san.so" in os.environ.get("LD_PRELOAD", "")
HANGS_SECONDS = 120

Words = Sequence[str | Path]


def accelerating(folder: Path | str = "", options: str = "eager") -> dict[str, str]:
    """The variables that bring the library into a program, behind what is preloaded already."""
    return {
        "LD_PRELOAD": " ".join(filter(None, [os.environ.get("LD_PRELOAD", ""), str(LIBRARY)])),
        "ISTHMUS_ACCELERATE_OPTIONS": options,
        "ISTHMUS_ACCELERATE_FOLDER": str(folder),
    }


def ran(command: Words, driver: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(driver.parent), "PYTHONPATH": os.pathsep.join(sys.path), **more}
    return subprocess.run(command, capture_output=True, check=False, env=environment, text=True, timeout=HANGS_SECONDS)


def ran_both(command: Words, driver: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """A program as it is, which under the library ends and prints alike; what that moved is counted in the folder."""
    plain = ran(command, driver)
    done = ran(command, driver, **accelerating(folder, "eager,threads=4"))
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), done.stderr
    return plain


def accelerated(program: Words, driver: Path, folder: Path, options: str = "eager", **more: str) -> tuple[str, Counts]:
    """What it printed, which ended well, and what was counted."""
    done = ran(program, driver, **{**accelerating(folder, options), **more})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, read_counts(folder)


def command_line(words: Words, program: Words, driver: Path, **more: str) -> Mapping[str, object]:
    """The same by `isthmus accelerate` with these words: how it ended and what was printed."""
    done = ran([sys.executable, "-P", "-m", "isthmus", "accelerate", *words, "--", *program], driver, **more)
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr}
