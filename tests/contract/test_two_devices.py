"""Copies between the memories of two devices: any layout, in the order of both devices' streams, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import c_void_p
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import isthmus
from isthmus import _native
from isthmus.errors import Unsupported, UsageError
from isthmus.machine.devices import neighbours, open_device

Array = npt.NDArray[Any]
Pair = tuple[isthmus.Session, isthmus.Session]
MIB = 1 << 20
GUARD = 0xA5
LONG = 60.0

# What a part of an array of 9 x 300 x 7 elements is taken by: pieces of any width, also of one element.
PARTS = {
    "whole": np.index_exp[:],
    "rows": np.index_exp[2:7],
    "pitched": np.index_exp[:, 5:205],
    "steps": np.index_exp[::2, ::3, ::2],
    "backwards": np.index_exp[::-1, ::-1, ::-1],
    "a plane": np.index_exp[:, :, 3],
    "one element": np.index_exp[4:5, 7:8, 1:2],
    "nothing": np.index_exp[3:3],
}
_ALIKE = [(one, other) for one in PARTS for other in PARTS if (one == "a plane") == (other == "a plane")]


@pytest.fixture(scope="module")
def specs(spec: str) -> tuple[str, str]:
    """A device, and another one of its backend that copies are made to."""
    own = open_device(spec)
    for other in neighbours(own.description):
        if other.index != own.description.index and own.native.why_no_peer(open_device(other.spec).native) is None:
            return spec, other.spec
    pytest.skip("no other device of this backend to copy to")


@pytest.fixture(scope="module")
def sessions(specs: tuple[str, str]) -> Iterator[Pair]:
    with isthmus.Session(specs[0], "8MiB") as first, isthmus.Session(specs[1], "8MiB") as second:
        yield first, second


@pytest.fixture(scope="module")
def streams(specs: tuple[str, str]) -> tuple[_native.Stream, _native.Stream]:
    first, second = (_native.Stream(open_device(spec).native) for spec in specs)
    return first, second


def drawn(size: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


class TestAgainstNumpy:
    @pytest.mark.parametrize("session_of", [None, 0, 1], ids=["default", "the source's", "the destination's"])
    @pytest.mark.parametrize("asynchronous", [False, True], ids=["waits", "async"])
    @pytest.mark.parametrize(("from_part", "to_part"), _ALIKE)
    def test_any_layout_arrives_whole_and_alone(
        self, sessions: Pair, from_part: str, to_part: str, asynchronous: bool, session_of: int | None
    ) -> None:
        data = np.arange(9 * 300 * 7, dtype="<i4").reshape(9, 300, 7)
        expected = np.full((12, 300, 9), GUARD, "<i4")
        there = sessions[0].to_device(data)
        target = sessions[1].to_device(expected)
        # Of both the part that they have in common.
        source = there[PARTS[from_part]]
        destination = target[PARTS[to_part]]
        common = tuple(slice(0, min(sizes)) for sizes in zip(source.shape, destination.shape, strict=True))
        session = None if session_of is None else sessions[session_of]
        if asynchronous:
            isthmus.copy_async(destination[common], source[common], session=session).wait()
        else:
            isthmus.copy(destination[common], source[common], session=session)
        expected[PARTS[to_part]][common] = data[PARTS[from_part]][common]
        assert (target.to_host() == expected).all()
        assert (there.to_host() == data).all()

    @pytest.mark.parametrize("size", [1, 4097, 20 * MIB + 3])
    def test_sizes(self, sessions: Pair, size: int) -> None:
        data = drawn(size)
        first = sessions[0].to_device(data)
        second = sessions[1].to_device(first)
        assert second.device != first.device
        assert (second.to_host() == data).all()
        assert (sessions[0].to_device_async(second).result().to_host() == data).all()

    def test_an_array_keeps_its_order_and_type(self, sessions: Pair) -> None:
        data = np.arange(60, dtype="<f8").reshape(3, 4, 5).transpose(2, 0, 1)
        first = sessions[0].to_device(data)
        second = sessions[1].to_device(first)
        assert (second.strides, second.dtype) == (first.strides, first.dtype)
        assert (second.to_host() == data).all()


class TestOrder:
    def test_default_streams_of_both_devices(self, sessions: Pair) -> None:
        """Nobody waits in between: each copy begins after the one before it, on whichever device that is."""
        data, old = drawn(24 * MIB, 1), drawn(24 * MIB, 2)
        first, second = sessions[0].empty(data.size, "u1"), sessions[1].empty(data.size, "u1")
        for _ in range(3):
            futures = [
                sessions[1].copy_async(second, old),
                sessions[0].copy_async(first, data),
                isthmus.copy_async(second, first),
            ]
            back = sessions[1].to_host_async(second).result(LONG)
            assert (back == data).all()
            assert all(future.done() for future in futures)

    @pytest.mark.parametrize("of", [0, 1], ids=["the source's", "the destination's"])
    @pytest.mark.parametrize("part", ["whole", "pitched"])
    def test_the_caller_s_stream_may_be_either_device_s(
        self, sessions: Pair, streams: tuple[_native.Stream, _native.Stream], of: int, part: str
    ) -> None:
        stream, data = streams[of], np.arange(9 * 300 * 7, dtype="<i4").reshape(9, 300, 7)
        first, second = sessions[0].to_device(data), sessions[1].to_device(np.zeros_like(data))
        latch = stream.close_latch()
        up = isthmus.copy_async(second[PARTS[part]], first[PARTS[part]], stream=stream.handle)
        back = np.zeros_like(data)
        if of == 0:
            up.wait_on(streams[1].handle)
        down = sessions[1].copy_async(back[PARTS[part]], second[PARTS[part]], stream=streams[1].handle)
        assert not up.done()
        assert not down.done()
        latch.open()
        down.result(LONG)
        up.result(LONG)
        assert (back[PARTS[part]] == data[PARTS[part]]).all()

    def test_a_copy_that_is_waited_for_begins_after_the_stream(
        self, sessions: Pair, streams: tuple[_native.Stream, _native.Stream]
    ) -> None:
        data = drawn(9 * MIB)
        for device in (0, 1):
            first, second = sessions[0].empty(data.size, "u1"), sessions[1].empty(data.size, "u1")
            early = sessions[device].copy_async((first, second)[device], data, stream=streams[device].handle)
            isthmus.copy(second, first, stream=streams[device].handle)
            assert early.done()


class TestRefusals:
    def test_a_batch(self, sessions: Pair) -> None:
        first, second = sessions[0].empty(100, "u1"), sessions[1].empty(100, "u1")
        with pytest.raises(UsageError, match="between two devices; copy such arrays one by one"):
            isthmus.copy_batch([second], [first])

    def test_memory_of_neither_device_s_session(self, sessions: Pair) -> None:
        """A host array and another device's, in a session of neither."""
        with pytest.raises(UsageError, match="the session copies for"):
            sessions[0].to_host(sessions[1].empty(100, "u1"))

    def test_more_pieces_than_are_worth_a_call_each(self, sessions: Pair, specs: tuple[str, str]) -> None:
        """Only where no kernel reaches both devices."""
        first, second = sessions[0].to_device(drawn(4 * MIB)), sessions[1].empty(MIB, "u1")
        if open_device(specs[0]).native.why_no_peer_reach(open_device(specs[1]).native) is None:
            isthmus.copy(second, first[::4])
            assert (second.to_host() == drawn(4 * MIB)[::4]).all()
            return
        with pytest.raises(Unsupported, match=r"1048576 pieces of 1 bytes .* array without gaps"):
            isthmus.copy(second, first[::4])


