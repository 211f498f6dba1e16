"""Options: what each mode chooses, what is recorded, and names that are nearly right."""

import pytest

from isthmus.errors import UsageError
from isthmus.experiment.bandwidth.cases import EFFORTS
from isthmus.experiment.engine.options import Options, check_names, powers_of_two
from isthmus.experiment.measure import choose_experiments
from isthmus.record import GIB
from isthmus.registry import MEASURED

KNOWN = ("pageable", "pinned", "mapped")


@pytest.mark.parametrize(
    ("given", "expected"),
    [([], []), (["pinned"], ["pinned"]), (["mapped", "pageable", "mapped"], ["pageable", "mapped"])],
)
def test_known_names_come_once_and_in_order(given: list[str], expected: list[str]) -> None:
    assert check_names("memory kind", given, KNOWN) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pined", "no memory kind 'pined'; did you mean pinned? There are pageable, pinned, mapped"),
        ("PINNED", "no memory kind 'PINNED'; there are pageable, pinned, mapped"),
        ("xyz", "no memory kind 'xyz'; there are pageable, pinned, mapped"),
        ("", "no memory kind ''; there are pageable, pinned, mapped"),
    ],
)
def test_an_unknown_name_offers_the_nearest(name: str, message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        check_names("memory kind", ["pinned", name], KNOWN)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("options", "brief"),
    [
        (Options(), True),
        (Options(mode="quick", seed=7, memory_budget_bytes=GIB), True),
        (Options(sizes=[4096]), False),
        (Options(memory=["pinned"]), False),
        (Options(directions=["h2d"]), False),
        (Options(alignment_bytes=64), False),
        (Options(budget_seconds=1.0), False),
    ],
)
def test_bandwidth_runs_by_default_with_thresholds_where_options_are_open(options: Options, brief: bool) -> None:
    chosen = choose_experiments([], options)
    assert [(each.name, each.is_brief) for each in chosen] == [("bandwidth", False), ("breakeven", True)][: 1 + brief]
    assert len(choose_experiments(["bandwidth"], options)) == 1, "asked for by its name alone"
    assert len(choose_experiments([], options, ranks=2)) == 1


def test_all_means_every_experiment() -> None:
    every = [experiment.name for experiment in MEASURED]
    assert [experiment.name for experiment in choose_experiments(["all"], Options())] == every


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["bandwith"], Options(), "no experiment 'bandwith'; did you mean bandwidth?"),
        (["bandwidth"], Options(memory=["pined"]), "no memory kind 'pined'; did you mean pinned?"),
        (["bandwidth"], Options(directions=["h2h"]), "no direction 'h2h'; did you mean h2d?"),
        (["allocation"], Options(directions=["h2d"]), "no experiment that was chosen has a direction to choose"),
    ],
)
def test_a_name_that_does_not_exist(names: list[str], options: Options, message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        choose_experiments(names, options)
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize("name", ["peers", "paths"])
def test_several_ranks_do_not_each_measure_all_devices_of_a_host(name: str) -> None:
    assert choose_experiments([name], Options())
    with pytest.raises(UsageError, match=f"started as 4 MPI ranks, and {name} measures all devices of a host"):
        choose_experiments([name], Options(), ranks=4)


def test_what_is_not_given_is_the_modes() -> None:
    assert Options(mode="quick").effort(EFFORTS) == EFFORTS["quick"]
    chosen = Options(mode="quick", sizes=[3], budget_seconds=0.5).effort(EFFORTS)
    assert chosen == EFFORTS["quick"]._replace(sizes=[3], budget_seconds=0.5)
    # Not the mode's, although it is false in a condition.
    assert Options(budget_seconds=0.0).effort(EFFORTS).budget_seconds == 0.0


def test_an_experiment_leaves_out_what_only_others_know() -> None:
    assert Options().chosen(KNOWN, []) == list(KNOWN)
    assert Options().chosen(KNOWN, ["device", "pinned"]) == ["pinned"]


def test_powers_of_two_go_in_steps() -> None:
    assert powers_of_two(0, 3) == [1, 2, 4, 8]
    assert powers_of_two(10, 14, 2) == [1024, 4096, 16384]


def test_longer_modes_have_more_sizes_and_more_time() -> None:
    quick, default, full = (EFFORTS[mode] for mode in ("quick", "default", "full"))
    assert len(quick.sizes) < len(default.sizes) < len(full.sizes)
    assert quick.budget_seconds < default.budget_seconds < full.budget_seconds
    for mode in EFFORTS.values():
        assert list(mode.sizes) == sorted(set(mode.sizes))
        assert mode.sizes[0] == 1
    assert max(default.sizes) == GIB


def test_the_record_holds_what_differs_from_the_defaults_and_nothing_else() -> None:
    assert Options().as_text == {}
    given = Options(sizes=[1, 4096], memory=["pinned"], directions=["both"], alignment_bytes=4, memory_budget_bytes=GIB)
    assert given.as_text == {
        "sizes": "1,4096",
        "memory": "pinned",
        "direction": "both",
        "alignment": "4",
        "memory-budget": str(GIB),
    }
