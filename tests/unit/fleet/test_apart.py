"""What belongs apart: machines of one name, parts of a launch, devices that were not measured as others were."""

from pathlib import Path

import msgspec
import pytest

from isthmus.commands import main
from isthmus.fleet import survey
from isthmus.fleet.survey import fleet_rows
from isthmus.record import Launch, Missing, Run, Summary
from isthmus.report.fleet import map as fleet_map
from isthmus.report.fleet.words import about_files
from tests.synthetic import fleet as synthetic_fleet
from tests.synthetic import runs as synthetic

MISSING = -128


def test_machines_of_one_name_share_no_switch(tmp_path: Path) -> None:
    """Each of the two has one device that is slow only together with others."""
    members = [synthetic_fleet.member(f"n{host}", index) for host in range(6) for index in range(4)]
    for node in (100, 200):
        of = synthetic_fleet.fingerprint("twin", 0)
        of = msgspec.structs.replace(of, device=msgspec.structs.replace(of.device, uuid=f"GPU-{node}"))
        made = synthetic_fleet.member("twin", 0, synthetic_fleet.together_only(1.6), of=of)
        members.append(msgspec.structs.replace(made, node=node, rank=node))
    found = survey([synthetic_fleet.save(synthetic_fleet.fleet(members), tmp_path / "all.json")])
    assert [outlier.neighbours for outlier in found.outliers] == [(), ()]
    assert {"twin", "twin #2"} < set(found.hosts)
    assert found.suspects == ["twin"]
    assert any("machines: twin (" in text for text in about_files(found))


def test_two_cards_at_one_address_are_of_two_machines(tmp_path: Path) -> None:
    """Which files without a launch tell no better."""
    for uuid in ("GPU-a", "GPU-b"):
        of = synthetic_fleet.fingerprint("localhost", 0)
        of = msgspec.structs.replace(of, device=msgspec.structs.replace(of.device, uuid=uuid))
        made = synthetic_fleet.fleet([synthetic_fleet.member("localhost", 0, of=of)], created="2026-01-01")
        synthetic_fleet.save(msgspec.structs.replace(made, fleet=uuid), tmp_path / f"{uuid}.json")
    found = survey([tmp_path])
    assert list(found.hosts) == ["localhost", "localhost #2"]
    assert any("GPU-a.json" in text and "GPU-b.json" in text for text in about_files(found))


def test_a_launch_whose_files_are_not_all_here(tmp_path: Path) -> None:
    run: Run = synthetic.run(synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}))
    for rank in range(3):
        launch = Launch(fleet="L", phase="alone", rank=rank, ranks=4, local_rank=rank, node=0)
        (tmp_path / f"rank{rank}.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(run, launch=launch)))
    found = survey([tmp_path])
    assert found.gathered.partial == {"L": (3, 4)}
    assert not found.passes
    (tmp_path / "rank0.json").rename(tmp_path / "rank0.txt")
    assert survey([tmp_path]).gathered.partial == {"L": (2, 4)}


def test_run_files_have_the_same_rows_as_a_fleet_file(tmp_path: Path) -> None:
    """Whatever parameters tell cases apart, and with those that were skipped."""
    run: Run = synthetic.run(synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}))
    more = [msgspec.structs.replace(run.cases[0], pieces=pieces) for pieces in (4, 64)]
    skipped = msgspec.structs.replace(run.cases[0], pieces=128, series=[], skipped=True, note="too many")
    run = msgspec.structs.replace(run, cases=[*run.cases, *more, skipped])
    (tmp_path / "run.json").write_bytes(msgspec.json.encode(run))
    rows = list(fleet_rows(survey([tmp_path])))
    assert len(rows) == len(run.cases)
    assert [row["parameters"] for row in rows[-3:]] == ["pieces=4", "pieces=64", "pieces=128"]
    assert rows[-1]["median"] is None


