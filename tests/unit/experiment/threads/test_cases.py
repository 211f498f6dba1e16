"""The threads experiment on the host backend: its cases, what is left out and why, and what a failure costs."""

import random
import re
from collections.abc import Callable, Sequence

import pytest

from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.options import ModeName, Options
from isthmus.experiment.engine.rounds import Clock, run_rounds
from isthmus.experiment.engine.sampling import Rules
from isthmus.experiment.engine.sweep import Sweep
from isthmus.experiment.threads.cases import DIRECTIONS, Division, ThreadSweep, divisions_of, undivided
from isthmus.machine.devices import open_device
from isthmus.record import GIB, KIB, MIB, Case, Direction

FOREVER = Clock(float("inf"), float("inf"))
# Beyond what a run needs, so that nothing is left out for the lack of it.
PLENTY = 1 << 40


Measure = Callable[..., list[Case]]


def divided(*cases: Case) -> list[Case]:
    return [division.case(case) for case in cases for division in divisions_of(case, "quick")]


@pytest.fixture
def measured(given: Callable[[Sweep, Sequence[Case]], Planned], ended: Callable[[Planned], list[Case]]) -> Measure:
    """Every division of some transfers in a quick run, measured to the end."""

    def measured(spec: str, *cases: Case) -> list[Case]:
        return ended(given(ThreadSweep(open_device(spec), Options(mode="quick"), PLENTY), divided(*cases)))

    return measured


def divisions(memory: str, size: int, mode: ModeName = "default") -> list[Division]:
    return divisions_of(undivided(memory, "h2d", size), mode)


def test_a_case_says_how_it_is_divided() -> None:
    case = Division(8, own_streams=True, chunks=True).case(undivided("pinned", "both", 64 * MIB))
    assert (case.experiment, case.method, case.direction, case.host_memory) == ("threads", "workers", "both", "pinned")
    assert (case.bytes, case.threads, case.streams, case.pieces) == (64 * MIB, 8, 8, 64)
    spawned = Division(8, spawn=True).case(undivided("pinned", "both", 64 * MIB))
    assert (spawned.method, spawned.streams, spawned.pieces) == ("spawn", 1, None)


@pytest.mark.parametrize(("size", "pieces"), [(64 * MIB, 64), (GIB, 64), (4097, 2), (64 * 4096 + 1, 33), (1, 1)])
def test_chunks_are_whole_pages_and_at_most_64(size: int, pieces: int) -> None:
    case = undivided("pinned", "h2d", size)
    assert (Division(4, chunks=True).case(case).pieces, Division(4).case(case).pieces) == (pieces, None)


def test_a_page_is_not_cut_into_chunks() -> None:
    assert not any(way.chunks for way in divisions("pinned", 4096))


@pytest.mark.parametrize(("direction", "lane"), [("h2d", "h2d"), ("d2h", "d2h"), ("both", "h2d")])
def test_wrong_data_are_placed(measured: Measure, direction: Direction, lane: str) -> None:
    cases = measured("host:fault=copy:partial", undivided("pinned", direction, 8192))
    assert {case.verified for case in cases} == {"no"}
    [single] = [case for case in cases if case.threads == 1 and case.method == "workers"]
    assert single.note == f"wrong data {lane}: 512 of 1024 8-byte words differ, the first at byte 4096"


def test_a_thread_that_fails_costs_its_case_and_is_named(measured: Measure) -> None:
    """Copies fail from the 300th of some 700 on: cases before it are there, those after it are not, nothing hangs."""
    cases = measured("host:fault=copy:fail@300", *(undivided("pinned", each, 64 * KIB) for each in DIRECTIONS))
    failed = [case for case in cases if case.skipped]
    assert 0 < len(failed) < len(cases)
    for case in failed:
        way, size, thread = case.note.removeprefix("failed: ").split(", ")
        assert way in ({"h2d", "d2h"} if case.direction == "both" else {case.direction})
        assert size == "65536 bytes"
        assert thread.startswith("thread ")
        assert f" of {case.threads}: copy failed for " in thread
    assert {case.verified for case in cases if not case.skipped} == {"yes"}


def test_a_thread_that_hangs_is_left_behind_and_its_buffers_are_not_trusted(
    monkeypatch: pytest.MonkeyPatch, given: Callable[[Sweep, Sequence[Case]], Planned]
) -> None:
    monkeypatch.setattr("isthmus.experiment.threads.cases._LIMIT_SECONDS", 0.05)
    sweep = ThreadSweep(open_device("host:fault=copy:hang"), Options(mode="quick"), PLENTY)
    prepared = given(sweep, divided(undivided("pinned", "h2d", 64 * KIB))).batches[0].prepare()
    found: list[Case] = []
    run_rounds(prepared.subjects[:2], Rules(), FOREVER, found.extend, random.Random(1))
    assert [case.skipped for case in found] == [True, True]
    first, second = found
    # Those that had not begun by then, on a loaded machine, end.
    ended = rf"failed: [1-{first.threads}] of {first.threads} threads had not ended after 0\.\d+ s and"
    assert re.match(rf"{ended} were left behind: h2d, 65536 bytes, {first.threads} threads$", first.note)
    assert second.note.startswith("failed: a thread that was left behind may still use this buffer: h2d, 65536 bytes")
