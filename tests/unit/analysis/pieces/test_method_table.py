"""The table of methods: exact on surfaces it can represent, silent where it does not know, honest about its choices."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType

import pytest

from isthmus.analysis.pieces.method_table import MethodTable, check_table, held_out, method_table, share_within

SIZES = (64, 256, 1024, 4096)
COUNTS = (1, 16, 256)

Time = Callable[[float, float], float]


def table(times: Mapping[str, Time], xs: Iterable[float] = SIZES, ys: Iterable[float] = COUNTS) -> MethodTable:
    spots = list(itertools.product(xs, ys))
    return MethodTable({name: {spot: time(*spot) for spot in spots} for name, time in times.items()})


def power(factor: float, x_power: float, y_power: float) -> Time:
    return lambda x, y: factor * x**x_power * y**y_power


@pytest.mark.parametrize("spot", [(64, 1), (100, 3), (4096, 256), (3000, 16), (64, 200)])
def test_powers_of_both_numbers_come_out_exactly(spot: tuple[float, float]) -> None:
    time = power(2e-6, 0.3, 0.9)
    known = table({"loop": time})
    assert known.predict(*spot)["loop"] == pytest.approx(time(*spot))


def test_between_two_spots_the_prediction_is_their_geometric_mean() -> None:
    known = MethodTable({"loop": {(1.0, 1.0): 1.0, (4.0, 1.0): 9.0, (1.0, 4.0): 1.0, (4.0, 4.0): 9.0}})
    assert known.predict(2.0, 2.0)["loop"] == pytest.approx(3.0)


def test_the_fastest_is_named_first_on_either_side_of_a_crossing() -> None:
    # Equal where 1e-6 y = 1e-5: at ten.
    known = table({"loop": power(1e-6, 0, 1), "pack": power(1e-5, 0, 0)})
    few, many = known.choose(100, 8), known.choose(100, 12)
    assert few
    assert many
    assert (few.method, many.method) == ("loop", "pack")
    assert few.seconds == pytest.approx(8e-6)
    assert list(known.predict(100, 12)) == ["pack", "loop"]


def test_a_method_that_is_skipped_in_a_corner_is_not_offered_there() -> None:
    known = table({"loop": power(1e-9, 0, 1), "pack": power(1e-5, 0, 0)})
    loop = {spot: seconds for spot, seconds in known.seconds["loop"].items() if spot != (1024, 256)}
    known = MethodTable({"loop": loop, "pack": known.seconds["pack"]})
    assert list(known.predict(500, 100)) == ["pack"]
    assert list(known.predict(500, 10)) == ["loop", "pack"]
    assert list(known.predict(256, 100)) == ["loop", "pack"], "on a line the next one is no corner"


@pytest.mark.parametrize(("spot", "nearest"), [((32, 4), "loop"), ((100_000, 256), "pack"), ((64, 5000), "pack")])
def test_beyond_the_measured_range_it_says_so_and_names_the_nearest(spot: tuple[float, float], nearest: str) -> None:
    known = table({"loop": power(1e-6, 0, 1), "pack": power(1e-5, 0, 0)})
    choice = known.choose(*spot)
    assert choice
    assert choice.extrapolated
    assert (choice.method, choice.seconds) == (nearest, None)
    assert not known.predict(*spot)


def test_inside_it_does_not_call_itself_extrapolated() -> None:
    choice = table({"loop": power(1e-6, 0, 1)}).choose(100, 100)
    assert choice
    assert not choice.extrapolated


def test_an_empty_table_chooses_nothing() -> None:
    assert MethodTable({}).choose(1, 1) is None
    assert held_out(MethodTable({})) == []


def test_spots_of_a_single_method_make_no_line_that_others_would_miss() -> None:
    known = table({"batch": power(1e-6, 0, 1), "pack": power(1e-5, 0, 0)})
    batch = {**known.seconds["batch"], (500.0, 16.0): 1e-6}
    known = MethodTable({"batch": batch, "pack": known.seconds["pack"]})
    assert 500 not in known.lines[0]
    assert set(known.predict(600, 20)) == {"batch", "pack"}


def test_held_out_spots_are_those_with_neighbours_on_all_sides() -> None:
    known = table({"loop": power(1e-6, 0, 1), "pack": power(1e-5, 0, 0)})
    spots = held_out(known)
    assert {each.spot for each in spots} == {(256, 16), (1024, 16)}
    assert all(each.slowdown == 1 and each.chosen == each.fastest for each in spots)


def test_a_wrong_choice_is_told_with_what_it_costs() -> None:
    """The time of one method jumps between its neighbours, which a table without the spot cannot know."""
    known = table({"batch": power(1e-6, 0, 0), "pack": power(2e-6, 0, 0)})
    batch = dict(known.seconds["batch"]) | {(256, 16): 6e-6}
    (wrong, right) = held_out(MethodTable({"batch": batch, "pack": known.seconds["pack"]}))
    assert (wrong.spot, wrong.chosen, wrong.fastest) == ((256, 16), "batch", "pack")
    assert wrong.slowdown == pytest.approx(3)
    assert right.slowdown == 1
    assert share_within([wrong, right], 1.1) == 0.5


def test_a_table_is_checked_at_the_spots_that_it_does_not_know() -> None:
    times = {"loop": power(1e-6, 0, 1), "pack": power(1e-5, 0, 0)}
    fine = table(times, (64, 128, 256, 512, 1024, 2048, 4096, 8192), (1, 4, 16, 64, 256))
    found = check_table(table(times), fine)
    assert {each.spot[0] for each in found} == {64, 128, 256, 512, 1024, 2048, 4096}, "8192 lies beyond the table"
    assert not {each.spot for each in found} & set(itertools.product(SIZES, COUNTS))
    assert share_within(found, 1.1) == 1


def test_a_spot_with_one_method_alone_tests_nothing() -> None:
    times = {"loop": power(1e-6, 0, 1), "pack": power(1e-5, 0, 0)}
    truth = MethodTable({"loop": {(128, 4): 4e-6}})
    assert check_table(table(times), truth) == []


def test_the_default_grid_is_fine_enough_for_what_an_h200_does(synthetic_batching: ModuleType) -> None:
    """Costs per call, piece and byte are no powers, so methods are chosen wrongly only near where they cross."""

    def made(sizes: Iterable[float], counts: Iterable[float]) -> MethodTable:
        spots = [spot for spot in itertools.product(sizes, counts) if math.prod(spot) <= 64 << 20]
        most = synthetic_batching.MOST_PIECES
        return MethodTable(
            {
                method: {spot: time(*spot) for spot in spots if spot[1] <= most.get(method, spot[1])}
                for method, time in synthetic_batching.H200.items()
            }
        )

    known = made(synthetic_batching.SIZES, synthetic_batching.COUNTS)
    found = check_table(known, made([2 ** (p / 2) for p in range(12, 41)], [2 ** (p / 2) for p in range(33)]))
    assert len(found) > 500
    assert share_within(found, 1.1) >= 0.95


def test_a_table_is_made_of_what_was_measured_and_arrived(synthetic_batching: ModuleType) -> None:
    cases = synthetic_batching.cases({"copies": power(1e-6, 0, 1), "pack": power(1e-5, 0, 0)}, [64, 256], [16, 65536])
    wrong = [case for case in cases if case.method == "pack" and case.width_bytes == 64 and case.pieces == 16]
    made = synthetic_batching.case("pack", 64, 16, 1e-5, synthetic_batching.np.random.default_rng(1), verified="no")
    kept = [case for case in cases if case not in wrong]
    known = method_table([*kept, made], lambda case: case.width_bytes, lambda case: case.pieces)
    assert set(known.seconds["copies"]) == {(64, 16), (256, 16)}, "65536 pieces were skipped"
    assert set(known.seconds["pack"]) == {(256, 16), (64, 65536), (256, 65536)}
    assert known.seconds["copies"][64, 16] == pytest.approx(16e-6, rel=0.01)
