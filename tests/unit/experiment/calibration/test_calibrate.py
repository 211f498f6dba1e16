"""How `isthmus calibrate` searches, against machines whose times are known, and the table that it writes."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus import _native
from isthmus.errors import CallFailed
from isthmus.experiment.calibration import buffers as calibration_buffers
from isthmus.experiment.calibration import pieces as calibration_pieces
from isthmus.experiment.calibration.buffers import (
    DRIVER,
    BufferTimer,
    Choice,
    CopyMethod,
    choose,
    chunk_sizes,
    session_staging,
    thread_counts,
)
from isthmus.experiment.calibration.calibrate import calibrate, table_text
from isthmus.experiment.calibration.pieces import METHODS, PieceChoice, PieceTimer, fewest, kernel_blocks, simplest
from isthmus.experiment.engine.piece_buffers import Cell, Setting
from isthmus.machine.devices import open_device
from isthmus.record import KIB, MIB, Direction
from isthmus.transfer import Session

SIZES = (64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB)
THREADS = thread_counts(16)
STORES = ("streaming", "demoted", "ordinary")
DIRECTIONS: tuple[Direction, ...] = ("d2h", "h2d")


class Machine:
    """Its driver copies at 10 GB/s; threads at 2 GB/s each up to `best`, less beyond, and take 60 us to start."""

    def __init__(self, best: CopyMethod, start: float = 60e-6) -> None:
        self.best, self.start = best, start
        self.asked: list[tuple[int, CopyMethod]] = []

    def times(self, size: int, methods: Sequence[CopyMethod]) -> dict[CopyMethod, float]:
        self.asked += [(size, method) for method in methods]
        return {method: self.seconds(size, method) for method in methods}

    def seconds(self, size: int, method: CopyMethod) -> float:
        if method == DRIVER:
            return 8e-6 + size / 10e9
        assert method.threads in THREADS
        assert 2 * method.chunk_bytes <= size
        lost = 0.1 * abs(method.chunk_bytes.bit_length() - self.best.chunk_bytes.bit_length())
        lost += 0.1 * (method.stores != self.best.stores)
        rate = 2e9 * (method.threads if method.threads <= self.best.threads else 2 * self.best.threads - method.threads)
        return self.start + (1 + lost) * size / max(rate, 1e9)


def test_the_best_way_is_found_and_the_driver_stays_where_it_is_faster() -> None:
    machine = Machine(CopyMethod(12, MIB, "ordinary"))
    choices = choose("h2d", SIZES, THREADS, STORES, 2, machine.times)
    methods = {choice.bytes: choice.method for choice in choices}
    assert methods[64 * KIB] == methods[256 * KIB] == DRIVER
    assert methods[64 * MIB] == machine.best, "two steps from each size to the next lead there"
    assert all(choice.method == DRIVER or choice.seconds < choice.driver_seconds for choice in choices)
    assert all(choice.direction == "h2d" for choice in choices)


@given(
    st.sampled_from(THREADS), st.sampled_from([128 * KIB, MIB, 2 * MIB]), st.sampled_from(STORES), st.floats(1e-6, 1e-2)
)
def test_sizes_ascend_and_no_choice_is_worse_than_the_driver(
    threads: int, chunk: int, stores: str, start: float
) -> None:
    machine = Machine(CopyMethod(threads, chunk, stores), start)
    choices = choose("d2h", SIZES, THREADS, STORES, 1, machine.times)
    sizes = [choice.bytes for choice in choices]
    assert sizes == sorted(set(sizes))
    assert set(SIZES) <= set(sizes)
    assert all(choice.seconds <= choice.driver_seconds for choice in choices)


def test_where_threads_begin_to_pay_is_looked_at_more_closely() -> None:
    choices = choose("h2d", SIZES, THREADS, STORES, 2, Machine(CopyMethod(14, 128 * KIB, "streaming")).times)
    by_size = {choice.bytes: choice.method != DRIVER for choice in choices}
    first = min(size for size, staged in by_size.items() if staged)
    added = set(by_size) - set(SIZES)
    assert len(added) == 1
    assert first in (min(added), 2 * min(added))


def test_a_way_that_gains_next_to_nothing_replaces_no_simpler_one() -> None:
    def times(size: int, methods: Sequence[CopyMethod]) -> dict[CopyMethod, float]:
        return {method: 1.0 if method == DRIVER else 0.98 for method in methods}

    assert {choice.method for choice in choose("h2d", SIZES, THREADS, STORES, 2, times)} == {DRIVER}

    def equal(size: int, methods: Sequence[CopyMethod]) -> dict[CopyMethod, float]:
        return {method: 1.0 if method == DRIVER else 0.5 for method in methods}

    assert choose("h2d", [MIB], THREADS, STORES, 8, equal)[0].method.threads == THREADS[0], (
        "the fewest threads of equals"
    )


@pytest.mark.parametrize("processors", [1, 2, 3, 16, 256])
def test_one_processor_is_left_to_the_caller(processors: int) -> None:
    counts = thread_counts(processors)
    assert counts == sorted(set(counts))
    assert counts[0] == 1
    assert counts[-1] <= max(1, processors - 1)


def test_the_simplest_of_methods_that_are_about_as_fast_is_taken() -> None:
    assert simplest({"pack": 1.0, "copies": 1.02, "kernel": 1.01}) == "copies"
    assert simplest({"pack": 1.0, "copies": 1.04, "kernel": 1.02}) == "kernel"
    assert simplest({"pack_threads": 2.0}) == "pack_threads"


@pytest.mark.parametrize("quick", [False, True])
def test_every_layout_has_cells_that_fit(quick: bool) -> None:
    found = calibration_pieces.settings(("pageable", "pinned"), quick)
    assert len(set(found)) == len(found)
    for setting in found:
        cells = calibration_pieces.cells(setting, quick)
        assert len(set(cells)) == len(cells)
        assert max(cell.bytes for cell in cells) <= 16 * MIB
        assert {cell.piece_bytes for cell in cells} == {8, 256, 4 * KIB, 64 * KIB}
        assert min(cell.pieces for cell in cells) >= 2


def test_a_table_holds_what_was_chosen() -> None:
    buffers = [
        Choice("h2d", 0, DRIVER, 8e-6, 8e-6),
        Choice("h2d", MIB, CopyMethod(6, 128 * KIB, "streaming"), 60e-6, 84e-6),
        Choice("d2h", 0, DRIVER, 9e-6, 9e-6),
    ]
    direct = [Choice("h2d", 4096, DRIVER, 7e-6, 7e-6), Choice("d2h", 4096, DRIVER, 8e-6, 8e-6)]
    pieces = [
        PieceChoice(Setting("h2d", "pageable", "scattered", "strided"), Cell(256, 32), "pack_threads", 6, 2e-5),
        PieceChoice(Setting("d2h", "pinned", "contiguous", "strided"), Cell(8, 1024), "section", 6, 1e-5),
        PieceChoice(Setting("d2h", "pinned", "strided", "contiguous"), Cell(8, 1024), "kernel", 6, 1e-5),
    ]
    table = _native.parse_transfer_table(table_text("two\nlines  of words", buffers, direct, pieces))
    assert table.origin == "two lines of words"
    assert [(rule["direction"], rule["from_bytes"], rule["method"]) for rule in table.buffers] == [
        ("h2d", 0, "driver"),
        ("h2d", MIB, "staged"),
        ("d2h", 0, "driver"),
    ]
    assert [(time["direction"], time["bytes"], time["seconds"]) for time in table.direct] == [
        ("h2d", 4096, 7e-6),
        ("d2h", 4096, 8e-6),
    ]
    staged = table.buffers[1]
    assert (staged["threads"], staged["chunk_bytes"], staged["stores"]) == (6, 128 * KIB, "streaming")
    scattered, section, kernel = table.pieces
    assert (scattered["apart_on_host"], scattered["apart_on_device"], scattered["scattered"]) == (True, True, True)
    assert (section["apart_on_host"], section["apart_on_device"], section["scattered"]) == (False, True, False)
    assert (kernel["apart_on_host"], kernel["apart_on_device"], kernel["pageable"]) == (True, False, False)
    assert (scattered["threads"], section["threads"]) == (6, 0)


def staging(device: _native.Device) -> _native.Staging:
    return _native.create_staging(device, 4 * MIB, 2, 64)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_what_is_calibrated_is_what_a_session_runs(direction: Direction, tmp_path: Path) -> None:
    most_slots, bytes_a_piece = 8, 16
    sizes = chunk_sizes(direction)
    assert sizes[-1] >= 4 * MIB, "chunks that do not fit eight times are tried, too"
    host, other = np.ones(2 * sizes[-1], np.uint8), np.empty(2 * sizes[-1], np.uint8)
    for chunk in sizes:
        plan = _native.ring_plan(direction, chunk)
        method = Choice(direction, MIB, CopyMethod(1, chunk, "streaming"), 1e-3, 1e-3)
        table = tmp_path / f"{chunk}.table"
        driver = [Choice(each, 0, DRIVER, 1e-3, 1e-3) for each in DIRECTIONS]
        buffers = sorted([*driver, method], key=lambda choice: (choice.direction, choice.bytes))
        table.write_text(table_text("test", buffers, [], []))
        with Session("host", table=table) as session:
            there = session.empty(host.shape, host.dtype)
            pair = (there, host) if direction == "h2d" else (other, there)
            how = session.explain(*pair)
            assert (how.method, how.chunk_bytes) == ("staged", chunk), "a session cuts what was calibrated no smaller"
            session.copy(*pair)
            ring_bytes = session.pinned_bytes - bytes_a_piece * plan["pieces"]
            assert min(most_slots, ring_bytes // chunk) == plan["slots"], "and has as many chunks under way"


def test_calibration_goes_through_rings_as_sessions_have_them(
    monkeypatch: pytest.MonkeyPatch, repository: Path
) -> None:
    made = []

    def create(_device: object, ring_bytes: int, threads: int, pieces: int, _blocks: int) -> str:
        made.append((ring_bytes, pieces))
        return f"{ring_bytes} bytes"

    monkeypatch.setattr(_native, "create_staging", create)
    stagings = {direction: session_staging(open_device("host").native, direction, 2) for direction in DIRECTIONS}
    assert len(set(stagings.values())) == 2, "the two directions' rings differ"
    plans = [_native.ring_plan(direction) for direction in DIRECTIONS]
    assert made == [(plan["ring_bytes"], plan["pieces"]) for plan in plans]
    from_device, to_device = (f"{plan['ring_bytes'] / MIB:g} MiB" for plan in plans)
    page = (repository / "docs" / "transferring.md").read_text("utf-8")
    budget = re.search(
        r"the lane from the device \(a ring of (.+?)\), three eighths to it \((.+?)\)", " ".join(page.split())
    )
    assert budget is not None
    assert budget.groups() == (from_device, to_device)


@pytest.mark.parametrize(
    ("rates", "blocks"),
    [
        ({1: 29.8, 2: 49.6, 4: 50.6, 8: 49.9, 0: 50.8}, 2),
        ({1: 36.9, 2: 52.2, 4: 52.1, 8: 52.1, 0: 51.9}, 2),
        ({1: 30.0, 2: 30.1, 0: 30.0}, 1),
        ({1: 30.0, 2: 60.0, 32: 200.0, 0: 400.0}, 32),
    ],
    ids=["H100 to the device", "H100 from it", "a narrow link", "a link that only all fill"],
)
def test_the_fewest_blocks_that_fill_the_link_are_taken(rates: dict[int, float], blocks: int) -> None:
    assert fewest(rates) == blocks


def test_where_kernels_share_memory_with_the_host_no_blocks_are_looked_for() -> None:
    assert kernel_blocks(open_device("host"), 0) == {}


def test_a_table_says_how_many_blocks_fill_the_link() -> None:
    drivers = [Choice(direction, 0, DRIVER, 1e-6, 1e-6) for direction in DIRECTIONS]
    text = table_text("test", drivers, [], [], None, {"h2d": 3, "d2h": 2})
    assert {rule["direction"]: rule["blocks"] for rule in _native.parse_transfer_table(text).kernels} == {
        "h2d": 3,
        "d2h": 2,
    }


@pytest.mark.parametrize("direction", ["h2d", "d2h"])
def test_buffers_are_timed_through_the_ring_of_threads(direction: str) -> None:
    device = open_device("host").native
    timer = BufferTimer(device, direction, 2 * MIB, staging(device), 0)  # type: ignore[arg-type]
    methods = [DRIVER, CopyMethod(1, 64 * KIB, "streaming"), CopyMethod(2, 16 * KIB, "ordinary")]
    found = timer.times(2 * MIB, methods)
    assert set(found) == set(methods)
    assert all(seconds > 0 for seconds in found.values())


def test_pieces_are_timed_by_what_can_move_them() -> None:
    device = open_device("host").native
    timer = PieceTimer(device, ("pinned",), dict.fromkeys(DIRECTIONS, staging(device)), {"h2d": 2, "d2h": 1}, 0)
    choice = timer.choose(Setting("h2d", "pinned", "scattered", "scattered"), Cell(64, 8))
    assert choice is not None
    assert choice.method in set(METHODS) - {"section", "device_pack"}
    assert choice.threads == 2
    assert choice.seconds > 0


def test_wrong_data_ends_a_calibration() -> None:
    device = open_device("host:fault=copy:partial").native
    with pytest.raises(CallFailed, match="wrong data"):
        BufferTimer(device, "h2d", MIB, staging(device), 0).times(MIB, [DRIVER])


def test_a_calibration_has_rules_for_all_that_may_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    from isthmus.experiment.calibration import calibrate as calibration

    monkeypatch.setattr(calibration, "_QUICK_SIZES", (64 * KIB, MIB))
    monkeypatch.setattr(calibration, "_SHARED_BYTES", 4 * MIB)
    monkeypatch.setattr(calibration_buffers, "_ROUNDS", 1)
    monkeypatch.setattr(calibration_pieces, "_TURNS", 1)
    steps: list[tuple[int, int]] = []
    found = calibrate(open_device("host"), True, 0, lambda ended, total: steps.append((ended, total)))
    assert [step for step, _ in steps] == list(range(1, steps[-1][1] + 1)), "progress ends at its end"
    assert not found.table.built_in
    assert "this machine's memory" in found.table.origin
    for direction in ("h2d", "d2h"):
        assert found.table.buffer(direction, 0)["method"] == "driver"
        for pageable in (True, False):
            for host, device in ((True, False), (False, True), (True, True)):
                rule = found.table.piece(
                    direction=direction,
                    pageable=pageable,
                    apart_on_host=host,
                    apart_on_device=device,
                    scattered=False,
                    width_bytes=100,
                    pieces=100,
                )
                assert rule is not None
