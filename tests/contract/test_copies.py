"""Copies by the driver and by kernels: what arrives is what was sent, and nothing around it is touched."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from isthmus import _native
from isthmus.errors import Unsupported, UsageError
from isthmus.experiment.bandwidth.cases import MEMORY_KINDS

Pattern = Callable[[int, int], bytes]
Allocate = Callable[..., _native.Buffer]
Contents = Callable[[_native.Buffer], bytes]

GUARD = 0x5A
# Kinds that experiments move by a copy; mapped memory is moved by kernels and managed memory migrates.
COPIED = [kind for kind in MEMORY_KINDS if kind not in {"mapped", "managed"}]
# Size, offset of the source, offset of the destination.
SPANS = [(1, 0, 0), (1, 4095, 3), (7, 1, 6), (4096, 0, 4096), (4097, 5, 2), (1024 * 1024 + 3, 17, 4091)]

each_span = pytest.mark.parametrize(("size", "source_offset", "offset"), SPANS)


@pytest.mark.parametrize("kind", [*COPIED, "device"])
@each_span
def test_copy_to_the_device(
    stream: _native.Stream,
    allocate: Allocate,
    contents: Contents,
    pattern: Pattern,
    kind: str,
    size: int,
    source_offset: int,
    offset: int,
) -> None:
    source = allocate(kind, source_offset + size)
    destination = allocate("device", offset + size + 64, GUARD)
    source.fill_pattern(source_offset, size, 5)
    stream.copy(destination, offset, source, source_offset, size)
    stream.synchronize()
    assert contents(destination) == bytes([GUARD]) * offset + pattern(5, size) + bytes([GUARD]) * 64


@pytest.mark.parametrize("kind", COPIED)
@each_span
def test_copy_to_the_host(
    stream: _native.Stream, allocate: Allocate, pattern: Pattern, kind: str, size: int, source_offset: int, offset: int
) -> None:
    source = allocate("device", source_offset + size)
    destination = allocate(kind, offset + size + 64, GUARD)
    source.fill_pattern(source_offset, size, 5)
    stream.copy(destination, offset, source, source_offset, size)
    stream.synchronize()
    found = destination.read(0, destination.bytes)
    assert found == bytes([GUARD]) * offset + pattern(5, size) + bytes([GUARD]) * 64


@each_span
@pytest.mark.parametrize(("origin", "target"), [("mapped", "device"), ("device", "mapped")])
def test_copy_by_a_kernel(
    stream: _native.Stream,
    allocate: Allocate,
    contents: Contents,
    pattern: Pattern,
    origin: str,
    target: str,
    size: int,
    source_offset: int,
    offset: int,
) -> None:
    source = allocate(origin, source_offset + size)
    destination = allocate(target, offset + size + 64, GUARD)
    source.fill_pattern(source_offset, size, 5)
    stream.copy_by_kernel(destination, offset, source, source_offset, size)
    stream.synchronize()
    assert contents(destination) == bytes([GUARD]) * offset + pattern(5, size) + bytes([GUARD]) * 64


@pytest.mark.parametrize("kind", MEMORY_KINDS)
def test_kernels_copy_every_kind_that_they_are_said_to_reach(
    device: _native.Device, stream: _native.Stream, allocate: Allocate, pattern: Pattern, kind: str
) -> None:
    source, destination = allocate(kind, 1003), allocate(kind, 1003, GUARD)
    if not device.kernels_reach(kind):
        pytest.skip(f"kernels of this device do not reach {kind} memory")
    on_device = allocate("device", 1003)
    source.fill_pattern(0, 1003, 5)
    stream.copy_by_kernel(on_device, 0, source, 0, 1003)
    stream.copy_by_kernel(destination, 3, on_device, 0, 1000)
    stream.synchronize()
    assert destination.read(0, 1003) == bytes([GUARD]) * 3 + pattern(5, 1000)


def test_kernels_reach_mapped_memory(device: _native.Device, allocate: Allocate) -> None:
    allocate("mapped", 1)
    assert device.kernels_reach("mapped")


@pytest.mark.parametrize("kind", ["mapped", "managed"])
def test_kinds_that_no_experiment_copies_are_copied_right_or_refused(
    stream: _native.Stream, allocate: Allocate, contents: Contents, pattern: Pattern, kind: str
) -> None:
    memory = allocate(kind, 1003)
    on_device = allocate("device", 1003, GUARD)
    memory.fill_pattern(3, 1000, 5)
    try:
        stream.copy(on_device, 3, memory, 3, 1000)
    except Unsupported as refusal:
        assert kind in str(refusal)  # noqa: PT017 - both outcomes are right
        return
    stream.synchronize()
    assert contents(on_device)[3:] == pattern(5, 1000)


def test_a_source_is_left_as_it_was(stream: _native.Stream, allocate: Allocate) -> None:
    source = allocate("pinned", 70_001)
    destination = allocate("device", 70_001)
    source.fill_pattern(0, 70_001, 5)
    stream.copy(destination, 0, source, 0, 70_001)
    stream.synchronize()
    assert source.verify_pattern(0, 70_001, 5)[0] == 0


@pytest.mark.parametrize(
    ("to_offset", "from_offset", "size"), [(0, 0, 101), (1, 0, 100), (0, 1, 100), (2**64 - 1, 0, 2), (0, 2**63, 2**63)]
)
def test_a_copy_that_leaves_a_buffer_is_a_usage_error_and_does_nothing(
    stream: _native.Stream, allocate: Allocate, to_offset: int, from_offset: int, size: int
) -> None:
    memory = allocate("pinned", 100, GUARD)
    on_device = allocate("device", 100, 0)
    for copy in (stream.copy, stream.copy_by_kernel):
        with pytest.raises(UsageError, match="do not lie in a buffer of 100"):
            copy(memory, to_offset, on_device, from_offset, size)
    stream.synchronize()
    assert memory.read(0, 100) == bytes([GUARD]) * 100
