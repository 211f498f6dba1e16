"""The devices of this machine: what is here, what is missing, and opening one by the name the user gives."""

import difflib
import os
import platform
import shutil
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from typing import Any, NamedTuple

from isthmus import _native
from isthmus.errors import DeviceAbsent, UsageError
from isthmus.installing import install_extra
from isthmus.machine.binding import bind_near
from isthmus.machine.pci import pci_errors, pci_link, pci_numa_node
from isthmus.record import Backend, Device, Link, Placement

BACKENDS = ("cuda", "opencl", "host")
_INSTALL: Mapping[str, Callable[[], str]] = {
    "cuda": lambda: "install NVIDIA's driver until nvidia-smi works; in a container, start it with --gpus all",
    "opencl": lambda: f"{_install_pocl()} measures the CPU through PoCL; a GPU needs its vendor's OpenCL driver",
}
# OpenCL drivers that are Python packages, with the library to open: they are registered nowhere.
_PACKAGED = {"pocl-binary-distribution": "libpocl*", "intel-opencl-rt": "libintelocl.so"}
_POCL = "Portable Computing Language"
_SYSTEMS_POCL = "apt install pocl-opencl-icd"
# nvmlGpuTopologyLevel_t, by the names that `nvidia-smi topo -m` has for them.
_ANCESTORS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}


class OpenDevice(NamedTuple):
    """A device that is open, its description, and where threads and memory were bound before it was opened.

    `model` is what the host backend pretends, as the user words it. `allowed_cpus` are the processors that this process
    could use before it was bound.
    """

    native: _native.Device
    description: Device
    placement: Placement = Placement()
    model: str = ""
    allowed_cpus: frozenset[int] = frozenset()


def probe(names: Iterable[str] = BACKENDS) -> list[Backend]:
    """These backends with their devices, or with what was looked for, why they are absent and what to install."""
    return [_backend(_native.list_devices(name, _drivers(name))) for name in names]


def choose_device(spec: str | None) -> Device:
    """The device that ``cuda``, ``cuda:1``, ``opencl:0`` or ``host`` names; None: the best. Opens nothing.

    Raises UsageError for a name that makes no sense and DeviceAbsent for a device that is not here.
    """
    if spec is None:
        # OpenCL's drivers take time and memory to load: for nothing where a CUDA device comes first anyway.
        device = default_device(probe(["cuda"])) or default_device(probe(BACKENDS[1:]))
        if device is None:
            raise DeviceAbsent("no device at all")
        return device
    name, _, rest = spec.partition(":")
    name = name.lower()
    if name not in BACKENDS:
        if name.isdecimal():
            raise UsageError(f"no device {spec!r}; expected such as cuda:{name}")
        near = difflib.get_close_matches(name, BACKENDS, n=1)
        hint = f"did you mean {near[0]}?" if near else "there are " + ", ".join(BACKENDS)
        raise UsageError(f"no backend {name!r}; {hint}")
    if name != "host" and rest and not rest.isdecimal():
        raise UsageError(f"not a device: {spec!r}; expected {name}:NUMBER, such as {name}:0")
    [backend] = probe([name])
    return backend.devices[0] if name == "host" else _device(backend, int(rest or 0))


def open_device(spec: str | None, bind: bool = False) -> OpenDevice:
    """Open the device that `choose_device` gives; a host may be given what to pretend: ``host:rate=25GB/s,...``.

    With `bind`, this thread and all that it starts, those of the driver too, are bound near the device first. Raises
    what `choose_device` does.
    """
    device = choose_device(spec)
    return open_chosen(device, bind, (spec or "").partition(":")[2] if device.backend == "host" else "")


def open_chosen(device: Device, bind: bool = False, model: str = "") -> OpenDevice:
    """Open a device from `choose_device`, bound as `open_device` does it; `model` is what a host pretends."""
    allowed_cpus = frozenset(os.sched_getaffinity(0))
    placement = bind_near(device) if bind else Placement()
    native = open_native(device.backend, device.index, model)
    return OpenDevice(native, _describe(native.info), placement, model, allowed_cpus)


def names_in_turn(spec: str | None) -> list[str]:
    """What `open_device` is given on the first rank of a machine, on its second, and so on; then they begin anew.

    Those are the devices of the best kind, or of a backend that is named alone; a device that is named is that of all
    ranks. Raises what `choose_device` does.
    """
    if spec is not None and (":" in spec or spec.lower() == "host"):
        return [spec]
    return [device.spec for device in neighbours(choose_device(spec))]


def name_in_turn(spec: str | None, local_rank: int) -> str:
    """What `open_device` is given on the rank of this number on its machine, as `names_in_turn` has it."""
    names = names_in_turn(spec)
    return names[local_rank % len(names)]


def neighbours(device: Device) -> list[Device]:
    """The devices that can work at the same time as this one, itself included, in the order of their numbers.

    Those are the other devices of its backend, but for what shares the host's memory next to what has its own, and for
    the same hardware that a second driver offers.
    """
    group = [device]
    for other in probe([device.backend])[0].devices:
        known = any(
            other.index == one.index or (other.pci_address == one.pci_address and other.pci_address) for one in group
        )
        if not known and other.shares_host_memory == device.shares_host_memory:
            group.append(other)
    return sorted(group, key=lambda one: one.index)


