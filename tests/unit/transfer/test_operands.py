"""What is read from the protocols that arrays speak: made here by producers of each, in the host's memory."""

import array
import ctypes
import struct
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp

import isthmus
from isthmus import _native
from isthmus.errors import UsageError, WrongType
from tests.synthetic.dlpack import (
    BFLOAT,
    BOOL,
    COMPLEX,
    CUDA,
    CUDA_HOST,
    FLOAT,
    INT,
    MANAGED,
    ROCM,
    UINT,
    OldTensor,
    Tensor,
    TensorStructure,
    new_capsule,
)

_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int)


def interface(**said: Any) -> SimpleNamespace:
    """A producer of __cuda_array_interface__."""
    whole = {"shape": (2, 3), "typestr": "<f4", "data": (4096, False), "version": 3} | said
    return SimpleNamespace(__cuda_array_interface__=whole)


class TestBufferProtocol:
    # Python casts to halves since 3.12.
    @pytest.mark.parametrize("code", "bBhHiIlLqQnNfd?" + "e" * (sys.version_info >= (3, 12)))
    def test_each_format_is_the_type_that_numpy_reads(self, code: Any) -> None:
        view = memoryview(bytes(struct.calcsize(code) * 3)).cast(code)
        assert _native.describe(view) == ([3], np.asarray(view).dtype.str, "")

    @given(hnp.arrays(hnp.scalar_dtypes() | hnp.nested_dtypes(), hnp.array_shapes(min_dims=0, max_dims=5, min_side=0)))
    def test_arrays_are_as_numpy_describes_them(self, found: np.ndarray[Any, Any]) -> None:
        if found.dtype.hasobject or found.itemsize == 0:
            return
        shape, described, _ = _native.describe(found)
        expected = found.dtype.str.partition("[")[0]
        assert (tuple(shape), described) == (found.shape, expected)

    @pytest.mark.parametrize("type_", [ctypes.c_int16, ctypes.c_double, ctypes.c_bool, ctypes.c_char])
    def test_ctypes(self, type_: Any) -> None:
        assert _native.describe((type_ * 3)())[:1] == ([3],)
        assert np.dtype(_native.describe((type_ * 3)())[1]) == np.dtype(type_)

    def test_structures_of_ctypes_are_bytes_of_their_size(self) -> None:
        # A field may be named after what addresses have as their letters.
        fields = {"_fields_": [("P", ctypes.c_int16), ("O", ctypes.c_double)]}
        found: Any = type("Plain", (ctypes.Structure,), fields)
        assert _native.describe((found * 2)())[:2] == ([2], f"|V{ctypes.sizeof(found)}")

    @pytest.mark.parametrize(
        "type_",
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_wchar_p, ctypes.POINTER(ctypes.c_int), TensorStructure, _FUNCTION],
        ids=lambda found: found.__name__,
    )
    def test_addresses_of_the_process_are_not_data(self, type_: Any) -> None:
        with pytest.raises(UsageError, match=r"addresses of this process.*np\.ctypeslib\.as_array"):
            isthmus.to_device((type_ * 2)(), "host")

    def test_objects_are_not_data_either(self) -> None:
        pair: Any = ctypes.py_object * 2
        for found in (pair(1, 2), np.zeros(2, [("a", "O")]), np.zeros(2, object)):
            with pytest.raises(UsageError, match="Python objects"):
                _native.describe(found)

    def test_big_endian_ctypes(self) -> None:
        found = _native.describe((ctypes.c_int32.__ctype_be__ * 2)())
        assert found[1] == ">i4"

    def test_other_sources(self) -> None:
        assert _native.describe(array.array("d", [1])) == ([1], "<f8", "")
        assert _native.describe(np.float32(3)) == ([], "<f4", "")

    def test_a_buffer_is_given_back_at_once(self) -> None:
        data = bytearray(10)
        with pytest.raises(UsageError):
            isthmus.copy(data, b"123")
        isthmus.copy(data, bytes(range(10)))
        data.append(3)  # Fails as long as anybody has the buffer.


