"""Ways are timed against one another: verified, within the time, on as much data as there is room and time for."""

import itertools
import time

import pytest

from isthmus.experiment.contenders.measure import measure_ways, within
from isthmus.experiment.contenders.ways import ways_of
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected
from isthmus.machine.devices import open_device
from isthmus.record import (
    GIB,
    KIB,
    MIB,
    BufferNeed,
    ManagedNeed,
    Need,
    PiecesNeed,
    PipelineNeed,
    SectionNeed,
    buffer_ways_of,
)

NEEDS: list[Need] = [
    BufferNeed(40 * GIB, "h2d", 5),
    PiecesNeed(1 << 20, 1 << 20),
    SectionNeed(30_720, 8, 240 * KIB),
    ManagedNeed(40 * GIB, fraction=0.5),
    PipelineNeed(40 * GIB, 5.0),
]


@pytest.mark.parametrize("need", NEEDS, ids=lambda need: type(need).__name__)
def test_what_is_too_large_is_replaced_by_less(need: Need) -> None:
    less = within(need, 64 * MIB)
    assert type(less) is type(need)
    assert less.host_bytes <= 64 * MIB
    assert within(less, 64 * MIB) == less


def test_of_a_section_all_rows_stay_and_come_nearer_with_their_place_in_a_page() -> None:
    less = within(SectionNeed(30_720, 8, 240 * KIB, device_pitch_bytes=16), GIB)
    assert isinstance(less, SectionNeed)
    assert (less.rows, less.width_bytes, less.device_pitch_bytes) == (30_720, 8, 16)
    assert less.pitch_bytes % (4 * KIB) == 0
    assert less.rows * less.pitch_bytes <= GIB


@pytest.mark.parametrize("pitch", [17, 800, 4096, 9001, 245_760])
@pytest.mark.parametrize("most", [8, 100, 5000, 40_000])
def test_pitches_stay_aligned_and_hold_their_rows(pitch: int, most: int) -> None:
    less = within(SectionNeed(1000, 8, pitch), 1000 * most)
    assert isinstance(less, SectionNeed)
    assert 8 <= less.pitch_bytes <= pitch
    assert (less.pitch_bytes - pitch) % 64 == 0


@pytest.mark.parametrize("source", ["pageable", "pinned", "new"])
def test_every_row_of_the_table_is_a_contender(source: str) -> None:
    need = BufferNeed(4 * KIB, "h2d", 2, source)  # type: ignore[arg-type]
    timed = measure_ways(open_device("host"), need, 0.5, every=True)
    assert {case.method for case in timed.cases} == {way.name for way in buffer_ways_of(need.source, "h2d")}
    assert all(case.skipped or case.verified == "yes" for case in timed.cases)


def test_slow_ways_are_only_tried_and_the_time_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    device, need = open_device("host:h2d=20GB/s,latency=5us"), PiecesNeed(3000, 1024)
    # A clock that goes on whenever one looks at it: each visit takes as long, however busy this machine is.
    looks = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(looks) / 100)
    assert measure_ways(device, need, 0.5).seconds == pytest.approx(0.6, abs=0.1), "the last visit begins in time"
    monkeypatch.setattr(time, "monotonic", lambda: next(looks) / 1000)
    timed = measure_ways(device, need, 1.5)
    assert "waited_copies" in timed.ruled_out
    assert not {case.method for case in timed.cases if not case.skipped} & set(timed.ruled_out)


def test_pieces_have_the_library_among_their_ways() -> None:
    device = open_device("host")
    assert "isthmus" in ways_of(device, PiecesNeed(10, 100), 0)
    assert "isthmus" in ways_of(device, SectionNeed(10, 100, 200), 0)


@pytest.mark.parametrize("direction", ["h2d", "d2h"])
@pytest.mark.parametrize("source", ["pageable", "pinned"])
@pytest.mark.parametrize("layouts", [("scattered", "contiguous"), ("strided", "scattered")])
def test_rows_by_their_numbers_are_a_way_and_checked(direction: str, source: str, layouts: tuple[str, str]) -> None:
    need = PiecesNeed(300, 700, direction, source, *layouts)  # type: ignore[arg-type]
    subject = ways_of(open_device("host"), need, 3)["copy_rows"]()
    collected = Collected(subject.template)
    subject.visit(Quota(0, 2, 2, 0.0), collected)
    assert (collected.wrong, collected.verified, collected.count) == ("", True, 2)


def test_rows_that_do_not_arrive_are_counted() -> None:
    # Such a device makes copies that lack a part of their data.
    subject = ways_of(open_device("host:fault=copy:partial"), PiecesNeed(300, 700), 3)["copy_rows"]()
    collected = Collected(subject.template)
    subject.visit(Quota(0, 1, 1, 0.0), collected)
    assert collected.wrong.startswith("wrong data: ")
