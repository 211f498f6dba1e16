"""What devices lose to the others of their host: planted losses are found, and nothing where nobody shares anything."""

from pathlib import Path

import msgspec
import pytest

from isthmus.fleet import Survey, survey
from isthmus.record import Point
from isthmus.report.fleet.words import contention, percent
from tests.synthetic import fleet as synthetic_fleet

MARGIN = 0.05


def all_slower(tmp_path: Path, memory: str, factor: float, devices: int = 2) -> Survey:
    """Hosts of which every device takes so many times as long together with the others."""

    def slower(point: Point) -> float:
        return factor if point.phase == "together" and point.host_memory == memory else 1.0

    slow = {(host, index): slower for host in range(3) for index in range(devices)}
    return survey([synthetic_fleet.save_hosts(tmp_path / "fleet", 3, slow, devices=devices)])


def test_what_all_hosts_share_is_no_outlier_and_still_shows(tmp_path: Path) -> None:
    found = all_slower(tmp_path, "pinned", 1.5)
    assert found.outliers == []
    (group,) = found.groups
    assert {(each.kind.host_memory, each.kind.direction) for each in group.contentions[:2]} == {
        ("pinned", "h2d"),
        ("pinned", "d2h"),
    }
    assert [each.lost for each in group.contentions] == pytest.approx([1 / 3, 1 / 3, 0, 0], abs=0.03)
    assert [each.by_link for each in group.contentions] == [True, True, False, False]
    text, most = contention(group, MARGIN), percent(group.contentions[0].lost)
    assert f"2 of 4 kinds of large transfers lose more than 5.0 %; the most is {most}." in text
    assert "share a switch, a root port" in text


def test_what_cpus_copy_shows_that_links_are_not_shared(tmp_path: Path) -> None:
    (group,) = all_slower(tmp_path, "pageable", 1.25).groups
    assert group.contentions[0].lost == pytest.approx(0.2, abs=0.03)
    text = contention(group, MARGIN)
    assert f"the most is {percent(group.contentions[0].lost)}." in text
    assert "the links keep their rates" in text


def test_a_device_without_neighbours_shares_nothing(tmp_path: Path) -> None:
    (group,) = all_slower(tmp_path, "pinned", 1.5, devices=1).groups
    assert group.contentions == []
    assert contention(group, MARGIN) == ""


def test_ranks_that_share_a_device_say_nothing_of_neighbours(tmp_path: Path) -> None:
    """Two ranks are on the first device, one is on the second, which alone has a device for itself."""
    slower = synthetic_fleet.together_only(2.0)
    members = [synthetic_fleet.member("n0", index, slower if index == 0 else None) for index in (0, 1, 0)]
    members = [msgspec.structs.replace(each, rank=rank) for rank, each in enumerate(members)]
    found = survey([synthetic_fleet.save(synthetic_fleet.fleet(members), tmp_path / "shared.json")])
    assert [each.lost for each in found.groups[0].contentions] == pytest.approx([0, 0, 0, 0], abs=0.03)


def test_what_was_measured_alone_only_says_nothing(tmp_path: Path) -> None:
    alone = len(synthetic_fleet.POINTS) // 2
    members = [synthetic_fleet.member("n0", index) for index in (0, 1)]
    members = [msgspec.structs.replace(each, summaries=each.summaries[:alone]) for each in members]
    found = survey([synthetic_fleet.save(synthetic_fleet.fleet(members), tmp_path / "alone.json")])
    assert found.groups[0].contentions == []


def test_nothing_is_said_of_kinds_that_nobody_measured(tmp_path: Path) -> None:
    """Pageable copies alone do not show that links are not shared."""
    slower = lambda point: 1.5 if point.phase == "together" else 1.0  # noqa: E731
    members = [synthetic_fleet.member("n0", index, slower) for index in (0, 1)]
    made = synthetic_fleet.fleet(members)
    kept = [place for place, point in enumerate(made.points) if point.host_memory == "pageable"]
    members = [msgspec.structs.replace(each, summaries=[each.summaries[place] for place in kept]) for each in members]
    made = msgspec.structs.replace(made, points=[made.points[place] for place in kept], members=members)
    text = contention(survey([synthetic_fleet.save(made, tmp_path / "pageable.json")]).groups[0], MARGIN)
    assert text.endswith(" %.")
    assert "2 of 2 kinds" in text


def test_what_goes_both_ways_at_once_counts_as_a_whole(tmp_path: Path) -> None:
    """Its two directions, each timed within it, would count the same loss again; and no device is at work by them."""
    slower = synthetic_fleet.together_only(2.0)
    made = synthetic_fleet.fleet([synthetic_fleet.member("n0", index, slower) for index in (0, 1)])
    whole: dict[str | None, dict[str, str]] = {"h2d": {"direction": "both"}, "d2h": {"method": "duplex"}}
    points = [msgspec.structs.replace(point, **whole[point.direction]) for point in made.points]
    (group,) = survey(
        [synthetic_fleet.save(msgspec.structs.replace(made, points=points), tmp_path / "both.json")]
    ).groups
    assert {(each.kind.method, each.kind.direction) for each in group.contentions} == {("copy", "both")}
    points = [msgspec.structs.replace(point, method="duplex") for point in made.points]
    (group,) = survey(
        [synthetic_fleet.save(msgspec.structs.replace(made, points=points), tmp_path / "ways.json")]
    ).groups
    assert group.contentions == []


def test_other_experiments_say_nothing_of_links(tmp_path: Path) -> None:
    """As allocation, which is large and pinned, and never crosses the link."""
    slower = synthetic_fleet.together_only(3.0)
    made = synthetic_fleet.fleet([synthetic_fleet.member("n0", index, slower) for index in (0, 1)])
    points = [msgspec.structs.replace(point, experiment="allocation") for point in made.points]
    made = msgspec.structs.replace(made, points=points)
    found = survey([synthetic_fleet.save(made, tmp_path / "allocation.json")])
    assert found.groups[0].contentions == []


@pytest.mark.parametrize("gone", ["a phase", "a launch"])
def test_a_neighbour_that_did_not_work_at_the_same_time_is_none(tmp_path: Path, gone: str) -> None:
    members = [synthetic_fleet.member("n0", index) for index in (0, 1)]
    alone = len(synthetic_fleet.POINTS) // 2
    if gone == "a phase":
        members[1] = msgspec.structs.replace(members[1], summaries=members[1].summaries[:alone])
        synthetic_fleet.save(synthetic_fleet.fleet(members), tmp_path / "n0.json")
    else:
        for number, member in enumerate(members):
            made = msgspec.structs.replace(synthetic_fleet.fleet([member]), fleet=f"launch {number}")
            synthetic_fleet.save(made, tmp_path / f"n0-{number}.json")
    assert survey([tmp_path]).groups[0].contentions == []
