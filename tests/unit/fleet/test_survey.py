"""What a survey says about fleets with planted faults, and about files as they come from clusters."""

import gzip
from pathlib import Path

import msgspec
import pytest

from isthmus.errors import RunFileError, UsageError
from isthmus.fleet import Outlier, Survey, chosen_reference, survey
from isthmus.record import Link, Missing, read_run
from isthmus.report.fleet.words import about_files, beside_reference, evidence
from tests.synthetic import fleet as synthetic_fleet
from tests.synthetic import runs as synthetic


def named(found: Survey) -> dict[tuple[str, str], Outlier]:
    devices = found.gathered.devices
    return {(devices[each.device].host, devices[each.device].spec): each for each in found.outliers}


def test_a_slow_link_is_named_with_its_cause(tmp_path: Path) -> None:
    of = synthetic_fleet.fingerprint("n3", 2, link=Link(generation=5, width=8))
    slow = {(3, 2): synthetic_fleet.member("n3", 2, synthetic_fleet.by_link(2.0), of=of)}
    found = survey([synthetic_fleet.save_hosts(tmp_path / "fleet", 10, slow)])
    ((place, outlier),) = named(found).items()
    assert place == ("n3", "cuda:2")
    assert outlier.lost == pytest.approx(0.5, abs=0.03)
    assert outlier.severity == "severe"
    assert outlier.phases == ("alone", "together")
    assert outlier.directions == ("h2d", "d2h")
    assert {(each.kind.host_memory, each.kind.size) for each in outlier.slow} == {("pinned", "large")}
    assert outlier.cause == "link"
    assert outlier.causes[0].difference.new == "PCIe 5.0 x8"
    assert "0000:30:00.0" in outlier.command
    assert found.suspects == ["n3"]


def test_a_device_bound_to_the_farther_node(tmp_path: Path) -> None:
    slow = {(0, 5): synthetic_fleet.member("n0", 5, synthetic_fleet.everything(1.3), bound_node=0)}
    (outlier,) = survey([synthetic_fleet.save_hosts(tmp_path / "fleet", 5, slow)]).outliers
    assert outlier.cause == "placement"
    fact = outlier.causes[0].difference
    assert (fact.base, fact.new) == ("1", "0")
    assert "--cpunodebind=1" in outlier.command


def test_devices_that_share_a_switch(tmp_path: Path) -> None:
    slow = {(2, index): synthetic_fleet.together_only(1.6) for index in (4, 5, 6, 7)}
    found = survey([synthetic_fleet.save_hosts(tmp_path / "fleet", 6, slow)])
    assert sorted(named(found)) == [("n2", f"cuda:{index}") for index in (4, 5, 6, 7)]
    for outlier in found.outliers:
        assert outlier.phases == ("together",)
        assert outlier.cause == "neighbours"
        assert len(outlier.neighbours) == 3
        assert outlier.device not in outlier.neighbours


def test_ranks_that_share_a_device_are_no_shared_switch(tmp_path: Path) -> None:
    """One host of six had a rank more than it has devices."""
    folder = synthetic_fleet.save_hosts(tmp_path / "fleet", 5)
    slower = synthetic_fleet.together_only(2.0)
    members = [synthetic_fleet.member("n9", index, slower if index == 0 else None) for index in (0, 1, 2, 0)]
    members = [msgspec.structs.replace(each, rank=rank) for rank, each in enumerate(members)]
    synthetic_fleet.save(synthetic_fleet.fleet(members), folder / "n9.json")
    found = survey([folder])
    # One device that is slow, however many ranks had a part of it.
    assert [(each.cause, each.neighbours) for each in found.outliers] == [("sharing", ())]
    assert evidence(found, found.outliers[0]) == "Shared device"
    assert not found.passes
    assert found.suspects == [], "nothing is wrong with the host"


def test_a_driver_that_many_have_explains_nothing(tmp_path: Path) -> None:
    """The slow device has an odd driver like a third of the right ones, and too few CPUs, which nobody else has."""
    folder = tmp_path / "fleet"
    folder.mkdir()
    members = []
    for index in range(30):
        of = synthetic_fleet.fingerprint(f"n{index}", 0)
        if index % 3 == 0:
            of = msgspec.structs.replace(of, device=msgspec.structs.replace(of.device, driver_version="570"))
        slower = None
        if index == 0:
            cpu = msgspec.structs.replace(of.host.cpu, allowed=1)
            of = msgspec.structs.replace(of, host=msgspec.structs.replace(of.host, cpu=cpu))
            slower = lambda point: 2.0 if point.host_memory == "pageable" or point.bytes < 1 << 16 else 1.0  # noqa: E731
        members.append(synthetic_fleet.member(f"n{index}", 0, slower, of=of))
    (outlier,) = survey([synthetic_fleet.save(synthetic_fleet.fleet(members), folder / "all.json")]).outliers
    assert [cause.difference.topic for cause in outlier.causes] == ["cpus", "driver"]


