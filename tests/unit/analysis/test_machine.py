"""A machine in words: what is known of it, and nothing about what is not."""

from isthmus.analysis.machine import facts
from isthmus.document.document import Fact
from isthmus.record import GIB, Host, Link, Memory
from tests.synthetic import runs as synthetic


def values(found: list[Fact]) -> dict[str, str]:
    return {fact.name: fact.value for fact in found}


def test_a_full_fingerprint() -> None:
    known = values(facts(synthetic.h200()))
    assert known["Link, under load"] == "PCIe 5.0 x16"
    assert known["Theoretical rate, each way"] == "63.0 GB/s"
    assert known["Last-level cache"] == "105 MiB"
    assert known["Transparent huge pages"] == "madvise, 2 MiB, defrag madvise"
    assert known["Threads and memory"] == "node 0 (CPUs 0-15)"
    assert known["Device memory"] == "131 GiB"


def test_what_is_unknown_is_left_out() -> None:
    known = values(facts(synthetic.run([], device=synthetic.cpu_device(), end=None)))
    assert not {"Theoretical rate, each way", "Link, idle", "NUMA", "Duration", "Threads and memory"} & known.keys()
    assert known["Shares the host's memory"] == "yes"
    assert all(known.values())


def test_a_link_of_unknown_width_claims_no_rate() -> None:
    run = synthetic.run(
        [], device=synthetic.gpu(link=Link(generation=4)), host=Host(memory=Memory(total_bytes=3 * GIB))
    )
    known = values(facts(run))
    assert known["Link, idle"] == "PCIe 4.0 x?"
    assert "Theoretical rate, each way" not in known
    assert known["Host memory"] == "3 GiB"
