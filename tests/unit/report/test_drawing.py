"""Charts as Vega-Lite: what its schema allows, and fields that their data have; looks are in snapshots of pages."""

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
