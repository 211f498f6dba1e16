"""The strided experiment: its sections, what is left out and why, what is recorded, and that all of it arrives."""

import random
from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from isthmus.experiment.engine.options import ModeName, Options
from isthmus.experiment.engine.pieces import LEAST_STAGING_BYTES, Extent, Place
from isthmus.experiment.engine.rounds import Clock, run_rounds
from isthmus.experiment.engine.sampling import Rules
from isthmus.experiment.strided.cases import bytes_needed, case_of, plan
from isthmus.experiment.strided.sections import Section, alignment_sections, bounds_of, grid_sections, known_sections
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.record import GIB, KIB, MIB, Case

FOREVER = Clock(float("inf"), float("inf"))
# Beyond what a run needs, so that nothing is left out for the lack of it.
PLENTY = 1 << 40
MODES: tuple[ModeName, ...] = ("quick", "default", "full")
WIDTHS = (1, 8, 64, 256, KIB, 4 * KIB, 64 * KIB)


@pytest.fixture(scope="module")
def host() -> OpenDevice:
    return open_device("host")


@pytest.fixture(scope="module")
def gpu(host: OpenDevice) -> OpenDevice:
    """A device that says that its memory is its own, for plans alone."""
    return host._replace(description=msgspec.structs.replace(host.description, shares_host_memory=False))


def planned(device: OpenDevice, options: Options, memory_bytes: int = PLENTY) -> tuple[list[Case], list[Case]]:
    """Templates of what would be measured, and what is skipped; nothing is allocated."""
    found = plan(device, options, memory_bytes)
    return [case for batch in found.batches for case in batch.prepare.args[1]], list(found.skipped)  # type: ignore[attr-defined]


def measured(device: OpenDevice, options: Options, most_bytes: int = MIB) -> list[Case]:
    """What is planned of up to so many bytes, measured with two samples each."""
    found: list[Case] = []
    rules = Rules(least_samples=2, visit_samples=2, most_samples=2, long_seconds=float("inf"))
    for batch in plan(device, options, PLENTY).batches:
        subjects = [subject for subject in batch.prepare().subjects if subject.template.bytes <= most_bytes]
        run_rounds(subjects, rules, FOREVER, found.extend, random.Random(1))
    return found


def shape(case: Case) -> tuple[object, ...]:
    return (
        case.width_bytes,
        case.rows,
        case.slices,
        case.pitch_bytes,
        case.slice_pitch_bytes,
        case.device_pitch_bytes,
        case.device_slice_pitch_bytes,
    )


def test_the_grid_has_every_width_from_one_row_to_a_million() -> None:
    bounds = bounds_of("default", shares_host_memory=False)
    sections = [section for section, _ in grid_sections(WIDTHS, "default", bounds)]
    assert {section.extent.width_bytes for section in sections} == set(WIDTHS)
    assert {1, 32, KIB, 32 * KIB, MIB} <= {section.rows for section in sections}
    pitches = {max(section.host.pitch_bytes, section.device.pitch_bytes) for section in sections}
    assert {32 * KIB, MIB} | {2 * width for width in WIDTHS} <= pitches
    layouts = {(section.host_layout, section.device_layout) for section in sections}
    assert layouts == {("strided", "contiguous"), ("contiguous", "strided"), ("strided", "strided")}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shares", [False, True])
def test_the_grid_keeps_within_its_bounds_and_repeats_nothing(mode: ModeName, shares: bool) -> None:
    bounds = bounds_of(mode, shares)
    sections = [section for section, _ in grid_sections(WIDTHS, mode, bounds)]
    assert len(set(sections)) == len(sections)
    for section in sections:
        assert section.bytes <= bounds.section_bytes
        assert section.span_bytes <= bounds.span_bytes
        assert section.rows <= bounds.rows