def test_an_explanation_names_both_devices(sessions: Pair, specs: tuple[str, str]) -> None:
    first, second = sessions[0].empty((100, 100), "u1"), sessions[1].empty((100, 100), "u1")
    for part in (np.index_exp[:], np.index_exp[:, :50]):
        found = isthmus.explain(second[part], first[part])
        assert (found.method, found.direction, found.host_memory) == ("peer", "d2d", "")
        assert all(spec in found.why for spec in specs)


@pytest.mark.parametrize("of", [0, 1], ids=["the source's session", "the destination's session"])
def test_from_c(c: ModuleType, library: Any, opened: Any, specs: tuple[str, str], of: int) -> None:
    sessions = [opened(spec) for spec in specs]
    data, back = drawn(MIB + 1), np.zeros(MIB + 1, np.uint8)
    first, second = (library.allocate(session, data.size) for session in sessions)
    library.must("copy", sessions[0], first, c_void_p(data.ctypes.data), data.size, c.H2D, None)
    library.must("copy", sessions[of], second, first, data.size, c.D2D, None)
    library.must("copy", sessions[1], c_void_p(back.ctypes.data), second, data.size, c.D2H, None)
    assert (back == data).all()
    for session, memory in zip(sessions, (first, second), strict=True):
        library.must("free", session, memory)
