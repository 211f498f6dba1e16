"""The fingerprint of a run: the device with its link under load, the host, and the versions."""

import platform
from collections.abc import Callable

import msgspec
import pytest

import isthmus
from isthmus import _native
from isthmus.errors import CallFailed, OutOfMemory
from isthmus.machine import fingerprint
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.machine.fingerprint import read_fingerprint, with_busy_links
from isthmus.record import Backend, Device, Link

IDLE = Link(generation=1, width=16, max_generation=5, max_width=16, source="NVML")
Reading = dict[str, int | None]


@pytest.fixture
def device() -> OpenDevice:
    """The host backend with a link, as a GPU would have one."""
    opened = open_device("host")
    return opened._replace(description=msgspec.structs.replace(opened.description, link=IDLE))


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """What the vendor's library and the kernel read of the link while it is busy."""

    def give(vendor: Reading | Exception, kernel: Link | None) -> None:
        def under_load(memory: _native.Buffer, on_device: _native.Buffer) -> Reading:
            assert (memory.kind, on_device.kind) == ("pinned", "device")
            if isinstance(vendor, Exception):
                raise vendor
            return {"replays": None, **vendor}

        monkeypatch.setattr(_native, "read_link_under_load", under_load)
        monkeypatch.setattr(fingerprint, "pci_link", lambda _: kernel)

    return give


def test_versions_and_host_are_part_of_it() -> None:
    read = read_fingerprint(open_device("host"))
    assert read.isthmus_version == isthmus.__version__
    assert read.python_version == platform.python_version()
    assert read.host.cpu.logical > 0
    assert read.device.spec == "host"
    assert read.device.link is None


@pytest.mark.parametrize(
    ("vendor", "kernel", "expected"),
    [
        ({"generation": 5, "width": 16}, None, (5, 16)),
        ({"generation": 5, "width": 16}, Link(generation=3, width=8), (5, 16)),
        ({"generation": None, "width": None}, Link(generation=3, width=8), (3, 8)),
        ({"generation": None, "width": None}, None, (None, None)),
    ],
)
def test_the_link_is_read_while_it_is_busy(
    device: OpenDevice,
    readings: Callable[..., None],
    vendor: Reading,
    kernel: Link | None,
    expected: tuple[int | None, int | None],
) -> None:
    readings(vendor, kernel)
    link = read_fingerprint(device).device.link
    assert link
    assert (link.generation_under_load, link.width_under_load) == expected
    # What it was when idle stays beside it.
    assert (link.generation, link.max_generation) == (1, 5)


# Classes, since an instance would keep what its traceback refers to: buffers and a device, until the tests end.
@pytest.mark.parametrize("error", [OutOfMemory, CallFailed])
def test_a_link_that_cannot_be_kept_busy_stays_as_it_was(
    device: OpenDevice, readings: Callable[..., None], error: type[CallFailed]
) -> None:
    readings(error("64 MiB"), None)
    assert read_fingerprint(device).device.link == IDLE


def test_a_device_too_small_for_that_is_no_error(device: OpenDevice, readings: Callable[..., None]) -> None:
    readings({"generation": 5, "width": 16}, None)
    small = device._replace(native=open_device("host:memory=1MiB").native)
    assert read_fingerprint(small).device.link == IDLE


def test_links_are_read_busy_once_a_card_and_a_card_that_cannot_be_opened_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    idle = Link(generation=1, width=16, max_generation=5, max_width=16)
    cards = [Device(backend="cuda", index=index, name="GPU", pci_address=f"0:{index}", link=idle) for index in (0, 1)]
    again = Device(backend="opencl", index=0, name="GPU", pci_address="0:0", link=idle)
    opened: list[str] = []

    def open_it(spec: str) -> OpenDevice:
        opened.append(spec)
        if spec == "cuda:1":
            raise CallFailed("cuDevicePrimaryCtxRetain failed")
        return open_device("host")

    busy = msgspec.structs.replace(idle, generation_under_load=5, width_under_load=16)
    monkeypatch.setattr("isthmus.machine.fingerprint.open_device", open_it)
    monkeypatch.setattr("isthmus.machine.fingerprint._under_load", lambda device, link: busy)
    seen = with_busy_links([Backend(name="cuda", devices=cards), Backend(name="opencl", devices=[again])])
    assert [device.link for backend in seen for device in backend.devices] == [busy, idle, busy]
    assert opened == ["cuda:0", "cuda:1"]
