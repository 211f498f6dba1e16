"""The batching experiment on the host backend: its grid, what is left out and why, where pieces lie."""

import random

import numpy as np
import pytest

from isthmus.experiment.batching.cases import METHODS, plan
from isthmus.experiment.batching.grid import LAYOUTS, cells, cliff_cells, pairs, threaded_cells, too_many
from isthmus.experiment.engine.buffers import PAGE_BYTES
from isthmus.experiment.engine.options import ModeName, Options
from isthmus.experiment.engine.piece_buffers import Cell, PieceBuffers, Setting, bytes_needed
from isthmus.experiment.engine.pieces import LEAST_STAGING_BYTES
from isthmus.experiment.engine.rounds import Clock, run_rounds
from isthmus.experiment.engine.sampling import Rules
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.record import KIB, MIB, Case, LayoutName

FOREVER = Clock(float("inf"), float("inf"))
# Beyond what a run needs, so that nothing is left out for the lack of it.
PLENTY = 1 << 40
MAIN: tuple[LayoutName, LayoutName] = ("scattered", "scattered")
SMALL = Options(mode="quick", sizes=[96], directions=["h2d"], memory=["pageable"])


@pytest.fixture(scope="module")
def host() -> OpenDevice:
    return open_device("host")


def planned_cases(device: OpenDevice, options: Options, memory_bytes: int = PLENTY) -> tuple[list[Case], list[Case]]:
    """What would be measured, and what is skipped; nothing is allocated."""
    planned = plan(device, options, memory_bytes)
    return [case for batch in planned.batches for case in batch.prepare.args[1]], list(planned.skipped)  # type: ignore[attr-defined]


def measured(device: OpenDevice, options: Options, most_pieces: int) -> list[Case]:
    """What is planned of up to so many pieces, measured with two samples each."""
    found: list[Case] = []
    rules = Rules(least_samples=2, visit_samples=2, most_samples=2, long_seconds=float("inf"))
    for batch in plan(device, options, PLENTY).batches:
        subjects = [subject for subject in batch.prepare().subjects if (subject.template.pieces or 0) <= most_pieces]
        run_rounds(subjects, rules, FOREVER, found.extend, random.Random(1))
    return found


def test_the_default_grid_spans_what_programs_have() -> None:
    grid = cells(MAIN, "default", (), shares_host_memory=False)
    assert {cell.piece_bytes for cell in grid} == {64 << (2 * step) for step in range(8)}
    assert {cell.pieces for cell in grid} == {1, 16, 64, 256, 1024, 4096, 65536}
    assert {Cell(4 * KIB, 4096), Cell(4 * KIB, 65536)} <= set(grid)
    assert [cell for cell in grid if cell.bytes > 16 * MIB] == [Cell(4 * KIB, 65536)]
    # Nothing within the bound is left out.
    assert all(Cell(size, 4096) in grid for size in (64, 4 * KIB))
    assert len(grid) == len(set(grid))


def test_memory_that_is_the_hosts_own_is_spared() -> None:
    grid = cells(MAIN, "default", (), shares_host_memory=True)
    assert Cell(4 * KIB, 4096) in grid
    assert max(cell.bytes for cell in grid) == 16 * MIB
    assert {cell.pieces for cell in grid} == {1, 16, 64, 256, 1024, 4096, 65536}


def test_chosen_sizes_are_moved_in_many_pieces_there_too() -> None:
    assert Cell(MIB, 16) in cells(MAIN, "default", [MIB], shares_host_memory=True)
    assert Cell(MIB, 16) not in cells(MAIN, "default", (), shares_host_memory=True)


@pytest.mark.parametrize(("mode", "count"), [("quick", 1), ("default", 9), ("full", 9)])
def test_pairs_of_layouts(mode: ModeName, count: int) -> None:
    found = pairs(mode)
    assert found[0] == MAIN
    assert len(set(found)) == len(found) == count
    assert {name for pair in found for name in pair} <= set(LAYOUTS)
    assert all(cells(pair, mode, (), shares_host_memory=False) for pair in found)


