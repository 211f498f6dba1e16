"""Getting memory and giving it back by hand: every way on every device, and what is left afterwards."""

from __future__ import annotations

import pytest

from isthmus import _native
from isthmus.errors import OutOfMemory, Unsupported
from isthmus.experiment.allocation.cases import MEMORY_KINDS
from isthmus.record import KIB, MIB

# More than any machine has and less than an address space.
_TOO_MUCH = 1 << 45

each_kind = pytest.mark.parametrize("kind", MEMORY_KINDS)


def made(device: _native.Device, kind: str, size: int, *, beside: bool = False) -> _native.AllocationCase:
    if reason := device.why_not(kind):
        pytest.skip(reason)
    return _native.create_allocation(device, kind, size, beside)


@each_kind
@pytest.mark.parametrize("size", [1, 4096, 3 * MIB + 5])
def test_samples_are_as_many_as_were_asked_for(device: _native.Device, kind: str, size: int) -> None:
    samples = made(device, kind, size).run(1, 3, 3, 0.0)
    assert len(samples["allocate"]) == len(samples["free"]) == 3
    assert len(samples["touch"]) in (0, 3)
    assert all(seconds >= 0 for phase in ("allocate", "touch", "free") for seconds in samples[phase])


@each_kind
def test_a_case_can_be_run_again_and_without_warming_up(device: _native.Device, kind: str) -> None:
    case = made(device, kind, 64 * KIB)
    for warmups in (0, 2, 0):
        assert len(case.run(warmups, 2, 2, 0.0)["allocate"]) == 2


@each_kind
def test_beside_a_block_that_is_held(device: _native.Device, kind: str) -> None:
    assert len(made(device, kind, 64 * KIB, beside=True).run(1, 2, 2, 0.0)["free"]) == 2


@pytest.mark.parametrize("kind", ["pageable", "pageable_huge", "malloc"])
def test_fresh_pages_are_touched_apart_from_getting_them(device: _native.Device, kind: str) -> None:
    assert len(made(device, kind, MIB).run(1, 2, 2, 0.0)["touch"]) == 2


@pytest.mark.parametrize("kind", ["registered", "registered_huge", "touched_registered", "touched_registered_huge"])
def test_what_was_touched_before_it_was_locked_is_not_touched_again(device: _native.Device, kind: str) -> None:
    assert made(device, kind, MIB).run(1, 2, 2, 0.0)["touch"] == []


@pytest.mark.parametrize("kind", ["device_pitched", "device_array"])
@pytest.mark.parametrize("size", [4, 1000, 64 * KIB, 5 * MIB])
def test_two_dimensional_memory_says_its_shape(device: _native.Device, kind: str, size: int) -> None:
    case = made(device, kind, size)
    assert case.shape == (0, 0, 0)
    case.run(0, 1, 1, 0.0)
    width, rows, pitch = case.shape
    if device.info["backend"] == "host":
        assert (width, rows, pitch) == (0, 0, 0)
    else:
        assert size <= width * rows < size + width
        assert pitch == 0 or pitch >= width


@each_kind
def test_memory_that_there_is_not_leaves_everything_else_working(device: _native.Device, kind: str) -> None:
    if device.info["backend"] == "host" and not kind.startswith("device"):
        pytest.skip("ordinary memory is promised without being there")
    if kind in ("malloc", "pageable", "pageable_huge", "managed"):
        pytest.skip("the system promises such memory, and may end the process that touches it")
    if kind.startswith("registered") or kind.startswith("touched"):
        pytest.skip("its pages would have to be there first")
    with pytest.raises((OutOfMemory, Unsupported), match=r"bytes of|at most|exceeds"):
        made(device, kind, _TOO_MUCH).run(0, 1, 1, 0.0)
    assert len(made(device, kind, 4096).run(0, 1, 1, 0.0)["allocate"]) == 1


def test_a_kind_that_the_device_has_not_is_refused_with_the_reason(device: _native.Device) -> None:
    missing = [kind for kind in MEMORY_KINDS if device.why_not(kind)]
    if not missing:
        pytest.skip("this device has every kind")
    for kind in missing:
        with pytest.raises(Unsupported) as refusal:
            _native.create_allocation(device, kind, 4096)
        assert str(device.why_not(kind)) in str(refusal.value)


def test_nothing_stays_allocated_on_the_device(device: _native.Device) -> None:
    # Drivers keep a few bytes of their own; what other programs take from the device they do not take each time.
    for _ in range(5):
        before = device.free_bytes()
        for kind in MEMORY_KINDS:
            if device.why_not(kind) is None:
                _native.create_allocation(device, kind, 32 * MIB).run(1, 2, 2, 0.0)
        kept = before - device.free_bytes()
        if kept <= 16 * MIB:
            return
    pytest.fail(f"{kept} bytes are still allocated")
