"""Charts as Vega-Lite: scales that hold what is drawn, rules, marks, and one place for every curve's look."""

from typing import Any

import altair as alt
import pytest

from isthmus.document.chart import (
    Axis,
    Drawn,
    Spec,
    Tiles,
    Timeline,
    bar,
    curves_chart,
    look,
    numbered_look,
    points_chart,
    row,
    tile,
)
from isthmus.record import KIB, Interval
from isthmus.report.drawing import draw

SIZES = Axis("size", labels="bytes")


def curve(name: str, values: dict[float, float], **options: Any) -> Drawn:
    rows = tuple(row(name, x, Interval(y, y * 0.9, y * 1.1), note=f"{y:g}") for x, y in values.items())
    return Drawn(name, look(name), rows, **options)


def layers(spec: Spec) -> list[Any]:
    found: list[Any] = draw(spec)["layer"]
    return found


def test_the_scale_holds_intervals_and_rules() -> None:
    spec = curves_chart([curve("pinned", {1: 1e-3, KIB: 2e-3})], SIZES, Axis("time"), rules=[(5e-3, "limit")])
    low, high = layers(spec)[1]["encoding"]["y"]["scale"]["domain"]
    assert low < 0.9e-3
    assert high > 5e-3
    assert draw(spec)["datasets"]["rule"] == [{"y": 5e-3, "text": "limit"}]


def test_a_linear_scale_begins_at_zero() -> None:
    spec = curves_chart([curve("pinned", {1: 3.0, 32: 9.0})], Axis("threads"), Axis("GB/s", scale="linear"))
    assert layers(spec)[1]["encoding"]["y"]["scale"]["domain"][0] == 0
    assert layers(spec)[1]["encoding"]["x"]["axis"]["values"] == [1, 2, 4, 8, 16, 32]


def test_a_given_domain_is_kept_and_ticks_lie_in_it() -> None:
    spec = curves_chart([curve("pinned", {1: 3e-6, KIB: 9e-6})], SIZES, Axis("time", (2e-6, 3e-5), labels="seconds"))
    axis = layers(spec)[1]["encoding"]["y"]
    assert axis["scale"]["domain"] == [2e-6, 3e-5]
    assert axis["axis"]["values"] == pytest.approx([2e-6, 5e-6, 1e-5, 2e-5])
    assert "ms" in axis["axis"]["labelExpr"]


def test_looks_are_in_the_order_of_the_names() -> None:
    spec = curves_chart([curve("pinned", {1: 1.0, 2: 2.0}), curve("device", {1: 2.0, 2: 1.0})], SIZES, Axis("x"))
    color = layers(spec)[1]["encoding"]["color"]["scale"]
    assert color == {
        "domain": ["pinned", "device"],
        "range": [f"var({look(kind).variable})" for kind in ("pinned", "device")],
    }


def test_points_alone_have_no_lines() -> None:
    rows = ({"kind": "a", "x": 1.0, "y": 2.0}, {"kind": "a", "x": 2.0, "y": 3.0})
    chart = draw(points_chart([Drawn("a", numbered_look(0), rows)], SIZES, Axis("GB/s", scale="linear")))
    assert "layer" not in chart
    assert chart["datasets"]["points"] == list(rows)


def test_a_map_has_its_tiles_in_the_given_order_with_their_texts() -> None:
    rows = (tile("pack", "16", "1 KiB", "2.5", rate="2.50 GB/s"), tile("pack", "1", "64 B", "0.1"))
    spec = Tiles((Drawn("pack", numbered_look(0), rows),), ("1", "16"), ("64 B", "1 KiB"), "pieces", "bytes")
    chart = draw(spec)
    tiles, words = chart["layer"]
    assert tiles["encoding"]["x"]["sort"] == ["1", "16"]
    assert tiles["encoding"]["y"]["sort"] == ["64 B", "1 KiB"]
    assert words["encoding"]["text"]["field"] == "text"
    assert chart["datasets"]["tiles"] == list(rows)
    assert rows[0]["rate"] == "2.50 GB/s"


KIND = numbered_look(0)
CURVE = curve("pinned", {1: 1.0, KIB: 2.0}, failed=(row("pinned", 2.0, Interval(3.0, 2.0, 4.0)),))
CHARTS: dict[str, Spec | Timeline | Tiles] = {
    "curves": curves_chart([CURVE], SIZES, Axis("time", labels="seconds"), rules=[(5.0, "r")]),
    "linear": curves_chart([CURVE], Axis("x", scale="linear"), Axis("GB/s", scale="linear")),
    "points": points_chart([CURVE], SIZES, Axis("GB/s", scale="linear")),
    "given": points_chart([CURVE], SIZES, Axis("time", (0.5, 9.0), labels="seconds")),
    "timeline": Timeline((Drawn("in", KIND, (bar("in", 0.0, 1.0, chunk="1"),)),), Axis("time", labels="seconds")),
    "tiles": Tiles((Drawn("pack", KIND, (tile("pack", "1", "64 B", "2"),)),), ("1",), ("64 B",), "pieces", "bytes"),
}


@pytest.mark.parametrize("kind", CHARTS)
def test_charts_are_what_the_schema_of_vega_lite_allows(kind: str) -> None:
    # Raises where it is not: altair, which nothing else here uses, checks against the schema that it was made from.
    alt.Chart.from_dict(draw(CHARTS[kind]))


@pytest.mark.parametrize("kind", CHARTS)
def test_every_layer_draws_data_that_is_there_by_fields_that_it_has(kind: str) -> None:
    drawn = draw(CHARTS[kind])
    for each in drawn.get("layer", [drawn]):
        rows = drawn["datasets"][(each.get("data") or drawn["data"])["name"]]
        assert rows
        fields = {channel["field"] for channel in each["encoding"].values() if "field" in channel}
        assert fields <= rows[0].keys()
