"""What became of cases: the same machine, a slowdown of all, of one kind of memory, of one case."""

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from isthmus.compare import Comparison, compare, parse_gate
from isthmus.record import MIB, Case, Run, Series, read_run
from tests.synthetic import runs as synthetic

Remade = Callable[..., Run]
RESULTS = Path(__file__).resolve().parents[3] / "results"


def shares(found: Comparison) -> dict[str, float]:
    return {verdict: count / len(found.judgement.cases) for verdict, count in found.counts.items()}


@pytest.mark.parametrize("seed", range(5))
def test_two_visits_of_one_machine_are_the_same(run: Run, remade: Remade, seed: int) -> None:
    found = shares(compare(run, remade(run, seed=seed)))
    assert found["same"] >= 0.97
    assert found.get("slower", 0) + found.get("faster", 0) <= 0.01


def alone(case: Case) -> bool:
    return (case.host_memory, case.direction, case.bytes) == ("pinned", "h2d", 64 * MIB)


def kind(case: Case) -> bool:
    return (case.host_memory, case.direction) == ("pinned", "h2d")


def everything(_: Case) -> bool:
    return True


@pytest.mark.parametrize(
    ("spread", "share", "reached", "most"),
    [
        # Steady: what shows is called slower, 5 % of one case alone is too little to show.
        (0.005, 0.05, alone, "same"),
        (0.005, 0.05, kind, "slower"),
        (0.005, 0.05, everything, "slower"),
        (0.005, 0.3, alone, "slower"),
        (0.005, 0.3, kind, "slower"),
        (0.005, 0.3, everything, "slower"),
        # Erratic by 10 % from run to run: the same as far as that is steady, unless many or much more are slower.
        (0.1, 0.05, alone, "same"),
        (0.1, 0.05, kind, "same"),
        (0.1, 0.3, alone, "same"),
        (0.1, 0.3, kind, "slower"),
        (0.1, 0.3, everything, "slower"),
    ],
)
def test_what_shows(
    run: Run, remade: Remade, spread: float, share: float, reached: Callable[[Case], bool], most: str
) -> None:
    gate = parse_gate(f"slower:{70 * share:g}%")
    found = compare(run, remade(run, lambda case: 1 + share if reached(case) else 1.0, spread=spread), gates=[gate])
    inside: Counter[str] = Counter(case.verdict for case in found.judgement.cases if reached(case.pair.base))
    outside = Counter(case.verdict for case in found.judgement.cases if not reached(case.pair.base))
    assert inside[most] >= 0.75 * inside.total()
    assert outside["same"] >= 0.97 * outside.total()
    assert outside["slower"] + outside["faster"] == 0
    assert found.failed == (most == "slower")
    # A gate that holds although something became slower says that it could not have seen it.
    assert found.failed or found.gates[0].blind_alone > 0


@pytest.mark.parametrize("spread", [0.0, 0.005, 0.03, 0.1, 0.2])
def test_equal_runs_are_the_same_as_far_as_they_are_steady(run: Run, remade: Remade, spread: float) -> None:
    found = compare(run, remade(run, spread=spread), gates=[parse_gate("slower:5%")])
    assert shares(found)["same"] >= 0.97
    assert found.counts["slower"] + found.counts["faster"] == 0


def test_the_less_steady_the_larger_what_would_have_shown(run: Run, remade: Remade) -> None:
    shown = [
        [case.detectable for case in compare(run, remade(run, spread=spread)).judgement.cases]
        for spread in (0.005, 0.05, 0.2)
    ]
    assert max(shown[0]) < min(shown[1])
    assert max(shown[1]) < min(shown[2])


def test_what_would_have_shown_does(run: Run, remade: Remade) -> None:
    """A kind that is slower by a little more than its cases say is called slower."""
    (least,) = {
        case.detectable for case in compare(run, remade(run, spread=0.02)).judgement.cases if alone(case.pair.base)
    }
    found = compare(run, remade(run, lambda case: 1.02 + least if kind(case) else 1.0, spread=0.02))
    assert Counter(case.verdict for case in found.judgement.cases if kind(case.pair.base))["slower"] >= 0.9 * 31
    fewer = compare(run, remade(run, lambda case: 0.98 + least if kind(case) else 1.0, spread=0.02))
    assert fewer.counts["slower"] == 0


def test_a_slowdown_of_everything_is_no_spread(run: Run, remade: Remade) -> None:
    found = compare(run, remade(run, lambda _: 1.05))
    assert [whole.verdict for whole in found.judgement.wholes] == ["slower"] * 3
    assert shares(found)["slower"] >= 0.6
    assert found.counts["faster"] == 0
    # Single cases that happen to be as fast as before go with nobody.
    assert all(case.ratio.median > 1.03 for case in found.judgement.cases if case.verdict == "slower")