def test_a_limit_that_the_others_do_not_have(tmp_path: Path) -> None:
    """No limit is an empty value, and a fact all the same."""
    of = synthetic_fleet.fingerprint("n0", 0)
    limits = msgspec.structs.replace(of.host.limits, container_cpus=1.0)
    of = msgspec.structs.replace(of, host=msgspec.structs.replace(of.host, limits=limits))
    slower = lambda point: 2.0 if point.host_memory == "pageable" else 1.0  # noqa: E731
    slow = {(0, 0): synthetic_fleet.member("n0", 0, slower, of=of)}
    (outlier,) = survey([synthetic_fleet.save_hosts(tmp_path / "fleet", 5, slow)]).outliers
    assert outlier.cause == "container_cpus"
    assert outlier.causes[0].difference.base == ""


def test_times_that_are_none_are_left_out(tmp_path: Path) -> None:
    member = synthetic_fleet.member("n0", 0)
    strange = [msgspec.structs.replace(each, median=1e300) for each in member.summaries[:12]]
    strange += [msgspec.structs.replace(each, median=0.0) for each in member.summaries[12:24]]
    slow = {(0, 0): msgspec.structs.replace(member, summaries=strange + member.summaries[24:])}
    found = survey([synthetic_fleet.save_hosts(tmp_path / "fleet", 3, slow)])
    assert found.outliers == []
    assert len(found.lacking) == 1


@pytest.mark.parametrize("seed", range(5))
def test_nobody_is_named_in_a_right_fleet(tmp_path: Path, seed: int) -> None:
    assert survey([synthetic_fleet.save_hosts(tmp_path / "fleet", 6, seed=seed)]).outliers == []


def test_less_than_the_margin_is_no_matter(tmp_path: Path) -> None:
    folder = synthetic_fleet.save_hosts(tmp_path / "fleet", 20, {(0, 0): synthetic_fleet.everything(1.15)})
    assert len(survey([folder]).outliers) == 1
    assert survey([folder], margin=0.25).outliers == []


def test_two_kinds_of_devices_are_held_apart(tmp_path: Path) -> None:
    folder = synthetic_fleet.save_hosts(tmp_path / "fleet", 4)
    members = []
    for index in range(8):
        of = synthetic_fleet.fingerprint("old", index)
        of = msgspec.structs.replace(of, device=msgspec.structs.replace(of.device, name="NVIDIA A100"))
        members.append(synthetic_fleet.member("old", index, synthetic_fleet.everything(2.0), of=of))
    synthetic_fleet.save(synthetic_fleet.fleet(members), folder / "old.json")
    found = survey([folder])
    assert [(each.group.device, len(each.group.members)) for each in found.groups] == [
        ("NVIDIA H200", 32),
        ("NVIDIA A100", 8),
    ]
    assert found.outliers == []


def test_a_link_that_many_have_is_a_kind_of_machine(tmp_path: Path) -> None:
    slow = {
        (host, index): synthetic_fleet.member(
            f"n{host}",
            index,
            synthetic_fleet.by_link(2.0),
            of=synthetic_fleet.fingerprint(f"n{host}", index, link=Link(generation=4, width=16)),
        )
        for host in range(3)
        for index in range(8)
    }
    found = survey([synthetic_fleet.save_hosts(tmp_path / "fleet", 8, slow)])
    assert sorted(each.group.link for each in found.groups) == ["PCIe 4.0 x16", "PCIe 5.0 x16"]
    assert found.outliers == []


