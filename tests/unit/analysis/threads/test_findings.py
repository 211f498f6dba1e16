"""Conclusions about threads: each appears when the data support it, with their numbers, and not otherwise."""

import re
from types import ModuleType

import msgspec
import pytest

from isthmus.analysis.conclusions import findings, verdict
from isthmus.document.finding import Finding
from isthmus.record import GIB, MIB, Run


def by_topic(run: Run) -> dict[str, Finding]:
    found = findings(run)
    assert len({finding.topic for finding in found}) == len(found)
    return {finding.topic: finding for finding in found}


@pytest.fixture(scope="module")
def full(synthetic: ModuleType, synthetic_threads: ModuleType) -> Run:
    return synthetic.run(synthetic_threads.h200_cases())  # type: ignore[no-any-return]


def test_a_full_run_has_every_finding_of_one_device_and_none_of_several(full: Run) -> None:
    topics = {topic for topic in by_topic(full) if topic.startswith("threads_")}
    assert topics == {f"threads_{end}" for end in ("pageable", "pinned", "spawn")}


def test_pageable_memory_that_gains_nothing_says_so_with_rates_and_cause(full: Run) -> None:
    finding = by_topic(full)["threads_pageable"]
    assert re.match(
        r"One thread moves 6\.\d+ GB/s H2D, 1\d\.\d GB/s D2H and .* of pageable memory \(64 MiB\);", finding.text
    )
    assert re.search(r"more bring at most 1\.0\d times that\.$", finding.text)
    assert "The link is not the limit" in finding.cause
    assert "pin or register" in finding.cure


def test_pinned_memory_that_gains_nothing_has_no_cause(full: Run) -> None:
    finding = by_topic(full)["threads_pinned"]
    assert "of pinned memory (64 MiB); more bring at most 1.0" in finding.text
    assert finding.cause == ""


