"""One test over many files: each is checked, and all that fail are named."""

import functools
from collections.abc import Callable, Iterable
from typing import TypeVar

__all__ = ["every"]

T = TypeVar("T")


def every(items: Iterable[T], name_of: Callable[[T], str] = str) -> Callable[[Callable[[T], None]], Callable[[], None]]:
    """Make one test of a check of one item: thousands of parametrised tests cost more to collect than to run."""

    def decorate(check: Callable[[T], None]) -> Callable[[], None]:
        @functools.wraps(check, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
        def test() -> None:
            failed = []
            for item in items:
                try:
                    check(item)
                except AssertionError as error:
                    failed.append(f"{name_of(item)}: {error}")
            assert not failed, "\n".join(failed)

        del test.__wrapped__
        return test

    return decorate
