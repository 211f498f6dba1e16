"""Devices at once, pairs of devices and NUMA nodes: slow-downs, sums and best nodes of runs whose truth is known."""

import pytest

from isthmus.analysis.threads.places import device_groups, node_rates
from isthmus.record import Run
from tests.synthetic import runs as synthetic
from tests.synthetic import threads as synthetic_threads


def two_devices(together: float = 40.0) -> Run:
    placed = synthetic_threads.placed
    names = ("cuda:0", "cuda:1")
    alone = [placed(50.0, devices=1, target=name, seed=seed) for seed, name in enumerate(names)]
    at_once = [placed(together, devices=2, target=name, seed=seed + 2) for seed, name in enumerate(names)]
    return synthetic.run([*alone, *at_once, placed(2 * together, devices=2, seed=4)])


def test_each_device_is_slowed_and_the_sum_is_of_all() -> None:
    (group,) = device_groups(two_devices())
    assert group.devices == 2
    for device in ("cuda:0", "cuda:1"):
        factor = group.slowdown(device)
        assert factor
        assert factor.low < 1.25 < factor.high
    assert group.all
    assert group.all.rate.median == pytest.approx(80e9, rel=0.01)
    assert group.share
    assert group.share.low < 0.8 < group.share.high


def test_the_sum_of_both_ways_counts_both() -> None:
    run = synthetic.run([synthetic_threads.placed(180.0, devices=2, direction="both")])
    (group,) = device_groups(run)
    assert group.all
    assert group.all.rate.median == pytest.approx(180e9, rel=0.01)
    assert group.share is None
    assert group.slowdown("cuda:0") is None


def nodes(rates: list[float], noise: float = 0.002) -> Run:
    cases = [
        synthetic_threads.placed(rate, node=node, target="cuda:1", noise=noise, seed=node)
        for node, rate in enumerate(rates)
    ]
    return synthetic.run(cases)


def test_the_best_node_and_what_the_others_lose() -> None:
    (found,) = node_rates(nodes([40.0, 50.0, 25.0]))
    assert (found.device, found.best, found.certain) == ("cuda:1", 1, True)
    assert found.loss(0).median == pytest.approx(1.25, rel=0.01)
    assert found.loss(2).median == pytest.approx(2.0, rel=0.01)


def test_nodes_that_differ_by_chance_or_too_little_are_not_certain() -> None:
    (noisy,) = node_rates(nodes([40.0, 44.0], noise=0.3))
    (close,) = node_rates(nodes([49.0, 50.0], noise=0.0005))
    assert not noisy.certain
    assert not close.certain


def test_one_node_is_no_comparison() -> None:
    assert node_rates(nodes([50.0])) == []
