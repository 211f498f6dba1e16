"""Page-locked memory that a program gets under the library: every answer is the driver's, and its pages were there."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from isthmus.ledger import read_counts
from tests.integration.accelerate.programs import IS_SANITIZED, accelerating, command_line, ran

pytestmark = pytest.mark.skipif(IS_SANITIZED, reason="a sanitizer stands before mmap")

MIB = 1 << 20
CHOICES = ["auto", "huge"]
# Files of huge pages, which take rights that not all have, are made where no file is limited.
FILES = {"with-files": [], "without-files": ["prlimit", "--fsize=1000000000"]}
with_and_without_files = pytest.mark.parametrize("files", FILES.values(), ids=FILES)
EAGER = {"ISTHMUS_ACCELERATE_OPTIONS": "eager"}


@pytest.fixture(scope="module")
def locked_memory(build: Callable[..., Path]) -> Path:
    return build("locked/locked_memory.cpp")


class Both:
    """A program as it is and under the library: what it printed, and how much was there before the driver locked it."""

    def __init__(self, words: Sequence[str | Path], driver: Path, folder: Path, pinned: str, **more: str) -> None:
        self.plain = ran(words, driver, **more)
        self.done = ran(words, driver, **accelerating(folder, f"eager,pinned={pinned}"), **more)
        self.found = [found_bytes(done.stderr) for done in (self.plain, self.done)]


def found_bytes(errors: str) -> int:
    found = re.search(r"^found: (\d+)$", errors, re.MULTILINE)
    assert found is not None, errors
    return int(found[1])


def placed(folder: Path) -> int:
    return sum(row.bytes for row in read_counts(folder).moved if row.way == "locked")


@with_and_without_files
@pytest.mark.parametrize(
    "more", [{}, {"FAKE_CUDA_DONTFORK": "1"}, {"FAKE_CUDA_CONFIDENTIAL": "1"}, {"FAKE_CUDA_ZERO_DEVICE": "1"}], ids=str
)
def test_every_question_has_the_driver_s_answer(
    more: Mapping[str, str], files: list[str], locked_memory: Path, driver: Path, tmp_path: Path
) -> None:
    both = Both([*files, locked_memory, "questions", "8"], driver, tmp_path, "auto", **more)
    assert both.plain.returncode == 0, both.plain.stdout + both.plain.stderr
    answers = [line.split(":")[0] for line in both.plain.stdout.splitlines()]
    assert len(answers) >= 300
    if "FAKE_CUDA_DONTFORK" in more:
        # Private where no child has it in either case, from the second block on.
        both.plain.stdout, both.done.stdout = (
            re.sub(r"mapping: rw-.", "mapping:", done.stdout) for done in (both.plain, both.done)
        )
    assert both.done.stdout == both.plain.stdout
    assert placed(tmp_path) >= 10 * 8 * MIB


@with_and_without_files
def test_a_child_has_what_it_has_without_the_library(
    files: list[str], locked_memory: Path, driver: Path, tmp_path: Path
) -> None:
    both = Both([*files, locked_memory, "forks", "8"], driver, tmp_path, "auto")
    assert both.done.stdout == both.plain.stdout
    assert both.plain.stdout.count("the parent sees 2") == both.plain.stdout.count("the child ends 13") == 3
    assert both.found == [0, 8 * MIB]


@with_and_without_files
def test_a_child_has_nothing_where_the_driver_keeps_it(
    files: list[str], locked_memory: Path, driver: Path, tmp_path: Path
) -> None:
    both = Both([*files, locked_memory, "forks", "8"], driver, tmp_path, "auto", FAKE_CUDA_DONTFORK="1")
    assert both.done.stdout == both.plain.stdout
    assert both.plain.stdout.count("the child ends -11") == 3
    assert both.found == [0, 8 * MIB]


def test_huge_pages_cost_a_child_its_share(locked_memory: Path, driver: Path, tmp_path: Path) -> None:
    both = Both([*FILES["without-files"], locked_memory, "forks", "8"], driver, tmp_path, "huge")
    # It reads what was there, and each writes for itself.
    assert both.done.stdout.count("the parent sees 1") == both.done.stdout.count("the child ends 11") == 3
    assert both.found == [0, 8 * MIB]


@pytest.mark.parametrize("pinned", CHOICES)
@pytest.mark.parametrize("mode", ["uses", "threads"])
@with_and_without_files
def test_it_is_used_as_without_the_library(
    mode: str, pinned: str, files: list[str], locked_memory: Path, driver: Path, tmp_path: Path
) -> None:
    both = Both([*files, locked_memory, mode, "9"], driver, tmp_path, pinned)
    assert (both.done.returncode, both.done.stdout) == (both.plain.returncode, both.plain.stdout)
    assert both.plain.stdout.endswith("wrong: 0\n")
    assert both.found[0] == 0
    assert both.found[1] > 0
    assert placed(tmp_path) > 0


# Where the library leaves pages to the driver, or the system has no huge ones.
SURROUNDINGS: Mapping[str, list[str]] = {
    "no-locked-memory": ["prlimit", "--memlock=0"],
    "limited-data": ["prlimit", "--data=4294967296"],
    "little-address-space": ["prlimit", "--as=150000000"],
    "no-threads": ["prlimit", "--nproc=1"],
    "one-cpu": ["taskset", "-c", "0"],
}


@pytest.mark.parametrize("pinned", CHOICES)
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_surroundings(name: str, pinned: str, locked_memory: Path, driver: Path, tmp_path: Path) -> None:
    both = Both([*SURROUNDINGS[name], locked_memory, "uses", "9"], driver, tmp_path, pinned)
    assert (both.done.returncode, both.done.stdout) == (both.plain.returncode, both.plain.stdout)


@pytest.mark.parametrize("pinned", CHOICES)
def test_without_huge_pages(pinned: str, locked_memory: Path, driver: Path, tmp_path: Path) -> None:
    both = Both([locked_memory, "uses", "9", "small-pages"], driver, tmp_path, pinned)
    assert both.done.stdout == both.plain.stdout
    assert both.found == [0, 9 * MIB]


def test_what_the_driver_refuses_it_refuses(locked_memory: Path, driver: Path, tmp_path: Path) -> None:
    both = Both([locked_memory, "questions", "8"], driver, tmp_path, "auto", FAKE_CUDA_LOCKED=str(8 * MIB))
    assert both.done.stdout == both.plain.stdout
    assert "allocate: 2 0" in both.plain.stdout


def test_switched_off_the_driver_places_all(locked_memory: Path, driver: Path, tmp_path: Path) -> None:
    both = Both([locked_memory, "uses", "9"], driver, tmp_path, "off")
    assert (both.done.stdout, both.found) == (both.plain.stdout, [0, 0])
    both = Both([locked_memory, "uses", "9"], driver, tmp_path, "auto", ISTHMUS_ACCELERATE="off")
    assert (both.done.stdout, both.found) == (both.plain.stdout, [0, 0])
    assert placed(tmp_path) == 0


def test_the_command_says_what_was_saved(locked_memory: Path, driver: Path) -> None:
    done = command_line(["--report", "--pinned", "huge"], [locked_memory, "again", "16"], driver, **EAGER)
    assert done["code"] == 0, done
    assert "Pinned memory: the pages of 4 blocks, 67.1 MB in all" in str(done["err"])
    assert "pinned_max_round_threshold_mb" in str(done["err"])


def test_an_unknown_choice_is_refused(driver: Path) -> None:
    done = command_line(["--pinned", "gigantic"], ["true"], driver)
    assert done["code"] == 2
    assert "--pinned gigantic: expected auto, huge or off" in str(done["err"])
