"""Looks: everything drawn together can be told apart without colour, and every colour has its variable."""

from itertools import combinations

from isthmus.document.chart import all_looks, look, numbered_look
from isthmus.record import MEMORY_KINDS


def test_every_kind_of_memory_can_be_told_apart_without_colour() -> None:
    for first, second in combinations(MEMORY_KINDS, 2):
        assert (look(first).dash, look(first).shape) != (look(second).dash, look(second).shape), (first, second)


def test_so_can_nine_other_curves() -> None:
    looks = [numbered_look(index) for index in range(9)]
    assert len({(each.dash, each.shape) for each in looks}) == 9
    assert numbered_look(9) == numbered_look(0)


def test_every_look_has_a_variable_of_its_own() -> None:
    variables = [each.variable for each in all_looks()]
    assert len(variables) == len(set(variables))
    assert look("a kind of tomorrow").variable in variables
