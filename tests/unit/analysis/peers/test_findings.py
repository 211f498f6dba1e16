"""What is said between devices: rates with their path, pairs by the host, slow pairs, shared links, corruption."""

from __future__ import annotations

from types import ModuleType

import pytest

from isthmus.analysis.conclusions import conclude
from isthmus.analysis.peers.findings import findings, takeaway
from isthmus.compare.health import judge
from isthmus.document.finding import Finding
from isthmus.record import Run

SPECS = ["cuda:0", "cuda:1", "cuda:2", "cuda:3"]
PORT = "0000:16:01.0"


def by_topic(run: Run) -> dict[str, Finding]:
    return {finding.topic: finding for finding in findings(run)}


def test_two_devices_on_nvlink_are_one_note(synthetic: ModuleType, synthetic_peers: ModuleType) -> None:
    run = synthetic.run(synthetic_peers.whole(2))
    (found,) = findings(run)
    assert (found.level, found.topic) == ("note", "peers_rates")
    assert found.text == (
        "Devices copy 512 MiB to each other at 394 GB/s to 396 GB/s by copy engine (NV18). Both ways at once: 776 GB/s "
        "to 780 GB/s in sum. Kernels copy at 370 GB/s to 376 GB/s. One access to another device's memory takes 830 ns."
    )
    said = takeaway(run)
    assert said
    assert (said.text, said.cure) == (found.text, "")


def test_nothing_is_said_of_a_run_without_peers(synthetic: ModuleType, synthetic_peers: ModuleType) -> None:
    assert findings(synthetic.h200()) == []
    assert takeaway(synthetic.h200()) is None
    assert findings(synthetic.run([synthetic_peers.skipped("copy_write", "", "", "there is one device")])) == []


def test_pairs_that_pass_through_the_host_are_named(synthetic: ModuleType, synthetic_peers: ModuleType) -> None:
    found = by_topic(synthetic.run(synthetic_peers.whole(3, lambda *_: 22.0, path="host SYS")))["peers_by_host"]
    assert found.level == "ATTENTION"
    assert found.text == (
        "6 of 6 pairs copy through the host's memory: cuda:0 to cuda:1, cuda:0 to cuda:2, cuda:1 to cuda:0, ... have "
        "no peer access."
    )
    assert "ACS or an IOMMU" in found.cause


def test_a_pair_much_slower_than_others_joined_alike_is_named_once(
    synthetic: ModuleType, synthetic_peers: ModuleType
) -> None:
    def rate(method: str, source: str, to: str) -> float:
        slow = {"copy_write": 200.0, "copy_read": 150.0}
        return slow.get(method, 370.0) if (source, to) == ("cuda:2", "cuda:0") else 390.0

    found = by_topic(synthetic.run(synthetic_peers.whole(3, rate)))["peers_uneven"]
    assert found.level == "ATTENTION"
    assert found.text.startswith("cuda:2 to cuda:0 copy at 150 GB/s (read, copy engine); pairs joined alike (NV18)")


@pytest.mark.parametrize("slow", [360.0, 394.0])
def test_differences_that_do_not_matter_are_not_named(
    synthetic: ModuleType, synthetic_peers: ModuleType, slow: float
) -> None:
    def rate(method: str, source: str, to: str) -> float:
        return slow if (source, to) == ("cuda:2", "cuda:0") else 390.0

    assert "peers_uneven" not in by_topic(synthetic.run(synthetic_peers.whole(3, rate)))


def test_of_two_pairs_neither_is_usual(synthetic: ModuleType, synthetic_peers: ModuleType) -> None:
    run = synthetic.run(synthetic_peers.whole(2, lambda method, source, to: 200.0 if source == "cuda:0" else 390.0))
    assert "peers_uneven" not in by_topic(run)


def links(synthetic_peers: ModuleType, below: float, at_once: float) -> list[object]:
    alone = [synthetic_peers.link("h2d", 55.0, [spec], spec) for spec in SPECS]
    pairs = [synthetic_peers.link("h2d", below / 2, SPECS[:2], spec, PORT) for spec in SPECS[:2]]
    whole = [synthetic_peers.link("h2d", at_once / 4, SPECS, spec) for spec in SPECS]
    sums = [synthetic_peers.link("h2d", below, SPECS[:2], port=PORT), synthetic_peers.link("h2d", at_once, SPECS)]
    return [*alone, *pairs, *whole, *sums]


def test_links_below_one_root_port_that_share_it_are_attention(
    synthetic: ModuleType, synthetic_peers: ModuleType
) -> None:
    found = by_topic(synthetic.run(links(synthetic_peers, 55.0, 165.0)))
    shared = found[f"peers_links_{PORT}"]
    assert shared.level == "ATTENTION"
    assert shared.text == "Hosts' links, 2 below 0000:16:01.0 at once: H2D 55.0 GB/s (50 % of alone)."
    assert "spread devices" in shared.cure
    assert found["peers_links_all"].text == "Hosts' links, all 4 at once: H2D 165 GB/s (75 % of alone)."


def test_links_that_keep_their_rates_are_a_note(synthetic: ModuleType, synthetic_peers: ModuleType) -> None:
    found = by_topic(synthetic.run(links(synthetic_peers, 109.5, 219.0)))
    assert {each.level for each in found.values()} == {"note"}


def test_one_direction_that_loses_is_attention_though_the_other_keeps_its_rate(
    synthetic: ModuleType, synthetic_peers: ModuleType
) -> None:
    specs = SPECS[:2]
    cases = []
    for way, at_once in (("h2d", 55.0), ("d2h", 109.5)):
        cases += [synthetic_peers.link(way, 55.0, [spec], spec) for spec in specs]
        cases += [synthetic_peers.link(way, at_once / 2, specs, spec, PORT) for spec in specs]
        cases.append(synthetic_peers.link(way, at_once, specs, port=PORT))
    shared = by_topic(synthetic.run(cases))[f"peers_links_{PORT}"]
    assert shared.level == "ATTENTION"
    assert "H2D 55.0 GB/s (50 % of alone)" in shared.text
    assert "spread devices" in shared.cure


def test_corrupted_copies_name_their_known_causes(synthetic: ModuleType, synthetic_peers: ModuleType) -> None:
    wrong = synthetic_peers.copies("copy_read", 394.0, "cuda:0", "cuda:1", verified="no", note="wrong data")
    run = synthetic.run([wrong, *synthetic_peers.whole(3)[1:]])
    (fault,) = [each for each in conclude(run).findings if each.level == "FAULT"]
    for word in ("ACS", "IOMMU", "virtual machines"):
        assert word in fault.cause
    assert "NCCL_P2P_DISABLE=1" in fault.cure
    first = judge(run, None).points[0]
    assert first.level == "FAULT"
    assert "ACS" in first.do[0]
    assert "NCCL_P2P_DISABLE" in first.do[0]


def test_other_wrong_data_does_not_blame_them(synthetic: ModuleType, synthetic_peers: ModuleType) -> None:
    cases = synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}, [1 << 20], verified="no")
    run = synthetic.run([*synthetic_peers.whole(2), *cases])
    (fault,) = [each for each in conclude(run).findings if each.level == "FAULT"]
    assert "ACS" not in fault.cause + fault.cure
