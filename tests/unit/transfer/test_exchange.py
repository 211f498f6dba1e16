"""DLPack's functions in C, which a type offers beside its methods: what they give, and when the methods are asked."""

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus import _native
from isthmus.errors import UsageError
from tests.synthetic.dlpack import BFLOAT, CUDA, CUDA_HOST, INT, MANAGED, ROCM, UINT, Exchange, Tensor

_ASKED: dict[str, object] = {"__dlpack__": Tensor.__dlpack__, "__dlpack_device__": Tensor.__dlpack_device__}
_SHAPES = [(), (0,), (3, 0), (7,), (3, 4), (1,) * 9, (2,) * 10]


@pytest.fixture
def exchange() -> Exchange:
    return Exchange()


@pytest.mark.parametrize("shape", _SHAPES, ids=str)
@pytest.mark.parametrize("said", [{}, {"compact": True}, {"offset": 24}], ids=["strides", "no strides", "an offset"])
def test_a_source_is_viewed_and_no_python_runs(exchange: Exchange, shape: Any, said: dict[str, Any]) -> None:
    data = np.arange(int(np.prod(shape)), dtype="f4").reshape(shape)
    out = np.zeros(shape, "f4")
    isthmus.copy(out, exchange.tensor_type()(data, **said))
    assert (out == data).all()
    assert (exchange.viewed, exchange.held) == (1, 0)


def test_elements_that_lie_apart(exchange: Exchange) -> None:
    data = np.arange(48, dtype="i2").reshape(6, 8)
    kind = exchange.tensor_type()
    for part in (data[::2, 1::3], data[::-1], data.T):
        out, back = np.zeros(part.shape, "i2"), np.zeros_like(data)
        isthmus.copy(out, kind(part, code=INT))
        assert (out == part).all()
        isthmus.copy_batch([out], [kind(part, code=INT)])
        assert (out == part).all()
        there = back.T if part.shape[0] == 8 else back[: part.shape[0], : part.shape[1]]
        isthmus.copy(kind(there, code=INT), out)
        assert (there == part).all()


def test_a_destination_is_held_because_a_view_says_not_what_may_be_done(exchange: Exchange) -> None:
    kind = exchange.tensor_type()
    out = np.zeros(3, "f4")
    isthmus.copy(kind(out), np.ones(3, "f4"))
    assert out.tolist() == [1, 1, 1]
    assert (exchange.viewed, exchange.held, exchange.deleted) == (0, 1, 1)
    with pytest.raises(UsageError, match="may not be written to"):
        isthmus.copy(kind(out, flags=1), np.zeros(3, "f4"))
    with pytest.raises(UsageError, match="gives a copy"):
        isthmus.copy(exchange.tensor_type(**_ASKED)(out, flags=2), np.zeros(3, "f4"))
    assert out.tolist() == [1, 1, 1]
    assert exchange.held == exchange.deleted == 3


def test_what_is_not_waited_for_is_held_until_it_has_ended(exchange: Exchange) -> None:
    data, out = np.arange(5, dtype="f4"), np.zeros((2, 5), "f4")
    kind = exchange.tensor_type()
    with isthmus.Session("host") as session:
        session.copy_async(out[0], kind(data)).wait()
        session.copy_batch_async([out[1]], [kind(data)]).wait()
        assert (out == data).all()
        assert (exchange.viewed, exchange.held) == (0, 2)
    assert exchange.deleted == 2


def test_a_batch_that_is_kept_views_each_tensor_once_a_copy(exchange: Exchange) -> None:
    data, out = np.arange(30, dtype="f4").reshape(10, 3), np.zeros((10, 3), "f4")
    kind = exchange.tensor_type()
    batch = isthmus.batch(list(out), [kind(row) for row in data])
    assert (exchange.viewed, exchange.held, exchange.deleted) == (10, 10, 0)
    for _ in range(3):
        out[:] = 0
        batch.copy()
        assert (out == data).all()
    batch.copy(check=False)
    assert (exchange.viewed, exchange.held) == (40, 10)
    del batch
    gc.collect()
    assert exchange.deleted == 10


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("data", 64, "another address"),
        ("byte_offset", 4, "another address"),
        ("device_id", 1, "another device"),
        ("bits", 16, "another type"),
        ("ndim", 0, "another shape"),
        ("shape", (ctypes.c_int64 * 1)(2), "another shape"),
        ("strides", (ctypes.c_int64 * 1)(2), "another shape or strides"),
        ("strides", None, "another shape or strides"),
    ],
)
def test_a_tensor_of_a_kept_batch_that_changed_is_named(exchange: Exchange, field: str, value: Any, words: str) -> None:
    data, out = np.arange(12, dtype="f4").reshape(4, 3), np.zeros((4, 3), "f4")
    tensors = [exchange.tensor_type()(row) for row in data]
    batch = isthmus.batch(list(out), tensors)
    setattr(tensors[2].new.tensor, field, value)
    with pytest.raises(UsageError, match=rf"piece 2: its source \(.*Exchanged\) .* {words} .*then; make a new batch"):
        batch.copy()
    assert not out.any()


