"""Costs off the measured points come near the truth that drew them, and say how far they can be trusted."""

import numpy as np
import pytest

from isthmus.analysis.statistics.resample import interval_of
from isthmus.analysis.statistics.surface import CostSurface, Spot, cost_surface
from isthmus.record import Interval

SIZES, COUNTS = (64, 1024, 16384), (1, 16, 256, 4096)


def truth(each: float, count: float) -> float:
    return 6e-6 + 2.6e-6 * count + each * count / 55e9


def at(surface: CostSurface, spot: Spot) -> Interval:
    return interval_of(surface.draws_at(spot))


def measured(noise: float = 0.0, *, factor: float = 1.0) -> CostSurface:
    random = np.random.default_rng(2)
    return cost_surface(
        {
            Spot(each, count): list(
                truth(each, count) * (factor if each > 1024 else 1.0) * random.lognormal(0, noise, 11)
            )
            for each in SIZES
            for count in COUNTS
        }
    )


@pytest.mark.parametrize("spot", [(300, 5), (4000, 700), (64, 2), (16384, 4096)])
def test_what_follows_the_model_is_found_between_the_points(spot: tuple[int, int]) -> None:
    assert at(measured(), Spot(*spot)).median == pytest.approx(truth(*spot), rel=1e-6)


@pytest.mark.parametrize("spot", [(1 << 20, 100_000), (1, 1)])
def test_it_goes_on_beyond_the_points(spot: tuple[int, int]) -> None:
    assert at(measured(0.002), Spot(*spot)).median == pytest.approx(truth(*spot), rel=0.1)


def test_the_costs_are_those_of_the_truth() -> None:
    assert measured().costs == pytest.approx([6e-6, 2.6e-6, 1 / 55e9], rel=1e-6)


def test_no_cost_is_negative() -> None:
    falling = cost_surface({Spot(8, count): [1e-5 / count] for count in (1, 2, 4, 8)})
    assert (falling.costs >= 0).all()
    assert at(falling, Spot(8, 1000)).median > 0


def test_a_measured_point_is_given_back_with_its_own_interval() -> None:
    surface = measured(0.05)
    found = at(surface, Spot(1024, 256))
    assert found.median == pytest.approx(surface.draws[surface.spots.index(Spot(1024, 256)), 0])
    assert found.relative_half_width < 0.1


def test_what_departs_from_the_model_is_followed() -> None:
    assert truth(4096, 64) < at(measured(0.001, factor=2.0), Spot(4096, 64)).median < 2 * truth(4096, 64)


def test_a_single_point_scales_as_the_model_says() -> None:
    single = cost_surface({Spot(1024, 16): [1e-4]})
    assert at(single, Spot(1024, 16)).median == pytest.approx(1e-4)


def test_the_pitch_tells_spots_apart() -> None:
    near, far = 1e-5, 4e-5
    surface = cost_surface({Spot(8, 1024, 16): [near], Spot(8, 1024, 1 << 20): [far]})
    between = at(surface, Spot(8, 1024, 4096)).median
    assert near < between < far


@pytest.mark.parametrize(
    ("spot", "side"),
    [((1024, 16), ""), ((16384, 4096), ""), ((16385, 1), "above"), ((64, 5000), "above"), ((63, 16), "below")],
)
def test_it_says_on_which_side_of_the_points_a_spot_lies(spot: tuple[int, int], side: str) -> None:
    assert measured().side(Spot(*spot)) == side


def test_more_bytes_than_any_point_has_are_above() -> None:
    surface = cost_surface({Spot(64, 4096): [1.0], Spot(4096, 64): [1.0]})
    assert surface.side(Spot(4000, 4000)) == "above"


def test_nothing_measured_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one"):
        cost_surface({})


def test_what_cannot_be_told_from_a_cost_of_each_piece_is_one() -> None:
    one_count = cost_surface({Spot(8, 32): [1e-5], Spot(1024, 32): [1e-5]})
    assert at(one_count, Spot(8, 3200)).median == pytest.approx(1e-3)