class TestDLPack:
    @pytest.mark.parametrize("producer", [Tensor, OldTensor])
    def test_arrays_of_the_host(self, producer: type[Tensor]) -> None:
        data = np.arange(12, dtype=np.float32).reshape(3, 4)
        for part in (data, data[::-1, 1::2], data.T):
            out = np.zeros(part.shape, np.float32)
            tensor = producer(part)
            isthmus.copy(out, tensor)
            assert (out == part).all()
            isthmus.copy(tensor, np.ones(part.shape, np.float32))
            assert (part == 1).all()
            part[...] = out
            # The host's memory has no stream that anything could wait for.
            assert set(tensor.streams) == {"none given"}

    def test_offsets_and_absent_strides(self) -> None:
        out = np.zeros((3, 4), np.int16)
        isthmus.copy(out, Tensor(np.arange(12, dtype=np.int16).reshape(3, 4), code=INT, offset=6, compact=True))
        assert out.ravel().tolist() == list(range(12))

    @pytest.mark.parametrize(
        ("code", "dtype", "described"),
        [(INT, "i8", "<i8"), (UINT, "u2", "<u2"), (FLOAT, "f2", "<f2"), (COMPLEX, "c8", "<c8"), (BOOL, "?", "|b1")],
    )
    def test_types(self, code: int, dtype: str, described: str) -> None:
        assert _native.describe(Tensor(np.zeros(2, dtype), code=code)) == ([2], described, "")

    def test_types_that_numpy_lacks_go_by_name(self) -> None:
        data = np.arange(4, dtype=np.uint16)
        brain = Tensor(data, code=BFLOAT)
        assert _native.describe(brain) == ([4], "|V2", "bfloat16")
        assert _native.describe(Tensor(np.zeros(2, np.uint8), code=12))[2] == "float8_e5m2"
        device = isthmus.to_device(brain, "host")
        out = Tensor(np.zeros(4, np.uint16), code=BFLOAT)
        isthmus.copy(out, device)
        assert (out.data == data).all()
        for other in (Tensor(np.zeros(4, np.float16)), np.zeros(4, np.uint16)):
            with pytest.raises(UsageError, match=r"the types differ.*bfloat16"):
                isthmus.copy(other, brain)

    def test_the_type_of_ml_dtypes_is_used_where_that_is_loaded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        brain = np.dtype([("brain", "<u2")])
        monkeypatch.setitem(sys.modules, "ml_dtypes", SimpleNamespace(bfloat16=brain))
        with pytest.raises(UsageError, match=r"the types differ"):
            isthmus.to_host(Tensor(np.zeros(2, np.uint16), code=BFLOAT))

    @pytest.mark.parametrize("said", [{"lanes": 4}, {"bits": 4}, {"code": 99}])
    def test_elements_that_are_not_of_whole_bytes(self, said: dict[str, int]) -> None:
        with pytest.raises(UsageError, match="uint8"):
            isthmus.copy(bytearray(2), Tensor(np.zeros(2, np.uint8), **{"code": UINT} | said))

    def test_what_is_marked_read_only(self) -> None:
        with pytest.raises(UsageError, match="may not be written to"):
            isthmus.copy(Tensor(np.zeros(2), flags=1), np.zeros(2))

    def test_another_version_and_other_devices(self) -> None:
        with pytest.raises(UsageError, match="version 2"):
            isthmus.copy(np.zeros(2), Tensor(np.zeros(2), major=2))
        with pytest.raises(UsageError, match="device type 10"):
            isthmus.copy(np.zeros(2), Tensor(np.zeros(2), kind=ROCM))

    @pytest.mark.parametrize("kind", [CUDA, MANAGED])
    @pytest.mark.parametrize(("stream", "expected"), [(None, 1), (0, 1), (1, 1), (2, 2), (12345, 12345)])
    def test_a_producer_is_told_which_stream_is_to_wait(self, kind: int, stream: int | None, expected: int) -> None:
        """DLPack has 1 for the legacy default stream, and forbids 0. The memory is refused before it is touched."""
        tensor = Tensor(np.zeros(2), kind=kind)
        with pytest.raises(UsageError, match=r"memory of cuda:0, the session copies for host"):
            isthmus.copy(np.zeros(2), tensor, stream=stream, session=isthmus.default_session("host"))
        assert tensor.streams == [expected]

    @pytest.mark.parametrize(
        ("name", "given", "message"),
        [
            ("__dlpack__", None, "its __dlpack__ gives None; expected a capsule"),
            ("__dlpack__", 7, "its __dlpack__ gives 7; expected a capsule"),
            ("__dlpack_device__", 7, r"its __dlpack_device__ gives 7; expected \(type, index\)"),
            ("__dlpack_device__", (), r"its __dlpack_device__ gives \(\); expected"),
            ("__dlpack_device__", ("cpu", 0), "gives .'cpu', 0.; expected"),
        ],
    )
    def test_what_the_protocol_does_not_have(self, name: str, given: object, message: str) -> None:
        tensor = type("Wrong", (Tensor,), {name: lambda _self, **_: given})(np.zeros(2))
        with pytest.raises(UsageError, match=message):
            _native.describe(tensor)

    def test_a_tensor_that_somebody_took_already(self) -> None:
        spent = type("Spent", (Tensor,), {"__dlpack__": lambda _self, **_: new_capsule(1, b"used_dltensor", None)})
        with pytest.raises(UsageError, match=r"used_dltensor.*expected a capsule with a new tensor"):
            _native.describe(spent(np.zeros(2)))

    def test_pinned_memory_is_the_host_s(self) -> None:
        tensor = Tensor(np.ones(2), kind=CUDA_HOST)
        assert isthmus.to_host(tensor).tolist() == [1, 1]
        assert "none given" in tensor.streams

    def test_why_a_producer_refuses_is_passed_on(self) -> None:
        class Refusing(Tensor):
            def __dlpack__(self, **_: object) -> object:
                raise BufferError("Can't export tensors that require gradient, use tensor.detach()")

        with pytest.raises(UsageError, match=r"require gradient.*pass x\.detach\(\)"):
            isthmus.copy(np.zeros(2), Refusing(np.zeros(2)))

    def test_an_interrupt_is_not_taken_for_a_refusal(self) -> None:
        class Interrupted(Tensor):
            def __dlpack__(self, **_: object) -> object:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            isthmus.copy(np.zeros(2), Interrupted(np.zeros(2)))

    def test_arrays_that_nothing_may_change(self) -> None:
        frozen = type("ArrayImpl", (Tensor,), {"__module__": "jaxlib._jax"})
        isthmus.copy(np.zeros(2), frozen(np.zeros(2)))
        with pytest.raises(UsageError, match=r"JAX.*jax\.device_put"):
            isthmus.copy(frozen(np.zeros(2)), np.zeros(2))


