"""Events whose beginning and end are recorded apart, as ``B`` and ``E``: an end closes the last event of its thread."""

from collections.abc import Hashable
from decimal import Decimal

from isthmus.trace.kineto.event import Event
from isthmus.trace.kineto.times import moment

# What is open at a time is kept; more than this of a thread, or threads, is damage.
_DEEPEST = 1000
_MOST_THREADS = 10_000


class Pairs:
    """What has begun and not ended, by thread."""

    def __init__(self) -> None:
        self._open: dict[tuple[Hashable, Hashable], list[tuple[Event, Decimal]]] = {}
        # Ends without a beginning.
        self._ended = 0

    @property
    def incomplete(self) -> int:
        """How many events have lost their beginning or their end."""
        return self._ended + sum(map(len, self._open.values()))

    def joined(self, event: Event) -> Event | None:
        """The whole event that this end completes; None for a beginning, and for an end of nothing."""
        thread, at = (str(event.pid), str(event.tid)), moment(event.ts)
        stack = self._open.setdefault(thread, []) if len(self._open) < _MOST_THREADS else self._open.get(thread)
        if at is None or stack is None:
            return None
        if event.ph == "B":
            if len(stack) < _DEEPEST:
                stack.append((event, at))
            return None
        if not stack:
            self._ended += 1
            return None
        begun, began = stack.pop()
        begun.ph, begun.dur = "X", at - began
        if begun.args is None:
            begun.args = event.args
        return begun
