"""A figure on its own says what it shows and where and when that was measured."""

import sys

import pytest

from isthmus.errors import UsageError
from isthmus.report.figures import figure_picture
from tests.synthetic import runs as synthetic


def test_a_figure_names_device_link_host_and_date() -> None:
    run = synthetic.h200()
    picture = figure_picture([run], "bandwidth-rate-h2d", "svg").decode()
    for text in (run.fingerprint.device.name, "PCIe 5.0 x16", run.fingerprint.host.name, run.created):
        assert text in picture


def test_what_draws_figures_is_asked_for_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(UsageError, match=r"vl-convert-python.*pip install '?vl-convert-python"):
        figure_picture([], "bandwidth-rate-h2d", "svg")
