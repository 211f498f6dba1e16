"""Which device a command takes when it is told none: one rule for all of them."""

from collections.abc import Iterable

from isthmus.record import Backend, Device


def default_device(backends: Iterable[Backend]) -> Device | None:
    """The first CUDA device, else an OpenCL device with memory of its own, else any OpenCL device, else the host."""
    devices = [device for backend in backends for device in backend.devices]
    return min(devices, key=_rank, default=None)


def _rank(device: Device) -> tuple[int, int]:
    kind = {"cuda": 0, "opencl": 2 if device.shares_host_memory else 1, "host": 3}.get(device.backend, 4)
    return kind, device.index
