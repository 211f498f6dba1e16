"""A figure on its own says what it shows and where and when that was measured."""

from isthmus.report.figures import figure_picture
from tests.synthetic import runs as synthetic


def test_a_figure_names_device_link_host_and_date() -> None:
    run = synthetic.h200()
    picture = figure_picture([run], "bandwidth-rate-h2d", "svg").decode()
    for text in (run.fingerprint.device.name, "PCIe 5.0 x16", run.fingerprint.host.name, run.created):
        assert text in picture