def test_known_sections() -> None:
    sections = known_sections("default", bounds_of("default", shares_host_memory=False))
    column = sections[0]
    assert (column.extent, column.device.pitch_bytes) == (Extent(8, 30720), 34952)
    assert (column.host_layout, column.device_layout) == ("contiguous", "strided")
    halos = {section.extent for section in sections if section.extent.rows == 2050}
    assert halos == {Extent(8 * width, 2050) for width in (1, 2, 4)}
    boxes = [section for section in sections if section.extent == Extent(62 * 8, 62, 62)]
    assert {(section.device_layout, section.device.pitch_bytes) for section in boxes} == {
        ("strided", 512),
        ("contiguous", 496),
    }
    # Beside tight rows on the device, the same padded, and neither the array that they were cut out of.
    assert Place(4096, 512, 62 * 512) in {section.device for section in boxes}
    assert Extent(8, 64, 64) in {section.extent for section in sections}


def test_every_method_that_layouts_leave(gpu: OpenDevice) -> None:
    cases, skipped = planned(gpu, Options())
    methods: dict[tuple[str, str, str], set[str]] = {}
    for case in (*cases, *skipped):
        if shape(case)[:3] != (1, 1, None) and (case.rows or 0) > 1:
            methods.setdefault((case.host_memory, case.host_layout, case.device_layout), set()).add(case.method)
    always = {"section", "copies", "batch", "kernel"}
    packed = {"pack", "pack_threads", "pack_kernel"}
    assert methods["pinned", "contiguous", "strided"] == always | {"device_pack"}
    assert methods["pageable", "contiguous", "strided"] == always | packed | {"device_pack"}
    assert methods["pinned", "strided", "contiguous"] == always | packed
    assert methods["pinned", "strided", "strided"] == always | packed | {"whole"}


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


def test_no_case_is_measured_twice(gpu: OpenDevice, host: OpenDevice) -> None:
    for device in (gpu, host):
        for mode in MODES:
            cases, skipped = planned(device, Options(mode=mode))
            keys = Counter((case.method, case.direction, case.host_memory, shape(case)) for case in (*cases, *skipped))
            assert keys.most_common(1)[0][1] == 1


def test_one_short_copy_is_the_drivers_alone(gpu: OpenDevice) -> None:
    cases, _ = planned(gpu, Options())
    single = [case for case in cases if case.rows == 1 and not case.slices]
    assert {case.method for case in single} == {"section"}
    assert {case.width_bytes for case in single} == set(WIDTHS)


def test_many_copies_are_left_to_full_with_their_number(gpu: OpenDevice, host: OpenDevice) -> None:
    _, skipped = planned(gpu, Options())
    copies = {case.rows: case.note for case in skipped if case.method == "copies" and case.rows != 30720}
    assert copies[32 * KIB] == "a sample would take 32768 copies"
    shared = [case for case in planned(host, Options())[1] if case.method == "batch" and case.rows == 4 * KIB]
    assert {case.note for case in shared} == {"a sample would take 4096 copies; --full measures up to 8192"}
    cases, _ = planned(gpu, Options(mode="full"))
    assert any(case.method == "copies" and case.rows == 8 * KIB for case in cases)


def test_arrays_that_share_the_hosts_memory_are_small(host: OpenDevice) -> None:
    cases, skipped = planned(host, Options())
    assert all((case.moved_bytes or 0) <= 64 * MIB for case in cases)
    column = [case for case in skipped if case.rows == 30720]
    assert {case.note for case in column} == {
        "its array takes 1023 MiB; where device memory is host memory, at most 64 MiB are measured"
    }


def test_quick_says_what_it_leaves_out(gpu: OpenDevice) -> None:
    cases, skipped = planned(gpu, Options(mode="quick"))
    assert any(case.note.startswith("its array takes 1023 MiB; with --quick") for case in skipped)
    assert {case.width_bytes for case in cases if case.device_pitch_bytes == 32 * KIB} == {8, KIB}


