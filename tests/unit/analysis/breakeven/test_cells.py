"""Cells of thresholds have no end that is infinite; what they say is in `tests/snapshots/sentences`."""

import pytest

from isthmus.analysis.breakeven.section import size_cell, uses_cell, written
from isthmus.analysis.statistics.threshold import Threshold

INFINITE = float("inf")


def test_what_was_not_measured_is_missing() -> None:
    assert (written(size_cell(None)), size_cell(None).state) == ("-", "missing")


@pytest.mark.parametrize("state", ["always", "never", "from", "up_to", "cannot_tell"])
@pytest.mark.parametrize("ends", [(0.0, 6.0), (6.0, INFINITE), (INFINITE, INFINITE), (0.0, INFINITE)])
def test_no_answer_shows_an_end_that_is_infinite(state: str, ends: tuple[float, float]) -> None:
    value = next((end for end in ends if 0 < end < INFINITE), 6.0)
    found = Threshold(state, 1.0, 1e6, value, *ends)  # type: ignore[arg-type]
    shown = [uses_cell(found).text, size_cell(found).text]
    assert not any("inf" in text or "1000000" in text for text in shown)