def test_hosts_that_could_not_measure_are_suspects(tmp_path: Path) -> None:
    """One rank has died, and one device cannot pin memory."""
    made = synthetic_fleet.member("n2", 1)
    summaries = [
        Summary(0, note="cannot be locked") if point.host_memory == "pinned" else summary
        for point, summary in zip(synthetic_fleet.POINTS, made.summaries, strict=True)
    ]
    limits = msgspec.structs.replace(made.fingerprint.host.limits, locked_memory_bytes=1 << 16)
    host = msgspec.structs.replace(made.fingerprint.host, limits=limits)
    of = msgspec.structs.replace(made.fingerprint, host=host)
    folder = synthetic_fleet.save_hosts(
        tmp_path / "fleet", 4, {(2, 1): msgspec.structs.replace(made, summaries=summaries, fingerprint=of)}
    )
    dead = synthetic_fleet.fleet([], missing=[Missing(rank=9, host="n9", why="killed by SIGKILL")])
    synthetic_fleet.save(dead, folder / "dead.json")
    found = survey([folder])
    assert found.outliers == []
    assert found.suspects == ["n9", "n2"]
    assert any("n2 cuda:1" in text and "64 KiB" in text for text in about_files(found))
    assert main(["fleet", str(folder), "--fail-if", "outliers"]) == 1


def test_devices_that_all_call_themselves_0_stand_by_their_address(tmp_path: Path) -> None:
    members = []
    for host in range(5):
        for index in range(4):
            if (host, index) == (4, 1):
                continue
            made = synthetic_fleet.member(f"n{host}", index)
            device = msgspec.structs.replace(made.fingerprint.device, index=0)
            members.append(
                msgspec.structs.replace(made, fingerprint=msgspec.structs.replace(made.fingerprint, device=device))
            )
    drawn = fleet_map.fleet_map(survey([synthetic_fleet.save(synthetic_fleet.fleet(members), tmp_path / "f.json")]))
    assert drawn.views[0].alone[drawn.lines.index("n4")] == [0, MISSING, 0, 0]


def test_nothing_is_certain_of_what_was_not_measured(tmp_path: Path) -> None:
    alone = [place for place, point in enumerate(synthetic_fleet.POINTS) if point.phase == "alone"]
    members = [
        synthetic_fleet.member(f"n{host}", 0, synthetic_fleet.by_link(2.0) if host == 3 else None) for host in range(6)
    ]
    cut = [msgspec.structs.replace(each, summaries=[each.summaries[place] for place in alone]) for each in members[3:4]]
    members = [*members[:3], *cut, *members[4:]]
    drawn = fleet_map.fleet_map(survey([synthetic_fleet.save(synthetic_fleet.fleet(members), tmp_path / "f.json")]))
    line = drawn.lines.index("n3")
    assert drawn.views[0].alone[line][0] == pytest.approx(50, abs=3)
    assert drawn.views[0].together[line] == [MISSING]


def test_a_reference_names_single_devices(tmp_path: Path) -> None:
    """Of two devices nobody can tell which is slow but by a reference."""
    from isthmus.fleet import chosen_reference

    truth = {("copy", way, "pinned"): synthetic.Truth(5e-6, 55e9) for way in ("h2d", "d2h")}
    path = tmp_path / "reference.json"
    path.write_bytes(msgspec.json.encode(synthetic.run(synthetic.cases(truth))))
    members = [synthetic_fleet.member("n0", 0), synthetic_fleet.member("n1", 0, synthetic_fleet.by_link(1.6))]
    file = synthetic_fleet.save(synthetic_fleet.fleet(members), tmp_path / "fleet.json")
    found = survey([file], reference=chosen_reference(str(path)))
    assert [found.gathered.devices[each.device].host for each in found.below] == ["n1"]
    assert found.below[0].lost == pytest.approx(0.37, abs=0.05)
    assert found.suspects == ["n1"]


@pytest.mark.parametrize("format_name", ["prometheus"])
def test_no_two_gauges_have_the_same_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format_name: str
) -> None:
    """With parameters that alone tell points apart, and two ranks that share a device."""
    points = [
        msgspec.structs.replace(point, parameters=f"pieces={pieces}")
        for pieces in (1, 64)
        for point in synthetic_fleet.POINTS[:4]
    ]
    made = synthetic_fleet.member("n0", 0)
    members = [msgspec.structs.replace(made, summaries=made.summaries[:8], rank=rank) for rank in range(3)]
    fleet = msgspec.structs.replace(synthetic_fleet.fleet(members), points=points)
    assert main(["fleet", str(synthetic_fleet.save(fleet, tmp_path / "f.json")), "--format", format_name]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]
    names = [line.rpartition(" ")[0] for line in lines]
    assert len(names) > 3 * len(points)
    assert len(set(names)) == len(names)


def test_no_input_of_a_folder_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = synthetic_fleet.save_hosts(tmp_path / "fleet", 3)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    path = sorted(before)[0]
    assert main(["fleet", str(folder), "-o", str(path)]) == 2
    assert "would be overwritten" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