def test_other_layouts_have_coarser_grids() -> None:
    sizes = [len(cells(pair, "default", (), shares_host_memory=False)) for pair in pairs("default")]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] >= 1


@pytest.mark.parametrize("size", [100, 3 * MIB, 1 << 30])
def test_sizes_of_the_users_are_measured_whatever_they_take(size: int) -> None:
    for pair in pairs("default"):
        grid = cells(pair, "default", [size], shares_host_memory=False)
        assert {cell.piece_bytes for cell in grid} == {size}
        assert Cell(size, 1) in grid


def test_the_batch_call_is_looked_at_closely_where_its_rate_jumps() -> None:
    close = cliff_cells(MAIN, "default", (), shares_host_memory=False)
    assert {24 * KIB, 28 * KIB} <= {cell.piece_bytes for cell in close}
    assert not set(close) & set(cells(MAIN, "default", (), shares_host_memory=False))
    assert cliff_cells(MAIN, "default", [64], shares_host_memory=False) == []
    assert cliff_cells(MAIN, "quick", (), shares_host_memory=False) == []


def test_what_many_threads_take_is_measured_in_every_pair_of_layouts_that_has_a_grid() -> None:
    for pair in pairs("default")[:4]:
        setting = Setting("h2d", "pageable", *pair)
        every = [
            *cells(pair, "default", (), shares_host_memory=False),
            *threaded_cells(setting, "default", (), shares_host_memory=False),
        ]
        assert len(set(every)) == len(every)
        assert max(cell.bytes for cell in every) >= 64 * MIB
        assert max(cell.pieces for cell in every) == 65536
    second = Setting("h2d", "pageable", *pairs("default")[1])
    assert threaded_cells(second._replace(memory="pinned"), "default", (), shares_host_memory=False) == []
    assert threaded_cells(second, "default", (), shares_host_memory=True) == []
    assert threaded_cells(second, "default", [64], shares_host_memory=False) == []
    assert threaded_cells(second, "quick", (), shares_host_memory=False) == []


