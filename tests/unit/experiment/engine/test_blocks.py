"""Groups of cases partition what was asked for, and fit into memory."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.experiment.bandwidth.cases import DIRECTIONS, MEMORY_KINDS
from isthmus.experiment.engine.blocks import TransferPoint, bytes_needed, split_by_memory
from isthmus.record import GIB, MIB, Direction

points_of_any_kind = st.lists(
    st.builds(
        TransferPoint,
        st.sampled_from(MEMORY_KINDS),
        st.sampled_from(DIRECTIONS),
        st.integers(min_value=0, max_value=12).map(lambda power: 1 << power),
    ),
    unique=True,
)


@given(points_of_any_kind, st.integers(min_value=0, max_value=40_000), st.booleans())
def test_groups_partition_the_points_and_fit(points: list[TransferPoint], budget: int, shared: bool) -> None:
    blocks = split_by_memory(points, budget, shared)
    assert Counter([*(point for group in blocks.groups for point in group), *blocks.too_large]) == Counter(points)
    assert all(blocks.groups)
    assert all(bytes_needed(group, shared) <= budget for group in blocks.groups)


@given(points_of_any_kind, st.integers(min_value=0, max_value=40_000), st.booleans())
def test_nothing_is_left_out_that_fits_alone(points: list[TransferPoint], budget: int, shared: bool) -> None:
    for point in split_by_memory(points, budget, shared).too_large:
        assert bytes_needed([point], shared) > budget


@given(points_of_any_kind, st.booleans())
def test_with_enough_memory_all_are_measured_together(points: list[TransferPoint], shared: bool) -> None:
    blocks = split_by_memory(points, bytes_needed(points, shared), shared)
    assert [sorted(group) for group in blocks.groups] == ([sorted(points)] if points else [])
    assert blocks.too_large == []


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
    assert bytes_needed([TransferPoint(*point) for point in points], shared) == expected


def test_small_sizes_stay_together_and_large_ones_go_kind_by_kind() -> None:
    sizes = [MIB, GIB]
    points = [TransferPoint(kind, "both", size) for kind in ("pageable", "pinned") for size in sizes]
    blocks = split_by_memory(points, 3 * GIB, shares_host_memory=False)
    assert [{(point.memory, point.bytes) for point in group} for group in blocks.groups] == [
        {("pageable", MIB), ("pinned", MIB)},
        {("pageable", GIB)},
        {("pinned", GIB)},
    ]


def test_a_kind_too_large_both_ways_goes_one_way_at_a_time() -> None:
    points = [TransferPoint("pinned", way, GIB) for way in ("h2d", "d2h")]
    blocks = split_by_memory(points, GIB, shares_host_memory=False)
    assert sorted(point.direction for group in blocks.groups for point in group) == ["d2h", "h2d"]
    assert len(blocks.groups) == 2
    assert not blocks.too_large
