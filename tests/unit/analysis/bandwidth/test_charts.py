"""The charts of bandwidth, from figures whose truth is known."""

from isthmus.analysis.bandwidth.charts import time_charts
from isthmus.document.chart import Spec
from tests.synthetic import runs as synthetic


def test_times_from_microseconds_to_milliseconds_are_written_as_times() -> None:
    run = synthetic.run(synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(7e-6, 50e9)}))
    (chart,) = time_charts([run])
    assert isinstance(chart.spec, Spec)
    assert chart.spec.y.labels == "seconds"
    (curve,) = chart.spec.curves
    assert 5e-6 < curve.rows[0]["y"] < 9e-6
    assert 15e-3 < curve.rows[-1]["y"] < 30e-3
