"""Figures in cells: where there is no interval, no renderer prints one as exact."""

import io

import pytest

from isthmus.analysis.phrases import percent_cell, percent_words
from isthmus.analysis.statistics.contrast import ratio
from isthmus.document.document import Document, Table
from isthmus.document.grid import Cell, brief, interval_cell, text_grid, time_cell
from isthmus.record import Interval, median_interval
from isthmus.report import write

ONE = median_interval([1.21])
CELLS = [interval_cell(ONE), time_cell(ONE), percent_cell(ONE), interval_cell(ratio(ONE, Interval(2.0, 1.9, 2.1)))]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("format_name", ["terminal", "markdown", "html"])
def test_a_figure_of_one_sample_shows_that_its_interval_is_unknown(cell: Cell, format_name: str) -> None:
    out = io.StringIO()
    write(Document("runs", "", (Table((text_grid("", "", ["a"], [("b", [cell])]),)),)), format_name, out)
    written = out.getvalue().replace("<i>", "").replace("</i>", "")
    assert f"{cell.text} ±?" in written
    assert "±0" not in written
    assert brief(cell).text.endswith("?")


def test_a_figure_with_an_interval_keeps_it() -> None:
    assert interval_cell(median_interval([1.0, 1.2, 1.4])).half_width == "0.20"
    assert brief(interval_cell(median_interval([1.0, 1.2, 1.4]))).text == "1.20"


@pytest.mark.parametrize(("share", "words"), [(-0.0004, "0.0"), (0.0994, "9.9"), (0.0996, "10"), (-0.015, "-1.5")])
def test_percents_have_a_decimal_below_ten_and_no_signed_zero(share: float, words: str) -> None:
    assert percent_words(share) == words
