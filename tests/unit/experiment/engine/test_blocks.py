"""Groups of cases partition what was asked for, and fit into memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.experiment.bandwidth.cases import DIRECTIONS, MEMORY_KINDS
from isthmus.experiment.engine.blocks import buffers_of, bytes_needed, split_by_memory
from isthmus.experiment.engine.transfers import transfer_case
from isthmus.record import GIB, MIB, Case, Direction


def transfer(kind: str, direction: Direction, size: int) -> Case:
    return transfer_case("bandwidth", kind, direction, size)


transfers = st.lists(
    st.builds(
        transfer,
        st.sampled_from(MEMORY_KINDS),
        st.sampled_from(DIRECTIONS),
        st.integers(min_value=0, max_value=12).map(lambda power: 1 << power),
    )
)


@given(transfers, st.integers(min_value=0, max_value=40_000), st.booleans())
def test_groups_have_every_case_once_that_fits_alone_and_fit(cases: list[Case], budget: int, shared: bool) -> None:
    groups = split_by_memory(cases, budget, shared)
    grouped = [id(case) for group in groups for case in group]
    assert len(set(grouped)) == len(grouped)
    assert all(groups)
    assert all(bytes_needed(group, shared) <= budget for group in groups)
    for case in cases:
        assert id(case) in grouped or bytes_needed([case], shared) > budget


@given(transfers, st.booleans())
def test_with_enough_memory_all_are_measured_together(cases: list[Case], shared: bool) -> None:
    assert split_by_memory(cases, bytes_needed(cases, shared), shared) == ([cases] if cases else [])


def test_untouched_memory_has_buffers_for_each_method() -> None:
    methods = ("copy", "isthmus")
    assert len({buffers_of(transfer_case("", "untouched", "d2h", 8, method)) for method in methods}) == 2
    assert len({buffers_of(transfer_case("", "pageable", "d2h", 8, method)) for method in methods}) == 1


@pytest.mark.parametrize(
    ("points", "shared", "expected"),
    [
        ([], False, 0),
        ([("pinned", "h2d", 8)], False, 8),
        ([("pinned", "h2d", 8)], True, 16),
        ([("pinned", "both", 8)], False, 16),
        ([("pinned", "both", 8)], True, 32),
        # One buffer serves all sizes of a kind and way.
        ([("pinned", "h2d", 8), ("pinned", "h2d", 2)], False, 8),
        # Kinds have their own, and share what is on the device.
        ([("pinned", "h2d", 8), ("pageable", "h2d", 4)], False, 12),
        ([("pinned", "h2d", 8), ("pageable", "h2d", 4)], True, 20),
        ([("pinned", "h2d", 8), ("pinned", "d2h", 4)], False, 12),
    ],
)
def test_what_buffers_take(points: list[tuple[str, Direction, int]], shared: bool, expected: int) -> None:
    assert bytes_needed([transfer(*each) for each in points], shared) == expected


def test_small_sizes_stay_together_and_large_ones_go_kind_by_kind() -> None:
    sizes = [MIB, GIB]
    cases = [transfer(kind, "both", size) for kind in ("pageable", "pinned") for size in sizes]
    groups = split_by_memory(cases, 3 * GIB, shares_host_memory=False)
    assert [{(case.host_memory, case.bytes) for case in group} for group in groups] == [
        {("pageable", MIB), ("pinned", MIB)},
        {("pageable", GIB)},
        {("pinned", GIB)},
    ]


def test_a_kind_too_large_both_ways_goes_one_way_at_a_time() -> None:
    cases = [transfer("pinned", "h2d", GIB), transfer("pinned", "d2h", GIB)]
    groups = split_by_memory(cases, GIB, shares_host_memory=False)
    assert [[case.direction for case in group] for group in groups] == [["d2h"], ["h2d"]]
