"""What the managed experiment says: thresholds, all of the array, prefetching, advice, the fastest way, the verdict."""

from types import ModuleType

import pytest

from isthmus.analysis.conclusions import findings, verdict
from isthmus.analysis.managed.findings import findings as managed_findings
from isthmus.analysis.managed.findings import takeaway as managed_takeaway
from isthmus.document.finding import Finding
from isthmus.record import GIB, MIB, Run


@pytest.fixture(scope="module")
def full(synthetic: ModuleType, synthetic_managed: ModuleType) -> Run:
    return synthetic.run(synthetic_managed.cases())  # type: ignore[no-any-return]


def found(run: Run, topic: str) -> Finding:
    [finding] = [each for each in managed_findings(run) if each.topic == topic]
    return finding


def taken(run: Run) -> Finding:
    told = managed_takeaway(run)
    assert isinstance(told, Finding)
    return told


def topics(run: Run) -> list[str]:
    return [each.topic for each in managed_findings(run)]


def test_nothing_measured_says_nothing(synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    skips = synthetic_managed.skips(("managed", "managed"), "no managed memory")
    for run in (synthetic.run([]), synthetic.run(skips)):
        assert managed_findings(run) == []
        assert managed_takeaway(run) is None


def test_the_share_and_the_stride_are_said_against_both_copies(full: Run) -> None:
    share, stride = found(full, "managed_percent"), found(full, "managed_stride")
    assert share.text.startswith("Managed memory on demand beats copying all 1 GiB, by share touched: ≤ 3")
    assert " against pageable; ≤ 7" in share.text
    assert share.text.endswith(" against pinned.")
    assert "by stride: ≥ " in stride.text
    assert share.cure == stride.cure == "Where on demand does not win, or that is unknown, copy explicitly or prefetch."


def test_one_copy_alone_is_named(synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    truths = {key: truth for key, truth in synthetic_managed.H200.items() if key != ("explicit_whole", "pageable")}
    run = synthetic.run(synthetic_managed.cases(truths))
    sentence = found(run, "managed_percent").text
    assert "by share touched: ≤ 7" in sentence
    assert "pageable" not in sentence


def test_a_share_from_which_on_demand_wins_is_said(synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    truths = dict(synthetic_managed.H200)
    truths["managed", "managed"] = lambda share: (0.5 * (1.1 - share), 0.1)
    run = synthetic.run(synthetic_managed.cases(truths))
    assert "by share touched: ≥ " in found(run, "managed_percent").text
    assert found(run, "managed_percent").cure


def test_where_faults_never_win_they_are_advised_against(synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    truths = dict(synthetic_managed.H200)
    truths["managed", "managed"] = lambda share: (1.0 + share, 1.0)
    run = synthetic.run(synthetic_managed.cases(truths))
    assert "never against pageable" in found(run, "managed_percent").text
    assert found(run, "managed_percent").cure


def test_a_threshold_that_may_lie_anywhere_is_no_advice(synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    truths = dict(synthetic_managed.H200)
    # Hardly slower with all of it touched, so that it may win everywhere.
    truths["managed", "managed"] = lambda share: (0.15 * share, 0.170)
    share = found(synthetic.run(synthetic_managed.cases(truths, noise=0.05)), "managed_percent")
    assert "≤ " in share.text
    assert " (≥ " in share.text
    assert not share.cure


def test_prefetching_is_advised_where_it_gains(full: Run, synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    prefetch = found(full, "managed_prefetch")
    assert prefetch.text == "With all touched, prefetching is 3.3 times as fast as on demand."
    assert prefetch.cure
    truths = dict(synthetic_managed.H200)
    truths["prefetch_whole", "managed"] = lambda _: (0.2, 0.5)
    assert not found(synthetic.run(synthetic_managed.cases(truths)), "managed_prefetch").cure


def test_advice_is_compared_with_none(full: Run, synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    advice = found(full, "managed_advice")
    assert "Best advice with 100 % touched: read-mostly, 1.04 times" in advice.text
    truths = synthetic_managed.H200 | {("accessed_by", "managed"): lambda share: (0.04 * share, 0.1)}
    helped = found(synthetic.run(synthetic_managed.cases(truths)), "managed_advice")
    assert "accessed-by, 0." in helped.text


def test_advice_is_given_on_the_largest_part_alone(synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    """What gains where little is touched says nothing about all of it."""
    cases = [
        *synthetic_managed.cases(synthetic_managed.H200 | {("prefer_device", "managed"): lambda share: (0.2, 0.5)}),
        synthetic_managed.case(("accessed_by", "managed"), 1e-4, 1e-3, fraction=0.01),
    ]
    advice = found(synthetic.run(cases), "managed_advice")
    assert "Best advice with 100 % touched: " in advice.text
    assert "accessed-by" not in advice.text


def test_the_fastest_way_is_named_at_both_ends(full: Run) -> None:
    fastest = found(full, "managed_fastest").text
    assert fastest.startswith("Fastest with 1 % touched: ")
    assert "Fastest with 100 % touched: copy all (pinned) or mapped." in fastest


def test_only_where_most_ways_were_measured_one_is_the_fastest(
    synthetic: ModuleType, synthetic_managed: ModuleType
) -> None:
    key = ("explicit_touched", "pageable")
    few = [synthetic_managed.case(each, 1e-4, 0.01, stride=16 * MIB) for each in (key, ("managed", "managed"))]
    run = synthetic.run([*synthetic_managed.cases(percents=[10, 50]), *few])
    sentence = found(run, "managed_fastest").text
    assert sentence.startswith("Fastest with 10 % touched: ")
    assert "one double every 4 MiB touched" in sentence
    # Four ways are some choice, but fewer than elsewhere.
    assert "every 16 MiB" not in sentence


def test_few_ways_are_no_choice(synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    truths = {key: truth for key, truth in synthetic_managed.H200.items() if key[0] in {"explicit_whole", "managed"}}
    run = synthetic.run(synthetic_managed.cases(truths))
    assert "managed_fastest" not in topics(run)
    assert "Fastest" not in taken(run).text


def test_pages_that_stay_are_said(synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    run = synthetic.run([*synthetic_managed.cases(), synthetic_managed.stays("they are the host's")])
    assert "do not migrate on demand here: they are the host's." in found(run, "managed_stays").text


def test_conclusions_rest_on_the_largest_array(synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    run = synthetic.run([*synthetic_managed.cases(size=64 * MIB), *synthetic_managed.cases(size=GIB)])
    assert "copying all 1 GiB" in found(run, "managed_percent").text


def test_the_verdict_names_thresholds_and_the_fastest(
    full: Run, synthetic: ModuleType, synthetic_managed: ModuleType
) -> None:
    text = taken(full).text
    assert text.startswith("Managed memory on demand beats copying all 1 GiB, by share touched: ≤ 3")
    assert "by stride: ≥ " in text
    assert text.endswith(" Fastest with 100 % touched: copy all (pinned) or mapped.")
    truths = synthetic_managed.H200 | {("mapped", "mapped"): lambda share: (0.01 * share, 0.02)}
    assert taken(synthetic.run(synthetic_managed.cases(truths))).text.endswith(" Fastest with 100 % touched: mapped.")
    assert text in verdict([full])
    assert {each.topic for each in findings(full)} >= set(topics(full))


def test_the_verdict_advises_by_the_threshold_or_else_to_prefetch(
    full: Run, synthetic: ModuleType, synthetic_managed: ModuleType
) -> None:
    assert taken(full).cure == found(full, "managed_percent").cure
    truths = {key: truth for key, truth in synthetic_managed.H200.items() if key[0] != "explicit_whole"}
    run = synthetic.run(synthetic_managed.cases(truths))
    assert "managed_percent" not in topics(run)
    assert taken(run).cure.startswith("Prefetch managed arrays")


def test_wrong_sums_are_no_ground_for_conclusions(synthetic: ModuleType, synthetic_managed: ModuleType) -> None:
    run = synthetic.run(synthetic_managed.cases(verified="no"))
    assert managed_findings(run) == []
    assert "do not rely on this run" in verdict([run])
