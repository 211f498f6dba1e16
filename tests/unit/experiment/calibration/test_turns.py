"""What is taken into a table, and what is not: against machines whose times are known, and sessions of the host."""

import random
from collections.abc import Collection

import pytest

from isthmus import _native
from isthmus.errors import CallFailed
from isthmus.experiment.calibration.buffers import DRIVER, Choice, CopyMethod
from isthmus.experiment.calibration.calibrate import table_text
from isthmus.experiment.calibration.turns import (
    BUILT_IN,
    DRIVERS,
    MEASURED,
    SITUATIONS,
    Samples,
    TableTurns,
    certainly_better,
    check,
    choose_in_turns,
    fewest,
    gain,
    method_of,
)
from isthmus.machine.devices import open_device
from isthmus.record import GIB, KIB, MIB, Direction, Interval

OLD, NEW = CopyMethod(8, 512 * KIB, "streaming"), CopyMethod(4, 256 * KIB, "streaming")
DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h")


def table(staged_from: int, method: CopyMethod) -> _native.TransferTable:
    choices = []
    for direction in DIRECTIONS:
        choices.append(Choice(direction, 0, DRIVER, 1e-5, 1e-5))
        choices.append(Choice(direction, staged_from, method, 1e-3, 1e-3))
    return _native.parse_transfer_table(table_text("test", choices, [], []))


BUILT, FOUND = table(2 * MIB, OLD), table(MIB, NEW)


class Machine:
    """The measured table takes so many times the seconds of the built-in one, the driver `driver` times; with noise."""

    def __init__(
        self, measured: float, driver: float = 2.0, noise: float = 0.0, untouched: float = 0.0, seed: int = 0
    ) -> None:
        self.factors = {BUILT_IN: 1.0, MEASURED: measured, DRIVERS: driver}
        self.noise, self.untouched = noise, untouched
        self.random = random.Random(seed)

    def timed(self, direction: Direction, size: int, situation: str, names: Collection[str]) -> Samples:
        def once(name: str) -> float:
            factor = self.untouched if self.untouched and (name, situation) == (MEASURED, "untouched") else 0
            return (factor or self.factors[name]) * size / 1e10 * self.random.lognormvariate(0, self.noise)

        return {name: [once(name) for _ in range(15)] for name in names}


def chosen(machine: Machine, direction: Direction = "d2h") -> dict[int, CopyMethod]:
    return {each.bytes: each.method for each in choose_in_turns(BUILT, FOUND, direction, GIB, machine.timed)}


def test_what_is_certainly_better_is_taken_in_every_size_that_was_looked_at() -> None:
    methods = chosen(Machine(0.8))
    assert methods[MIB] == methods[2 * MIB] == methods[GIB] == NEW
    assert methods[512 * KIB] == DRIVER
    assert methods[2 * GIB] == OLD, "nobody measured that"


def test_the_driver_is_taken_where_it_beats_both() -> None:
    methods = chosen(Machine(0.9, driver=0.6))
    assert methods[2 * MIB] == methods[GIB] == DRIVER


@pytest.mark.parametrize("seed", range(20))
def test_what_wins_by_noise_is_not_taken(seed: int) -> None:
    methods = chosen(Machine(1.0, driver=1.0, noise=0.05, seed=seed))
    taken = [size for size, method in methods.items() if method != method_of(BUILT, "d2h", size)]
    assert not taken


def test_what_loses_in_untouched_memory_is_not_taken() -> None:
    machine = Machine(0.5, untouched=1.25)
    assert NEW not in chosen(machine).values()
    assert NEW in chosen(machine, "h2d").values(), "which writes into no memory of the host's"


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.0, 1.1, 1.5])
@pytest.mark.parametrize("driver", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("untouched", [0.0, 0.7, 1.4])
def test_no_table_is_worse_than_the_built_in_one(factor: float, driver: float, untouched: float) -> None:
    machine = Machine(factor, driver, 0.02, untouched, 3)
    kept, _ = check(choose_in_turns(BUILT, FOUND, "d2h", GIB, machine.timed), BUILT, GIB, machine.timed)
    result = _native.parse_transfer_table(table_text("test", [Choice("h2d", 0, DRIVER, 1, 1), *fewest(kept)], [], []))
    size = 64 * KIB
    while size <= 4 * GIB:
        for situation in SITUATIONS["d2h"]:
            method = method_of(result, "d2h", size)
            took = {OLD: 1.0, DRIVER: driver, NEW: factor}[method]
            if method == NEW and situation == "untouched" and untouched:
                took = untouched
            if method != method_of(BUILT, "d2h", size):
                assert took <= 1.0, (size, situation)
        size *= 2


def test_what_loses_in_the_end_is_as_built_in_again() -> None:
    choices = choose_in_turns(BUILT, FOUND, "d2h", GIB, Machine(0.8).timed)
    kept, gains = check(choices, BUILT, GIB, Machine(1.3).timed)
    assert NEW not in {choice.method for choice in kept}
    assert {one.built_in.median for one in gains} == {1.0}
    kept, gains = check(choices, BUILT, GIB, Machine(0.8).timed)
    assert [choice.method for choice in kept] == [choice.method for choice in choices]
    assert max(one.built_in.median for one in gains) == pytest.approx(1.25)
    assert max(one.driver.median for one in gains) == pytest.approx(2.5)


def test_fewer_rules_say_the_same() -> None:
    choices = choose_in_turns(BUILT, FOUND, "h2d", GIB, Machine(0.8).timed)
    few = fewest(choices)
    assert len(few) < len(choices)
    both = [
        _native.parse_transfer_table(table_text("test", [*each, Choice("d2h", 0, DRIVER, 1, 1)], [], []))
        for each in (choices, few)
    ]
    for size in (1, 64 * KIB, MIB - 1, MIB, 3 * MIB, GIB, 3 * GIB):
        assert method_of(both[0], "h2d", size) == method_of(both[1], "h2d", size)


def test_gains_are_of_pairs() -> None:
    assert gain([2.0] * 6 + [20.0] * 6, [1.0] * 6 + [10.0] * 6) == Interval(2, 2, 2)
    assert certainly_better([Interval(1.2, 1.1, 1.3), Interval(1, 0.99, 1.1)])
    assert not certainly_better([Interval(1.2, 0.9, 1.3)])
    assert not certainly_better([Interval(1.2, 1.1, 1.3), Interval(0.9, 0.8, 1.0)])
    assert not certainly_better([])


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_sessions_take_turns(direction: Direction) -> None:
    texts = {BUILT_IN: BUILT.text(), MEASURED: FOUND.text()}
    turns = TableTurns(open_device("host").native, texts, 2 * MIB, True, 0)
    for situation in SITUATIONS[direction]:
        found = turns.timed(direction, MIB, situation, texts)
        assert set(found) == set(texts)
        assert len(found[BUILT_IN]) == len(found[MEASURED])
        assert all(seconds > 0 for samples in found.values() for seconds in samples)
    turns.close()


def test_wrong_data_ends_the_turns() -> None:
    device = open_device("host:fault=copy:partial@2").native
    turns = TableTurns(device, {BUILT_IN: BUILT.text()}, MIB, True, 0)
    with pytest.raises(CallFailed, match="wrong data"):
        turns.timed("d2h", MIB, "warm", [BUILT_IN])
