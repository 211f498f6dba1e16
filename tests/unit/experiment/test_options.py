"""Options: what each mode chooses, what is recorded, and names that are nearly right."""

from __future__ import annotations

import pytest

from isthmus.errors import UsageError
from isthmus.experiment.measure import EXPERIMENTS, check_experiments
from isthmus.experiment.options import MODES, Options, check_names
from isthmus.record import GIB

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


def test_experiments_are_all_of_them_by_default() -> None:
    assert check_experiments([]) == list(EXPERIMENTS)
    with pytest.raises(UsageError, match="no experiment 'bandwith'; did you mean bandwidth"):
        check_experiments(["bandwith"])


def test_what_is_not_given_is_the_modes() -> None:
    assert Options(mode="quick").chosen_sizes == MODES["quick"].sizes
    assert Options(mode="quick").chosen_budget_seconds == MODES["quick"].budget_seconds
    assert Options(mode="quick", sizes=[3], budget_seconds=0.5).chosen_sizes == [3]
    assert Options(mode="quick", sizes=[3], budget_seconds=0.5).chosen_budget_seconds == 0.5
    # Not the mode's, although it is false in a condition.
    assert Options(budget_seconds=0.0).chosen_budget_seconds == 0.0


def test_longer_modes_have_more_sizes_and_more_time() -> None:
    quick, default, full = (MODES[mode] for mode in ("quick", "default", "full"))
    assert len(quick.sizes) < len(default.sizes) < len(full.sizes)
    assert quick.budget_seconds < default.budget_seconds < full.budget_seconds
    for mode in MODES.values():
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
