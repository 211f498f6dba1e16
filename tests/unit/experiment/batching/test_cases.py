"""The batching experiment on the host backend: its grid, what is left out and why, where pieces lie."""

import numpy as np

from isthmus.experiment.batching.cases import METHODS, plan
from isthmus.experiment.batching.grid import LAYOUTS, cells
from isthmus.experiment.engine.buffers import PAGE_BYTES
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.piece_buffers import Cell, PieceBuffers, bytes_needed
from isthmus.experiment.engine.pieces import LEAST_STAGING_BYTES
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.record import MIB, Case, LayoutName

# Beyond what a run needs, so that nothing is left out for the lack of it.
PLENTY = 1 << 40
MAIN: tuple[LayoutName, LayoutName] = ("scattered", "scattered")
SMALL = Options(mode="quick", sizes=[96], directions=["h2d"], memory=["pageable"])


def planned_cases(device: OpenDevice, options: Options, memory_bytes: int = PLENTY) -> tuple[list[Case], list[Case]]:
    """What would be measured, and what is skipped; nothing is allocated."""
    planned = plan(device, options, memory_bytes)
    return [case for batch in planned.batches for case in batch.prepare.args[1]], list(planned.skipped)  # type: ignore[attr-defined]


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
