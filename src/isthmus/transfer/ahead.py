"""A thread that makes the next items while their consumer uses the last one: a few ahead, and no more."""

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from isthmus.errors import UsageError

Item = TypeVar("Item")

# A source that gives nothing for so long does not keep its consumer from leaving: the thread ends when it does.
_PATIENCE_SECONDS = 10.0

_THREAD_NAME = "isthmus prefetch"

_running: "set[Ahead[Any]]" = set()


class Ahead(Iterator[Item]):
    """What `make` gives of each thing of a source, in order, of which up to `depth` wait to be taken.

    `source` is asked and let go of by the thread alone; another one of these is closed with this one. What either
    raises is raised by `next`, after the items before it. `close` ends it, and also wakes a thread that waits for an
    item; so does the end of the process.
    """

    def __init__(self, source: Iterator[Any], make: Callable[[Any], Item], depth: int) -> None:
        self._process = os.getpid()
        self._before = source if isinstance(source, Ahead) else None
        self._depth = depth
        # May be entered again by the thread that holds it: collecting garbage may close another one, or this.
        self._condition = threading.Condition(threading.RLock())
        self._ready: deque[Item] = deque()
        self._failure: BaseException | None = None
        self._ended = self._stopped = False
        # A daemon: only close() waits for it, which the end of the process calls before threads are cut off.
        self._thread = threading.Thread(target=self._run, args=(source, make), name=_THREAD_NAME, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            if self._before is not None:
                self._before.close()
            raise
        _running.add(self)

    def __next__(self) -> Item:
        """The next item, waited for. Raises StopIteration after the last one, and what source or `make` raised."""
        if os.getpid() != self._process:
            raise UsageError("what was begun before a fork does not go on in the child; iterate anew there")
        with self._condition:
            self._condition.wait_for(lambda: self._ready or self._ended or self._stopped)
            if self._ready:
                item = self._ready.popleft()
                self._condition.notify_all()
                return item
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        raise StopIteration

    def close(self) -> None:
        """End the thread, after the item that it is making, and let go of all that were not taken."""
        if os.getpid() == self._process:
            _close([self])

    def _stages(self) -> "list[Ahead[Any]]":
        return [self, *(self._before._stages() if self._before is not None else [])]

    def _stop(self) -> None:
        with self._condition:
            self._stopped = True
            self._ready.clear()
            self._condition.notify_all()

    def _run(self, source: Iterator[Any], make: Callable[[Any], Item]) -> None:
        try:
            while self._has_room():
                try:
                    thing = next(source)
                except StopIteration:
                    break
                item = make(thing)
                with self._condition:
                    if not self._stopped:
                        self._ready.append(item)
                        self._condition.notify_all()
                # The consumer's alone from here on.
                del thing, item
        except BaseException as error:
            self._failure = error  # raised where items are taken
        finally:
            # Before its end is reported: workers of a loader end with its iterator.
            del source
            with self._condition:
                self._ended = True
                self._condition.notify_all()

    def _has_room(self) -> bool:
        with self._condition:
            self._condition.wait_for(lambda: self._stopped or len(self._ready) < self._depth)
            return not self._stopped


def _close(some: "list[Ahead[Any]]") -> None:
    stages = [stage for each in some for stage in each._stages()]
    # All know it before any is waited for: one may wait for another.
    for stage in stages:
        stage._stop()
    _running.difference_update(stages)
    # Garbage may be collected by a thread of these, which others wait for.
    if threading.current_thread().name == _THREAD_NAME:
        return
    deadline = time.monotonic() + _PATIENCE_SECONDS
    for stage in stages:
        stage._thread.join(max(deadline - time.monotonic(), 0))


def _close_all() -> None:
    _close(list(_running))


# Later than those of torch and Isthmus were registered, so run before them: workers and sessions are still there.
atexit.register(_close_all)
os.register_at_fork(after_in_child=_running.clear)
