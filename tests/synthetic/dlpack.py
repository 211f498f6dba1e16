"""Producers of DLPack, whose structures are written down here a second time."""

import ctypes
from typing import Any, ClassVar

CPU, CUDA, CUDA_HOST, OPENCL, ROCM, MANAGED = 1, 2, 3, 4, 10, 13
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 4, 5, 6


class TensorStructure(ctypes.Structure):
    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class ManagedStructure(ctypes.Structure):
    _fields_: ClassVar = [("tensor", TensorStructure), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class VersionedStructure(ctypes.Structure):
    _fields_: ClassVar = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", TensorStructure),
    ]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Tensor:
    """A producer of DLPack: of the memory of a NumPy array, with anything said about it."""

    def __init__(self, data: Any, kind: int = CPU, code: int = FLOAT, **said: Any) -> None:
        self.data, self.kind = data, kind
        self.said = {"bits": data.itemsize * 8, "lanes": 1, "offset": 0, "flags": 0, "device": 0} | said
        self.streams: list[object] = []
        count = data.ndim
        self.shape = (ctypes.c_int64 * count)(*data.shape)
        self.strides = (ctypes.c_int64 * count)(*(step // data.itemsize for step in data.strides))
        address = data.__array_interface__["data"][0] - self.said["offset"]
        strides = None if self.said.get("compact") else self.strides
        tensor = TensorStructure(
            address, kind, self.said["device"], count, code, self.said["bits"], self.said["lanes"], self.shape, strides,
            self.said["offset"],
        )  # fmt: skip
        self.old = ManagedStructure(tensor, None, None)
        self.new = VersionedStructure(self.said.get("major", 1), 0, None, None, self.said["flags"], tensor)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, self.said["device"]

    def __dlpack__(self, *, stream: object = "none given", max_version: tuple[int, int] | None = None) -> object:
        self.streams.append(stream)
        if max_version is None:
            return new_capsule(ctypes.addressof(self.old), b"dltensor", None)
        return new_capsule(ctypes.addressof(self.new), b"dltensor_versioned", None)


class OldTensor(Tensor):
    """One from before DLPack 1.0."""

    def __dlpack__(self, *, stream: object = "none given") -> object:  # type: ignore[override]
        return super().__dlpack__(stream=stream)


_VIEW = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(TensorStructure))
_HOLD = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
_DELETE = ctypes.CFUNCTYPE(None, ctypes.POINTER(VersionedStructure))
_STREAM = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
# Of Python's own: calls the object's fileno() and gives -1 where that raises.
_FAILS = ctypes.cast(ctypes.pythonapi.PyObject_AsFileDescriptor, ctypes.c_void_p)


class Table(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_: ClassVar = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("hold", ctypes.c_void_p),
        ("wrap", ctypes.c_void_p),
        ("view", ctypes.c_void_p),
        ("current_stream", ctypes.c_void_p),
    ]


class Exchange:
    """The functions in C of a type of tensors, and how often each was called."""

    def __init__(self, *, fails: bool = False, views: bool = True, stream: int | None = 7, major: int = 1) -> None:
        self.viewed = self.held = self.deleted = 0
        self.streams: list[tuple[int, int]] = []

        def view(tensor: Tensor, out: Any) -> int:
            self.viewed += 1
            out[0] = tensor.new.tensor
            return 0

        def delete(_: object) -> None:
            self.deleted += 1

        def hold(tensor: Tensor, out: Any) -> int:
            self.held += 1
            tensor.new.deleter = ctypes.cast(self.functions[2], ctypes.c_void_p)
            out[0] = ctypes.addressof(tensor.new)
            return 0

        def current(kind: int, index: int, out: Any) -> int:
            self.streams.append((kind, index))
            out[0] = stream
            return 0 if stream is not None else -1

        self.functions = _VIEW(view), _HOLD(hold), _DELETE(delete), _STREAM(current)
        shown, held, _, asked = (ctypes.cast(function, ctypes.c_void_p).value for function in self.functions)
        if fails:
            shown = held = _FAILS.value
        self.table = Table(major, 3, None, None, held, None, shown if views else None, asked)
        self.capsule = new_capsule(ctypes.addressof(self.table), b"dlpack_exchange_api", None)
        _kept.append(self)

    def tensor_type(self, **methods: object) -> type[Tensor]:
        """A type that offers them, whose methods fail where no others are given."""

        def refuse(*_: object, **__: object) -> object:
            raise AssertionError("a method in Python was asked")

        given = {"__dlpack__": refuse, "__dlpack_device__": refuse, "__dlpack_c_exchange_api__": self.capsule}
        return type("Exchanged", (Tensor,), given | methods)


# A table stays for as long as the process does, as DLPack has it.
_kept: list[Exchange] = []
