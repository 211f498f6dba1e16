"""Memory of results that are gone: used again once no view holds it, within a budget, by threads and children alike."""

import gc
import mmap
import os
import resource
import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import isthmus
from isthmus.transfer import results
from isthmus.transfer.results import ResultPool

MIB = 1 << 20


def address(array: npt.NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


@pytest.fixture
def pool() -> ResultPool:
    return ResultPool(64 * MIB)


class TestReuse:
    def test_by_the_next_of_its_size(self, pool: ResultPool) -> None:
        first = pool.empty(8 * MIB, "u1")
        place = address(first)
        del first
        assert pool.unused_bytes == 8 * MIB
        assert address(pool.empty([2, MIB], np.float32)) == place

    def test_not_while_a_view_is_left(self, pool: ResultPool) -> None:
        first = pool.empty([4, MIB], "u1")
        first[:] = 7
        row = first[1, ::2]
        del first
        second = pool.empty([4, MIB], "u1")
        second[:] = 9
        assert (row == 7).all()
        del row
        assert pool.unused_bytes == 4 * MIB

    def test_not_for_much_less(self, pool: ResultPool) -> None:
        pool.empty(32 * MIB, "u1")
        small = pool.empty(4 * MIB, "u1")
        assert pool.unused_bytes == 32 * MIB
        del small
        assert pool.unused_bytes == 36 * MIB

    def test_in_a_cycle_that_is_collected(self, pool: ResultPool) -> None:
        cycle: list[Any] = [pool.empty(4 * MIB, "u1")]
        cycle.append(cycle)
        del cycle
        gc.collect()
        assert pool.unused_bytes == 4 * MIB

    @pytest.mark.parametrize("shape", [[0], [3, 0], [], [MIB - 1]])
    def test_small_ones_are_of_numpy(self, pool: ResultPool, shape: list[int]) -> None:
        made = pool.empty(shape, "u1")
        assert made.shape == tuple(shape)
        assert made.base is None

    def test_objects_are_of_numpy(self, pool: ResultPool) -> None:
        assert pool.empty([MIB], object)[5] is None


class TestBudget:
    def test_the_longest_unused_goes_first(self, pool: ResultPool) -> None:
        pool.budget_bytes = 20 * MIB
        held = [pool.empty(size * MIB, "u1") for size in (16, 12, 8)]
        while held:
            del held[0]
            assert pool.unused_bytes <= 20 * MIB
        assert pool.unused_bytes == 20 * MIB  # of 12 and 8

    def test_what_exceeds_it_leaves_the_others(self, pool: ResultPool) -> None:
        pool.empty(8 * MIB, "u1")
        pool.empty(128 * MIB, "u1")
        assert pool.unused_bytes == 8 * MIB

    def test_none(self, pool: ResultPool) -> None:
        pool.budget_bytes = 0
        pool.empty(8 * MIB, "u1")
        assert pool.unused_bytes == 0

    def test_trim(self, pool: ResultPool) -> None:
        kept = pool.empty(8 * MIB, "u1")
        pool.empty(16 * MIB, "u1")
        pool.trim()
        kept[:] = 1
        assert pool.unused_bytes == 0

    def test_the_limit_of_addresses_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(resource, "getrlimit", lambda _: (64 * MIB, 64 * MIB))
        limited = ResultPool()
        limited.empty(16 * MIB, "u1")
        assert limited.unused_bytes == 0
        limited.empty(8 * MIB, "u1")
        assert limited.unused_bytes == 8 * MIB


class TestFaults:
    def test_without_memory_what_is_unused_goes(self, pool: ResultPool, monkeypatch: pytest.MonkeyPatch) -> None:
        pool.empty(8 * MIB, "u1")

        def refused(*_: object, **__: object) -> mmap.mmap:
            raise OSError(12, "Cannot allocate memory")

        monkeypatch.setattr(mmap, "mmap", refused)
        made = pool.empty(32 * MIB, "u1")
        assert made.nbytes == 32 * MIB
        assert made.base is None
        assert pool.unused_bytes == 0

    def test_more_than_there_are_addresses(self, pool: ResultPool) -> None:
        with pytest.raises(MemoryError):
            pool.empty([1 << 46, 1 << 10], "u1")

    def test_threads_never_share_a_block(self, pool: ResultPool) -> None:
        wrong: list[int] = []

        def use(value: int) -> None:
            for _ in range(40):
                array = pool.empty(2 * MIB, "u1")
                array[:: 4 << 10] = value
                if not (array[:: 4 << 10] == value).all():
                    wrong.append(value)

        threads = [threading.Thread(target=use, args=(value,)) for value in range(1, 7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        assert 2 * MIB <= pool.unused_bytes <= 12 * MIB

    def test_a_child_has_copies(self, pool: ResultPool) -> None:
        array = pool.empty(4 * MIB, "u1")
        array[:] = 5
        child = os.fork()
        if child == 0:
            array[:] = 6
            del array
            os._exit(0 if pool.empty(4 * MIB, "u1").nbytes == 4 * MIB else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert (array == 5).all()


def test_results_of_copies() -> None:
    results.pool.trim()  # What other tests of this process left would serve as well.
    data = np.random.default_rng(1).integers(0, 255, (3, MIB), "u1")
    there = isthmus.to_device(data, "host")
    first = isthmus.to_host(there)
    place = address(first)
    del first
    second = isthmus.to_host(there)
    third = isthmus.to_host(there, order="F")
    fourth = isthmus.to_host_async(there).result()
    assert address(second) == place
    assert len({address(each) for each in (second, third, fourth)}) == 3
    assert third.flags.f_contiguous
    np.testing.assert_array_equal(second, data)
    np.testing.assert_array_equal(third, data)
    np.testing.assert_array_equal(fourth, data)
    results.pool.trim()
