"""What is said of several links: gains with the split, no gains, and what the neighbours lose."""

from __future__ import annotations

from types import ModuleType

from isthmus.analysis.conclusions import conclude
from isthmus.analysis.paths.findings import findings, takeaway
from isthmus.document.finding import Finding
from isthmus.record import GIB, MIB, Run


def by_topic(run: Run) -> dict[str, Finding]:
    return {finding.topic: finding for finding in findings(run)}


def test_two_devices_say_rates_factor_and_split_first(synthetic: ModuleType, synthetic_paths: ModuleType) -> None:
    run = synthetic.run(synthetic_paths.whole(2))
    found = by_topic(run)
    assert list(found) == ["paths_cuda:0", "paths_cost"]
    assert found["paths_cuda:0"].text == (
        "cuda:0 with cuda:1's link, 1 GiB of pinned memory: H2D 105 GB/s, 1.92 times its own link's 54.8 GB/s (split "
        "51/49); D2H 105 GB/s, 1.92 times its own link's 54.8 GB/s (split 51/49). cuda:0 with cuda:1's link, 1 GiB of "
        "pageable memory: H2D 99.8 GB/s, 1.92 times its own link's 52.0 GB/s (split 51/49); D2H 99.8 GB/s, 1.92 times "
        "its own link's 52.0 GB/s (split 51/49)."
    )
    cost = found["paths_cost"]
    assert (cost.level, cost.cure) == ("note", "")
    assert cost.text == (
        "A neighbour's own copies lose up to 3.9 % of their rate while ours take its link, and up to 0.9 % while ours "
        "take their own link alone. A kernel that computes there loses up to 0.0 % of its rate, and up to 0.0 % beside "
        "our own link's copies. Beside a neighbour that copies at full rate, ours have at least 1.10 times the rate of "
        "their own link alone."
    )
    said = takeaway(run)
    assert said
    assert said.text == found["paths_cuda:0"].text
    assert said.cure.startswith('Session(paths="all")')
    assert conclude(run).of("paths").takeaway == said


def test_rates_above_the_own_link_are_no_fault(synthetic: ModuleType, synthetic_paths: ModuleType) -> None:
    assert conclude(synthetic.run(synthetic_paths.whole(2))).reliable


def test_with_many_neighbours_the_whole_is_said_and_not_each(
    synthetic: ModuleType, synthetic_paths: ModuleType
) -> None:
    found = by_topic(synthetic.run(synthetic_paths.whole(8)))["paths_cuda:0"].text
    assert found.startswith(
        "cuda:0 with the links of its 7 neighbours, 1 GiB of pinned memory: H2D 408 GB/s, 7.44 times"
    )
    assert "split" not in found


def test_the_size_from_which_copies_gain_is_said(synthetic: ModuleType, synthetic_paths: ModuleType) -> None:
    factors = {16 * MIB: 1.0, 64 * MIB: 1.02, 256 * MIB: 1.5, GIB: 1.9}
    found = by_topic(synthetic.run(synthetic_paths.whole(2, factors=factors)))["paths_cuda:0"].text
    assert "From 256 MiB on, these copies gain 5 % or more." in found


def test_links_that_add_nothing_are_not_recommended(synthetic: ModuleType, synthetic_paths: ModuleType) -> None:
    run = synthetic.run(synthetic_paths.whole(2, factors=dict.fromkeys(synthetic_paths.SIZES, 1.01)))
    assert "Not both directions gain 5 % or more." in by_topic(run)["paths_cuda:0"].text
    said = takeaway(run)
    assert said
    assert said.cure == ""


def test_a_neighbour_that_loses_much_is_a_matter_for_attention(
    synthetic: ModuleType, synthetic_paths: ModuleType
) -> None:
    found = by_topic(synthetic.run(synthetic_paths.whole(2, loss=0.3)))["paths_cost"]
    assert found.level == "ATTENTION"
    assert "lose up to 30 % of their rate" in found.text
    assert 'Session(paths=["cuda:1"])' in found.cure
    # What copies by the own link alone cost just as much is the host's memory, and no doing of these ways.
    same = [synthetic_paths.beside(method, "copies_h2d", 0.3, 54.0) for method in ("own", "one")]
    assert by_topic(synthetic.run(same))["paths_cost"].level == "note"


def test_nothing_is_said_without_two_ways(synthetic: ModuleType, synthetic_paths: ModuleType) -> None:
    own = [synthetic_paths.copies("own", 54.8)]
    for cases in ([], own, [*own, synthetic_paths.skipped("one", "no peer access", "cuda:1")]):
        run = synthetic.run(cases)
        assert findings(run) == []
        assert takeaway(run) is None
    assert findings(synthetic.h200()) == []


def test_wrong_data_is_a_fault_and_no_figure(synthetic: ModuleType, synthetic_paths: ModuleType) -> None:
    wrong = synthetic_paths.copies("one", 105.0, peer="cuda:1", verified="no", note="wrong data h2d")
    run = synthetic.run([synthetic_paths.copies("own", 54.8), wrong])
    assert findings(run) == []
    assert [finding.topic for finding in conclude(run).findings if finding.level == "FAULT"] == ["verification"]