def test_long_checks_are_left_to_pinned_memory(gpu: OpenDevice) -> None:
    _, skipped = planned(gpu, Options())
    long = [case for case in skipped if "takes long to check" in case.note]
    assert {case.host_memory for case in long} == {"pageable"}
    # What is contiguous on the side that is written to is soon checked.
    assert not any(case.direction == "d2h" and case.host_layout == "contiguous" for case in long)


def test_what_exceeds_the_memory_is_skipped_from_the_largest_array_on(gpu: OpenDevice) -> None:
    everything = planned(gpu, Options())[0]
    cases, skipped = planned(gpu, Options(), 512 * MIB)
    left = [case for case in skipped if case.note.startswith("its buffers exceed the 512 MiB of host memory")]
    assert len(cases) + len(left) == len(everything)
    assert {case.rows for case in left} >= {30720}
    assert planned(gpu, Options(), KIB)[0] == []


def test_widths_memory_and_directions_are_the_users_choice(gpu: OpenDevice) -> None:
    options = Options(sizes=[24], memory=["pinned"], directions=["d2h"])
    cases, skipped = planned(gpu, options)
    assert {(case.host_memory, case.direction) for case in (*cases, *skipped)} == {("pinned", "d2h")}
    grid = {case.width_bytes for case in cases if not case.slices and case.rows not in (2050, 30720)}
    assert grid == {24}


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


def test_everything_arrives(host: OpenDevice) -> None:
    cases = measured(host, Options(mode="quick", sizes=[8, 24]))
    done = [case for case in cases if not case.skipped]
    assert {case.verified for case in done} == {"yes"}
    assert {case.method for case in done} >= {"section", "copies", "device_pack", "pack", "pack_threads", "kernel"}
    assert all(len(case.samples("host_seconds")) == 2 for case in done)


def test_wide_rows_show_what_all_threads_take_of_pageable_memory(gpu: OpenDevice, host: OpenDevice) -> None:
    def wide(device: OpenDevice, options: Options) -> set[tuple[str, str | None, str]]:
        chosen, _ = planned(device, options)
        return {
            (case.method, case.direction, case.host_layout)
            for case in chosen
            if (case.host_memory, case.width_bytes, case.bytes) == ("pageable", 64 * KIB, 32 * MIB)
        }

    found = wide(gpu, Options("default"))
    for method in ("section", "pack", "pack_threads", "pack_kernel"):
        for direction in ("h2d", "d2h"):
            assert {(method, direction, "strided"), (method, direction, "contiguous")} <= found
    assert not wide(gpu, Options("quick"))
    assert not wide(gpu, Options("default", sizes=[8]))
    assert not wide(host, Options("default"))


def test_alignment_is_measured_beside_rows_of_the_grid(gpu: OpenDevice, host: OpenDevice) -> None:
    for device in (gpu, host):
        cases, _ = planned(device, Options())
        known = {shape(case) for case in cases}
        odd = [case for case in cases if (case.width_bytes or 0) > 16 and (case.width_bytes or 0) % 16]
        odd = [case for case in odd if case.slices is None]
        assert {case.method for case in odd} == {"section", "kernel", "device_pack", "pack_kernel"}
        assert {case.width_bytes for case in odd} == {size + more for size in (256, 4 * KIB) for more in (1, 2, 4, 8)}
        for case in odd:
            width = (case.width_bytes or 0) // 16 * 16
            pitches = [
                2 * width if pitch != case.width_bytes else width
                for pitch in (case.pitch_bytes, case.device_pitch_bytes)
            ]
            twin = msgspec.structs.replace(
                case,
                bytes=width * KIB,
                moved_bytes=width * KIB,
                width_bytes=width,
                pitch_bytes=pitches[0],
                device_pitch_bytes=pitches[1],
            )
            assert shape(twin) in known


def test_alignment_takes_no_time_where_there_is_little_or_sizes_are_given(gpu: OpenDevice) -> None:
    for options in (Options(mode="quick"), Options(sizes=[4 * KIB])):
        cases, _ = planned(gpu, options)
        assert not any(case.width_bytes in {257, 4 * KIB + 4} for case in cases)