def test_producers_that_are_asked_by_the_methods_are_asked_each_time() -> None:
    data, out = np.arange(12, dtype="f4").reshape(4, 3), np.zeros((4, 3), "f4")
    tensors = [Tensor(row) for row in data]
    batch = isthmus.batch(list(out), tensors)
    batch.copy()
    assert (out == data).all()
    assert [len(tensor.streams) for tensor in tensors] == [2] * 4
    tensors[1].new.tensor.data += 4
    with pytest.raises(UsageError, match=r"piece 1: its source .* another address"):
        batch.copy()
    tensors[1].new.tensor.data -= 4
    tensors[1].new.major = 9
    with pytest.raises(UsageError, match=r"piece 1: its source .* cannot be read any more \(.*9"):
        batch.copy()


def test_without_views_all_is_held() -> None:
    exchange = Exchange(views=False)
    assert isthmus.to_host(exchange.tensor_type()(np.arange(3.0))).tolist() == [0, 1, 2]
    assert (exchange.held, exchange.deleted) == (1, 1)


def test_a_batch_looks_at_each_tensor_once(exchange: Exchange) -> None:
    data, out = np.arange(300, dtype="f8").reshape(100, 3), np.zeros((100, 3))
    kind = exchange.tensor_type()
    isthmus.copy_batch(list(out), [kind(row) for row in data])
    assert (out == data).all()
    assert exchange.viewed == 100


@pytest.mark.parametrize(("code", "dtype", "name"), [(BFLOAT, "u2", "bfloat16"), (12, "u1", "float8_e5m2")])
def test_types_that_numpy_lacks(exchange: Exchange, code: int, dtype: str, name: str) -> None:
    assert _native.describe(exchange.tensor_type()(np.zeros(2, dtype), code=code))[2] == name


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"lanes": 4}, "4 lanes"),
        ({"bits": 4}, "packed, several to a byte"),
        ({"code": 99}, "type 99"),
        ({"kind": ROCM}, "device type 10"),
    ],
)
def test_what_is_not_understood_is_left_to_the_methods(exchange: Exchange, said: dict[str, int], message: str) -> None:
    tensor = exchange.tensor_type(**_ASKED)(np.zeros(2, np.uint8), **{"code": UINT} | said)
    with pytest.raises(UsageError, match=message):
        isthmus.copy(bytearray(2), tensor)
    assert tensor.streams


def test_pinned_memory_is_the_host_s(exchange: Exchange) -> None:
    assert isthmus.to_host(exchange.tensor_type()(np.ones(2), kind=CUDA_HOST)).tolist() == [1, 1]
    assert exchange.streams == []


@pytest.mark.parametrize("kind", [CUDA, MANAGED])
def test_the_stream_of_the_producer_is_asked_for_once_a_batch(exchange: Exchange, kind: int) -> None:
    of_device = exchange.tensor_type()
    tensors = [of_device(np.zeros(2), kind=kind, device=3) for _ in range(4)]
    # Both sides of the first piece are looked at by then, and no memory is touched.
    with pytest.raises(UsageError, match=r"memory of cuda:3, the session copies for host"):
        isthmus.copy_batch(tensors[:2], tensors[2:], session=isthmus.default_session("host"))
    assert exchange.streams == [(CUDA, 3)]


def test_where_the_stream_is_not_known_the_methods_are_asked() -> None:
    exchange = Exchange(stream=None)
    tensor = exchange.tensor_type(**_ASKED)(np.zeros(2), kind=CUDA)
    with pytest.raises(UsageError, match=r"memory of cuda:0, the session copies for host"):
        isthmus.copy(np.zeros(2), tensor, session=isthmus.default_session("host"))
    assert tensor.streams == [1]


