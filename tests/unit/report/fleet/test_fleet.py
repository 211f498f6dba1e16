"""The map of a fleet is of bounded size, and folds what does not fit; the rest of it is in snapshots of pages."""

from pathlib import Path

import pytest

from isthmus.fleet import survey
from isthmus.report.fleet import map as fleet_map
from tests.synthetic.fleet import by_link, save_hosts


def test_many_hosts_share_lines_that_show_the_worst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_map, "_MOST_LINES", 6)
    monkeypatch.setattr(fleet_map, "_MOST_ALONE", 2)
    slow = {(host, 0): by_link(2.0 + host / 10) for host in (3, 11, 19)}
    found = survey([save_hosts(tmp_path / "fleet", 20, slow)])
    drawn = fleet_map.fleet_map(found)
    assert drawn.lines[:2] == ["n19", "n11"]
    assert drawn.lines[2] == "n3 to n4 (5 hosts)"
    assert len(drawn.lines) <= 6
    assert all(len(view.alone) == len(drawn.lines) for view in drawn.views)
    assert drawn.views[0].alone[2][0] > 50
    assert drawn.views[0].alone[3] == [0] * 8


def test_a_host_with_very_many_devices_keeps_to_the_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers may all have one name."""
    monkeypatch.setattr(fleet_map, "_MOST_COLUMNS", 4)
    slow = {(0, 7): by_link(2.0)}
    drawn = fleet_map.fleet_map(survey([save_hosts(tmp_path / "fleet", 4, slow)]))
    assert len(drawn.columns) == 4
    assert drawn.views[0].alone[0][3] > 40
