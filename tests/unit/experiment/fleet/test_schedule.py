"""Whose turn it is on every node, whatever ranks do or fail to do."""

import random

from hypothesis import given
from hypothesis import strategies as st

from isthmus.experiment.fleet.schedule import Order, Schedule


def test_one_after_the_other_then_all_at_once() -> None:
    schedule = Schedule({0: [0, 1], 2: [2]})
    assert schedule.begin() == [Order(0, "alone"), Order(2, "alone")]
    assert schedule.done(2) == [Order(2, "together")], "nodes do not wait for one another"
    assert schedule.done(0) == [Order(1, "alone")]
    assert schedule.done(1) == [Order(0, "together"), Order(1, "together")]
    assert schedule.done(1) == [], "not before the other is ready"
    assert schedule.done(0) == [Order(0, "go"), Order(1, "go")]
    assert schedule.done(2) == [Order(2, "go")]
    assert schedule.done(2) == []
    assert schedule.done(0) == []
    assert not schedule.over
    assert schedule.done(1) == []
    assert schedule.over


def test_who_is_out_is_not_waited_for() -> None:
    schedule = Schedule({0: [0, 1, 2]})
    assert schedule.begin() == [Order(0, "alone")]
    assert schedule.out(1) == [], "its turn has not come, and never will"
    assert schedule.out(0) == [Order(2, "alone")]
    assert schedule.done(2) == [Order(2, "together")]
    assert schedule.out(2) == []
    assert schedule.over


def test_the_last_that_was_not_ready_lets_the_others_begin() -> None:
    schedule = Schedule({0: [0, 1]})
    schedule.begin()
    schedule.done(0)
    schedule.done(1)
    assert schedule.done(0) == []
    assert schedule.out(1) == [Order(0, "go")]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.integers(0, 2**32), st.floats(0, 0.5))
def test_any_order_of_events_comes_to_an_end(sizes: list[int], seed: int, failing: float) -> None:
    """At most one of a node is alone at any time, nobody goes before all are ready, nobody is told twice."""
    rng = random.Random(seed)
    nodes, first = {}, 0
    for size in sizes:
        nodes[first] = list(range(first, first + size))
        first += size
    node_of = {rank: node for node, ranks in nodes.items() for rank in ranks}
    schedule = Schedule(nodes)
    busy: dict[int, str] = {}
    told: list[Order] = []
    out: set[int] = set()

    def give(orders: list[Order]) -> None:
        for order in orders:
            assert order.rank not in out
            assert order.rank not in busy
            if order.word == "alone":
                assert not [rank for rank in busy if node_of[rank] == node_of[order.rank]]
            if order.word == "go":
                assert not [
                    rank for rank, word in busy.items() if node_of[rank] == node_of[order.rank] and word != "go"
                ]
            busy[order.rank] = order.word
            told.append(order)

    give(schedule.begin())
    while busy:
        assert not schedule.over
        rank = rng.choice(sorted(busy))
        del busy[rank]
        if rng.random() < failing:
            out.add(rank)
            give(schedule.out(rank))
        else:
            give(schedule.done(rank))
    assert schedule.over
    assert len(told) == len(set(told))
    for rank in set(node_of) - out:
        assert [order.word for order in told if order.rank == rank] == ["alone", "together", "go"]
