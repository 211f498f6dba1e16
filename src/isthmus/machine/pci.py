"""What the kernel tells about a PCI device: its link now and at most, and the NUMA node that it hangs on."""

import re
from pathlib import Path

from isthmus.machine.kernel_files import read_int, read_text
from isthmus.record import Link

_ADDRESS = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})\.([0-7])")
_GENERATION_BY_GIGATRANSFERS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}
# What the specification allows; a device that sleeps or fell off the bus reads as 0 or as all ones.
_WIDTHS = frozenset({1, 2, 4, 8, 12, 16, 32})


def normalise_pci_address(pci_address: str) -> str | None:
    """The kernel's form (``0000:3b:00.0``) of what drivers report, such as ``00000000:3B:00.0``; None if it is none."""
    match = _ADDRESS.fullmatch(pci_address.strip().lower())
    if match is None:
        return None
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{int(bus, 16):02x}:{int(device, 16):02x}.{function}"


def pci_link(pci_address: str, root: Path = Path("/")) -> Link | None:
    """The link between the device and the port above it; None when the kernel tells nothing about it.

    `generation` and `width` are those of this moment: an idle link trains down, so only a reading during a transfer
    says how fast it is. Links further up, behind a switch, are not looked at: virtual machines
    make up what they show there.
    """
    directory = _directory(pci_address, root)
    if directory is None:
        return None
    now, most = (_generation(directory / f"{which}_link_speed") for which in ("current", "max"))
    width_now, width_most = (_width(directory / f"{which}_link_width") for which in ("current", "max"))
    if (now, most, width_now, width_most) == (None, None, None, None):
        return None
    return Link(generation=now, width=width_now, max_generation=most, max_width=width_most, source="sysfs")


def pci_errors(pci_address: str, root: Path = Path("/")) -> dict[str, str]:
    """Errors of the link that the kernel logged since it started, ``aer_corrected`` and the like; none that are 0."""
    directory, errors = _directory(pci_address, root), {}
    for name, file in (("corrected", "correctable"), ("nonfatal", "nonfatal"), ("fatal", "fatal")):
        total = (
            re.search(r"^TOTAL\w* ([1-9]\d*)$", read_text(directory / f"aer_dev_{file}"), re.M) if directory else None
        )
        if total:
            errors[f"aer_{name}"] = total[1]
    return errors


def pci_numa_node(pci_address: str, root: Path = Path("/")) -> int | None:
    """The node that the device is attached to; None when firmware or hypervisor do not tell (the kernel's -1)."""
    directory = _directory(pci_address, root)
    node = read_int(directory / "numa_node") if directory else None
    return node if node is not None and node >= 0 else None


def pci_root_port(pci_address: str, root: Path = Path("/")) -> str | None:
    """The root port above the device, through a switch or straight; None where it hangs on the host bridge itself.

    What is below one root port shares its link. A virtual machine shows the tree that its hypervisor makes up.
    """
    directory = _directory(pci_address, root)
    if directory is None or not directory.exists():
        return None
    addresses = [part for part in directory.resolve().parts if _ADDRESS.fullmatch(part)]
    return addresses[0] if len(addresses) > 1 else None


def _directory(pci_address: str, root: Path) -> Path | None:
    address = normalise_pci_address(pci_address)
    return root / "sys/bus/pci/devices" / address if address else None


def _generation(path: Path) -> int | None:
    # "32.0 GT/s PCIe", "8 GT/s" before Linux 5.7, "Unknown".
    match = re.match(r"(\d+(?:\.\d+)?) GT/s", read_text(path))
    return _GENERATION_BY_GIGATRANSFERS.get(float(match[1])) if match else None


def _width(path: Path) -> int | None:
    width = read_int(path)
    return width if width in _WIDTHS else None
