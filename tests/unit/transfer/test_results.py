"""Memory of results that are gone: used again once no view holds it, by threads, children and programs that end."""

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import isthmus
from isthmus.errors import UsageError
from isthmus.transfer.results import new_array
from tests.processes import python

MIB = 1 << 20
Array = npt.NDArray[Any]


def empty(size: int) -> Array:
    return new_array([size], np.dtype(np.uint8))


def unused() -> int:
    """Bytes, without what blocks are larger than their arrays."""
    return isthmus.result_memory().unused // MIB * MIB


def place(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


@pytest.fixture(autouse=True)
def budget() -> Iterator[None]:
    before = isthmus.result_memory().budget
    isthmus.result_memory(trim=True)
    isthmus.result_memory(64 * MIB)
    yield
    isthmus.result_memory(trim=True)
    isthmus.result_memory(before)


class TestReuse:
    def test_by_the_next_of_its_size(self) -> None:
        first = empty(8 * MIB)
        was = place(first)
        del first
        assert unused() == 8 * MIB
        assert place(empty(8 * MIB - 5)) == was

    def test_not_while_a_view_is_left(self) -> None:
        first = empty(4 * MIB)
        first[:] = 7
        view = first[5::2]
        del first
        second = empty(4 * MIB)
        second[:] = 9
        assert (view == 7).all()
        del view
        assert unused() == 4 * MIB

    @pytest.mark.parametrize("size", [0, 1, MIB - 1])
    def test_small_ones_are_of_malloc(self, size: int) -> None:
        array = empty(size)
        array[:] = 1
        array.resize(2 * MIB, refcheck=False)
        assert array[:size].all()
        del array
        assert unused() in (0, 2 * MIB)

    @pytest.mark.parametrize("size", [1, 100, 3 * MIB, 5 * MIB, 40 * MIB])
    def test_resized_as_any_other(self, size: int) -> None:
        array = empty(4 * MIB)
        array[:] = np.arange(4 * MIB) % 251
        assert array.flags.owndata
        array.resize(size, refcheck=False)
        kept = min(size, 4 * MIB)
        assert (array[:kept] == np.arange(kept) % 251).all()
        assert not array[kept:].any()

    def test_other_arrays_are_of_numpy(self) -> None:
        empty(8 * MIB)
        np.empty(8 * MIB, np.uint8)
        assert unused() == 8 * MIB

    def test_libraries_that_take_aligned_memory_without_a_copy_copy_it(self) -> None:
        # As they do malloc's: jax.device_put would give an array that changes with NumPy's.
        assert place(empty(4 * MIB)) % 64 == 16

    def test_pickled_and_traced(self) -> None:
        tracemalloc.start()
        array = empty(2 * MIB)
        array[:] = 3
        assert (pickle.loads(pickle.dumps(array)) == 3).all()
        tracemalloc.stop()


class TestBudget:
    def test_the_longest_unused_goes_first(self) -> None:
        isthmus.result_memory(21 * MIB)
        held = [empty(size * MIB) for size in (16, 12, 8)]
        while held:
            del held[0]
            assert unused() <= 20 * MIB
        assert unused() == 20 * MIB

    def test_less_of_it_gives_back(self) -> None:
        empty(8 * MIB)
        isthmus.result_memory(0)
        assert unused() == 0
        core = sys.modules.get("numpy._core.multiarray") or sys.modules["numpy.core.multiarray"]
        large = empty(8 * MIB)
        large[:] = 1
        isthmus.result_memory(64 * MIB)
        large.resize(9 * MIB, refcheck=False)
        assert large[: 8 * MIB].all()
        assert core.get_handler_name(large) == "isthmus_results"
        del large
        assert unused() == 0, "it was of malloc"

    def test_the_default_and_what_is_no_budget(self) -> None:
        assert isthmus.result_memory("2GiB").budget == 2 << 30
        for wrong in (-1, 1.5, True, 1 << 63):
            with pytest.raises(UsageError, match="budget is"):
                isthmus.result_memory(wrong)  # type: ignore[arg-type]
        asked = "import isthmus; print(isthmus.result_memory().budget)"
        printed = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        assert 0 <= int(printed) <= memory // 8

    def test_more_than_there_are_addresses(self) -> None:
        with pytest.raises(MemoryError):
            empty(1 << 56)


def test_results_of_copies() -> None:
    data = np.random.default_rng(1).integers(0, 255, (3, MIB), "u1")
    there = isthmus.to_device(data, "host")
    first = isthmus.to_host(there)
    was = place(first)
    del first
    second, third, fourth = (
        isthmus.to_host(there),
        isthmus.to_host(there, order="F"),
        isthmus.to_host_async(there).result(),
    )
    assert place(second) == was
    assert len({place(each) for each in (second, third, fourth)}) == 3
    for each in (second, third, fourth):
        np.testing.assert_array_equal(each, data)


def test_threads_never_share_a_block() -> None:
    wrong: list[int] = []

    def use(value: int) -> None:
        for _ in range(40):
            array = empty(2 * MIB)
            array[:: 4 << 10] = value
            if not (array[:: 4 << 10] == value).all():
                wrong.append(value)

    threads = [threading.Thread(target=use, args=(value,)) for value in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_child_has_copies() -> None:
    array = empty(4 * MIB)
    array[:] = 5
    child = os.fork()
    if child == 0:
        array[:] = 6
        del array
        os._exit(0 if empty(4 * MIB).nbytes == 4 * MIB else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (array == 5).all()


def _sum(queue: Any, sums: Any) -> None:
    sums.put(int(queue.get().sum()))


def test_sent_to_another_process() -> None:
    context = multiprocessing.get_context("spawn")
    queue, sums = context.Queue(), context.Queue()
    process = context.Process(target=_sum, args=(queue, sums))
    process.start()
    array = empty(2 * MIB)
    array[:] = 2
    queue.put(array)
    assert sums.get(timeout=60) == 4 * MIB
    process.join()


ENDING = """
import contextlib, threading, time
import numpy as np
import isthmus

there = isthmus.to_device(np.ones({mib} << 20, np.uint8), "host")

def copy():
    held = []
    with contextlib.suppress(isthmus.errors.IsthmusError):  # which a copy at exit may raise
        while True:
            held.append(isthmus.to_host(there))
            del held[:-2]

for _ in range(3):
    threading.Thread(target=copy, daemon=True).start()
time.sleep(0.05)
"""


@pytest.mark.parametrize("count", [3, pytest.param(100, marks=pytest.mark.thorough)])
def test_an_interpreter_ends_while_daemons_make_results(count: int) -> None:
    for number in range(count):
        program = ENDING.format(mib=1 + number % 7)
        done = python(program)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_failed_copy_gives_no_array_and_leaves_no_memory() -> None:
    device = isthmus.device_empty((3, MIB), np.uint8, "host")
    closed = isthmus.Session("host")
    closed.close()
    with pytest.raises(UsageError, match="closed"):
        isthmus.to_host(device, session=closed)
    assert unused() in (0, 3 * MIB)


def test_the_handler_of_others_is_left_as_it_was() -> None:
    core = sys.modules.get("numpy._core.multiarray") or sys.modules["numpy.core.multiarray"]
    before = core.get_handler_name()
    assert core.get_handler_name(empty(2 * MIB)) == "isthmus_results"
    with pytest.raises(MemoryError):
        empty(1 << 56)
    assert core.get_handler_name() == core.get_handler_name(np.empty(2 * MIB, np.uint8)) == before
