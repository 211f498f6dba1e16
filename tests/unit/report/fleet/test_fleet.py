"""The map of a fleet is of bounded size, shows what was planted where it is, and folds the rest."""

from pathlib import Path

import pytest

from isthmus.fleet import survey
from isthmus.report.fleet import map as fleet_map
from tests.synthetic.fleet import by_link, fleet, member, save, save_hosts

MISSING = -128


def test_hosts_with_slow_devices_come_first(tmp_path: Path) -> None:
    slow = {(7, 3): by_link(2.0)}
    drawn = fleet_map.fleet_map(survey([save_hosts(tmp_path / "fleet", 12, slow)]))
    assert drawn.lines[:3] == ["n7", "n0", "n1"]
    assert len(drawn.columns) == 8
    certain, *views = drawn.views
    assert certain.alone[0][3] == pytest.approx(50, abs=3)
    assert sum(value > 0 for line in certain.alone + certain.together for value in line) == 2
    assert [view.name for view in views] == ["pinned, H2D", "pinned, D2H", "pageable, H2D", "pageable, D2H"]
    assert views[0].together[0][3] == pytest.approx(50, abs=3)
    assert max(value for line in views[2].alone for value in line) < 10


def test_what_was_not_measured_is_missing(tmp_path: Path) -> None:
    folder = save_hosts(tmp_path / "fleet", 4)
    save(fleet([member("n9", 0)]), folder / "n9.json")
    drawn = fleet_map.fleet_map(survey([folder]))
    line = drawn.views[0].alone[drawn.lines.index("n9")]
    assert line == [0] + 7 * [MISSING]


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
