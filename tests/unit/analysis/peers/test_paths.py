"""What joins two devices has the name that nvidia-smi topo gives it."""

import pytest

from isthmus.analysis.peers.model import path_name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("nvlink 18", "NV18"),
        ("nvlink", "NVLink"),
        ("pcie PIX", "PIX"),
        ("pcie", "PCIe"),
        ("host SYS", "host"),
        ("peer NODE", "peer"),
        ("", "-"),
        ("sonar 3", "-"),
    ],
)
def test_a_path_has_its_name(path: str, name: str) -> None:
    assert path_name(path) == name
