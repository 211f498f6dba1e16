"""Of ways that are level, the one that is known not to take long leads; of several such, the plainest."""

from isthmus.plan import Method
from isthmus.plan.answer import by_time
from isthmus.record import Interval


def names(*ways: tuple[str, float, float]) -> list[str]:
    """In the order in which a plan has them; the plainest was given first, each with its median and its upper end."""
    return [way.name for way in by_time(Method(name, Interval(time, time / 2, most)) for name, time, most in ways)]


def test_the_fastest_leads_whatever_else_is_known() -> None:
    assert names(("slow", 2.0, 2.1), ("fast", 1.0, 3.0), ("next", 1.5, 1.6)) == ["fast", "next", "slow"]


def test_of_level_ways_the_surer_leads() -> None:
    assert names(("wide", 1.0, 2.0), ("sure", 1.04, 1.1), ("slow", 1.2, 1.2)) == ["sure", "wide", "slow"]


def test_of_level_ways_that_are_as_sure_the_plainest_leads() -> None:
    assert names(("plain", 1.03, 1.12), ("fancy", 1.0, 1.1)) == ["plain", "fancy"]


def test_no_ways_are_in_order() -> None:
    assert by_time(()) == ()
