"""A figure on its own says what it shows and where and when that was measured."""

from types import ModuleType

from isthmus.report import figure_picture


def test_a_figure_names_device_link_host_and_date(synthetic: ModuleType) -> None:
    run = synthetic.h200()
    picture = figure_picture([run], "bandwidth-rate-h2d", "svg").decode()
    for text in (run.fingerprint.device.name, "PCIe 5.0 x16", run.fingerprint.host.name, run.created):
        assert text in picture
