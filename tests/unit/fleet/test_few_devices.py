"""What a survey says of a dozen devices, and of one that several interfaces measured."""

from pathlib import Path

import msgspec
import pytest

from isthmus.fleet import Survey, chosen_reference, survey
from isthmus.record import MIB, Point
from isthmus.report.fleet.document import fleet_data, fleet_document
from isthmus.report.fleet.words import beside_reference, verdict, warnings
from tests.synthetic.fleet import fingerprint, fleet, member, save


def one_kind(point: Point) -> float:
    """26 % of the rate of large pageable copies to the device is missing."""
    return 1 / 0.74 if (point.host_memory, point.direction) == ("pageable", "h2d") and point.bytes >= 4 * MIB else 1.0


def twelve(folder: Path, seed: int, *, slow: bool) -> Survey:
    members = [
        member(f"n{host}", 0, one_kind if slow and host == 5 else None, seed=seed, noise=0.04) for host in range(12)
    ]
    return survey([save(fleet(members), folder / "fleet.json")])


@pytest.mark.parametrize("seed", range(4))
def test_a_device_of_twelve_that_loses_a_quarter_is_named(tmp_path: Path, seed: int) -> None:
    found = twelve(tmp_path, seed, slow=True)
    assert [found.gathered.devices[each.device].host for each in found.perhaps] == ["n5"]
    (said,) = warnings(found)
    assert "n5 cuda:0" in said
    assert "pageable" in said
    assert [each["host"] for each in fleet_data(found)["perhaps"]] == ["n5"]
    # Chance is not excluded, and a gate fails by what is certain.
    assert found.passes


@pytest.mark.parametrize("seed", range(4))
def test_none_of_twelve_right_devices_is_named(tmp_path: Path, seed: int) -> None:
    found = twelve(tmp_path, seed, slow=False)
    assert (found.perhaps, found.outliers, warnings(found)) == ([], [], [])


def test_one_device_through_two_interfaces_is_one_and_has_two_names(tmp_path: Path) -> None:
    cuda = fingerprint("n0", 0)
    device = msgspec.structs.replace(cuda.device, backend="opencl", uuid="")
    opencl = msgspec.structs.replace(cuda, device=device)
    files = []
    for name, of in (("first", cuda), ("second", cuda), ("third", opencl)):
        made = fleet([member("n0", 0, of=of)])
        files.append(save(msgspec.structs.replace(made, fleet=name), tmp_path / f"{name}.json"))
    found = survey(files, reference=chosen_reference("reference:h200-pcie5"))
    assert found.count == 1
    assert found.unjudged == 1
    assert not found.short_hosts
    assert fleet_document(found).title == "Fleet: 1 device on 1 host"
    names = [each.group.name for each in found.groups]
    assert [name.partition(",")[0] for name in names] == ["NVIDIA H200 (CUDA)", "NVIDIA H200 (OpenCL)"]
    said = [text for text, _ in beside_reference(found)]
    assert len(said) == len({*said})
    assert any("NVIDIA H200 (CUDA), not on NVIDIA H200 (OpenCL)" in text for text in said)
    # What is right and what is slow is said of different names.
    typical = [text.partition(":")[0] for text in said if text.startswith("Typical")]
    assert len(typical) == len({*typical})
    assert verdict(found)