def _device(backend: Backend, index: int) -> Device:
    if not backend.devices:
        looked_for = ", ".join(backend.looked_for)
        why = "; ".join(filter(None, [backend.absent_because, backend.install]))
        raise DeviceAbsent(f"no {backend.name} device here; looked for {looked_for}: {why}")
    for device in backend.devices:
        if device.index == index:
            return device
    known = ", ".join(device.spec for device in backend.devices)
    why = f"; {backend.absent_because}" if backend.absent_because else ""
    raise DeviceAbsent(f"no device {backend.name}:{index} here; found {known}{why}")


def open_native(backend: str, index: int, model: str = "") -> _native.Device:
    """Open a device that `probe` has found; `model` is what the host backend pretends."""
    return _native.open_device(backend, index, model, _drivers(backend))


def open_neighbour(device: OpenDevice, other: Device) -> _native.Device:
    """Open another device of the same backend, or give the one that is open where it is the same."""
    return device.native if other.spec == device.description.spec else open_native(other.backend, other.index)


def _backend(listed: "_native.BackendDict") -> Backend:
    devices = [_describe(info) for info in listed["devices"]]
    absent_because = listed["absent_because"]
    install = "" if devices or listed["is_parents"] else _INSTALL.get(listed["name"], str)()
    for device in filter(_is_pocl, list(devices)):
        if reason := _why_no_pocl(device):
            devices.remove(device)
            absent_because, install = reason
    return Backend(
        name=listed["name"],
        devices=devices,
        library=listed["library"],
        looked_for=listed["looked_for"],
        # With devices: why some of them cannot be used.
        absent_because=absent_because,
        install=install,
    )


def _describe(info: dict[str, Any]) -> Device:
    address = info["pci_address"]
    more = {
        "link": _link(info["link"], address),
        "numa_node": pci_numa_node(address) if address else None,
        "conditions": info["conditions"] | pci_errors(address),
    }
    return Device(**info | more)


def _link(reading: "_native.LinkDict", address: str) -> Link | None:
    """What the vendor's library reads, else what the kernel knows of the slot."""
    if reading["generation"] is not None and reading["width"] is not None:
        return Link(**reading, source="NVML")
    return pci_link(address) if address else None


def _install_pocl() -> str:
    return install_extra("cpu") if platform.machine() == "x86_64" else _SYSTEMS_POCL


def _is_pocl(device: Device) -> bool:
    return device.conditions.get("platform", "").startswith(_POCL)


def _why_no_pocl(device: Device) -> tuple[str, str] | None:
    """Why PoCL can compile no kernel here, and what to do; None where it can."""
    if shutil.which("ld") is None:
        # It aborts the whole process where there is none.
        return (
            "PoCL is installed, but it links kernels with `ld`, which is not on PATH",
            "install binutils (apt-get install binutils), which any C compiler brings too",
        )
    if device.api_version.endswith("-generic") and "x86_64" in device.api_version:
        # So it names the processor that it compiles for; its compiler then refuses that name.
        version = device.driver_version
        return (
            f"PoCL {version} is installed, but its compiler is older than this CPU and does not know it",
            "pip install intel-opencl-rt intel-cmplr-lib-rt (0.8 GB) brings a driver that knows this CPU; as root, so "
            f"does {_SYSTEMS_POCL} (Debian 12 and later)",
        )
    return None


def _drivers(backend: str) -> list[str]:
    """Paths of the OpenCL drivers among this environment's Python packages, where they are asked for."""
    if backend != "opencl":
        return []
    return [str(file.locate()) for package, name in _PACKAGED.items() for file in _files(package) if file.match(name)]


def _files(package: str) -> list[metadata.PackagePath]:
    try:
        return metadata.files(package) or []
    except metadata.PackageNotFoundError:
        return []


def default_device(backends: Iterable[Backend]) -> Device | None:
    """The first CUDA device, else an OpenCL device with memory of its own, else any OpenCL device, else the host."""
    devices = [device for backend in backends for device in backend.devices]
    return min(devices, key=_rank, default=None)


def _rank(device: Device) -> tuple[int, int]:
    kind = {"cuda": 0, "opencl": 2 if device.shares_host_memory else 1, "host": 3}.get(device.backend, 4)
    return kind, device.index


def path_between(here: _native.Device, there: _native.Device) -> str:
    """``nvlink 18``, ``pcie PIX``, ``host SYS``; without the second word where NVML does not say, and ``peer`` alone.

    ``host``: neither device reaches the other's memory, so that copies pass through the host's. ``peer``: they reach
    each other, and NVML does not say by what. Empty where devices of the backend do not copy to each other.
    """
    if here.why_no_peer(there):
        return ""
    reading = _native.read_peer(here, there)
    ancestor = "" if reading["ancestor"] is None else _ANCESTORS.get(reading["ancestor"], "")
    if here.why_no_peer_reach(there):
        return f"host {ancestor}".strip()
    if reading["has_nvlink"]:
        return f"nvlink {reading['nvlinks'] or ''}".strip()
    return f"pcie {ancestor}".strip() if reading["has_nvlink"] is False else f"peer {ancestor}".strip()
