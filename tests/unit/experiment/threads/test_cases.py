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
from isthmus.experiment.threads import concurrent
from isthmus.experiment.threads.cases import DIRECTIONS, MEMORY_KINDS, _Sweep, divisions_of, plan
from isthmus.experiment.threads.concurrent import Division, undivided
from isthmus.machine.devices import open_device
from isthmus.record import GIB, KIB, MIB, Case, Direction

FOREVER = Clock(float("inf"), float("inf"))
COUNTS = {1, 2, 4, 8, 16, 32}
# Beyond what a run needs, so that nothing is left out for the lack of it.
PLENTY = 1 << 40


Measure = Callable[..., list[Case]]


def divided(*cases: Case) -> list[Case]:
    return [division.case(case) for case in cases for division in divisions_of(case, "quick")]


@pytest.fixture
def measured(given: Callable[[Sweep, Sequence[Case]], Planned], ended: Callable[[Planned], list[Case]]) -> Measure:
    """Every division of some transfers in a quick run, measured to the end."""

    def measured(spec: str, *cases: Case) -> list[Case]:
        return ended(given(_Sweep(open_device(spec), Options(mode="quick"), PLENTY), divided(*cases)))

    return measured


def divisions(memory: str, size: int, mode: ModeName = "default") -> list[Division]:
    return divisions_of(undivided(memory, "h2d", size), mode)


@pytest.mark.parametrize("mode", ["quick", "default", "full"])
@pytest.mark.parametrize("memory", MEMORY_KINDS)
@pytest.mark.parametrize("size", [64 * MIB, GIB])
def test_no_division_is_measured_twice(mode: ModeName, memory: str, size: int) -> None:
    ways = divisions(memory, size, mode)
    cases = [way.case(undivided(memory, "h2d", size)) for way in ways]
    assert len({(case.method, case.threads, case.streams, case.pieces) for case in cases}) == len(cases)
    # One thread has one stream and one slice: these are the same.
    assert sum(way.threads == 1 and not way.chunks and not way.spawn for way in ways) == 1


def test_threads_of_ones_own_choice_replace_those_of_the_mode() -> None:
    ways = divisions_of(undivided("pinned", "h2d", GIB), "quick", [1, 3, 96])
    assert {way.threads for way in ways} == {1, 3, 96}
    assert {way.threads for way in ways if way.chunks} == {1, 3}, "there are fewer chunks than threads"
    assert {way.threads for way in ways if way.spawn} == {1, 3, 96}


def test_the_default_plan_has_what_the_question_asks() -> None:
    pinned = divisions("pinned", 64 * MIB)
    for own_streams, chunks, spawn in ((True, False, False), (True, True, False), (True, False, True)):
        assert {way.threads for way in pinned if way[1:] == (own_streams, chunks, spawn)} == COUNTS
    for chunks in (False, True):
        assert {way.threads for way in pinned if way[1:] == (False, chunks, False)} == COUNTS - {1}
    for memory, size in (("pageable", 64 * MIB), ("pinned", GIB)):
        base = {way.threads for way in divisions(memory, size) if way[1:] == (True, False, False)}
        assert base == COUNTS
    assert len(divisions("pageable", GIB)) > 1


def test_the_full_plan_leaves_nothing_out() -> None:
    assert all(len(divisions(memory, size, "full")) == 28 for memory in MEMORY_KINDS for size in (MIB, GIB))


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


def test_a_plan_holds_what_was_chosen() -> None:
    options = Options(mode="quick", sizes=[64 * KIB], memory=["pinned", "mapped"], directions=["both"])
    planned = plan(open_device("host"), options, PLENTY)
    [prepared] = [batch.prepare() for batch in planned.batches]
    assert {(case.host_memory, case.direction, case.bytes) for case in (s.template for s in prepared.subjects)} == {
        ("pinned", "both", 64 * KIB)
    }
    assert planned.batches[0].subjects == len(prepared.subjects)


def test_what_exceeds_the_memory_is_planned_as_skips_of_every_way() -> None:
    options = Options(mode="quick", sizes=[KIB, 64 * MIB], memory=["pinned"], directions=["h2d"])
    planned = plan(open_device("host"), options, 16 * MIB)
    large = [case for case in planned.skipped if case.bytes == 64 * MIB and case.devices is None and case.node is None]
    assert len(large) == len(divisions("pinned", 64 * MIB, "quick"))
    assert all(case.note.startswith("its buffers exceed the 16 MiB of host memory") for case in large)
    assert sum(batch.subjects for batch in planned.batches) == len(divisions("pinned", KIB, "quick"))


def test_sizes_that_device_memory_does_not_hold_are_skipped_with_the_reason(measured: Measure) -> None:
    cases = measured("host:memory=64MiB", *(undivided("pinned", "h2d", size) for size in (MIB, 128 * MIB)))
    assert {case.bytes for case in cases if case.skipped} == {128 * MIB}
    assert all("the modelled device has" in case.note for case in cases if case.skipped)
    assert {case.bytes for case in cases if case.verified == "yes"} == {MIB}


@pytest.mark.parametrize("memory", MEMORY_KINDS)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("size", [1, 4099, 3 * MIB + 1])
def test_every_division_is_measured_and_checked(
    measured: Measure, memory: str, direction: Direction, size: int
) -> None:
    cases = measured("host", undivided(memory, direction, size))
    assert len(cases) == len(divided(undivided(memory, direction, size)))
    for case in cases:
        assert (case.verified, case.skipped, case.note) == ("yes", False, "")
        assert [series.metric for series in case.series] == ["host_seconds"]
        assert len(case.samples("host_seconds")) == 2


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
    monkeypatch.setattr(concurrent, "_LIMIT_SECONDS", 0.05)
    sweep = _Sweep(open_device("host:fault=copy:hang"), Options(mode="quick"), PLENTY)
    prepared = given(sweep, divided(undivided("pinned", "h2d", 64 * KIB))).batches[0].prepare()
    found: list[Case] = []
    run_rounds(prepared.subjects[:2], Rules(), FOREVER, found.extend, random.Random(1))
    assert [case.skipped for case in found] == [True, True]
    first, second = found
    # Those that had not begun by then, on a loaded machine, end.
    ended = rf"failed: [1-{first.threads}] of {first.threads} threads had not ended after 0\.\d+ s and"
    assert re.match(rf"{ended} were left behind: h2d, 65536 bytes, {first.threads} threads$", first.note)
    assert second.note.startswith("failed: a thread that was left behind may still use this buffer: h2d, 65536 bytes")
