"""PCI links and NUMA nodes of devices on made-up machines."""

from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.machine.pci import normalise_pci_address, pci_errors, pci_link, pci_numa_node, pci_root_port
from isthmus.record import Link

Tree = Callable[[dict[str, str]], Path]
_DEVICE = "sys/bus/pci/devices/0000:3b:00.0"


def _files(now: str, width: str, most: str = "32.0 GT/s PCIe", widest: str = "16") -> dict[str, str]:
    return {
        f"{_DEVICE}/current_link_speed": f"{now}\n",
        f"{_DEVICE}/current_link_width": f"{width}\n",
        f"{_DEVICE}/max_link_speed": f"{most}\n",
        f"{_DEVICE}/max_link_width": f"{widest}\n",
    }


@pytest.mark.parametrize(
    ("reported", "address"),
    [
        ("00000000:3B:00.0", "0000:3b:00.0"),
        ("0000:3b:00.0", "0000:3b:00.0"),
        ("3B:00.1", "0000:3b:00.1"),
        ("00010000:E1:00.0", "10000:e1:00.0"),
        (" 0000:3B:00.0\n", "0000:3b:00.0"),
        ("", None),
        ("../../../etc", None),
        ("0000:3b:00.8", None),
    ],
)
def test_addresses_take_the_kernels_form(reported: str, address: str | None) -> None:
    assert normalise_pci_address(reported) == address


@pytest.mark.parametrize("address", ["00000000:3B:00.0", "0000:3b:00.0"])
def test_a_link_that_trained_down(tree: Tree, address: str) -> None:
    root = tree(_files("2.5 GT/s PCIe", "8"))
    expected = Link(generation=1, width=8, max_generation=5, max_width=16, source="sysfs")
    assert pci_link(address, root) == expected


@pytest.mark.parametrize(
    ("speed", "generation"),
    [
        ("2.5 GT/s PCIe", 1),
        ("5.0 GT/s PCIe", 2),
        ("8 GT/s", 3),
        ("16.0 GT/s PCIe", 4),
        ("64.0 GT/s PCIe", 6),
        ("128.0 GT/s PCIe", 7),
        ("Unknown", None),
        ("7.0 GT/s PCIe", None),
        ("", None),
    ],
)
def test_speeds_name_generations(tree: Tree, speed: str, generation: int | None) -> None:
    link = pci_link("0000:3b:00.0", tree(_files(speed, "16")))
    assert link is not None
    assert link.generation == generation


@pytest.mark.parametrize("width", ["0", "255", "", "x16"])
def test_widths_that_no_link_has_are_unknown(tree: Tree, width: str) -> None:
    link = pci_link("0000:3b:00.0", tree(_files("32.0 GT/s PCIe", width)))
    assert link is not None
    assert link.width is None
    assert link.max_width == 16


def test_a_link_of_which_nothing_is_known_is_none(tree: Tree) -> None:
    root = tree(_files("Unknown", "255", "Unknown", "0"))
    assert pci_link("0000:3b:00.0", root) is None
    assert pci_link("0000:99:00.0", root) is None
    assert pci_link("nonsense", root) is None


def test_an_unreadable_device_is_none(tree: Tree, unreadable: Callable[[Path], None]) -> None:
    root = tree(_files("32.0 GT/s PCIe", "16") | {f"{_DEVICE}/numa_node": "1\n"})
    unreadable(root)
    assert pci_link("0000:3b:00.0", root) is None
    assert pci_numa_node("0000:3b:00.0", root) is None


@pytest.mark.parametrize(("text", "node"), [("1\n", 1), ("0\n", 0), ("-1\n", None), ("", None), ("one", None)])
def test_the_kernels_minus_one_is_no_node(tree: Tree, text: str, node: int | None) -> None:
    assert pci_numa_node("00000000:3B:00.0", tree({f"{_DEVICE}/numa_node": text})) == node


def test_errors_are_the_kernels_totals_without_those_that_never_happened(tree: Tree) -> None:
    texts = {"correctable": "RxErr 3\nBadTLP 2\nTOTAL_ERR_COR 5\n", "nonfatal": "TOTAL_ERR_NONFATAL 0\n"}
    root = tree({f"{_DEVICE}/aer_dev_{name}": text for name, text in texts.items()})
    assert pci_errors("0000:3b:00.0", root) == {"aer_corrected": "5"}
    assert pci_errors("", root) == {}


def _below(root: Path, *ports: str) -> None:
    """A device 0000:3b:00.0 below these, as the kernel's tree has it."""
    place = root.joinpath("sys/devices/pci0000:16", *ports, "0000:3b:00.0")
    place.mkdir(parents=True)
    devices = root / "sys/bus/pci/devices"
    devices.mkdir(parents=True)
    (devices / "0000:3b:00.0").symlink_to(place)


@pytest.mark.parametrize(
    ("ports", "root_port"),
    [
        (["0000:16:01.0", "0000:17:00.0", "0000:18:04.0"], "0000:16:01.0"),
        (["0000:16:01.0"], "0000:16:01.0"),
        # As virtual machines have it.
        ([], None),
    ],
)
def test_the_root_port_is_the_first_above_a_device(tmp_path: Path, ports: list[str], root_port: str | None) -> None:
    _below(tmp_path, *ports)
    assert pci_root_port("00000000:3B:00.0", tmp_path) == root_port


@pytest.mark.parametrize("address", ["0000:3c:00.0", "", "nonsense"])
def test_no_root_port_is_known_of_a_device_that_the_kernel_does_not_have(tmp_path: Path, address: str) -> None:
    assert pci_root_port(address, tmp_path) is None
