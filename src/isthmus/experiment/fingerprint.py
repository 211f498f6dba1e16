"""The fingerprint of a run: host, device, and the link while it is busy."""

import platform
from concurrent.futures import ThreadPoolExecutor

import msgspec

import isthmus
from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.devices import OpenDevice
from isthmus.experiment.machine import read_host
from isthmus.experiment.pci import pci_link
from isthmus.record import MIB, Fingerprint, Link

__all__ = ["read_fingerprint"]


def read_fingerprint(device: OpenDevice) -> Fingerprint:
    """Everything about this machine that can explain a figure; keeps the link busy for a tenth of a second."""
    description = device.description
    if description.link is not None:
        description = msgspec.structs.replace(description, link=_under_load(device, description.link))
    return Fingerprint(
        isthmus_version=isthmus.__version__,
        python_version=platform.python_version(),
        device=description,
        host=read_host(),
    )


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
    return msgspec.structs.replace(link, generation_under_load=reading["generation"], width_under_load=reading["width"])
