"""Why rates of pageable memory differ, and what gains over it, on machines whose causes are known."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from isthmus.analysis.bandwidth.pageable import erratic_finding, pageable_advice, two_levels
from isthmus.analysis.statistics.curve import bandwidth_curves, find
from isthmus.document.finding import Finding
from isthmus.record import MIB, Case, Series
from tests.synthetic import runs as synthetic

SIZES = tuple(MIB << power for power in range(4, 9))
STEADY = synthetic.Truth(7e-6, 10e9)
BYTES = 64 * MIB


def bandwidth(truth: synthetic.Truth) -> list[Case]:
    return synthetic.cases({("copy", way, "pageable"): truth for way in ("h2d", "d2h")}, SIZES)


def explained(rate: float, **case: Any) -> Case:
    """A case of one size, as the sweep of causes measures it."""
    times = [BYTES / rate * factor for factor in np.linspace(0.99, 1.01, 12)]
    fields: dict[str, Any] = {"method": "copy", "host_memory": "pageable", "bytes": BYTES, "verified": "yes"} | case
    return Case(experiment="bandwidth", series=[Series(metric="host_seconds", samples=times)], **fields)


def finding(cases: Sequence[Case]) -> Finding | None:
    run = synthetic.run(list(cases))
    return erratic_finding(run, bandwidth_curves(run))


def test_two_levels_are_two_rates_and_how_often_each_comes() -> None:
    run = synthetic.run(bandwidth(synthetic.Truth(7e-6, 10.5e9, noise=0.02, flips=(1.0, 1.0, 3.2))))
    curve = find(bandwidth_curves(run), "h2d", "pageable")
    assert curve
    levels = two_levels(curve.points)
    assert levels
    assert levels.low == pytest.approx(10.5e9 / 3.2, rel=0.03)
    assert levels.high == pytest.approx(10.5e9, rel=0.03)
    assert levels.share == pytest.approx(1 / 3, abs=0.1)
    assert two_levels(curve.points[:0]) is None
    text = finding(run.cases)
    assert text
    assert "H2D has two levels and nothing between them: 3." in text.text


@pytest.mark.parametrize(
    ("rate", "share", "cause"), [(12.5e9, "80 %", "The CPU's copy sets"), (40e9, "25 %", "memcpy alone")]
)
def test_memcpy_says_whether_a_faster_cpu_would_help(rate: float, share: str, cause: str) -> None:
    found = finding([*bandwidth(STEADY), explained(rate, method="memcpy")])
    assert found
    assert f"reach {share} H2D and {share} D2H of that" in found.text
    assert found.cause.startswith(cause)


def test_a_far_node_is_next_to_the_device_s_and_moves_no_curve() -> None:
    nodes = [
        explained(rate, node=node, direction=way)
        for node, way, rate in ((0, "h2d", 10e9), (0, "d2h", 17e9), (1, "h2d", 6e9), (1, "d2h", 9e9))
    ]
    found = finding([*bandwidth(STEADY), *nodes])
    assert found
    assert (
        "(64 MiB): node 0 (the device's) 10.0 GB/s H2D and 17.0 GB/s D2H; node 1 6.00 GB/s H2D and 9.00 GB/s D2H."
        in found.text
    )
    curves = bandwidth_curves(synthetic.run([*bandwidth(STEADY), *nodes]))
    assert curves == bandwidth_curves(synthetic.run(bandwidth(STEADY)))


FEW_SIZES = tuple(MIB * size for size in (160, 320, 480))


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
    said = pageable_advice(bandwidth_curves(synthetic.run(synthetic.cases(truths, FEW_SIZES))))
    assert said.removeprefix("Pin or register buffers that are copied ") == advice
