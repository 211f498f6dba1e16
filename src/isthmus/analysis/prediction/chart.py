"""Predicted over measured time of every size that was held out, as points."""

from collections.abc import Sequence

from isthmus.analysis.labels import direction_title, kind_label, run_title
from isthmus.analysis.prediction.check import CurveCheck
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.document.chart import Axis, Drawn, Row, points_chart
from isthmus.document.palette import look
from isthmus.document.section import Chart, LegendEntry, Part
from isthmus.language import say
from isthmus.record import Run, format_bytes, format_seconds, kind_rank

__all__ = ["chart_part"]


def chart_part(runs: Sequence[Run], checks: Sequence[Sequence[CurveCheck]]) -> Part:
    """A chart for each run and direction, those of several runs side by side."""
    charts = []
    for way in ONE_WAY:
        for index, each in enumerate(checks):
            clouds = [_cloud(check) for check in each if check.curve.direction == way and check.held_out]
            if clouds:
                title = direction_title(way) if len(runs) == 1 else f"{direction_title(way)}: {run_title(runs, index)}"
                label = say("prediction_report.chart_label", way=direction_title(way))
                x = Axis(say("prediction_report.chart_size"), labels="bytes")
                y = Axis(say("prediction_report.chart_ratio"), scale="linear")
                charts.append(Chart(title, label, points_chart(clouds, x, y)))
    kinds = sorted({check.curve.host_memory for each in checks for check in each}, key=kind_rank)
    return Part(
        say("prediction_report.chart_part"),
        say("prediction_report.chart_note"),
        charts=tuple(charts),
        legend=tuple(LegendEntry(kind_label(kind), look(kind)) for kind in kinds),
    )


def _cloud(check: CurveCheck) -> Drawn:
    name = kind_label(check.curve.host_memory)
    rows: list[Row] = [
        {
            "kind": name,
            "x": size.bytes,
            "y": round(size.predicted.median / size.seconds.median, 4),
            say("prediction_report.chart_size"): format_bytes(size.bytes),
            say("prediction_report.told_predicted"): format_seconds(size.predicted.median),
            say("prediction_report.told_measured"): format_seconds(size.seconds.median),
        }
        for size in check.held_out
    ]
    return Drawn(name, look(check.curve.host_memory), tuple(rows))
