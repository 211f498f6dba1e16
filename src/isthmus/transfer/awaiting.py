"""What `await future` does: the loop goes on with other tasks, and is woken when the copy has ended."""

import asyncio
from collections.abc import Generator
from typing import Any

from isthmus import _native


def end_of(future: _native.Future) -> Generator[Any, None, Any]:
    """Wait in the running loop, without a thread of its own. A task that is cancelled meanwhile leaves the copy going.

    Returns the future's result, or raises what the copy failed with.
    """
    if not future.done():
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            if not waiter.done():
                waiter.set_result(None)

        def ended(_: _native.Future) -> None:
            try:
                loop.call_soon_threadsafe(wake)
            except RuntimeError:
                if not loop.is_closed():  # a loop that was closed has no waiter left to wake
                    raise

        future.add_done_callback(ended)
        yield from waiter
    return future.result()
