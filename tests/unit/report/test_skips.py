"""Skipped cases: one line for each reason."""

from types import ModuleType

from isthmus.record import GIB, MIB
from isthmus.report.skips import SkipGroup, skip_groups


def test_one_group_for_each_reason_the_largest_first(synthetic: ModuleType) -> None:
    cases = [
        *synthetic.skips(("copy", "h2d", "pageable_huge"), [GIB], "too large"),
        *synthetic.skips(("copy", "d2h", "write_combined"), [MIB, GIB], "no such memory"),
        *synthetic.skips(("copy", "h2d", "write_combined"), [MIB, GIB], "no such memory"),
    ]
    assert skip_groups(synthetic.run(cases)) == [
        SkipGroup("no such memory", "write_combined: H2D, D2H; 1 MiB to 1 GiB", "4 cases"),
        SkipGroup("too large", "pageable_huge: H2D; 1 GiB", "1 case"),
    ]


def test_a_skip_without_a_reason_is_still_shown(synthetic: ModuleType) -> None:
    (group,) = skip_groups(synthetic.run(synthetic.skips(("copy", "both", "pinned"), [1], "")))
    assert group.reason == "no reason given"
