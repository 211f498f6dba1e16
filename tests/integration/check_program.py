"""`isthmus-check` as tests start it: that of the installation, or one that `make program` built."""

import os
import subprocess
from pathlib import Path

from isthmus.installing import installed_file
from tests.integration.conftest import drivers_of
from tests.processes import ended

# `make program` names the one that it built for glibc 2.28; that of a checkout is for Debian 12, which has 2.36.
_GIVEN = os.environ.get("ISTHMUS_CHECK")
PROGRAM = (Path(_GIVEN) if _GIVEN else installed_file("bin/isthmus-check")).resolve()
NEWEST_GLIBC = (2, 28) if _GIVEN else (2, 36)


def run_program(
    node: Path | None, *words: str, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """The program, with the drivers in that folder if one is given."""
    fake = drivers_of(node) if node else {}
    return ended(PROGRAM, *words, env=fake | environment, stdin=stdin)
