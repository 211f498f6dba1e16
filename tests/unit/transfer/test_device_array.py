"""What an array on a device can be asked for: views, copies, orders, and what it hands on to others."""

import copy
import ctypes
import gc
import pickle
import re
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus.errors import UsageError, WrongType
from tests.synthetic.dlpack import ManagedStructure, Tensor
from tests.unit.transfer.test_operands import interface

_name = ctypes.pythonapi.PyCapsule_SetName
_name.argtypes = [ctypes.py_object, ctypes.c_char_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


@pytest.fixture
def data() -> Any:
    return np.arange(24, dtype=np.float32).reshape(4, 6)


class TestViews:
    def test_as_numpy_has_them(self, data: Any) -> None:
        device = isthmus.to_device(data, "host")
        for found, expected in [
            (device.T, data.T),
            (device.reshape(6, 4), data.reshape(6, 4)),
            (device.reshape((2, -1)), data.reshape(2, -1)),
            (device[:, ::2].view(np.int32), data[:, ::2].view(np.int32)),
            (device.view("uint8"), data.view(np.uint8)),
        ]:
            assert (found.to_host() == expected).all()
        device.T[...] = np.zeros((6, 4), np.float32)
        assert not device.to_host().any()

    def test_what_would_have_to_copy(self, data: Any) -> None:
        device = isthmus.to_device(data, "host")
        with pytest.raises(UsageError, match=r"x\.copy\('C'\)\.reshape"):
            device.T.reshape(24)
        assert (device.T.copy("C").reshape(24).to_host() == data.T.reshape(24)).all()
        with pytest.raises(UsageError, match="cannot be viewed"):
            device.T.view(np.float64)
        with pytest.raises(UsageError, match="no view of shape"):
            device.reshape(5)
        with pytest.raises(UsageError, match="a bool cannot index"):
            device[True]

    def test_items_are_set_by_a_copy(self, data: Any) -> None:
        device = isthmus.to_device(data, "host")
        device[1] = isthmus.to_device(data[0], "host")
        device[2:, 0] = 7
        device[3, 1:3] = [1, 2]
        data[1], data[2:, 0], data[3, 1:3] = data[0], 7, [1, 2]
        assert (device.to_host() == data).all()
        for wrong in ([1, 2, 3], "abc", np.zeros(6)):
            with pytest.raises(UsageError):
                device[0] = wrong

    def test_copies_and_pickles(self, data: Any) -> None:
        device = isthmus.to_device(data, "host")
        for copied in (device.copy(), copy.copy(device), copy.deepcopy(device)):
            device[...] = data + 1
            assert (copied.to_host() == data).all()
            device[...] = data
        with pytest.raises(WrongType, match=r"cannot be pickled.*isthmus\.to_host"):
            pickle.dumps(device)


class TestOrder:
    def test_it_is_kept_unless_another_is_asked_for(self, data: Any) -> None:
        for source in (data, np.asfortranarray(data), data.T[::-1], data.reshape(2, 3, 4).transpose(1, 2, 0)):
            expected = np.empty_like(source)
            device = isthmus.to_device(source, "host")
            assert (device.strides, device.to_host().strides) == (expected.strides, expected.strides)
            assert isthmus.to_host(source).strides == expected.strides
            assert (device.to_host() == source).all()
            for order in ("C", "F"):
                assert isthmus.to_device(source, "host", order=order).strides == source.copy(order).strides
                assert isthmus.to_host(source, order=order).strides == source.copy(order).strides
                assert (device.copy(order).to_host(order="C") == source).all()
        assert isthmus.device_empty((2, 3), "f4", "host", order="F").strides == (4, 8)
        with pytest.raises(UsageError, match="order is 'Z'; expected 'K'"):
            isthmus.to_device(data, "host", order="Z")


class TestProducers:
    def test_each_is_asked_once(self, data: Any) -> None:
        tensor = Tensor(data)
        isthmus.to_host(tensor)
        isthmus.to_device(tensor, "host")
        assert len(tensor.streams) == 2

        class Failing(Tensor):
            asked = 0

            def __dlpack__(self, **_: object) -> object:
                self.asked += 1
                raise TypeError("unsupported type")

        failing = Failing(data)
        with pytest.raises(UsageError, match=r"Failing\) cannot be shared: unsupported type") as caught:
            isthmus.to_device(failing, "host")
        assert failing.asked == 1
        assert isinstance(caught.value.__cause__, TypeError)

    def test_a_destination_that_is_a_copy(self, data: Any) -> None:
        with pytest.raises(UsageError, match="gives a copy, in which what is written would be lost"):
            isthmus.copy(Tensor(data, flags=2), data)
        assert (isthmus.to_host(Tensor(data, flags=2)) == data).all()

        class Chunked(Tensor):
            def __dlpack__(self, *, copy: bool | None = None, **given: Any) -> object:
                if copy is False:
                    raise BufferError("cannot be exported without a copy")
                return super().__dlpack__(**given)

        with pytest.raises(UsageError, match="without a copy"):
            isthmus.copy(Chunked(data), data)

    def test_errors_of_a_device_and_memory_that_is_nowhere(self, data: Any) -> None:
        class Meta(Tensor):
            def __dlpack_device__(self) -> tuple[int, int]:
                raise ValueError("Unknown device type meta")

        with pytest.raises(UsageError, match=r"Meta\) cannot be shared: Unknown device type") as caught:
            isthmus.to_host(Meta(data))
        assert isinstance(caught.value.__cause__, ValueError)
        fake = Tensor(data)
        fake.new.tensor.data = None
        with pytest.raises(UsageError, match="address 0: it has no memory"):
            isthmus.to_host(fake)

    def test_refusals_name_the_array_whatever_stands_against_it(self, data: Any) -> None:
        for found, said in [
            (np.array([object()]), "holds Python objects"),
            (interface(typestr="float"), "has the type 'float', which is not understood"),
            (np.ma.masked_equal([1, 2], 2), "has a mask"),
            ((ctypes.c_void_p * 2)(), "holds addresses"),
            (Tensor(data, code=99), "has elements of DLPack's type 99"),
            (Tensor(data, kind=10), "is of DLPack's device type 10"),
        ]:
            for role in ("source", "destination"):
                with pytest.raises(UsageError) as caught:
                    isthmus.to_host(found) if role == "source" else isthmus.copy(found, data)
                assert re.match(rf"the {role} \(.*{type(found).__name__}\) {re.escape(said)}", str(caught.value))
                # What arrives in a copy would be lost.
                assert role == "source" or "filled" not in str(caught.value)

    def test_scalars_of_numpy(self) -> None:
        for scalar in (np.datetime64("2020"), np.float32(3), np.bool_(True)):
            device = isthmus.to_device(scalar, "host")
            assert device.to_host()[()] == scalar
            with pytest.raises(UsageError, match="may not be written to"):
                isthmus.copy(scalar, device)


class TestCapsules:
    """The capsule and whoever calls the deleter may go in any order, once or twice, after the array."""

    @pytest.mark.parametrize("renamed", [False, True])
    @pytest.mark.parametrize("capsule_first", [False, True])
    @pytest.mark.parametrize("calls", [0, 1, 2])
    def test_of_any_consumer(self, data: Any, renamed: bool, capsule_first: bool, calls: int) -> None:
        device = isthmus.to_device(data, "host")
        capsule = device.__dlpack__()
        address = _pointer(capsule, b"dltensor")
        managed = ManagedStructure.from_address(address)
        delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(managed.deleter)
        if renamed:
            _name(capsule, b"used_dltensor")
        del device
        # Who drops a capsule that is still new has given the tensor up.
        if capsule_first and (renamed or calls == 0):
            del capsule
            gc.collect()
            calls = min(calls, 1)
        for _ in range(calls):
            delete(address)
        if "capsule" in locals():
            del capsule
        gc.collect()
        assert (isthmus.to_device(data, "host").to_host() == data).all()


def test_devices_by_index_and_of_torch(data: Any) -> None:
    torch_device = type("device", (), {"__module__": "torch", "type": "cpu", "index": None})()
    assert isthmus.to_device(data, torch_device).device == "host"
    assert isthmus.to_device(data, 0).device == isthmus.default_session().device
    with pytest.raises(WrongType, match="device is of type bool"):
        isthmus.to_device(data, True)
