"""The fingerprint of a run: host, device, and the link while it is busy."""

import platform
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

import isthmus
from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.machine.host import read_host
from isthmus.machine.pci import pci_link
from isthmus.record import MIB, Backend, Device, Fingerprint, Link


def read_fingerprint(device: OpenDevice) -> Fingerprint:
    """Everything about this machine that can explain a figure; keeps the link busy for a tenth of a second."""
    return fingerprint_of(msgspec.structs.replace(device.description, link=link_now(device)))


def fingerprint_of(device: Device) -> Fingerprint:
    """A device, as it was read, and this machine."""
    return Fingerprint(
        isthmus_version=isthmus.__version__, python_version=platform.python_version(), device=device, host=read_host()
    )


def link_now(device: OpenDevice) -> Link | None:
    """The device's link, kept busy for a tenth of a second to see what it trains up to; None where it has none."""
    link = device.description.link
    return None if link is None else _under_load(device, link)


def with_busy_links(backends: Sequence[Backend]) -> list[Backend]:
    """The same devices with what their links train up to; opens each device that has a link, which takes a second.

    A device that two backends offer is read once; one that cannot be opened keeps what is known of it idle.
    """
    links: dict[str, Link] = {}

    def busy(device: Device) -> Device:
        if device.link is None:
            return device
        if device.pci_address not in links:
            try:
                links[device.pci_address] = _under_load(open_device(device.spec), device.link)
            except IsthmusError:
                return device
        return msgspec.structs.replace(device, link=links[device.pci_address])

    return [msgspec.structs.replace(backend, devices=list(map(busy, backend.devices))) for backend in backends]


def _under_load(device: OpenDevice, link: Link) -> Link:
    """The link with what it trains up to when it has work; unchanged where that cannot be read."""
    try:
        memory = device.native.allocate("pinned", 64 * MIB)
        on_device = device.native.allocate("device", 64 * MIB)
        with ThreadPoolExecutor(1) as executor:
            busy = executor.submit(_native.read_link_under_load, memory, on_device)
            # The vendor's library reads while its copies run; for other devices the kernel's files are read meanwhile.
            while (seen := pci_link(device.description.pci_address)) is not None and not busy.done():
                pass
            reading = busy.result()
    except IsthmusError:
        return link
    if reading["generation"] is None and seen is not None:
        reading = {**reading, "generation": seen.generation, "width": seen.width}
    return msgspec.structs.replace(
        link,
        generation_under_load=reading["generation"],
        width_under_load=reading["width"],
        replays=reading["replays"] if reading["replays"] is not None else link.replays,
    )
