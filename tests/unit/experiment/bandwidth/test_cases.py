"""The bandwidth experiment on the host backend: its cases, the memory they share, and what is left out and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from isthmus.errors import CallFailed
from isthmus.experiment.bandwidth.cases import DIRECTIONS, MEMORY_KINDS, all_points, plan, prepare, template, why_not
from isthmus.experiment.engine.blocks import TransferPoint
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.record import GIB, KIB, MIB, Case

QUOTA = Quota(warmups=1, least=2, most=2, seconds=0)
Visit = Callable[..., Collected]


@pytest.fixture
def visit() -> Visit:
    """Prepares one point on a device, visits it once, and gives what was collected."""

    def once(spec: str, point: TransferPoint, options: Options = Options()) -> Collected:  # noqa: B008 - immutable
        [subject] = prepare([point], open_device(spec), options).subjects
        collected = Collected(subject.template)
        subject.visit(QUOTA, collected)
        return collected

    return once


def measured_and_skipped(
    spec: str,
    points: Sequence[TransferPoint],
    options: Options = Options(),  # noqa: B008 - immutable
) -> tuple[list[Case], list[Case]]:
    prepared = prepare(points, open_device(spec), options)
    return [subject.template for subject in prepared.subjects], [case for cases in prepared.ended for case in cases]


def test_the_plan_is_every_combination() -> None:
    points = all_points(Options(sizes=[1, 4]))
    # Pageable memory by the driver and by the library; nothing so small is fresh pages.
    assert len(points) == len(set(points)) == (len(MEMORY_KINDS) + 1) * len(DIRECTIONS) * 2
    assert {point.bytes for point in points} == {1, 4}
    assert {point.memory for point in points if point.method == "isthmus"} == {"pageable"}


def test_destinations_alone_are_untouched_and_both_the_driver_and_the_library_copy_there() -> None:
    points = all_points(Options(sizes=[4 * KIB, MIB], memory=["pageable"]))
    untouched = [point for point in points if point.memory == "untouched"]
    assert untouched == [TransferPoint("untouched", "d2h", MIB), TransferPoint("untouched", "d2h", MIB, "isthmus")]
    assert len({point.buffers for point in points}) == 3


def test_the_default_plan_goes_from_a_byte_to_a_gibibyte_in_powers_of_two() -> None:
    points = all_points(Options(memory=["pinned"], directions=["h2d"]))
    assert [point.bytes for point in points] == [1 << power for power in (*range(27), 28, 30)]


def test_a_plan_holds_what_was_chosen() -> None:
    points = all_points(Options(sizes=[8], memory=["pinned", "pageable"], directions=["both"]))
    assert points == [
        TransferPoint("pageable", "both", 8),
        TransferPoint("pageable", "both", 8, "isthmus"),
        TransferPoint("pinned", "both", 8),
    ]


def test_what_exceeds_the_memory_is_planned_as_a_skip() -> None:
    options = Options(sizes=[KIB, 64 * MIB], memory=["pinned"], directions=["h2d"])
    planned = plan(open_device("host"), options, 16 * MIB)
    assert planned.total == 2
    assert [batch.subjects for batch in planned.batches] == [1]
    [large] = planned.skipped
    assert (large.bytes, large.skipped) == (64 * MIB, True)
    assert large.note.startswith("its buffers exceed the 16 MiB of host memory that this run may take")


@pytest.mark.parametrize(("memory", "method"), [("pinned", "copy"), ("mapped", "kernel"), ("managed", "prefetch")])
def test_a_case_names_its_method(memory: str, method: str) -> None:
    case = template(TransferPoint(memory, "h2d", 64), Options(alignment_bytes=4))
    assert (case.experiment, case.method, case.host_memory, case.bytes) == ("bandwidth", method, memory, 64)
    assert case.alignment_bytes == 4


@pytest.mark.parametrize("memory", [kind for kind in MEMORY_KINDS if kind != "managed"])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("size", [1, 4099, 3 * MIB + 1])
def test_a_visit_collects_samples_and_checks_the_data(visit: Visit, memory: str, direction: str, size: int) -> None:
    collected = visit("host", TransferPoint(memory, direction, size))  # type: ignore[arg-type]
    assert (collected.verified, collected.wrong) == (True, "")
    assert {metric: len(samples) for metric, samples in collected.samples.items()} == {
        "host_seconds": 2,
        "device_seconds": 2,
        "enqueue_seconds": 2,
    }
    assert [len(lane.samples) for lane in collected.companions.values()] == ([2, 2] if direction == "both" else [])


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_library_is_timed_by_the_host_and_checked(visit: Visit, direction: str) -> None:
    collected = visit("host", TransferPoint("pageable", direction, 3 * MIB + 1, "isthmus"))  # type: ignore[arg-type]
    assert (collected.template.method, collected.verified, collected.wrong) == ("isthmus", True, "")
    assert {metric for metric, samples in collected.samples.items() if samples} == {"host_seconds"}


@pytest.mark.parametrize("method", ["", "isthmus"])
def test_what_does_not_arrive_in_untouched_memory_is_noticed(visit: Visit, method: str) -> None:
    point = TransferPoint("untouched", "d2h", MIB, method)
    assert visit("host", point).wrong == ""
    assert "wrong data d2h" in visit("host:fault=copy:partial", point).wrong


def test_visits_add_up(visit: Visit) -> None:
    [subject] = prepare([TransferPoint("pinned", "h2d", 64)], open_device("host"), Options()).subjects
    collected = Collected(subject.template)
    subject.visit(QUOTA, collected)
    subject.visit(QUOTA, collected)
    assert collected.count == 4


@pytest.mark.parametrize(
    ("spec", "direction", "wrong"),
    [
        ("host:fault=copy:partial", "h2d", "wrong data h2d: 256 of 512 8-byte words differ, the first at byte 2048"),
        ("host:fault=copy:partial", "both", "wrong data h2d: 256 of 512 8-byte words differ, the first at byte 2048"),
        ("host:fault=copy:partial", "d2h", "wrong data d2h: 256 of 512 8-byte words differ, the first at byte 2048"),
    ],
)
def test_wrong_data_are_placed(visit: Visit, spec: str, direction: str, wrong: str) -> None:
    assert visit(spec, TransferPoint("pinned", direction, 4096)).wrong == wrong  # type: ignore[arg-type]


def test_wrong_data_of_large_transfers_are_noticed_too(visit: Visit) -> None:
    collected = visit("host:fault=copy:partial", TransferPoint("pinned", "h2d", 64 * MIB))
    assert f"the first at byte {32 * MIB}" in collected.wrong


def test_a_call_that_fails_is_passed_on(visit: Visit) -> None:
    with pytest.raises(CallFailed, match="copy failed for 4096 bytes"):
        visit("host:fault=copy:fail", TransferPoint("pinned", "h2d", 4096))


def test_sizes_that_device_memory_does_not_hold_are_skipped_with_the_reason() -> None:
    points = [TransferPoint("pinned", "h2d", size) for size in (MIB, 32 * MIB, 128 * MIB)]
    measured, skipped = measured_and_skipped("host:memory=64MiB", points)
    assert [case.bytes for case in measured] == [MIB, 32 * MIB]
    [case] = skipped
    assert (case.bytes, case.skipped, case.series) == (128 * MIB, True, [])
    assert f"{128 * MIB} bytes of device memory: the modelled device has {64 * MIB} bytes free" in case.note


def test_what_one_way_takes_is_left_for_the_other() -> None:
    points = [TransferPoint("pinned", way, size) for way in DIRECTIONS for size in (4096, 16 * MIB, 64 * MIB)]  # type: ignore[arg-type]
    measured, skipped = measured_and_skipped("host:memory=64MiB", points)
    assert {(case.direction, case.bytes) for case in measured} == {
        (way, size) for way in DIRECTIONS for size in (4096, 16 * MIB)
    }
    assert {case.bytes for case in skipped} == {64 * MIB}
    assert all("bytes of device memory" in case.note for case in skipped)


def test_a_device_that_has_no_memory_at_all_skips_everything() -> None:
    measured, skipped = measured_and_skipped(
        "host:memory=0", [TransferPoint("pinned", "h2d", 1), TransferPoint("pageable", "d2h", 8)]
    )
    assert measured == []
    assert [case.bytes for case in skipped] == [1, 8]
    assert all("bytes of device memory" in case.note for case in skipped)


def test_host_memory_that_cannot_be_had_is_skipped_with_the_reason() -> None:
    points = [TransferPoint("pinned", "h2d", size) for size in (4096, 1 << 48)]
    measured, skipped = measured_and_skipped("host:memory=1KiB", points)
    assert measured == []
    assert [case.bytes for case in skipped] == [4096, 1 << 48]
    assert f"{1 << 48} bytes of pinned memory" in skipped[1].note


def test_sizes_share_their_buffers() -> None:
    device = open_device("host:memory=64MiB")
    prepared = prepare(
        [TransferPoint(kind, "h2d", size) for kind in ("pinned", "pageable") for size in (1, MIB)], device, Options()
    )
    assert device.native.free_bytes() == 63 * MIB
    del prepared
    assert device.native.free_bytes() == 64 * MIB


@pytest.mark.parametrize("alignment", [1, 64, 4096])
def test_an_alignment_moves_the_transfer_and_its_data_stay_right(visit: Visit, alignment: int) -> None:
    collected = visit("host", TransferPoint("pinned", "both", 100_003), Options(alignment_bytes=alignment))
    assert (collected.verified, collected.wrong) == (True, "")


def test_placement_is_a_share_for_each_kind() -> None:
    placement = prepare([TransferPoint("pageable", "both", MIB)], open_device("host"), Options()).placement
    assert list(placement) == ["pageable"]
    assert sum(placement["pageable"].values()) == pytest.approx(1.0)


class ManagedDevice:
    """A device that can prefetch, with 8 GiB free."""

    def why_not(self, kind: str) -> str | None:
        return "it has none" if kind == "write_combined" else None

    def why_no_prefetch(self) -> str | None:
        return None

    def free_bytes(self) -> int:
        return 8 * GIB


@pytest.mark.parametrize(
    ("point", "reason"),
    [
        (TransferPoint("managed", "h2d", 2 * GIB), None),
        (TransferPoint("managed", "both", 2 * GIB), None),
        (TransferPoint("pinned", "h2d", 1 << 40), None),
        (TransferPoint("write_combined", "h2d", 1), "it has none"),
        (
            TransferPoint("managed", "h2d", 2 * GIB + KIB),
            "4194306 KiB of managed memory exceed half of the free device memory (4 GiB)",
        ),
        (
            TransferPoint("managed", "both", 4 * GIB),
            "8 GiB of managed memory exceed half of the free device memory (4 GiB)",
        ),
    ],
)
def test_managed_memory_never_takes_more_than_half(point: TransferPoint, reason: str | None) -> None:
    description = open_device("host").description
    assert why_not(point, OpenDevice(ManagedDevice(), description)) == reason  # type: ignore[arg-type]


def test_what_other_kinds_take_is_not_free_for_managed_memory() -> None:
    device = OpenDevice(ManagedDevice(), open_device("host").description)  # type: ignore[arg-type]
    assert why_not(TransferPoint("managed", "h2d", GIB), device, 4 * GIB) is None
    assert "exceed half of the free device memory (2 GiB)" in str(
        why_not(TransferPoint("managed", "h2d", 2 * GIB), device, 4 * GIB)
    )


def test_managed_memory_that_does_not_move_is_not_measured() -> None:
    reason = why_not(TransferPoint("managed", "h2d", 1), open_device("host"))
    assert reason == "device memory is host memory: prefetching moves no pages"
