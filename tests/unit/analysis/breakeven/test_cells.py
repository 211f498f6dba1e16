"""Cells of thresholds: a size or a number of uses with its interval, or that there is none."""

from dataclasses import replace

import pytest

from isthmus.analysis.breakeven.tables import size_cell, uses_cell, written
from isthmus.analysis.breakeven.words import answer_words
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.record import KIB, MIB


def threshold(state: str, value: float, low: float, high: float, crossings: int = 1) -> Threshold:
    return Threshold(state, 4.0 * KIB, 128.0 * MIB, value, low, high, crossings)  # type: ignore[arg-type]


INFINITE, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("found", "text", "state"),
    [
        (None, "-", "missing"),
        (threshold("always", 0.0, 0.0, 0.0), "always", "ok"),
        (threshold("never", INFINITE, INFINITE, INFINITE), "never", "ok"),
        (threshold("never", INFINITE, 100 * MIB, INFINITE), "never?", "wide"),
        (threshold("cannot_tell", NAN, 0.0, INFINITE), "?", "missing"),
        (threshold("from", 700 * KIB, 680 * KIB, 740 * KIB), "700 ±30 KiB", "ok"),
        (threshold("up_to", 2 * MIB, 1.9 * MIB, 2.1 * MIB), "to 2.00 ±0.10 MiB", "ok"),
        (threshold("from", 2 * MIB, 1.9 * MIB, 2.1 * MIB, crossings=2), "2.00* ±0.10 MiB", "ok"),
        (threshold("from", 9 * MIB, 2 * MIB, 40 * MIB), "2-40 MiB", "wide"),
        (threshold("up_to", 900 * KIB, 700 * KIB, 3 * MIB), "to 700 KiB-3 MiB", "wide"),
        (threshold("from", 5 * KIB, 0.0, 6 * KIB), "<= 6 KiB", "wide"),
        (threshold("from", 110 * MIB, 90 * MIB, INFINITE), ">= 90 MiB", "wide"),
    ],
)
def test_every_answer_has_its_cell(found: Threshold | None, text: str, state: str) -> None:
    cell = size_cell(found)
    assert (written(cell), cell.state) == (text, state)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (threshold("always", 0.0, 0.0, 0.0), "at every size from 4 KiB to 128 MiB"),
        (threshold("always", 0.0, 0.0, 90 * KIB), "from 90 KiB or less on"),
        (threshold("never", INFINITE, INFINITE, INFINITE), "at no size up to 128 MiB"),
        (threshold("never", INFINITE, 100 * MIB, INFINITE), "not up to 100 MiB, within noise to 128 MiB"),
        (threshold("cannot_tell", NAN, 0.0, INFINITE), "within noise from 4 KiB to 128 MiB"),
        (
            replace(threshold("cannot_tell", NAN, 0.0, INFINITE), slower=(4.0 * KIB, 2.0 * MIB)),
            "not up to 2 MiB, within noise to 128 MiB",
        ),
        (
            replace(threshold("cannot_tell", NAN, 0.0, INFINITE), slower=(4.0 * KIB, 128.0 * MIB)),
            "within noise from 4 KiB to 128 MiB",
        ),
        (threshold("from", 700 * KIB, 680 * KIB, 740 * KIB), "from 700 KiB on"),
        (threshold("from", 9 * MIB, 2 * MIB, 40 * MIB), "from 2-40 MiB on"),
        (threshold("from", 5 * KIB, 0.0, 6 * KIB), "from 6 KiB or less on"),
        (threshold("from", 110 * MIB, 90 * MIB, INFINITE), "not up to 90 MiB, within noise to 128 MiB"),
        (threshold("up_to", 2 * MIB, 1.9 * MIB, 2.1 * MIB), "only up to 2 MiB"),
    ],
)
def test_every_answer_has_its_words(answer: Threshold, words: str) -> None:
    """None is a question mark: what cannot be told names the sizes that were measured."""
    assert answer_words(answer) == words


@pytest.mark.parametrize(
    ("found", "text", "half"),
    [
        (threshold("always", 0.0, 0.0, 0.0), "1", ""),
        (threshold("from", 6.0, 6.0, 6.0), "6", ""),
        (threshold("from", 6.0, 5.0, 6.0), "6", "1"),
        (threshold("up_to", 144.0, 130.0, 160.0), "to 144", "15"),
        (threshold("never", INFINITE, INFINITE, INFINITE), "never", ""),
    ],
)
def test_numbers_of_uses_are_whole(found: Threshold, text: str, half: str) -> None:
    cell = uses_cell(found)
    assert (cell.text, cell.half_width) == (text, half)


@pytest.mark.parametrize("state", ["always", "never", "from", "up_to", "cannot_tell"])
@pytest.mark.parametrize("ends", [(0.0, 6.0), (6.0, INFINITE), (INFINITE, INFINITE), (0.0, INFINITE)])
def test_no_answer_shows_an_end_that_is_infinite(state: str, ends: tuple[float, float]) -> None:
    value = next((end for end in ends if 0 < end < INFINITE), 6.0)
    found = Threshold(state, 1.0, 1e6, value, *ends)  # type: ignore[arg-type]
    shown = [uses_cell(found).text, size_cell(found).text]
    assert not any("inf" in text or "1000000" in text for text in shown)