class TestFailures:
    @pytest.mark.parametrize("views", [True, False])
    def test_the_methods_are_asked_and_say_why(self, views: bool) -> None:
        def refuse(*_: object, **__: object) -> object:
            raise BufferError("the methods' own reason")

        def fileno(_: object) -> int:
            raise ValueError("the functions' own reason")

        exchange = Exchange(fails=True, views=views)
        shared = exchange.tensor_type(fileno=fileno, **_ASKED)
        assert isthmus.to_host(shared(np.ones(2))).tolist() == [1, 1]
        refusing = exchange.tensor_type(fileno=fileno, **_ASKED | {"__dlpack__": refuse})
        with pytest.raises(UsageError, match="the methods' own reason"):
            isthmus.to_host(refusing(np.ones(2)))

    def test_without_methods_the_functions_reason_is_passed_on(self) -> None:
        def fileno(_: object) -> int:
            raise ValueError("the functions' own reason")

        alone = type("Alone", (), {"__dlpack_c_exchange_api__": Exchange(fails=True).capsule, "fileno": fileno})
        with pytest.raises(UsageError, match="the functions' own reason") as caught:
            isthmus.to_host(alone())
        assert isinstance(caught.value.__cause__, ValueError)

    def test_an_interrupt_is_not_taken_for_a_refusal(self) -> None:
        def fileno(_: object) -> int:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            isthmus.to_host(Exchange(fails=True).tensor_type(fileno=fileno, **_ASKED)(np.ones(2)))


class TestTables:
    def test_of_another_major_version_is_not_looked_into(self) -> None:
        exchange = Exchange(major=2)
        assert isthmus.to_host(exchange.tensor_type(**_ASKED)(np.ones(2))).tolist() == [1, 1]
        assert exchange.viewed == 0

    def test_of_a_later_version_that_leads_to_one_that_is_known(self, exchange: Exchange) -> None:
        later = Exchange(major=2)
        later.table.previous = ctypes.addressof(exchange.table)
        assert isthmus.to_host(later.tensor_type()(np.ones(2))).tolist() == [1, 1]
        assert (exchange.viewed, later.viewed) == (1, 0)

    @pytest.mark.parametrize("attribute", [None, 7, "text", "capsule"])
    def test_what_is_no_table(self, attribute: object) -> None:
        if attribute == "capsule":
            attribute = Tensor(np.zeros(1)).__dlpack__(max_version=(1, 1))
        kind = type("Wrong", (Tensor,), {"__dlpack_c_exchange_api__": attribute})
        assert isthmus.to_host(kind(np.ones(2))).tolist() == [1, 1]

    def test_an_attribute_of_the_object_is_none_of_the_type(self, exchange: Exchange) -> None:
        tensor: Any = Tensor(np.ones(2))
        tensor.__dlpack_c_exchange_api__ = exchange.capsule
        assert isthmus.to_host(tensor).tolist() == [1, 1]
        assert exchange.viewed == 0


class TestHeirs:
    def test_share_as_their_base_does(self, exchange: Exchange) -> None:
        heir = type("Heir", (exchange.tensor_type(),), {})
        assert isthmus.to_host(heir(np.ones(2))).tolist() == [1, 1]
        assert exchange.viewed == 1

    @pytest.mark.parametrize("method", ["__dlpack__", "__dlpack_device__", "__torch_function__", "__torch_dispatch__"])
    def test_with_methods_of_their_own_are_asked_by_these(self, exchange: Exchange, method: str) -> None:
        base = exchange.tensor_type(**_ASKED)
        heir = type("Heir", (base,), {method: getattr(Tensor, method, None)})
        tensor = heir(np.ones(2))
        assert isthmus.to_host(tensor).tolist() == [1, 1]
        assert exchange.viewed == 0
        assert tensor.streams

    def test_types_that_come_and_go_are_not_mistaken(self) -> None:
        """A type may lie where another one lay that was looked up."""
        for _ in range(200):
            exchange = Exchange()
            kind = exchange.tensor_type()
            assert isthmus.to_host(kind(np.ones(2))).tolist() == [1, 1]
            assert exchange.viewed == 1
            del kind
            gc.collect()
            plain = type("Plain", (Tensor,), {})
            assert isthmus.to_host(plain(np.zeros(2))).tolist() == [0, 0]
            del plain


def swap(one: Any, other: Any) -> None:
    import torch

    torch._C._swap_tensor_impl(one, other)


