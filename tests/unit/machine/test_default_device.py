"""Which device is taken when none is named."""

import pytest

from isthmus.machine.devices import default_device
from isthmus.record import Backend, Device

_CUDA = Backend(name="cuda", devices=[Device(backend="cuda", index=index, name="GPU") for index in (1, 0)])
_POCL = Device(backend="opencl", index=0, name="PoCL", shares_host_memory=True)
_GPU = Device(backend="opencl", index=1, name="GPU")
_HOST = Backend(name="host", devices=[Device(backend="host", index=0, name="host", shares_host_memory=True)])


@pytest.mark.parametrize(
    ("backends", "spec"),
    [
        ([_HOST, Backend(name="opencl", devices=[_POCL, _GPU]), _CUDA], "cuda:0"),
        ([_HOST, Backend(name="opencl", devices=[_POCL, _GPU])], "opencl:1"),
        ([_HOST, Backend(name="opencl", devices=[_POCL]), Backend(name="cuda")], "opencl:0"),
        ([Backend(name="cuda"), Backend(name="opencl"), _HOST], "host"),
    ],
)
def test_the_nearest_to_a_gpu_wins(backends: list[Backend], spec: str) -> None:
    device = default_device(backends)
    assert device is not None
    assert device.spec == spec


def test_without_any_device_there_is_none() -> None:
    assert default_device([Backend(name="cuda")]) is None
