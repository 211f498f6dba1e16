"""Pinned memory of programs under `--paths all`: divided over several links, and in all else as the driver has it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.ledger import Counts, read_counts
from tests.integration.accelerate.programs import IS_SANITIZED, accelerated, accelerating, ran

pytestmark = pytest.mark.skipif(IS_SANITIZED, reason="the program gets at the driver by dlsym")

TWO = {"FAKE_CUDA_DEVICES": "2"}
ALL = TWO | {"ISTHMUS_PATHS": "all"}


@pytest.fixture(scope="session")
def links(build: Callable[..., Path]) -> Path:
    return build("several_links.cpp", "-O2")


def as_the_driver(words: list[str | Path], driver: Path, folder: Path, **more: str) -> Counts:
    """What was counted, of a program that ended and printed as it does by itself."""
    fails = more.pop("FAKE_CUDA_FAIL", None)
    plain = ran(words, driver, **TWO, **more)
    assert "wrong: 0" in plain.stdout or plain.returncode == 5, plain.stdout + plain.stderr
    more |= {"FAKE_CUDA_FAIL": fails} if fails else {}
    done = ran(words, driver, **accelerating(folder), **ALL, **more)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), done.stderr
    return read_counts(folder)


SCENARIOS = ("order", "back", "anew", "graphs", "many", "registered", "threads", "both", "beside", "reset", "exit")
REACHES = ("dlsym", "thread")


# Each with one reach, in turn; thoroughly, with each.
@pytest.mark.parametrize(
    ("scenario", "reach"),
    [
        pytest.param(scenario, reach, marks=() if (place + other) % 2 == 0 else pytest.mark.thorough)
        for place, scenario in enumerate(SCENARIOS)
        for other, reach in enumerate(REACHES)
    ],
)
def test_a_program_sees_no_difference(links: Path, driver: Path, scenario: str, reach: str, tmp_path: Path) -> None:
    counts = as_the_driver([links, reach, scenario], driver, tmp_path)
    assert counts.queued[0] > 0
    assert counts.left["off"] == (0, 0)
    if scenario == "graphs":
        assert counts.left["capturing"][0] == 4
    if scenario == "order":
        assert {row.way for row in counts.moved} >= {"pinned_h2d", "pinned_d2h"}
        assert sum(row.samples for row in counts.moved) > 0


@pytest.mark.parametrize(
    "scenario", ["order", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("back", "graphs", "threads"))]
)
def test_on_a_device_that_keeps_calls_waiting(links: Path, driver: Path, scenario: str, tmp_path: Path) -> None:
    words: list[str | Path] = [links, "thread", scenario]
    assert as_the_driver(words, driver, tmp_path, FAKE_CUDA_STRICT="1").queued[0] > 0


@pytest.mark.parametrize(
    "scenario",
    ["beside_four", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("beside", "anew", "both"))],
)
def test_streams_that_are_held_keep_no_other_device_waiting(
    links: Path, driver: Path, scenario: str, tmp_path: Path
) -> None:
    words: list[str | Path] = [links, "dlsym", scenario]
    assert as_the_driver(words, driver, tmp_path, FAKE_CUDA_QUEUES="4").queued[0] > 0


@pytest.mark.parametrize("scenario", ["order", pytest.param("back", marks=pytest.mark.thorough)])
def test_a_program_may_use_the_second_device(links: Path, driver: Path, scenario: str, tmp_path: Path) -> None:
    assert as_the_driver([links, "dlsym", scenario, "second"], driver, tmp_path).queued[0] > 0


# Each scenario once; thoroughly, each with each call.
FAILURES = [("order", 6), ("back", 1), ("threads", 40)]
OTHERS = sorted({(scenario, call) for scenario, _ in FAILURES for call in (1, 2, 3, 6, 12, 40)} - set(FAILURES))


@pytest.mark.parametrize(
    ("scenario", "call"), [*FAILURES, *(pytest.param(*each, marks=pytest.mark.thorough) for each in OTHERS)]
)
def test_a_neighbour_that_fails_costs_speed_alone(
    links: Path, driver: Path, scenario: str, call: int, tmp_path: Path
) -> None:
    counts = as_the_driver([links, "dlsym", scenario], driver, tmp_path, FAKE_CUDA_FAIL=f"cuMemcpyPeerAsync@{call}")
    # But for what the program did wrong.
    assert counts.left["failed"][0] <= (1 if scenario == "order" else 0)


@pytest.mark.parametrize(
    "surroundings",
    [{"CUDA_VISIBLE_DEVICES": "0"}, {"FAKE_CUDA_NO_PEERS": "1"}, {"ISTHMUS_PATHS": "own"}, {"ISTHMUS_PATHS": ""}],
    ids=["hidden", "unreached", "own", "unset"],
)
def test_without_another_link_such_memory_is_left_to_the_driver(
    links: Path, driver: Path, surroundings: dict[str, str], tmp_path: Path
) -> None:
    told, counts = accelerated([links, "dlsym", "order"], driver, tmp_path, **(ALL | surroundings))
    assert told.endswith("wrong: 0\n")
    assert counts.queued == (0, 0)
    assert not {"pinned_h2d", "pinned_d2h"} & {row.way for row in counts.moved}
    assert counts.left["not_pageable"][0] > 10


def test_the_library_begins_when_enough_was_copied(links: Path, driver: Path, tmp_path: Path) -> None:
    _, counts = accelerated([links, "dlsym", "many"], driver, tmp_path, "min=4096", **ALL)
    assert counts.left["early"][0] > 20
    assert counts.queued[0] > 0
    # Behind so many that are held the neighbour's queues are full.
    assert counts.left["links_taken"][0] > 0


@pytest.mark.parametrize("count", [300, pytest.param(5_000, marks=pytest.mark.thorough)])
def test_random_copies_of_page_locked_memory_are_right(
    random_copies: Path, count: int, driver: Path, tmp_path: Path
) -> None:
    words: list[str | Path] = [random_copies, "thread", str(count), "1", "4", "pinned"]
    told, counts = accelerated(words, driver, tmp_path, "eager,min=4096", **ALL)
    assert told == f"copies: {count}\nwrong: 0\n"
    assert counts.queued[0] > 0
    assert {row.way for row in counts.moved} >= {"pinned_h2d", "pinned_d2h"}
    assert counts.left["failed"] == (0, 0)


def test_a_wrong_byte_is_noticed(random_copies: Path, driver: Path) -> None:
    """The check is one: a driver whose copies lack their last bytes does not pass it."""
    done = ran([random_copies, "thread", "500"], driver, FAKE_CUDA_SHORT="1")
    assert done.returncode == 1
    assert "wrong: 0" not in done.stdout
    assert "memory is wrong: form" in done.stderr
