"""The strided experiment: its sections, what is left out and why, what is recorded, and that all of it arrives."""

from collections.abc import Callable

import msgspec
import pytest

from isthmus.experiment.engine.options import ModeName, Options
from isthmus.experiment.engine.pieces import LEAST_STAGING_BYTES, Extent, Place
from isthmus.experiment.strided.cases import bytes_needed, case_of, plan
from isthmus.experiment.strided.sections import Section, alignment_sections, bounds_of, grid_sections, known_sections
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.record import GIB, KIB, MIB, Case

# Beyond what a run needs, so that nothing is left out for the lack of it.
PLENTY = 1 << 40
MODES: tuple[ModeName, ...] = ("quick", "default", "full")
WIDTHS = (1, 8, 64, 256, KIB, 4 * KIB, 64 * KIB)


@pytest.fixture(scope="module")
def gpu(host: OpenDevice) -> OpenDevice:
    """A device that says that its memory is its own, for plans alone."""
    return host._replace(description=msgspec.structs.replace(host.description, shares_host_memory=False))


def planned(device: OpenDevice, options: Options, memory_bytes: int = PLENTY) -> tuple[list[Case], list[Case]]:
    """Templates of what would be measured, and what is skipped; nothing is allocated."""
    found = plan(device, options, memory_bytes)
    return [case for batch in found.batches for case in batch.prepare.args[1]], list(found.skipped)  # type: ignore[attr-defined]


def test_a_case_says_what_is_asked_for_and_what_moves(gpu: OpenDevice) -> None:
    cases, _ = planned(gpu, Options())
    column = [case for case in cases if case.rows == 30720]
    whole = next(case for case in column if case.method == "whole")
    assert (whole.bytes, whole.moved_bytes) == (8 * 30720, 30719 * 34952 + 8)
    driver = next(case for case in column if case.method == "section" and case.host_layout == "contiguous")
    assert (driver.bytes, driver.moved_bytes) == (8 * 30720, 8 * 30720)
    assert (driver.pitch_bytes, driver.device_pitch_bytes, driver.slices, driver.slice_pitch_bytes) == (
        8,
        34952,
        None,
        None,
    )
    box = next(case for case in cases if case.slices == 62 and case.host_layout == "contiguous")
    assert (box.bytes, box.slice_pitch_bytes, box.device_slice_pitch_bytes) == (62**3 * 8, 62 * 496, 64 * 512)


def test_what_exceeds_the_memory_is_skipped_from_the_largest_array_on(gpu: OpenDevice) -> None:
    everything = planned(gpu, Options())[0]
    cases, skipped = planned(gpu, Options(), 512 * MIB)
    left = [case for case in skipped if case.note.startswith("its buffers exceed the 512 MiB of host memory")]
    assert len(cases) + len(left) == len(everything)
    assert {case.rows for case in left} >= {30720}
    assert planned(gpu, Options(), KIB)[0] == []


def test_rows_beyond_all_bounds_are_a_skip(gpu: OpenDevice) -> None:
    _, skipped = planned(gpu, Options(sizes=[GIB]))
    notes = {case.note for case in skipped if case.width_bytes == GIB}
    assert notes == {"asks for 1 GiB, beyond the 64 MiB of this mode"}


def test_kernels_that_reach_mapped_memory_alone_use_that(skip_without: Callable[[str], None]) -> None:
    skip_without("opencl:0")
    device = open_device("opencl:0")
    if device.native.kernels_reach("pinned") or device.native.why_not("mapped"):
        pytest.skip("its kernels reach pinned memory, or it has no mapped memory")
    cases, _ = planned(device, Options(mode="quick"))
    assert {case.host_memory for case in cases if case.method == "kernel"} == {"pageable", "mapped"}
    assert {case.method for case in cases if case.host_memory == "mapped"} == {"kernel"}


@pytest.mark.parametrize("mode", MODES)
def test_a_case_says_where_its_rows_are(mode: ModeName) -> None:
    bounds = bounds_of(mode, shares_host_memory=False)
    sections = [section for section, _ in grid_sections(WIDTHS, mode, bounds)]
    for section in [*sections, *alignment_sections(mode), *known_sections(mode, bounds)]:
        read = Section.of(case_of("section", "pinned", "h2d", section))
        assert read[:3] == section[:3]


def test_buffers_hold_what_is_planned() -> None:
    extent = Extent(8, 100)
    far, tight = Section(extent, Place(4096, 4096), Place(4096, 8)), Section(extent, Place(4096, 8), Place(4096, 8))
    near = [case_of("section", "pinned", "h2d", tight)]
    wide = [*near, case_of("section", "pinned", "h2d", far)]
    assert bytes_needed(near, shares_host_memory=False) < bytes_needed(near, shares_host_memory=True)
    # The source and what it is compared with.
    more = bytes_needed(wide, shares_host_memory=False) - bytes_needed(near, shares_host_memory=False)
    assert more == pytest.approx(2 * 99 * 4096, abs=2 * 4096)
    assert bytes_needed([], shares_host_memory=True) == 0
    assert bytes_needed(near, shares_host_memory=False) > LEAST_STAGING_BYTES


def test_what_arrives_is_compared_with_pageable_memory(host: OpenDevice) -> None:
    (batch,) = plan(host, Options(mode="quick", sizes=[8], memory=["pinned"]), PLENTY).batches
    assert set(batch.prepare().placement) == {"pinned", "pageable"}