class TestCudaArrayInterface:
    def test_what_it_says(self) -> None:
        assert _native.describe(interface()) == ([2, 3], "<f4", "")
        assert _native.describe(interface(strides=(4, 8), typestr=">i2", stream=7)) == ([2, 3], ">i2", "")
        assert _native.describe(interface(shape=(), version=2)) == ([], "<f4", "")
        assert _native.describe(interface(shape=(0,), data=(0, False))) == ([0], "<f4", "")

    @pytest.mark.parametrize(
        ("said", "message"),
        [
            ({"mask": object()}, "mask"),
            ({"stream": 0}, "stream 0"),
            ({"strides": (4,)}, "1 strides for 2 dimensions"),
            ({"typestr": "float"}, "not understood"),
            ({"data": 5}, "lacks data"),
            ({"shape": (-1, 2)}, "negative"),
            ({"shape": (2**40, 2**40)}, "overflow"),
            ({"typestr": "|O8"}, "Python objects"),
            ({"typestr": 3}, "typestr 3; expected a text such as '<f4'"),
            ({"data": (-5, False)}, r"data \(-5, False\); expected \(address,"),
            ({"data": (2**64, False)}, r"expected \(address,"),
            ({"data": ("x", False)}, r"data \('x', False\); expected"),
            ({"shape": 3}, "shape 3; expected a tuple of lengths"),
            ({"shape": (2**64,)}, "shape .* expected a tuple of lengths"),
            ({"shape": ("a", "b")}, "expected a tuple of lengths"),
            ({"strides": 4}, "strides 4; expected None or a tuple"),
            ({"stream": "x"}, "stream 'x'; expected None"),
            ({"stream": [1]}, r"stream \[1\]; expected None"),
        ],
    )
    def test_what_cannot_be_used(self, said: dict[str, Any], message: str) -> None:
        with pytest.raises(UsageError, match=message):
            _native.describe(interface(**said))

    def test_a_property_that_fails(self) -> None:
        class Tensor:
            @property
            def __cuda_array_interface__(self) -> dict[str, Any]:
                raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad.")

        with pytest.raises(UsageError, match=r"requires grad.*detach"):
            _native.describe(Tensor())

    def test_it_is_used_where_dlpack_has_no_word(self) -> None:
        class Both(Tensor):
            def __dlpack__(self, **_: object) -> object:
                raise BufferError("no such type")

        both = Both(np.zeros(2), kind=CUDA)
        both.__cuda_array_interface__ = interface(typestr=">f4").__cuda_array_interface__  # type: ignore[attr-defined]
        assert _native.describe(both) == ([2, 3], ">f4", "")

    def test_another_backend_s_session_refuses_it(self) -> None:
        with pytest.raises(UsageError, match="memory of cuda, the session copies for host"):
            isthmus.copy(np.zeros((2, 3), np.float32), interface(), session=isthmus.default_session("host"))


class TestStreams:
    def test_each_library_s_are_known(self) -> None:
        """A handle that no device has is refused by the device, not by what looks for the handle."""
        handles = [
            99, SimpleNamespace(cuda_stream=99), SimpleNamespace(ptr=99), SimpleNamespace(handle=ctypes.c_void_p(99)),
            SimpleNamespace(handle=99), SimpleNamespace(int_ptr=99), SimpleNamespace(__cuda_stream__=lambda: (0, 99)),
        ]  # fmt: skip
        device = isthmus.to_device(b"abc", "host")
        for stream in handles:
            with pytest.raises(UsageError) as caught:
                isthmus.copy(device, b"xyz", stream=stream)
            assert not isinstance(caught.value, WrongType), stream

    def test_null_handles_are_the_default_stream(self) -> None:
        device = isthmus.to_device(b"abc", "host")
        for stream in (0, SimpleNamespace(handle=ctypes.c_void_p()), SimpleNamespace(ptr=0)):
            isthmus.copy(device, b"xyz", stream=stream)
        assert device.to_host().tobytes() == b"xyz"