@contextmanager
def counted_views(torch: Any, views: list[int]) -> Iterator[None]:
    """Adds to the list for each call of torch's function that views a tensor."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer(torch.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    place = ctypes.c_void_p.from_address(table + 40)  # behind the header and three functions
    kind = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    before = place.value or 0
    theirs = kind(before)

    def view(tensor: int, out: int) -> int:
        views.append(tensor)
        return int(theirs(tensor, out))

    ours = kind(view)
    place.value = ctypes.cast(ours, ctypes.c_void_p).value
    try:
        yield
    finally:
        place.value = before


class TestTorch:
    """What its functions in C do not refuse, though its methods do; and what is looked at in place of them."""

    @pytest.fixture
    def torch(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        torch = pytest.importorskip("torch", reason="torch is not installed")
        if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
            pytest.skip(f"torch {torch.__version__} has no __dlpack_c_exchange_api__; it came with 2.10")

        def refuse(*_: object, **__: object) -> object:
            raise AssertionError("a method in Python was asked")

        self.ask = monkeypatch.undo
        monkeypatch.setattr(torch.Tensor, "__dlpack__", refuse)
        return torch

    @pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "uint8", "int8", "bool", "complex64"])
    def test_batches_without_python(self, torch: Any, dtype: str) -> None:
        data = torch.arange(60).reshape(6, 10).to(getattr(torch, dtype))
        out = torch.zeros_like(data)
        isthmus.copy_batch(list(out), list(data))
        assert torch.equal(out, data)
        isthmus.copy_batch(list(out[:, ::2]), list(data[:, 1::2]))
        assert torch.equal(out[:, ::2], data[:, 1::2])
        device = isthmus.to_device(data, "host")
        isthmus.copy(out.zero_(), device)
        assert torch.equal(out, data)

    @pytest.mark.parametrize(
        "change",
        [
            lambda tensor: tensor.resize_(5_000_000),
            lambda tensor: tensor.set_(tensor.clone().untyped_storage()),
            lambda tensor: setattr(tensor, "data", tensor.clone()),
            lambda tensor: tensor.untyped_storage().resize_(50_000_000),
            lambda tensor: tensor.untyped_storage().resize_(0),
            lambda tensor: tensor.t_(),
            lambda tensor: tensor.unsqueeze_(0),
            lambda tensor: tensor.set_(tensor.untyped_storage(), 1, (2, 6)),
            lambda tensor: tensor.as_strided_((4, 6), (1, 4)),
            lambda tensor: swap(tensor, tensor.clone()),
        ],
        ids=[
            *("resized", "set", "data", "storage grown", "storage gone", "transposed", "unsqueezed"),
            *("another offset", "other strides", "swapped"),
        ],
    )
    def test_a_tensor_of_a_kept_batch_that_moved_is_named(self, torch: Any, change: Any) -> None:
        tensors = [torch.full((4, 6), float(number)) for number in range(4)]
        out = torch.zeros(4, 4, 6)
        for sides, role in (((list(out), tensors), "source"), ((tensors, list(out)), "destination")):
            batch = isthmus.batch(*sides)
            batch.copy()
            batch.copy_async().wait()
            change(tensors[1])
            for copy in (batch.copy, batch.copy_async):
                with pytest.raises(UsageError, match=rf"piece 1: its {role} \(torch.Tensor\) is not what it was"):
                    copy()
            tensors[1] = torch.full((4, 6), 1.0)

    @pytest.mark.parametrize("place", [3, 4_999])
    def test_one_of_thousands_of_a_kept_batch_is_named(self, torch: Any, place: int) -> None:
        data, out = [torch.full((2,), number) for number in range(5_000)], torch.zeros(5_000, 2, dtype=torch.int64)
        batch = isthmus.batch(list(out), data)
        batch.copy()
        assert out[:, 0].tolist() == list(range(5_000))
        data[place].set_(torch.zeros(2, dtype=torch.int64))
        with pytest.raises(UsageError, match=rf"^piece {place}: its source \(torch.Tensor\)"):
            batch.copy()

    def test_where_a_tensor_is_is_read_without_a_call(self, torch: Any) -> None:
        if not torch.__version__.startswith(("2.9.", "2.10.", "2.11.")):
            pytest.skip(f"it is not known where torch {torch.__version__} has its tensors' fields")
        data = torch.arange(24, dtype=torch.bfloat16).reshape(6, 4)
        out = torch.zeros_like(data)
        views: list[int] = []
        batch = isthmus.batch(list(out), list(data))
        isthmus.copy_batch(list(out), list(data))
        with counted_views(torch, views):
            batch.copy()
            isthmus.copy_batch(list(out), list(data * 2))
            assert torch.equal(out, data * 2)
            assert not views
            isthmus.copy_batch([out], [data])
            assert torch.equal(out, data)
            # Tensors keep more lengths elsewhere.
            isthmus.copy_batch([out[None, None, None, None]], [data[None, None, None, None] * 3])
            assert torch.equal(out, data * 3)
            assert len(views) == 2
            data.resize_(3, 4)
            isthmus.copy_batch([out[:3]], [data])
            assert torch.equal(out[:3], data)
            with pytest.raises(UsageError, match=r"x\.detach\(\)"):
                isthmus.copy_batch([out], [torch.ones_like(out).requires_grad_()])

    def test_a_kept_batch_does_not_write_to_what_was_shared_lazily(self, torch: Any) -> None:
        tensors = [torch.zeros(100) for _ in range(3)]
        batch = isthmus.batch(tensors, list(torch.ones(3, 100)))
        batch.copy()
        tensors[1].fill_(5)
        clone = torch._lazy_clone(tensors[1])
        with pytest.raises(UsageError, match="piece 1: its destination"):
            batch.copy()
        assert clone.tolist() == [5] * 100

    def test_negated_and_conjugated_tensors_of_a_known_kind(self, torch: Any) -> None:
        data = torch.full((2, 4), 1 + 2j)
        out = torch.zeros_like(data)
        for _ in range(2):
            isthmus.copy_batch(list(out), list(data))
        with pytest.raises(UsageError, match="conjugate bit"):
            isthmus.copy_batch(list(out), list(data.conj()))
        isthmus.copy_batch([out.real, out.imag], [data.real, data.imag])
        with pytest.raises(UsageError, match="negative bit"):
            isthmus.copy_batch([out.real], [data.conj().imag])

    def test_a_kept_batch_of_many_dtypes_views_and_parameters(self, torch: Any) -> None:
        kinds = [torch.float32, torch.bfloat16, torch.bool, torch.complex64, torch.int8, torch.float8_e5m2]
        data = [torch.arange(12).reshape(3, 4).to(kind) for kind in kinds]
        data += [data[0].T, data[0][1:, ::2], data[0][:0], torch.nn.Parameter(torch.ones(3), requires_grad=False)]
        out = [torch.zeros_like(tensor) for tensor in data]
        batch = isthmus.batch(out, data)
        for _ in range(2):
            for tensor in out:
                tensor.zero_()
            batch.copy()
            assert all(one.tolist() == other.tolist() for one, other in zip(out, data, strict=True))
            data[0] += 1

    def test_a_kept_batch_sees_what_is_conjugated_since(self, torch: Any) -> None:
        out, data = torch.zeros(4, dtype=torch.complex64), torch.full((4,), 1 + 2j)
        batch = isthmus.batch([out], [data])
        batch.copy()
        data.data = data.conj()
        with pytest.raises(UsageError, match="conjugate bit"):
            batch.copy()

    def test_parameters(self, torch: Any) -> None:
        frozen = torch.nn.Parameter(torch.arange(3.0), requires_grad=False)
        assert isthmus.to_host(frozen).tolist() == [0, 1, 2]
        isthmus.copy(frozen, np.ones(3, "f4"))
        assert frozen.tolist() == [1, 1, 1]

    def test_what_needs_a_gradient(self, torch: Any) -> None:
        self.ask()  # as they are
        for tensor in (torch.nn.Parameter(torch.ones(3)), torch.ones(3, requires_grad=True)):
            for copy in (isthmus.copy, lambda to, source: isthmus.copy_batch([to], [source])):
                with pytest.raises(UsageError, match=r"x\.detach\(\)"):
                    copy(np.zeros(3, "f4"), tensor)
                with pytest.raises(UsageError, match="require gradient"):
                    copy(tensor, np.zeros(3, "f4"))
            assert tensor.tolist() == [1, 1, 1]

    @pytest.mark.parametrize("method", ["__torch_function__", "__torch_dispatch__"])
    def test_classes_that_redirect_calls_are_asked_by_the_method(self, torch: Any, method: str) -> None:
        base = type("Base", (torch.Tensor,), {})
        heir = type("Heir", (base,), {method: classmethod(lambda *_, **__: NotImplemented)})
        data = torch.ones(3)
        assert isthmus.to_host(data.as_subclass(base)).tolist() == [1, 1, 1]
        with pytest.raises(UsageError, match=r"a method in Python was asked|NotImplemented|no implementation"):
            isthmus.to_host(data.as_subclass(heir))