@pytest.mark.parametrize("memory", ["pageable", "pinned"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("mode", ["quick", "default", "full"])
def test_what_goes_piece_by_piece_is_left_out_for_many_pieces_alone(method: str, mode: ModeName, memory: str) -> None:
    setting = Setting("d2h", memory, *MAIN)
    assert too_many(method, setting, Cell(64, 256), mode) is None
    reason = too_many(method, setting, Cell(64, 65536), mode)
    slow = method == "waited_copies" or (method in ("batch", "graph") and memory == "pageable")
    by_piece = method in ("waited_copies", "copies", "batch", "graph")
    assert (reason is not None) == (by_piece and (mode != "full" or slow))


def test_the_reason_names_the_mode_that_measures_it() -> None:
    setting = Setting("h2d", "pinned", *MAIN)
    assert (too_many("copies", setting, Cell(64, 65536), "default") or "").endswith("; --full measures it")
    assert (too_many("copies", setting, Cell(64, 65536), "quick") or "").endswith("; --full measures it")
    assert (too_many("waited_copies", setting, Cell(64, 4096), "quick") or "").endswith("; --full measures it")
    typical = too_many("waited_copies", setting, Cell(4 * KIB, 4096), "quick") or ""
    assert typical.endswith("; a run without --quick measures it")
    assert "measures it" not in (too_many("waited_copies", setting, Cell(64, 65536), "default") or "measures it")


def test_a_loop_that_waits_is_shown_where_all_methods_are_compared() -> None:
    main, other = Setting("h2d", "pinned", *MAIN), Setting("h2d", "pinned", "strided", "strided")
    assert too_many("waited_copies", main, Cell(4 * KIB, 4096), "default") is None
    assert too_many("waited_copies", main, Cell(4 * KIB, 4096), "quick")
    assert too_many("waited_copies", other, Cell(4 * KIB, 4096), "default")


def test_every_method_is_planned_or_skipped_for_every_setting(host: OpenDevice) -> None:
    found, skipped = planned_cases(host, Options(mode="default", sizes=[256], directions=["d2h"]))
    settings = {(case.host_memory, case.host_layout, case.device_layout) for case in (*found, *skipped)}
    assert len(settings) == 18
    for method in METHODS:
        assert {
            (case.host_memory, case.host_layout, case.device_layout)
            for case in (*found, *skipped)
            if case.method == method
        } == settings
    assert all(case.note for case in skipped)
    assert {case.direction for case in (*found, *skipped)} == {"d2h"}


def test_what_a_layout_rules_out_is_skipped_once_with_the_reason_of_the_core(host: OpenDevice) -> None:
    _, skipped = planned_cases(host, Options(mode="quick", directions=["h2d"], memory=["pinned"]))
    (refused,) = [case for case in skipped if case.method == "device_pack"]
    assert refused.note == "the pieces lie apart in host memory, which kernels cannot pack"
    assert (refused.bytes, refused.pieces, refused.width_bytes) == (0, None, None)


def test_no_case_is_planned_twice(host: OpenDevice) -> None:
    found, _ = planned_cases(host, Options(mode="default", sizes=[64, 4 * KIB]))
    keys = [
        (
            case.method,
            case.direction,
            case.host_memory,
            case.width_bytes,
            case.pieces,
            case.host_layout,
            case.device_layout,
        )
        for case in found
    ]
    assert len(set(keys)) == len(keys)
    assert not [case for case in found if case.method == "waited_copies" and case.pieces == 1]


def test_a_case_says_what_it_is(host: OpenDevice) -> None:
    found, _ = planned_cases(host, Options(mode="default", sizes=[4 * KIB], memory=["pinned"], directions=["h2d"]))
    strided = next(
        case
        for case in found
        if (case.host_layout, case.device_layout) == ("strided", "strided") and case.pieces == 256
    )
    assert (strided.stride_bytes, strided.device_pitch_bytes) == (8 * KIB, 8 * KIB)
    assert (strided.bytes, strided.pieces, strided.width_bytes) == (MIB, 256, 4 * KIB)
    threads = {case.method: case.threads for case in found if case.host_layout == "scattered"}
    assert threads["pack"] == 1
    assert (threads["pack_threads"] or 0) >= 1
    assert threads["copies"] is None
    scattered = next(case for case in found if (case.host_layout, case.device_layout) == MAIN)
    assert (scattered.stride_bytes, scattered.device_pitch_bytes) == (None, None)


def test_what_a_check_reads_back_counts_as_memory() -> None:
    """A source, a destination, the reference and a copy of what arrived, each twice the cell between two pages."""
    region = 2 * MIB + 2 * PAGE_BYTES
    assert bytes_needed(MIB, 1, shares_host_memory=False) == 4 * region + LEAST_STAGING_BYTES
    assert bytes_needed(MIB, 1, shares_host_memory=True) == 6 * region + 2 * LEAST_STAGING_BYTES
    assert bytes_needed(4 * MIB, 1, shares_host_memory=False) == 4 * (8 * MIB + 2 * PAGE_BYTES) + 4 * MIB


def test_what_exceeds_the_memory_is_skipped_cell_by_cell(host: OpenDevice) -> None:
    budget = bytes_needed(MIB, 1, shares_host_memory=True)
    options = Options(mode="quick", memory=["pageable"], directions=["h2d"])
    found, skipped = planned_cases(host, options, budget)
    assert max(case.bytes for case in found) == MIB
    large = [case for case in skipped if case.bytes > MIB]
    assert all("of host memory that this run may take; --memory-budget allows more" in case.note for case in large)
    planned_cells = cells(MAIN, "quick", (), shares_host_memory=True)
    assert {(case.width_bytes, case.pieces) for case in (*found, *large)} == set(planned_cells)


def test_without_memory_for_anything_all_is_skipped(host: OpenDevice) -> None:
    assert planned_cases(host, SMALL, 4 * KIB)[0] == []
    assert plan(host, SMALL, 4 * KIB).batches == []


def test_a_device_without_memory_skips_every_method_with_the_reason() -> None:
    planned = plan(open_device("host:memory=1MiB"), SMALL, PLENTY)
    assert not planned.batches
    assert {case.method for case in planned.skipped} == set(METHODS)
    assert all("the modelled device has" in case.note for case in planned.skipped)


def test_pieces_lie_where_their_layout_says(host: OpenDevice) -> None:
    buffers = PieceBuffers(host.native, ["pageable"], 64 * 100, 0)
    cell = Cell(64, 100)
    contiguous, strided, scattered = (buffers._place(layout, cell, 0) for layout in LAYOUTS)
    assert (contiguous.pitch_bytes, strided.pitch_bytes) == (64, 128)
    assert contiguous.offset == strided.offset == scattered.offset == 4096
    offsets = scattered.offsets
    assert offsets is not None
    assert len(set(offsets)) == 100
    assert not (offsets % 64).any()
    assert max(offsets) < 200 * 64
    assert list(offsets) != sorted(offsets)
    other = buffers._place("scattered", cell, 1).offsets
    assert other is not None
    assert not np.array_equal(offsets, other), "each side has a draw of its own"
    again = PieceBuffers(host.native, ["pageable"], 64 * 100, 0)._place("scattered", cell, 0).offsets
    assert again is not None
    assert np.array_equal(offsets, again), "a seed gives the same places"


@pytest.mark.parametrize("direction", ["h2d", "d2h"])
def test_every_method_moves_every_layout(host: OpenDevice, direction: str) -> None:
    cases = measured(host, Options(mode="default", sizes=[96], directions=[direction], seed=7), most_pieces=256)
    assert {case.method for case in cases} == set(METHODS)
    assert {(case.host_layout, case.device_layout) for case in cases} == set(pairs("default"))
    assert all(case.verified == "yes" and not case.note for case in cases)


def test_pieces_that_do_not_arrive_are_found() -> None:
    (case,) = [
        case
        for case in measured(open_device("host:fault=copy:partial"), SMALL, most_pieces=16)
        if case.method == "copies" and case.pieces == 16
    ]
    assert case.verified == "no"
    assert case.note.startswith("wrong data: 1")
    assert "of 16 pieces differ, the first is piece" in case.note


def test_calls_that_fail_cost_their_case_alone() -> None:
    cases = measured(open_device("host:fault=batch:fail"), SMALL, most_pieces=16)
    failed = {case.method for case in cases if case.skipped}
    assert failed == {"batch"}
    assert all(case.note.startswith("failed: ") for case in cases if case.skipped)
    assert {case.verified for case in cases if not case.skipped} == {"yes"}


def test_alignment_is_measured_beside_cells_of_the_grid(host: OpenDevice) -> None:
    cases, _ = planned_cases(host, Options(directions=["h2d"], memory=["pinned"]))
    known = {(case.method, case.host_layout, case.device_layout, case.width_bytes, case.pieces) for case in cases}
    odd = [key for key in known if (key[3] or 0) % 16]
    assert {key[3] for key in odd} == {size + more for size in (256, 64 * KIB) for more in (1, 2, 4, 8)}
    assert {"copies", "batch", "kernel", "pack", "pack_threads", "pack_kernel", "device_pack"} <= {
        key[0] for key in odd
    }
    for method, host_layout, device_layout, size, pieces in odd:
        aligned = 256 if (size or 0) < KIB else 64 * KIB
        assert (method, host_layout, device_layout, aligned, pieces) in known


def test_alignment_takes_no_time_where_there_is_little_or_sizes_are_given(host: OpenDevice) -> None:
    for options in (Options(mode="quick"), Options(sizes=[4 * KIB])):
        cases, _ = planned_cases(host, options)
        assert not any((case.width_bytes or 0) % 16 for case in cases)
