"""The chart of a page without scripts: the curves, marks and ticks that a script would draw, and texts as text."""

import re
from xml.etree import ElementTree

import pytest

from isthmus.document.chart import (
    Axis,
    Drawn,
    Spec,
    Timeline,
    bar,
    curves_chart,
    look,
    numbered_look,
    points_chart,
    row,
)
from isthmus.record import Interval
from isthmus.report.drawing import draw
from isthmus.report.still import still

BYTES, RATE = Axis("Size", labels="bytes"), Axis("GB/s", scale="linear")
PINNED = Drawn(
    "pinned",
    look("pinned"),
    tuple(row("pinned", 1 << power, Interval(power, power - 1, power + 1)) for power in (12, 20, 30)),
    failed=(row("pinned", 1 << 16, Interval(9, 9, 9)),),
)


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter("text")]


def places(svg: str, shape: str) -> list[tuple[float, float]]:
    """Where symbols of a shape are."""
    found = re.findall(rf'<path d="{re.escape(shape)}" transform="translate\(([\d.-]+),([\d.-]+)\)', svg)
    return [(float(x), float(y)) for x, y in found]


def chart(*curves: Drawn, y: Axis = RATE, rule: str = "link 63.0 GB/s") -> Spec:
    return curves_chart(curves, BYTES, y, rules=[(63, rule)])


def test_times_have_ticks_with_units() -> None:
    times = Drawn(
        "pinned", look("pinned"), tuple(row("pinned", size, Interval(size / 1e9, 1e-6, 2e-3)) for size in (8192, 2**20))
    )
    assert {"10 us", "100 us", "1 ms"} <= set(texts(still(chart(times, y=Axis("time", labels="seconds")))))


def test_what_a_file_says_is_text() -> None:
    assert '<script>"' in texts(still(chart(PINNED, rule='<script>"')))


@pytest.mark.parametrize("axis", [BYTES, Axis("threads", scale="linear")])
@pytest.mark.parametrize("value", [5, 0, -3])
def test_one_point_has_a_place_on_any_axis(axis: Axis, value: float) -> None:
    alone = Drawn("pinned", look("pinned"), (row("pinned", 4096, Interval(value, value, value)),))
    svg = still(curves_chart([alone], axis, RATE))
    assert len(places(svg, look("pinned").shape)) == 1
    assert "nan" not in svg


def test_a_chart_of_no_measured_point_is_drawn() -> None:
    assert draw(chart())
    assert "nan" not in still(chart())


def test_other_charts_wait_for_a_script() -> None:
    assert still(points_chart([PINNED], BYTES, RATE)) == ""
    assert still(Timeline((Drawn("copy", numbered_look(0), (bar("copy", 0, 1),)),), RATE)) == ""