def test_a_speed_up_is_the_mirror_image(run: Run, remade: Remade) -> None:
    slower = remade(run, lambda _: 1.08)
    forth, back = compare(run, slower), compare(slower, run)
    assert forth.counts["slower"] == pytest.approx(back.counts["faster"], rel=0.02)
    assert back.counts["slower"] == 0


def test_one_kind_of_memory_is_told_from_the_others(run: Run, remade: Remade) -> None:
    found = compare(run, remade(run, lambda case: 1.2 if case.host_memory == "pageable" else 1.0))
    slower = Counter(case.group.host_memory for case in found.judgement.cases if case.verdict == "slower")
    assert slower["pageable"] >= 0.9 * 62
    assert slower.total() - slower["pageable"] <= 2
    # The case that differs most does so by what its interval certainly leaves.
    assert max(found.judgement.cases, key=lambda case: case.least_change).group.host_memory == "pageable"


def test_one_case_that_stands_out_is_found(run: Run, remade: Remade) -> None:
    def factor(case: Case) -> float:
        return 1.8 if (case.host_memory, case.direction, case.bytes) == ("pinned", "h2d", 64 * MIB) else 1.0

    found = compare(run, remade(run, factor, spread=0.005))
    (alone,) = [case for case in found.judgement.cases if case.verdict != "same"]
    assert (alone.verdict, alone.own, alone.pair.base.bytes) == ("slower", True, 64 * MIB)
    assert alone.ratio.low < 1.8 < alone.ratio.high


def test_runs_that_vary_wildly_cannot_be_told(run: Run, remade: Remade) -> None:
    found = shares(compare(run, remade(run, spread=0.6)))
    assert found["cannot_tell"] >= 0.8
    assert found.get("slower", 0) + found.get("faster", 0) <= 0.03


def test_few_cases_borrow_what_is_known_of_runs(run: Run, remade: Remade) -> None:
    two = synthetic.run([case for case in run.cases if case.bytes == 64 * MIB and case.host_memory == "pinned"])
    assert compare(two, remade(two, lambda _: 1.02, spread=0.0)).counts == {"same": 2}
    assert compare(two, remade(two, lambda _: 2.0, spread=0.0)).counts == {"slower": 2}


def test_significance_needs_the_rank_test_too() -> None:
    """Three samples against three cannot show anything, however far apart."""

    def one(seconds: float) -> Run:
        samples = [seconds, 1.01 * seconds, 0.99 * seconds]
        case = Case(
            experiment="bandwidth",
            method="copy",
            direction="h2d",
            host_memory="pinned",
            bytes=64 * MIB,
            series=[Series(metric="host_seconds", samples=samples)],
        )
        made: Run = synthetic.run([case])
        return made

    (case,) = compare(one(1e-3), one(1.5e-3)).judgement.cases
    assert case.rank_p == pytest.approx(0.1)
    assert (case.own, case.verdict, case.detectable) == (False, "cannot_tell", math.inf)


def test_the_margin_is_what_counts_as_the_same(run: Run, remade: Remade) -> None:
    other = remade(run, lambda _: 1.08, spread=0.005)
    assert shares(compare(run, other))["slower"] >= 0.97
    assert shares(compare(run, other, margin=0.1))["same"] >= 0.97


def test_the_order_of_cases_does_not_matter(run: Run, remade: Remade) -> None:
    new = remade(run, lambda _: 1.05)
    turned = msgspec.structs.replace(new, cases=new.cases[::-1])
    verdicts = [[case.verdict for case in compare(run, each).judgement.cases] for each in (new, turned)]
    assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize(("first", "second"), [("", "-2"), ("-3", "-4")])
def test_kept_runs_of_one_card_are_the_same(first: str, second: str) -> None:
    base, new = (read_run(RESULTS / f"h200-batching{name}.json.gz") for name in (first, second))
    assert base.fingerprint.device.uuid == new.fingerprint.device.uuid
    assert shares(compare(base, new))["same"] >= 0.97


def test_kept_runs_of_two_cards_are_hardly_ever_called_slower() -> None:
    base, new = (read_run(RESULTS / f"h200-batching{name}.json.gz") for name in ("-2", "-3"))
    found = shares(compare(base, new))
    assert found.get("slower", 0) + found.get("faster", 0) <= 0.01
    assert found["same"] >= 0.95
