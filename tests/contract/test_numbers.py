"""What streams do to arrays of numbers, to sections and to managed memory, compared with NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from isthmus import _native
from isthmus.errors import Unsupported, UsageError

Allocate = Callable[..., _native.Buffer]
Contents = Callable[[_native.Buffer], bytes]
Doubles = npt.NDArray[np.float64]

REACHED = ["device", "managed", "mapped"]
ADVICE = ["read_mostly", "prefer_device", "accessed_by_device"]


@pytest.fixture
def doubles(device: _native.Device) -> None:
    if reason := device.why_no_doubles():
        pytest.skip(reason)


def as_doubles(data: bytes) -> Doubles:
    return np.frombuffer(data, np.float64)


def fill(device: _native.Device, stream: _native.Stream, buffer: _native.Buffer, values: Doubles) -> None:
    if buffer.kind != "device":
        buffer.write(0, values.tobytes())
        return
    pinned = device.allocate("pinned", values.nbytes)
    pinned.write(0, values.tobytes())
    stream.copy(buffer, 0, pinned, 0, values.nbytes)
    stream.synchronize()


@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize("kind", REACHED)
@pytest.mark.parametrize(("count", "stride"), [(20_011, 8), (40, 4096), (39, 4104), (1, 8), (0, 8)])
def test_doubles_are_added_to_where_asked_and_nowhere_else(
    device: _native.Device,
    stream: _native.Stream,
    allocate: Allocate,
    contents: Contents,
    kind: str,
    count: int,
    stride: int,
) -> None:
    before = np.arange(20_020, dtype=np.float64)
    buffer = allocate(kind, before.nbytes)
    fill(device, stream, buffer, before)
    stream.add_doubles(buffer, 16, count, stride, 0.5)
    stream.synchronize()
    expected = before.copy()
    expected[2 : 2 + count * stride // 8 : stride // 8] += 0.5
    assert np.array_equal(as_doubles(contents(buffer)), expected)


@pytest.mark.parametrize("kind", REACHED)
@pytest.mark.parametrize(("count", "stride"), [(100, 4), (7, 4096), (1, 4), (0, 4)])
def test_words_are_touched_once_each(
    stream: _native.Stream, allocate: Allocate, contents: Contents, kind: str, count: int, stride: int
) -> None:
    buffer = allocate(kind, 8 * 4096)
    fill_device = np.full(4096, -1.0)  # 0xBFF00000 and 0, of which neither overflows.
    if kind == "device":
        buffer.set_bytes(0, buffer.bytes, 1)
    else:
        buffer.write(0, fill_device.tobytes())
    before = np.frombuffer(contents(buffer), np.uint32)
    stream.touch_in_turn(buffer, 8, count, stride)
    stream.synchronize()
    expected = before.copy()
    expected[2 : 2 + count * stride // 4 : stride // 4] += 1
    assert np.array_equal(np.frombuffer(contents(buffer), np.uint32), expected)


@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize("kind", REACHED)
@pytest.mark.parametrize(("rows", "columns", "first", "side"), [(5, 7, 3, 9), (41, 101, 3400, 3500), (1, 1, 0, 1)])
def test_a_ramp_wraps_around_the_side(
    stream: _native.Stream,
    allocate: Allocate,
    contents: Contents,
    kind: str,
    rows: int,
    columns: int,
    first: int,
    side: int,
) -> None:
    buffer = allocate(kind, rows * columns * 8)
    stream.fill_ramp(buffer, rows, columns, first, side)
    stream.synchronize()
    i, j = np.mgrid[:rows, :columns]
    assert np.array_equal(as_doubles(contents(buffer)).reshape(rows, columns), (i + (first + j) % side) % 3343)


@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize("kind", REACHED)
@pytest.mark.parametrize(("rows", "columns", "halo"), [(33, 57, 1), (8, 30, 4), (1, 3, 1), (2, 5, 2)])
def test_a_laplacian_is_numpys_to_the_bit(
    device: _native.Device,
    stream: _native.Stream,
    allocate: Allocate,
    contents: Contents,
    kind: str,
    rows: int,
    columns: int,
    halo: int,
) -> None:
    points = np.random.default_rng(5).random((rows, columns))
    source, result = allocate(kind, points.nbytes), allocate(kind, points.nbytes)
    fill(device, stream, source, points.ravel())
    fill(device, stream, result, np.full(rows * columns, -1.0))
    stream.laplacian(result, source, rows, columns, halo)
    stream.synchronize()
    expected = np.full((rows, columns), -1.0)
    inner = slice(halo, columns - halo)
    sums = np.roll(points, 1, 0)[:, inner] + np.roll(points, -1, 0)[:, inner]
    sums = sums + points[:, halo - 1 : columns - halo - 1] + points[:, halo + 1 : columns - halo + 1]
    expected[:, inner] = sums * 0.25
    assert np.array_equal(as_doubles(contents(result)).reshape(rows, columns), expected)


@pytest.mark.parametrize("host", ["pageable", "pinned", "managed"])
def test_sections_go_there_and_back(stream: _native.Stream, allocate: Allocate, contents: Contents, host: str) -> None:
    """A column of a host array, to a packed device buffer by the driver and back."""
    rows, pitch, width = 50, 320, 24
    source = allocate(host, rows * pitch)
    values = np.random.default_rng(3).integers(0, 256, (rows, pitch), np.uint8)
    source.write(0, values.tobytes())
    packed = allocate("device", rows * width)
    stream.copy_section(packed, 0, width, source, 8, pitch, width, rows)
    stream.synchronize()
    assert contents(packed) == values[:, 8 : 8 + width].tobytes()
    source.set_bytes(0, rows * pitch, 0)
    stream.copy_section(source, 16, pitch, packed, 0, width, width, rows)
    stream.synchronize()
    expected = np.zeros_like(values)
    expected[:, 16 : 16 + width] = values[:, 8 : 8 + width]
    assert contents(source) == expected.tobytes()


@pytest.mark.parametrize("kind", REACHED)
def test_sections_are_packed_by_a_kernel(
    device: _native.Device, stream: _native.Stream, allocate: Allocate, contents: Contents, kind: str
) -> None:
    rows, pitch, width = 50, 320, 24
    values = np.random.default_rng(4).random((rows, pitch // 8))
    source = allocate("device", rows * pitch)
    fill(device, stream, source, values.ravel())
    packed = allocate(kind, rows * width)
    stream.copy_section_by_kernel(packed, 0, width, source, 8, pitch, width, rows)
    stream.synchronize()
    assert contents(packed) == values[:, 1:4].tobytes()


def test_the_host_works_on_the_memory_itself(allocate: Allocate) -> None:
    for kind in ("pageable", "pinned", "managed", "mapped"):
        buffer = allocate(kind, 4096)
        buffer.begin_host_access()
        array = buffer.host_array()
        array[:] = np.arange(4096, dtype=np.uint32).astype(np.uint8)
        assert array.shape == (4096,)
        del array
        buffer.end_host_access()
        assert buffer.read(250, 10) == bytes([250, 251, 252, 253, 254, 255, 0, 1, 2, 3])


def test_an_array_outlives_the_name_of_its_buffer(allocate: Allocate) -> None:
    buffer = allocate("pageable", 4096)
    buffer.set_bytes(0, 4096, 7)
    array = buffer.host_array()
    del buffer
    assert int(array.sum()) == 7 * 4096


def test_device_memory_is_no_array_of_the_host(device: _native.Device, allocate: Allocate) -> None:
    if device.info["backend"] == "host":
        pytest.skip("device memory of the host backend is host memory")
    with pytest.raises(Unsupported, match="the host cannot address device memory"):
        allocate("device", 64).host_array()


@pytest.mark.parametrize("advice", ADVICE)
def test_advice_changes_no_data(
    device: _native.Device, stream: _native.Stream, allocate: Allocate, advice: str
) -> None:
    if reason := device.why_no_advice():
        with pytest.raises(Unsupported):
            allocate("managed", 4096).advise(advice)
        pytest.skip(reason)
    buffer = allocate("managed", 1 << 20, 3)
    buffer.advise(advice)
    stream.touch_in_turn(buffer, 0, 256, 4096)
    stream.synchronize()
    buffer.advise(advice, False)
    words = np.frombuffer(buffer.read(0, 1 << 20), np.uint32)
    assert np.array_equal(words[::1024], np.full(256, 0x03030304))
    assert np.count_nonzero(words != 0x03030303) == 256


def test_advice_is_for_managed_memory_and_has_a_name(allocate: Allocate) -> None:
    with pytest.raises(Unsupported, match="managed memory alone, not on pageable"):
        allocate("pageable", 64).advise("read_mostly")
    with pytest.raises(UsageError, match="no advice 'often'; there are read_mostly"):
        allocate("pageable", 64).advise("often")


@pytest.mark.parametrize("side", ["host", "device"])
def test_parts_are_prefetched(device: _native.Device, stream: _native.Stream, allocate: Allocate, side: str) -> None:
    if reason := device.why_no_prefetch():
        pytest.skip(reason)
    buffer = allocate("managed", 1 << 20, 9)
    stream.prefetch(buffer, 4096, 4096, side, 10, 65536)
    stream.synchronize()
    assert set(buffer.read(0, 1 << 20)) == {9}
    with pytest.raises(UsageError, match="do not lie in a buffer"):
        stream.prefetch(buffer, 4096, 4096, side, 17, 65536)


def test_what_kernels_reach_is_said_with_a_reason(device: _native.Device) -> None:
    for kind in ("pageable", "pinned", "mapped", "managed", "device"):
        assert device.kernels_reach(kind) == (device.why_no_reach(kind) is None)
    assert device.kernels_reach("device")


def test_what_cannot_be_is_a_usage_error(stream: _native.Stream, allocate: Allocate) -> None:
    buffer = allocate("device", 4096)
    with pytest.raises(UsageError, match="offset 4 and stride 8: expected multiples of 8"):
        stream.add_doubles(buffer, 4, 1, 8, 1.0)
    with pytest.raises(UsageError, match="expected multiples of 4, the stride above 0"):
        stream.touch_in_turn(buffer, 0, 1, 0)
    with pytest.raises(UsageError, match="overflows 64 bits"):
        stream.touch_in_turn(buffer, 0, 2**62, 16)
    with pytest.raises(UsageError, match="do not lie in a buffer of 4096"):
        stream.add_doubles(buffer, 0, 513, 8, 1.0)
    with pytest.raises(UsageError, match="no points between halos of 2 in 4 columns"):
        stream.laplacian(allocate("device", 4096), buffer, 8, 4, 2)
    with pytest.raises(UsageError, match="needs two buffers"):
        stream.laplacian(buffer, buffer, 8, 4, 1)
    with pytest.raises(UsageError, match="no grid of 0 x 4 points"):
        stream.fill_ramp(buffer, 0, 4, 0, 4)
    with pytest.raises(UsageError, match="no side of 0 points"):
        stream.fill_ramp(buffer, 4, 4, 0, 0)
    with pytest.raises(UsageError, match="wider than the pitch"):
        stream.copy_section(buffer, 0, 16, allocate("pinned", 4096), 0, 8, 16, 4)