def test_the_newest_of_a_device_counts(tmp_path: Path) -> None:
    folder = synthetic_fleet.save_hosts(tmp_path / "fleet", 5)
    again = [synthetic_fleet.member("n1", 0, synthetic_fleet.everything(3.0))]
    synthetic_fleet.save(synthetic_fleet.fleet(again, created="2025-01-01T00:00:00Z"), folder / "a-old.json")
    found = survey([folder])
    assert found.outliers == []
    assert [(each.host, each.created[:4]) for each in found.gathered.duplicates] == [("n1", "2025")]
    synthetic_fleet.save(synthetic_fleet.fleet(again, created="2027-01-01T00:00:00Z"), folder / "b-new.json")
    found = survey([folder])
    assert list(named(found)) == [("n1", "cuda:0")]
    assert len(found.gathered.devices) == 40


def test_ranks_that_see_one_device_each_are_told_apart(tmp_path: Path) -> None:
    members = []
    for index in range(8):
        of = synthetic_fleet.fingerprint("n1", index)
        of = msgspec.structs.replace(of, device=msgspec.structs.replace(of.device, index=0))
        members.append(synthetic_fleet.member("n1", index, of=of))
    found = survey([synthetic_fleet.save(synthetic_fleet.fleet(members), tmp_path / "n1.json")])
    assert len(found.gathered.devices) == 8
    assert found.gathered.duplicates == []


def test_half_a_fleet(tmp_path: Path) -> None:
    folder = synthetic_fleet.save_hosts(tmp_path / "fleet", 4)
    cut = synthetic_fleet.member("n9", 0)
    cut = msgspec.structs.replace(cut, summaries=cut.summaries[:5])
    made = synthetic_fleet.fleet([cut], missing=[Missing(rank=7, host="n9", why="killed")])
    synthetic_fleet.save(made, folder / "n9.json")
    found = survey([folder])
    assert [(each.rank, each.why) for each in found.gathered.missing] == [(7, "killed")]
    assert found.short_hosts == {"n9": 1}
    assert [found.gathered.devices[place].host for place in found.lacking] == ["n9"]
    assert found.outliers == []


def test_what_launches_noticed_is_told_once(tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    folder.mkdir()
    shared = "ranks 0, 1 share a device"
    for host, notes in {"n1": [shared], "n2": [shared, "two versions"]}.items():
        made = synthetic_fleet.fleet([synthetic_fleet.member(host, 0)], notes=notes)
        synthetic_fleet.save(made, folder / f"{host}.json")
    found = survey([folder])
    assert sorted(found.gathered.notes) == [shared, "two versions"]
    assert set(found.gathered.notes) <= set(about_files(found))


def test_wrong_data_is_no_time_and_makes_a_suspect(tmp_path: Path) -> None:
    member = synthetic_fleet.member("n0", 0)
    summaries = [msgspec.structs.replace(member.summaries[0], median=1e-12, verified="no"), *member.summaries[1:]]
    slow = {(0, 0): msgspec.structs.replace(member, summaries=summaries)}
    found = survey([synthetic_fleet.save_hosts(tmp_path / "fleet", 3, slow)])
    assert [found.gathered.devices[place].spec for place in found.wrong] == ["cuda:0"]
    assert found.suspects == ["n0"]


def test_run_files_are_devices_that_were_measured_alone(tmp_path: Path) -> None:
    for index in range(6):
        truth = synthetic.Truth(8e-6, 25e9 if index == 4 else 50e9)
        cases = synthetic.cases({("copy", way, "pinned"): truth for way in ("h2d", "d2h")}, seed=index)
        run = synthetic.run(cases, name=f"run{index}")
        fingerprint = synthetic_fleet.fingerprint(f"host{index}", 0)
        data = msgspec.json.encode(msgspec.structs.replace(run, fingerprint=fingerprint))
        (tmp_path / f"{index}.json.gz").write_bytes(gzip.compress(data))
    found = survey([tmp_path])
    assert list(named(found)) == [("host4", "cuda:0")]
    assert found.outliers[0].phases == ("alone",)


def test_run_files_of_ranks_do_not_count_twice(tmp_path: Path) -> None:
    folder = synthetic_fleet.save_hosts(tmp_path / "fleet", 1)
    member = msgspec.structs.replace(synthetic_fleet.member("n5", 0), run_file="ranks/rank-0.json")
    synthetic_fleet.save(synthetic_fleet.fleet([member]), folder / "n5.json")
    run = synthetic.run(synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}))
    (folder / "ranks").mkdir()
    (folder / "ranks" / "rank-0.json").write_bytes(msgspec.json.encode(run))
    found = survey([folder])
    assert found.gathered.of_ranks == 1
    assert len(found.gathered.devices) == 9