def test_no_link_no_cause(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    run = synthetic.run(synthetic_threads.h200_cases(), device=synthetic.cpu_device())
    for topic in ("threads_pageable", "threads_pinned"):
        assert by_topic(run)[topic].cause == ""


def test_a_gain_names_threads_way_and_factor(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    ways = synthetic_threads
    slow = {("h2d", "pageable"): lambda threads: min(7.0 * threads, 28.0)}
    fast = {("h2d", "pageable"): lambda threads: min(9.0 * threads, 36.0)}
    found = by_topic(synthetic.run([*ways.cases(slow), *ways.cases(fast, [ways.OWN], counts=ways.COUNTS[1:])]))
    gain = found["threads_pageable"]
    assert re.match(
        r"4 threads \(slices, own streams\) move 3[56]\.\d GB/s of pageable memory H2D \(64 MiB\), 5\.1 times the rate",
        gain.text,
    )


def test_a_gain_at_another_size_alone_is_said(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    flat = synthetic_threads.cases({("h2d", "pageable"): lambda threads: 7.0}, sizes=[64 * MIB])
    rising = synthetic_threads.cases({("h2d", "pageable"): lambda threads: 7.0 + threads}, sizes=[GIB])
    sentence = by_topic(synthetic.run([*flat, *rising]))["threads_pageable"].text
    assert re.search(r"of pageable memory \(64 MiB\); more .* 32 threads \(.*\) move .* H2D \(1 GiB\)", sentence)


def test_doubt_is_said_with_what_it_leaves_room_for(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    run = synthetic.run(synthetic_threads.cases({("h2d", "pageable"): lambda threads: 6.5}, noise=0.2))
    finding = by_topic(run)["threads_pageable"]
    assert re.search(r"whether more help is within noise \(at most 1\.\d\d? times that\)", finding.text)
    assert "within noise" in verdict([run])


def test_a_small_bound_is_the_answer(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    pageable = {("d2h", "pageable"): lambda threads: 14.0 if threads < 8 else 10.0}
    pinned = {("d2h", "pinned"): lambda threads: 55.0}
    cases = [*synthetic_threads.cases(pageable, noise=0.06), *synthetic_threads.cases(pinned)]
    run = synthetic.run(cases)
    finding = by_topic(run)["threads_pageable"]
    assert re.search(r"pageable memory \(64 MiB\); more bring at most 1\.\d\d? times that", finding.text)
    assert "The link is not the limit" in finding.cause
    assert finding.cure.startswith("Use one thread; pin or register")
    assert re.search(r"more bring at most 1\.\d\d? times that", verdict([run]))


def test_spawning_has_a_cost_and_a_share(full: Run) -> None:
    finding = by_topic(full)["threads_spawn"]
    assert re.search(r"Creating 16 threads for each transfer adds 4[12]\d us \(64 MiB D2H", finding.text)


def test_spawning_that_costs_nothing_says_so(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    ways = synthetic_threads
    rates = {("h2d", "pinned"): lambda threads: 55.0}
    free = ways.Costs(fixed=0.0, per_thread=0.0)
    run = synthetic.run(ways.cases(rates, (ways.SHARED, ways.SPAWN), costs=free, noise=0.02))
    finding = by_topic(run)["threads_spawn"]
    assert "no measurable difference" in finding.text
    assert finding.cure == ""
    assert "Creating" not in verdict([run])


def devices(synthetic: ModuleType, synthetic_threads: ModuleType, together: float) -> Finding:
    placed = synthetic_threads.placed
    alone = [placed(55.0, devices=1, target=f"cuda:{index}", seed=index) for index in range(2)]
    both = [placed(together, devices=2, target=f"cuda:{index}", seed=index + 2) for index in range(2)]
    return by_topic(synthetic.run([*alone, *both, placed(2 * together, devices=2)]))["threads_devices_pinned"]


def test_devices_that_slow_each_other_are_a_warning(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    finding = devices(synthetic, synthetic_threads, 33.0)
    assert finding.level == "ATTENTION"
    assert re.match(
        r"2 devices at once, pinned memory of 64 MiB each, are slower than alone: H2D 1\.7 times\.$", finding.text
    )
    assert "lspci" in finding.cure


def test_devices_that_do_not_are_none(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    finding = devices(synthetic, synthetic_threads, 54.9)
    assert (finding.level, finding.cause, finding.cure) == ("note", "", "")
    assert "none is measurably slower" in finding.text


def test_devices_that_slow_pageable_copies_alone_share_the_host(
    synthetic: ModuleType, synthetic_threads: ModuleType
) -> None:
    cases = []
    for memory, together in (("pageable", 4.0), ("pinned", 10.0)):
        for index in range(2):
            place = {"target": f"cuda:{index}", "memory": memory}
            cases.append(synthetic_threads.placed(10.0, devices=1, seed=index, **place))
            cases.append(synthetic_threads.placed(together, devices=2, seed=index + 2, **place))
    found = by_topic(synthetic.run(cases))
    finding = found["threads_devices_pageable"]
    assert finding.level == "ATTENTION"
    assert "Pinned memory is not slowed:" in finding.cause
    assert "Pin or register" in finding.cure
    assert found["threads_devices_pinned"].level == "note"


@pytest.mark.parametrize(("one_way", "limit"), [(50.0, "both directions together."), (25.0, "")])
def test_devices_that_slow_each_other_both_ways_alone_share_the_host_and_no_switch(
    synthetic: ModuleType, synthetic_threads: ModuleType, one_way: float, limit: str
) -> None:
    cases = []
    for way, alone, together in (("h2d", 50.0, 50.0), ("d2h", 50.0, one_way), ("both", 96.0, 72.0)):
        for index in range(2):
            place = {"target": f"cuda:{index}", "direction": way}
            cases.append(synthetic_threads.placed(alone, devices=1, seed=index, **place))
            cases.append(synthetic_threads.placed(together, devices=2, seed=index + 2, **place))
        cases.append(synthetic_threads.placed(2 * together, devices=2, direction=way, seed=7))
    finding = by_topic(synthetic.run(cases))["threads_devices_pinned"]
    assert finding.cause.endswith(limit)
    if one_way == 50.0:
        assert "slower than alone: both 1.33 times." in finding.text
        assert re.search(r"Plan with 14[34] GB/s for both directions of all", finding.cure)
    else:
        assert re.search(r"slower than alone: D2H 2\.0 times and both 1\.33 times", finding.text)
        assert "lspci" in finding.cure


def test_peers_have_their_rates_and_a_link_of_their_own(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    rates = {("cuda:0", "cuda:1"): 394.0, ("cuda:1", "cuda:0"): 200.0}
    cases = [
        synthetic_threads.placed(rate, method="peer_copy", direction="peer", target=source, peer=to)
        for (source, to), rate in rates.items()
    ]
    finding = by_topic(synthetic.run(cases))["threads_peers"]
    assert re.search(r"move (199|200) GB/s to 39\d GB/s\.", finding.text)
    assert "63.0 GB/s" in finding.cause


@pytest.mark.parametrize(
    ("named", "severity", "words"),
    [
        (0, "note", "1.34 times slower."),
        (
            1,
            "ATTENTION",
            "The system names node 1 for it: the firmware's table is wrong, or the virtual machine hides it.",
        ),
        (None, "note", "1.34 times slower."),
    ],
)
def test_the_best_node_is_held_against_the_one_that_the_system_names(
    synthetic: ModuleType, synthetic_threads: ModuleType, named: int | None, severity: str, words: str
) -> None:
    cases = [synthetic_threads.placed(rate, node=node) for node, rate in enumerate((55.0, 41.0))]
    finding = by_topic(synthetic.run(cases, device=synthetic.gpu(numa_node=named)))["threads_nodes"]
    assert finding.level == severity
    assert "NUMA node 0; elsewhere it is 1.34 times slower." in finding.text
    assert finding.text.endswith(words)
    assert "numactl" in finding.cure


def test_nodes_without_a_certain_difference(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    cases = [synthetic_threads.placed(55.0, node=node, seed=node) for node in range(2)]
    finding = by_topic(synthetic.run(cases))["threads_nodes"]
    assert "no measurable difference" in finding.text
    assert finding.cure == ""


def test_the_verdict_has_rates_and_what_creating_threads_costs(full: Run) -> None:
    (text,) = verdict([full]).split("\n")
    assert re.search(r"cuda:0\): One thread moves 6\.\d+ GB/s H2D and .* of pageable memory \(64 MiB\)", text)
    assert re.search(r"One thread moves 5[45]\.\d GB/s H2D and 5[45]\.\d GB/s D2H of pinned memory", text)
    assert re.search(r"Keep threads .*Creating 16 threads for each transfer adds 4\d\d us ", text)


@pytest.mark.parametrize("counts", [[1], [16]])
def test_one_number_of_threads_concludes_nothing_on_gains(
    synthetic: ModuleType, synthetic_threads: ModuleType, counts: list[int]
) -> None:
    run = synthetic.run(synthetic_threads.cases({("h2d", "pinned"): lambda threads: 55.0}, counts=counts))
    assert "leaves nothing to conclude" in verdict([run])


def test_a_run_of_devices_alone_has_their_finding_as_verdict(
    synthetic: ModuleType, synthetic_threads: ModuleType
) -> None:
    cases = [
        synthetic_threads.placed(rate, devices=count, target=f"cuda:{index}", seed=index + 2 * count)
        for rate, count in ((110.0, 1), (55.0, 2))
        for index in range(2)
    ]
    assert "2 devices at once, pinned memory of 64 MiB each, are slower" in verdict([synthetic.run(cases)])


def test_wrong_data_of_a_thread_is_an_error_that_names_it(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    cases = synthetic_threads.cases({("h2d", "pinned"): lambda threads: 55.0})
    cases[4] = msgspec.structs.replace(cases[4], verified="no", note="first mismatch at byte 17")
    finding = by_topic(synthetic.run(cases))["verification"]
    assert "workers, H2D, 64 MiB, pinned memory, 16 threads (first mismatch at byte 17)" in finding.text


def test_a_worker_that_failed_is_named_with_its_place(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    cases = synthetic_threads.cases({("h2d", "pinned"): lambda threads: 55.0})
    failed = synthetic_threads.skips("failed: worker 3: cuMemcpyHtoDAsync gave 719", ["both"], target="cuda:1", node=1)
    finding = by_topic(synthetic.run([*cases, *failed[3:4]]))["calls_failed"]
    assert "workers, both, 64 MiB, pinned memory, 8 + 8 threads, cuda:1, NUMA node 1 (worker 3:" in finding.text


def test_a_rate_above_the_link_is_an_error(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    cases = synthetic_threads.cases({("h2d", "pinned"): lambda threads: 55.0 + 5 * (threads == 32)}, noise=1e-3)
    assert "above_link" not in by_topic(synthetic.run(cases))
    elided = synthetic_threads.cases({("h2d", "pinned"): lambda threads: 55.0 + 25 * (threads == 32)}, noise=1e-3)
    finding = by_topic(synthetic.run(elided))["above_link"]
    assert finding.text.startswith(
        "Rates above the link's 63.0 GB/s: 1; highest: 80.0 GB/s (pinned memory (32 threads), H2D"
    )


def test_a_kind_that_gains_one_way_only_says_both_in_the_verdict(
    synthetic: ModuleType, synthetic_threads: ModuleType
) -> None:
    rates = {("h2d", "pageable"): lambda threads: min(7.0 * threads, 28.0), ("d2h", "pageable"): lambda threads: 14.0}
    text = verdict([synthetic.run(synthetic_threads.cases(rates))])
    assert re.search(
        r"4 threads \(.*\) move .* of pageable memory H2D .*One thread moves 1\d\.\d GB/s D2H of pageable", text
    )
