"""Types that NumPy lacks, there and back: by producers made here, and by torch, JAX and ml_dtypes where they are."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus.errors import NotShared, UsageError, WrongType
from tests.unit.transfer.test_operands import Tensor

# DLPack's code, bits and lanes of each.
NAMED = {
    "bfloat16": (4, 16, 1), "complex32": (5, 32, 1), "float8_e3m4": (7, 8, 1), "float8_e4m3": (8, 8, 1),
    "float8_e4m3b11fnuz": (9, 8, 1), "float8_e4m3fn": (10, 8, 1), "float8_e4m3fnuz": (11, 8, 1),
    "float8_e5m2": (12, 8, 1), "float8_e5m2fnuz": (13, 8, 1), "float8_e8m0fnu": (14, 8, 1),
    "float4_e2m1fn_x2": (17, 4, 2),
}  # fmt: skip
PADDED = {"int4": (0, 4), "uint4": (1, 4), "int2": (0, 2), "uint2": (1, 2), "float4_e2m1fn": (17, 4)}


def producer(name: str, **said: Any) -> Tensor:
    code, bits, lanes = NAMED[name]
    data = np.arange(1, 5, dtype=f"u{bits * lanes // 8}")
    return Tensor(data, code=code, bits=bits, lanes=lanes, **said)


@pytest.fixture
def without_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of a type must not hang on whether ml_dtypes is there."""
    monkeypatch.setattr("isthmus.transfer.element_types._ml_dtypes", lambda: None)
    monkeypatch.delitem(sys.modules, "ml_dtypes", raising=False)


@pytest.mark.usefixtures("without_ml_dtypes")
@pytest.mark.parametrize("name", NAMED)
def test_a_type_that_numpy_lacks_is_kept(name: str) -> None:
    tensor = producer(name)
    device = isthmus.to_device(tensor, "host")
    assert (device.type_name, device.dtype) == (name, np.dtype(f"V{tensor.data.itemsize}"))
    assert name in repr(device)
    # Views and copies have it, and other libraries are told.
    back = producer(name)
    isthmus.copy(back, device[::-1].copy())
    assert back.data.tolist() == [4, 3, 2, 1]
    assert "dltensor" in repr(device.__dlpack__(max_version=(1, 0)))
    assert isthmus.device_empty(3, name, "host").type_name == name
    with pytest.raises(UsageError, match=rf"the types differ.*{name}"):
        isthmus.copy(np.empty(4, tensor.data.dtype), device)


@pytest.mark.usefixtures("without_ml_dtypes")
@pytest.mark.parametrize("name", PADDED)
def test_what_is_less_than_a_byte_is_taken_with_a_byte_of_its_own_alone(name: str) -> None:
    code, bits = PADDED[name]
    data = np.arange(4, dtype=np.uint8)
    with pytest.raises(UsageError, match=rf"{name}.*packed, several to a byte; view them as bytes"):
        isthmus.to_device(Tensor(data, code=code, bits=bits), "host")
    device = isthmus.to_device(Tensor(data, code=code, bits=bits, flags=4), "host")
    assert device.type_name == name
    assert device.to_host().tobytes() == bytes(range(4))
    for version in (None, (1, 0)):
        with pytest.raises(NotShared, match=name):
            device.__dlpack__(max_version=version)
    assert "dltensor" in repr(device.__dlpack__(max_version=(1, 1)))


@pytest.mark.parametrize("dtype", [[("a", "i4")], "M8[s]", ">f4", "S3", "g"])
def test_what_dlpack_has_no_type_for_is_a_buffer_error(dtype: Any) -> None:
    device = isthmus.to_device(np.zeros(3, dtype), "host")
    with pytest.raises(BufferError, match=r"DLPack has no type for .*x\.view\('uint8'\)") as caught:
        device.__dlpack__()
    assert isinstance(caught.value, isthmus.errors.IsthmusError)


def test_types_of_torch_and_names() -> None:
    torch_type = type("dtype", (), {"__module__": "torch", "__str__": lambda _: "torch.float8_e5m2"})()
    assert isthmus.device_empty(3, torch_type, "host").type_name == "float8_e5m2"
    assert isthmus.device_empty(3, "int16", "host").dtype == np.int16
    with pytest.raises(WrongType, match=r"'float7' is no type of elements.*'bfloat16'"):
        isthmus.device_empty(3, "float7", "host")


def library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        pytest.skip(f"{name} is not installed")


class TestLibraries:
    @pytest.mark.parametrize("name", ["bfloat16", "complex32", *(name for name in NAMED if name.startswith("float8"))])
    def test_torch_and_ml_dtypes(self, name: str) -> None:
        torch, ml_dtypes = library("torch"), library("ml_dtypes")
        data = np.arange(1, 9, dtype=np.uint8)
        if hasattr(ml_dtypes, name):
            array = data.view(getattr(ml_dtypes, name))
            device = isthmus.to_device(array, "host")
            assert device.to_host().dtype == array.dtype
            assert device.to_host().tobytes() == data.tobytes()
            isthmus.copy(isthmus.device_empty(array.shape, array.dtype, "host"), array)
        if hasattr(torch, name):
            tensor = torch.from_numpy(data).view(getattr(torch, name))
            device = isthmus.to_device(tensor, torch.device("cpu"))
            assert device.type_name == name
            assert torch.from_dlpack(device).dtype is tensor.dtype
            assert torch.equal(torch.from_dlpack(device).view(torch.uint8), tensor.view(torch.uint8))

    def test_bits_that_torch_keeps_beside_the_memory(self) -> None:
        torch = library("torch")
        negative = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
        with pytest.raises(UsageError, match=r"negative bit.*x\.resolve_neg\(\)"):
            isthmus.to_host(negative)
        assert isthmus.to_host(negative.resolve_neg()).tolist() == negative.tolist()
        with pytest.raises(UsageError, match=r"conjugate bit.*x\.resolve_conj\(\)"):
            isthmus.to_host(torch.ones(2, dtype=torch.complex64).conj())
        with pytest.raises(UsageError, match=r"the destination .*negative bit"):
            isthmus.copy(torch._neg_view(torch.zeros(2)), np.ones(2, "f4"))

    def test_tensors_that_are_no_plain_memory(self) -> None:
        torch = library("torch")
        for tensor, said in {
            torch.empty(3, device="meta"): "meta tensor holds no data",
            torch.ones(3).to_sparse(): r"x\.to_dense\(\)",
            torch.ones(3, requires_grad=True): r"x\.detach\(\)",
            torch._efficientzerotensor(3): "no memory",
        }.items():
            with pytest.raises(UsageError, match=said):
                isthmus.to_host(tensor)
