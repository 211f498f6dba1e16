"""The batching experiment on the host backend: its grid, what is left out and why, where pieces lie."""

import random

import numpy as np
import pytest

from isthmus.experiment.batching.cases import METHODS, plan
from isthmus.experiment.batching.grid import LAYOUTS, cells, pairs
from isthmus.experiment.engine.buffers import PAGE_BYTES
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.piece_buffers import Cell, PieceBuffers, bytes_needed
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


@pytest.mark.parametrize("size", [100, 3 * MIB, 1 << 30])
def test_sizes_of_the_users_are_measured_whatever_they_take(size: int) -> None:
    for pair in pairs("default"):
        grid = cells(pair, "default", [size], shares_host_memory=False)
        assert {cell.piece_bytes for cell in grid} == {size}
        assert Cell(size, 1) in grid


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


def test_alignment_takes_no_time_where_there_is_little_or_sizes_are_given(host: OpenDevice) -> None:
    for options in (Options(mode="quick"), Options(sizes=[4 * KIB])):
        cases, _ = planned_cases(host, options)
        assert not any((case.width_bytes or 0) % 16 for case in cases)