def test_other_files_are_passed_over_and_counted(tmp_path: Path) -> None:
    folder = synthetic_fleet.save_hosts(tmp_path / "fleet", 2)
    (folder / "log.txt").write_text("hello")
    (folder / "deep").mkdir()
    (folder / "deep" / "other.json").write_text('{"format": "something"}')
    (folder / "deep" / "cut.json.gz").write_bytes(gzip.compress((folder / "n0.json").read_bytes())[:500])
    (folder / "dangling.json").symlink_to("nowhere")
    (folder / "loop").symlink_to(folder)
    found = survey([folder])
    assert dict(found.gathered.skipped) == {".txt": 1, "unreadable": 2}
    assert len(found.gathered.unreadable) == 2
    assert len(found.gathered.devices) == 16


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "neither a fleet file nor a run file"),
        (b"[]", "neither a fleet file nor a run file"),
        (b'{"format": "isthmus.fleet", "schema_version": 99}', "newer Isthmus"),
        (b'{"format": "isthmus.fleet", "schema_version": 1}', "missing required field"),
        (b'{"format": "other.advice"}', "expected 'isthmus.fleet' or 'isthmus.run'"),
        (b'{"format": "isthmus.run", "schema_version": 1}', "not as a file of schema version 1 is"),
        (
            b'{"format": "isthmus.fleet", "schema_version": 1, "fleet": "", "created": "", "points": 3, "members": []}',
            "points are not as the schema says",
        ),
        (
            b'{"format": "isthmus.fleet", "schema_version": 1, "created": "", "points": [],'
            b' "members": [{"fingerprint": {}, "summaries": []}]}',
            "fingerprint",
        ),
    ],
)
def test_a_file_that_is_named_must_be_readable(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(RunFileError, match=says):
        survey([path])


def test_more_summaries_than_points_is_damage(tmp_path: Path) -> None:
    made = synthetic_fleet.fleet([synthetic_fleet.member("n0", 0)])
    path = synthetic_fleet.save(msgspec.structs.replace(made, points=made.points[:3]), tmp_path / "n0.json")
    with pytest.raises(RunFileError, match="for 3 points"):
        survey([path])


def test_a_fleet_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no fleet files and no run files"):
        survey([tmp_path])
    with pytest.raises(UsageError, match="no devices"):
        survey([synthetic_fleet.save(synthetic_fleet.fleet([]), tmp_path / "none.json")])


def test_a_reference_shows_what_is_wrong_with_all(tmp_path: Path) -> None:
    rates = {("copy", way, memory): rate for way in ("h2d", "d2h") for memory, rate in synthetic_fleet.RATES.items()}

    def saved(factor: float) -> Path:
        cases = synthetic.cases({key: synthetic.Truth(5e-6, rate * factor) for key, rate in rates.items()})
        path = tmp_path / f"{factor}.json"
        run = synthetic.run(cases)
        path.write_bytes(
            msgspec.json.encode(msgspec.structs.replace(run, fingerprint=synthetic_fleet.fingerprint("n0", 0)))
        )
        assert read_run(path).cases
        return path

    folder = synthetic_fleet.save_hosts(tmp_path / "fleet", 3)
    assert not survey([folder], reference=chosen_reference(str(saved(1.0)))).below_reference
    # Faster than the reference is nothing to say "not within the range" of.
    slow = survey([folder], reference=chosen_reference(str(saved(0.5))))
    assert any(
        "none of " in text and " faster." in text and " 0 faster" not in text for text, _ in beside_reference(slow)
    )
    found = survey([folder], reference=chosen_reference(str(saved(1.5))))
    assert found.below_reference
    assert found.outliers == []
    assert not any("was measured on" in text for text, _ in beside_reference(found))


def test_a_reference_of_another_device_is_said_to_be_one(tmp_path: Path) -> None:
    members = []
    for index in range(3):
        of = synthetic_fleet.fingerprint("n0", index)
        of = msgspec.structs.replace(of, device=msgspec.structs.replace(of.device, name="NVIDIA B300"))
        members.append(synthetic_fleet.member("n0", index, of=of))
    path = synthetic_fleet.save(synthetic_fleet.fleet(members), tmp_path / "n0.json")
    said = beside_reference(survey([path], reference=chosen_reference("reference:h200-pcie5")))
    assert said[0] == ("h200-pcie5 was measured on NVIDIA H200, not on NVIDIA B300.", True)
