"""Analyses worked out once for each object, told apart by identity and by what else is asked about it."""

from collections.abc import Sequence

from isthmus.analysis.statistics.once import once


class Sums:
    """An analysis that remembers how often it was worked out."""

    def __init__(self) -> None:
        self.worked_out = 0

    def of(self, numbers: list[int], more: int = 0) -> Sequence[int]:
        self.worked_out += 1
        return [sum(numbers) + more]


def test_the_same_object_is_analysed_once() -> None:
    sums, numbers = Sums(), [1, 2]
    analysis = once()(sums.of)
    assert analysis(numbers) == [3]
    assert analysis(numbers) is analysis(numbers)
    assert sums.worked_out == 1


def test_an_equal_object_is_another_one() -> None:
    sums = Sums()
    analysis = once()(sums.of)
    assert analysis([1, 2]) == analysis([1, 2])
    assert sums.worked_out == 2


def test_what_else_is_asked_tells_answers_apart() -> None:
    sums, numbers = Sums(), [1, 2]
    analysis = once()(sums.of)
    assert [analysis(numbers, more) for more in (1, 2, 1)] == [[4], [5], [4]]
    assert sums.worked_out == 2


def test_only_the_last_answers_are_kept() -> None:
    sums, first, second = Sums(), [1], [2]
    analysis = once(kept=1)(sums.of)
    assert [analysis(numbers) for numbers in (first, second, first)] == [[1], [2], [1]]
    assert sums.worked_out == 3
