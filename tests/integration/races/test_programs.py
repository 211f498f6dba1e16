"""Public bugs of asynchronous copies go wrong on the fake driver as they were reported, and not as they were fixed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.compiling import compile_program
from tests.processes import ended

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
# The fake driver's blocking copies have arrived when they return.
RIGHT_HERE = {"pageable_not_arrived"}


@pytest.fixture(scope="module")
def programs() -> Path:
    options = ["-O1", f"-I{REPOSITORY / 'native'}", f"-I{REPOSITORY}", "-pthread"]
    return compile_program("programs", [HERE / "programs.cpp"], options)


@pytest.mark.parametrize("version", ["plain", "fixed"])
def test_only_the_plain_versions_of_public_bugs_go_wrong(
    programs: Path, compiled: Callable[..., Path], version: str
) -> None:
    libraries = {"LD_LIBRARY_PATH": str(compiled("fake_cuda.cpp").parent)}
    done = ended(programs, "all", version, env=libraries)
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = dict(line.split() for line in done.stdout.splitlines())
    assert len(verdicts) == 12
    right = {name for name, verdict in verdicts.items() if verdict == "right"}
    assert right == (set(verdicts) if version == "fixed" else RIGHT_HERE)
