"""Analyses that findings, tables and charts all want, worked out once for each run, grid or surface they are of."""

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

_Analysis = TypeVar("_Analysis", bound=Callable[..., Any])


class _Same:
    """An object that is equal to itself alone, which makes it a key although it holds lists."""

    def __init__(self, itself: object) -> None:
        self.itself = itself

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.itself is self.itself

    def __hash__(self) -> int:
        return id(self.itself)


def once(*, kept: int = 8) -> Callable[[_Analysis], _Analysis]:
    """Keep what an analysis gives of the last objects that it was asked about, each known again by its identity.

    For figures alone: texts depend on the language that is spoken when they are asked for. What is kept is handed to
    all who ask, so that none of them may change it: an analysis that makes a list says that it returns a Sequence.
    """

    def keeping(analysis: _Analysis) -> _Analysis:
        @lru_cache(maxsize=kept)
        def kept_result(same: _Same, *more: Hashable) -> object:
            return analysis(same.itself, *more)

        @wraps(analysis)
        def asked(of: object, *more: Hashable) -> object:
            return kept_result(_Same(of), *more)

        return cast(_Analysis, asked)

    return keeping
