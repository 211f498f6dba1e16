"""Advice about pageable memory: of the sizes that were measured, over those and the directions that gain."""

import pytest

from isthmus.analysis.bandwidth.pageable import pageable_advice
from isthmus.analysis.statistics.curve import bandwidth_curves
from isthmus.record import MIB
from tests.synthetic import runs as synthetic

SIZES = tuple(MIB * size for size in (160, 320, 480))


@pytest.mark.parametrize(
    ("h2d", "d2h", "advice"),
    [
        (30e9, 22e9, "more than once: 2.2 to 3.0 times the rate of pageable memory from 160 MiB on."),
        (7.3e9, 37e9, "more than once (D2H): 3.7 times the rate of pageable memory from 160 MiB on."),
        (37e9, 7.3e9, "more than once (H2D): 3.7 times the rate of pageable memory from 160 MiB on."),
        (7.3e9, 9e9, ""),
    ],
)
def test_advice_names_what_gains_from_the_smallest_size_measured(h2d: float, d2h: float, advice: str) -> None:
    rates = {("h2d", "pinned"): h2d, ("d2h", "pinned"): d2h, ("h2d", "pageable"): 10e9, ("d2h", "pageable"): 10e9}
    truths = {("copy", *key): synthetic.Truth(7e-6, rate, 1e-4) for key, rate in rates.items()}
    said = pageable_advice(bandwidth_curves(synthetic.run(synthetic.cases(truths, SIZES))))
    assert said.removeprefix("Pin or register buffers that are copied ") == advice
