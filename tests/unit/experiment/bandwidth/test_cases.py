"""The bandwidth experiment on the host backend: its cases, the memory they share, and what is left out and why."""

from collections.abc import Callable, Sequence

import pytest

from isthmus.experiment.bandwidth.cases import BandwidthSweep
from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.sweep import Sweep
from isthmus.experiment.engine.transfers import transfer_case
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.record import GIB, KIB, MIB, Case, Direction

Measure = Callable[..., list[Case]]


@pytest.fixture
def measured(given: Callable[[Sweep, Sequence[Case]], Planned], ended: Callable[[Planned], list[Case]]) -> Measure:
    """These cases on a device, measured with two samples each, or skipped."""

    def measured(spec: str, *cases: Case, options: Options = Options()) -> list[Case]:  # noqa: B008 - immutable
        return ended(given(BandwidthSweep(open_device(spec), options, 1 << 60), cases))

    return measured


def transfer(memory: str, direction: Direction, size: int, method: str = "") -> Case:
    return transfer_case("bandwidth", memory, direction, size, method)


@pytest.mark.parametrize("method", ["copy", "isthmus"])
def test_what_does_not_arrive_in_untouched_memory_is_noticed(measured: Measure, method: str) -> None:
    case = transfer("untouched", "d2h", MIB, method)
    assert [each.note for each in measured("host", case)] == [""]
    assert "wrong data d2h" in measured("host:fault=copy:partial", case)[0].note


def test_memory_that_cannot_be_had_at_all_skips_everything_with_the_reason(measured: Measure) -> None:
    cases = measured("host:memory=0", transfer("pinned", "h2d", 1), transfer("pageable", "d2h", 8))
    assert all("bytes of device memory" in case.note for case in cases)
    small, large = measured("host:memory=1KiB", *(transfer("pinned", "h2d", size) for size in (4096, 1 << 48)))
    assert (small.skipped, large.skipped) == (True, True)
    assert f"{1 << 48} bytes of pinned memory" in large.note


def test_sizes_share_their_buffers() -> None:
    device = open_device("host:memory=64MiB")
    sweep = BandwidthSweep(device, Options(), GIB)
    bench = sweep.prepare([transfer(kind, "h2d", size) for kind in ("pinned", "pageable") for size in (1, MIB)])
    assert device.native.free_bytes() == 63 * MIB
    del bench
    assert device.native.free_bytes() == 64 * MIB


@pytest.mark.parametrize("alignment", [1, 64, 4096])
def test_an_alignment_moves_the_transfer_and_its_data_stay_right(measured: Measure, alignment: int) -> None:
    case, *_ = measured("host", transfer("pinned", "both", 100_003), options=Options(alignment_bytes=alignment))
    assert (case.verified, case.note) == ("yes", "")


class ManagedDevice:
    """A device that can prefetch, with 8 GiB free."""

    def why_not(self, kind: str) -> str | None:
        return "it has none" if kind == "write_combined" else None

    def why_no_prefetch(self) -> str | None:
        return None

    def free_bytes(self) -> int:
        return 8 * GIB


@pytest.mark.parametrize(
    ("memory", "direction", "size", "reason"),
    [
        ("managed", "h2d", 2 * GIB, None),
        ("managed", "both", 2 * GIB, None),
        ("pinned", "h2d", 1 << 40, None),
        ("write_combined", "h2d", 1, "it has none"),
        (
            *("managed", "h2d", 2 * GIB + KIB),
            "4194306 KiB of managed memory exceed half of the free device memory (4 GiB)",
        ),
        ("managed", "both", 4 * GIB, "8 GiB of managed memory exceed half of the free device memory (4 GiB)"),
    ],
)
def test_managed_memory_never_takes_more_than_half(
    memory: str, direction: Direction, size: int, reason: str | None
) -> None:
    device = OpenDevice(ManagedDevice(), open_device("host").description)  # type: ignore[arg-type]
    sweep = BandwidthSweep(device, Options(memory=["managed"]), GIB)
    assert sweep.why_not(transfer(memory, direction, size)) == reason


def test_what_other_kinds_take_is_not_free_for_managed_memory() -> None:
    device = OpenDevice(ManagedDevice(), open_device("host").description)  # type: ignore[arg-type]
    sweep = BandwidthSweep(device, Options(sizes=[2 * GIB]), GIB)
    assert sweep.why_not(transfer("managed", "h2d", GIB)) is None
    assert "exceed half of the free device memory (2 GiB)" in str(sweep.why_not(transfer("managed", "h2d", 2 * GIB)))
