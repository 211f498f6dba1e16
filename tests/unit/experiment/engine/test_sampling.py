"""When a case is done, how much it misses, and what becomes of it."""

import msgspec
import pytest

from isthmus.experiment.engine.sampling import Collected, Companion, Rules
from isthmus.record import LEAST_SAMPLES, Case

RULES = Rules()
TEMPLATE = Case(experiment="bandwidth", method="copy", direction="h2d", host_memory="pinned", bytes=4096)


def collected(*host_seconds: float, **changes: object) -> Collected:
    made = Collected(TEMPLATE, {"host_seconds": list(host_seconds)} if host_seconds else {})
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def erratic(count: int, median: float = 1.0, spread: float = 0.5) -> Collected:
    """Half the samples below the median by the spread, half above."""
    return collected(*[median * (1 + (spread if number % 2 else -spread)) for number in range(count)])


@pytest.mark.parametrize("count", range(RULES.least_samples))
def test_too_few_samples_are_never_enough(count: int) -> None:
    case = collected(*[1e-6] * count, seconds=100.0)
    assert not case.is_done(RULES)
    assert case.missing(RULES) == RULES.least_samples - count


def test_equal_samples_are_enough_at_the_least_number() -> None:
    assert collected(*[1e-6] * RULES.least_samples).is_done(RULES)


@pytest.mark.parametrize(("half_width", "is_done"), [(0.019, True), (0.021, False)])
def test_the_width_of_the_interval_decides(half_width: float, is_done: bool) -> None:
    case = collected(*[1 - half_width] * 10, *[1] * 10, *[1 + half_width] * 10)
    assert case.interval.relative_half_width == pytest.approx(half_width)
    assert case.is_done(RULES) is is_done


@pytest.mark.parametrize(
    ("changes", "is_done"),
    [({}, False), ({"seconds": RULES.case_seconds - 0.01}, False), ({"seconds": RULES.case_seconds}, True)],
)
def test_an_erratic_case_ends_when_its_time_is_spent(changes: dict[str, float], is_done: bool) -> None:
    case = erratic(RULES.least_samples)
    for name, value in changes.items():
        setattr(case, name, value)
    assert case.is_done(RULES) is is_done


def test_an_erratic_case_ends_at_the_most_samples() -> None:
    assert not erratic(RULES.most_samples - 1).is_done(RULES)
    assert erratic(RULES.most_samples).is_done(RULES)


def test_wrong_data_and_failures_end_a_case_at_once() -> None:
    assert collected(wrong="wrong data").is_done(RULES)
    assert collected(failed="failed: copy").is_done(RULES)
    assert not collected().is_done(RULES)


def test_long_transfers_get_by_with_the_fewest_samples_that_give_an_interval() -> None:
    long, short = RULES.long_seconds, RULES.long_seconds * 0.99
    assert collected(*[long] * LEAST_SAMPLES).is_done(RULES)
    assert not collected(*[long] * (LEAST_SAMPLES - 1)).is_done(RULES)
    assert not collected(*[short] * LEAST_SAMPLES).is_done(RULES)
    assert collected(long).missing(RULES) == LEAST_SAMPLES - 1


def test_what_is_missing_grows_with_the_square_of_the_width() -> None:
    # An interval twice as wide as wanted needs four times the samples.
    case = collected(*[0.75] * 10, *[1.0] * 10, *[1.25] * 10)
    rules = Rules(target_relative_half_width=0.125)
    assert case.missing(rules) == 3 * case.count


def test_at_least_one_sample_is_missing() -> None:
    assert collected(*[1e-6] * 50).missing(RULES) == 1


def test_cost_of_a_sample_counts_preparation_and_checks() -> None:
    assert collected(1e-6, 1e-6, seconds=0.5).seconds_per_sample == 0.25


def test_a_finished_case_has_all_its_series_and_no_empty_one() -> None:
    case = collected(*[1e-6] * 10, verified=True)
    case.samples |= {"device_seconds": [2e-6], "enqueue_seconds": []}
    [finished] = case.cases(RULES)
    assert [(series.metric, len(series.samples)) for series in finished.series] == [
        ("host_seconds", 10),
        ("device_seconds", 1),
    ]
    assert (finished.verified, finished.note, finished.skipped) == ("yes", "", False)
    assert (finished.bytes, finished.host_memory) == (TEMPLATE.bytes, TEMPLATE.host_memory)


def lane(direction: str) -> Case:
    return msgspec.structs.replace(TEMPLATE, method="duplex", direction=direction)


def test_what_comes_with_a_case_is_a_case_of_its_own() -> None:
    case = collected(*[1e-6] * 10, verified=True)
    case.add_companion(Companion(lane("h2d"), "device_seconds", [1.0]))
    case.add_companion(Companion(lane("d2h"), "device_seconds", [3.0, 4.0]))
    case.add_companion(Companion(lane("h2d"), "device_seconds", [2.0]))
    case.add_companion(Companion(lane("h2d"), "device_seconds", []))
    together, *lanes = case.cases(RULES)
    assert together.method == "copy"
    assert [(lane.method, lane.direction, lane.samples("device_seconds")) for lane in lanes] == [
        ("duplex", "h2d", [1.0, 2.0]),
        ("duplex", "d2h", [3.0, 4.0]),
    ]
    assert {lane.verified for lane in lanes} == {"yes"}
    assert not any(lane.samples("host_seconds") for lane in lanes)


def test_a_case_is_long_when_what_comes_with_it_is() -> None:
    case = collected(*[1e-6] * LEAST_SAMPLES)
    assert case.least(RULES) == RULES.least_samples
    case.add_companion(Companion(lane("h2d"), "host_seconds", [RULES.long_seconds] * LEAST_SAMPLES))
    assert case.least(RULES) == LEAST_SAMPLES
    assert case.cases(RULES)[0].note == ""


def test_too_few_samples_are_noted_with_the_reason() -> None:
    [late] = collected(1e-6, 1e-6).cases(RULES)
    assert late.note == "only 2 samples: the time was up; --time allows more"
    [interrupted] = collected(1e-6, 1e-6).cases(RULES, "the run was interrupted")
    assert interrupted.note == "only 2 samples: the run was interrupted"


def test_wrong_data_are_noted_before_anything_else() -> None:
    case = collected(1e-6, verified=True, wrong="wrong data h2d: the first at byte 8")
    case.add_companion(Companion(lane("h2d"), "device_seconds", [1.0]))
    for finished in case.cases(RULES):
        assert (finished.verified, finished.note) == ("no", "wrong data h2d: the first at byte 8")


def test_a_case_that_was_never_checked_says_so() -> None:
    assert collected(*[1e-6] * 10).cases(RULES)[0].verified == "n/a"


def test_a_failed_case_is_a_skip_with_its_reason() -> None:
    [failed] = collected(1e-6, failed="failed: copy failed for 4096 bytes").cases(RULES)
    assert (failed.skipped, failed.note) == (True, "failed: copy failed for 4096 bytes")
    assert failed.series == []
