"""Copies from files on every device: any size and offset, with what lies around untouched, and files that are wrong."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus import _native
from isthmus.errors import CopyFailed, UsageError, WrongType

SIZE = 5_000_011
GUARD = 0xA5


@pytest.fixture(scope="module")
def session(device: _native.Device) -> Iterator[isthmus.Session]:
    with isthmus.Session(device, pinned_budget="2MiB") as opened:
        yield opened


@pytest.fixture(scope="module")
def content() -> bytes:
    return np.random.default_rng(5).bytes(SIZE)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> Path:
    path = tmp_path_factory.mktemp("files") / "content"
    path.write_bytes(content)
    return path


def guarded(session: isthmus.Session, size: int) -> isthmus.DeviceArray:
    array = session.empty(size, np.uint8)
    session.copy(array, np.full(size, GUARD, np.uint8))
    return array


@settings(max_examples=60)
@given(data=st.data())
def test_a_part_of_a_file_arrives_and_nothing_around_it_changes(
    session: isthmus.Session, path: Path, content: bytes, data: st.DataObject
) -> None:
    size = data.draw(st.one_of(st.integers(0, 5000), st.integers(0, SIZE), st.just(SIZE)))
    offset = data.draw(st.integers(0, SIZE - size))
    before, after = data.draw(st.integers(0, 70)), data.draw(st.integers(0, 70))
    block = guarded(session, before + size + after)
    isthmus.copy_from_file(block[before : before + size], path, offset=offset, session=session)
    expected = bytes([GUARD]) * before + content[offset : offset + size] + bytes([GUARD]) * after
    assert session.to_host(block).tobytes() == expected


@pytest.mark.parametrize("size", [100, 300_000, 4_000_000])
def test_a_host_array_of_any_type_is_filled(session: isthmus.Session, path: Path, content: bytes, size: int) -> None:
    array: npt.NDArray[Any] = np.zeros((size // 4, 2), "<i2")
    isthmus.copy_from_file(array, path, offset=3, session=session)
    assert array.tobytes() == content[3 : 3 + array.nbytes]


def test_a_session_without_room_for_a_ring_reads_too(device: _native.Device, path: Path, content: bytes) -> None:
    with isthmus.Session(device, pinned_budget=0) as without:
        array = without.empty(SIZE, np.uint8)
        isthmus.copy_from_file(array, path, session=without)
        assert without.to_host(array).tobytes() == content


@pytest.mark.parametrize("stores", ["ordinary", "streaming", "demoted"])
def test_threads_store_in_any_way(
    device: _native.Device, path: Path, content: bytes, stores: str, tmp_path: Path
) -> None:
    """By a table that says so from the smallest size on."""
    table = tmp_path / "table"
    table.write_text(
        "isthmus transfer table 1\norigin a test\n"
        f"buffer direction=h2d from=0 method=staged threads=3 chunk=65536 stores={stores} seconds=1e-05\n"
        "buffer direction=d2h from=0 method=driver seconds=1e-05\nend\n"
    )
    with isthmus.Session(device, table=table) as told:
        array = told.empty(SIZE - 1, np.uint8)
        isthmus.copy_from_file(array, path, offset=1, session=told)
        assert told.to_host(array).tobytes() == content[1:]


def test_a_descriptor_and_an_open_file_are_read_where_they_stand(
    session: isthmus.Session, path: Path, content: bytes
) -> None:
    with path.open("rb") as file:
        file.seek(77)
        for source in (file, file.fileno()):
            array = session.empty(1000, np.uint8)
            isthmus.copy_from_file(array, source, offset=5, session=session)
            assert session.to_host(array).tobytes() == content[5:1005]
        assert file.tell() == 77


@pytest.mark.parametrize("size", [1000, 300_000, SIZE])
@pytest.mark.parametrize("side", ["device", "host"])
def test_a_file_that_ends_too_early_says_how_far_it_went(
    session: isthmus.Session, path: Path, content: bytes, size: int, side: str
) -> None:
    array: Any = session.empty(size, np.uint8) if side == "device" else np.empty(size, np.uint8)
    with pytest.raises(CopyFailed, match=f"ends at byte {SIZE},") as failed:
        isthmus.copy_from_file(array, path, offset=SIZE - size + 1, session=session)
    assert failed.value.operation == "copy_from_file"
    assert failed.value.bytes_completed < size
    completed = failed.value.bytes_completed
    arrived = session.to_host(array)[:completed].tobytes() if side == "device" else array[:completed].tobytes()
    assert arrived == content[SIZE - size + 1 :][:completed]
    # The session serves on.
    whole = session.empty(SIZE, np.uint8)
    isthmus.copy_from_file(whole, path, session=session)
    assert session.to_host(whole).tobytes() == content


def test_a_file_cut_off_while_it_is_read_is_an_error_or_was_read_before(
    session: isthmus.Session, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "shrinking"
    array = session.empty(SIZE, np.uint8)
    failures = 0
    for _ in range(20):
        path.write_bytes(content)
        cut = threading.Thread(target=os.truncate, args=(path, 4096))
        cut.start()
        try:
            isthmus.copy_from_file(array, path, session=session)
            assert session.to_host(array).tobytes() == content
        except CopyFailed:
            failures += 1
        cut.join()
    with pytest.raises(CopyFailed):
        isthmus.copy_from_file(array, path, session=session)


def test_what_cannot_be_read_or_filled_is_refused(session: isthmus.Session, path: Path, tmp_path: Path) -> None:
    array = session.empty(100, np.uint8)

    def read(dst: object, file: object, offset: Any = 0) -> None:
        isthmus.copy_from_file(dst, file, offset=offset, session=session)

    with pytest.raises(FileNotFoundError):
        read(array, tmp_path / "absent")
    with pytest.raises(UsageError, match="expected a plain file"):
        read(array, "/dev/zero")
    with pytest.raises(WrongType, match="type float; expected a path"):
        read(array, 3.5)
    with pytest.raises(UsageError, match="the file is -1"):
        read(array, -1)
    with pytest.raises(UsageError, match="the offset is -5"):
        read(array, path, offset=-5)
    with pytest.raises(WrongType, match="the offset is 'x'"):
        read(array, path, offset="x")
    with pytest.raises(CopyFailed, match="cannot be read"):
        read(array, 1 << 20)
    with pytest.raises(UsageError, match="gaps"):
        read(session.empty((10, 10), np.uint8)[:, :5], path)
    constant = np.zeros(10, np.uint8)
    constant.flags.writeable = False
    with pytest.raises(UsageError, match="read-only"):
        read(constant, path)
    with pytest.raises(WrongType):
        read("text", path)


def test_threads_read_at_once(session: isthmus.Session, path: Path, content: bytes) -> None:
    wrong: list[int] = []

    def read(number: int) -> None:
        array = session.empty(1_000_000, np.uint8)
        for turn in range(5):
            offset = 100_003 * number + turn
            isthmus.copy_from_file(array, path, offset=offset, session=session)
            if session.to_host(array).tobytes() != content[offset : offset + 1_000_000]:
                wrong.append(number)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
