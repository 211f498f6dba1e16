"""Types that NumPy lacks, there and back: by producers made here, and by torch, JAX and ml_dtypes where they are."""

import importlib
import re
import sys
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus.errors import NotShared, UsageError, WrongType
from tests.synthetic.dlpack import Tensor

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
    monkeypatch.setattr("isthmus.transfer.arrays._ml_dtypes", lambda: None)
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
            torch.ones(3, requires_grad=True): r"x\.detach\(\)",
            torch._efficientzerotensor(3): r"no memory; pass torch\.zeros\(x\.shape, dtype=x\.dtype\)",
        }.items():
            with pytest.raises(UsageError, match=rf"the source \(torch\.Tensor\).*{said}"):
                isthmus.to_host(tensor)
        for mapped in (torch.vmap, torch.func.grad, torch.func.functionalize):
            with pytest.raises(UsageError, match=r"torch\.func tensors have no memory|address 0"):
                mapped(lambda tensor: (isthmus.to_host(tensor), tensor.sum())[1])(torch.ones(3))

    @pytest.mark.filterwarnings("ignore::UserWarning")  # torch's own, on tensors that it means to drop
    def test_advice_names_calls_that_tensors_have(self) -> None:
        torch = library("torch")
        masked = importlib.import_module("torch.masked").masked_tensor
        scaled = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
        for tensor in (
            masked(torch.ones(3), torch.tensor([True, False, True])), scaled, torch.ones(3).to_sparse(),
            torch.eye(3).to_sparse_csr(), torch.eye(3).to_mkldnn(), torch.nested.nested_tensor([torch.ones(2)]),
            torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged), torch.ones(3, requires_grad=True),
            torch.zeros(4, dtype=torch.uint8).view(torch.bits8), torch.ones(2, dtype=torch.complex64).conj(),
        ):  # fmt: skip
            with pytest.raises(UsageError, match=r"; pass x\.") as caught:
                isthmus.to_host(tensor)
            calls = re.findall(r"x\.\w+\([\w.]*\)", str(caught.value).rpartition("; pass ")[2])
            assert calls
            for call in calls:
                made = eval(call, {"x": tensor, "torch": torch, "value": 0})
                for part in made if isinstance(made, tuple) else (made,):
                    isthmus.to_host(part)
            # What arrives in a copy of it would be lost.
            with pytest.raises(UsageError) as caught:
                isthmus.copy(tensor, np.ones(3, "f4"))
            assert "x.to_dense" not in str(caught.value)

    def test_integers_of_less_than_a_byte(self) -> None:
        """torch exports them as int8, which would be another type; each has a byte of its own there."""
        torch = library("torch")
        bits = torch.arange(4, dtype=torch.uint8)
        for name in ("int4", "uint4", "int2", "uint2", "int1", "uint1"):
            device = isthmus.to_device(bits.view(getattr(torch, name)), "host")
            assert device.type_name == name
            back = torch.zeros_like(bits)
            isthmus.copy(back.view(getattr(torch, name)), device)
            assert torch.equal(back, bits)
            with pytest.raises(UsageError, match=rf"the types differ.*{name}"):
                isthmus.copy(back, device)
        with pytest.raises(UsageError, match=r"torch\.int3, which nobody else has; pass x\.view\(torch\.uint8\)"):
            isthmus.to_host(bits.view(torch.int3))

    @pytest.mark.parametrize("name", ["bool", "complex64", "float16", *(name for name in NAMED if name[:4] != "comp")])
    def test_jax(self, name: str) -> None:
        jax = library("jax")
        if not hasattr(jax.numpy, name):
            pytest.skip(f"JAX {jax.__version__} has no {name}")
        array = jax.numpy.arange(8).astype(name)
        device = isthmus.to_device(array, "host")
        assert device.to_host().dtype == array.dtype
        assert (device.type_name or device.dtype.name) == name
        back = jax.numpy.from_dlpack(device)
        assert back.dtype == array.dtype
        assert np.asarray(back).tobytes() == np.asarray(array).tobytes()
        with pytest.raises(UsageError, match=r"the destination .*JAX, which nothing may change"):
            isthmus.copy(array, device)

    def test_arrays_of_jax_that_hold_nothing_to_copy(self) -> None:
        jax = library("jax")
        deleted = jax.numpy.arange(3.0) + 1
        deleted.delete()
        with pytest.raises(UsageError, match=r"jaxlib.*was deleted, or donated"):
            isthmus.to_host(deleted)
        for traced in (jax.jit, jax.vmap):
            with pytest.raises(WrongType, match=r"the source .*Tracer.* is no array"):
                traced(lambda array: (isthmus.to_host(array), array)[1])(jax.numpy.ones(3))
        # JAX packs several of them into a byte.
        small = jax.numpy.arange(4).astype("int4")
        with pytest.raises(UsageError, match=r"the source \(jaxlib\..*np\.asarray\(x\)"):
            isthmus.to_host(small)
        assert isthmus.to_host(np.asarray(small)).dtype == small.dtype
