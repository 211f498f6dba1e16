"""Items made ahead by a thread: in order, so many and no more, failures in their places, and an end at any moment."""

import gc
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from isthmus.transfer.ahead import Ahead, _close_all, _running
from tests.processes import ended


def until(condition: Callable[[], bool]) -> None:
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < 30
        time.sleep(0.001)


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "isthmus prefetch"]


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    gc.collect()
    until(lambda: not threads())


@pytest.mark.parametrize("depth", [1, 2, 7])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_all_items_come_in_order(depth: int, count: int) -> None:
    ahead = Ahead(iter(range(count)), lambda number: number * 2, depth)
    assert list(ahead) == list(range(0, 2 * count, 2))
    with pytest.raises(StopIteration):
        next(ahead)
    ahead.close()


@pytest.mark.parametrize("depth", [1, 3])
def test_no_more_than_depth_are_made_ahead(depth: int) -> None:
    made: list[object] = []
    ahead = Ahead(iter(range(100)), made.append, depth)
    until(lambda: len(made) == depth)
    time.sleep(0.05)
    assert len(made) == depth
    next(ahead)
    until(lambda: len(made) == depth + 1)
    ahead.close()
    assert len(made) == depth + 1


def test_a_failure_of_the_source_comes_after_what_was_before_it() -> None:
    def source() -> Iterator[int]:
        yield 1
        yield 2
        raise ZeroDivisionError("in the source")

    ahead = Ahead(source(), lambda number: number, 5)
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(ZeroDivisionError, match="in the source"):
        next(ahead)
    with pytest.raises(StopIteration):
        next(ahead)
    ahead.close()


def test_a_failure_to_make_an_item_is_raised_in_its_place() -> None:
    ahead = Ahead(iter([2, 1, 0, 4]), lambda number: 4 // number, 2)
    assert [next(ahead), next(ahead)] == [2, 4]
    with pytest.raises(ZeroDivisionError):
        next(ahead)
    ahead.close()


def test_closing_ends_the_thread_and_lets_the_source_go() -> None:
    closed = threading.Event()

    def source() -> Iterator[int]:
        try:
            while True:
                yield 0
        finally:
            closed.set()

    ahead = Ahead(source(), lambda number: number, 2)
    next(ahead)
    ahead.close()
    assert closed.is_set()
    assert not threads()
    ahead.close()


def test_a_source_that_gives_nothing_does_not_keep_the_consumer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isthmus.transfer.ahead._PATIENCE_SECONDS", 0.05)
    gives = threading.Event()

    def source() -> Iterator[bool]:
        yield gives.wait()

    ahead = Ahead(source(), lambda item: item, 1)
    ahead.close()
    assert threads()
    gives.set()


@pytest.mark.parametrize("at_exit", [False, True], ids=["closed", "at exit"])
def test_stages_end_together_though_one_waits_for_the_other(monkeypatch: pytest.MonkeyPatch, at_exit: bool) -> None:
    monkeypatch.setattr("isthmus.transfer.ahead._PATIENCE_SECONDS", 0.05)
    gives = threading.Event()

    def source() -> Iterator[bool]:
        yield True
        yield gives.wait()

    first = Ahead(source(), lambda item: item, 1)
    second = Ahead(first, lambda item: item, 1)
    assert next(second)
    _close_all() if at_exit else second.close()
    for each in (first, second):
        with pytest.raises(StopIteration):
            next(each)
    assert not _running
    gives.set()


def test_a_stage_without_a_thread_closes_the_one_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Ahead(iter(range(100)), lambda number: number, 1)

    def fail(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    with pytest.raises(RuntimeError, match="can't start"):
        Ahead(first, lambda number: number, 1)
    assert not threads()


def test_the_child_of_a_fork_is_refused_and_ends() -> None:
    ran = in_process("""
    ahead = Ahead(iter(range(100)), lambda number: number, 2)
    next(ahead)
    child = os.fork()
    if child == 0:
        try:
            next(ahead)
        except UsageError as error:
            print(error)
        ahead.close()
        sys.exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), next(ahead))
    """)
    assert ran.stdout == "what was begun before a fork does not go on in the child; iterate anew there\n7 1\n"


@pytest.mark.parametrize("ending", ["pass", "sys.exit()", "raise SystemExit"])
def test_the_process_ends_with_items_under_way(ending: str) -> None:
    ran = in_process(f"""
    import itertools
    ahead = Ahead(itertools.count(), lambda number: number, 2)
    print(next(ahead))
    {ending}
    """)
    assert ran.stdout == "0\n"


def test_ctrl_c_reaches_whoever_waits() -> None:
    ran = in_process("""
    import signal, threading, time
    begun = threading.Event()
    def source():
        begun.set()
        time.sleep(1)
        yield 1
    ahead = Ahead(source(), lambda number: number, 2)
    begun.wait()
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        next(ahead)
    except KeyboardInterrupt:
        ahead.close()
        print("interrupted")
    """)
    assert ran.stdout == "interrupted\n"


def in_process(program: str) -> subprocess.CompletedProcess[str]:
    begin = "import os, sys\nfrom isthmus.errors import UsageError\nfrom isthmus.transfer.ahead import Ahead\n"
    ran = ended(sys.executable, "-W", "ignore::DeprecationWarning", "-c", begin + textwrap.dedent(program))
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    return ran
