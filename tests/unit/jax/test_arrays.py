"""Arrays of JAX put on devices and fetched: on the CPU backend, as it is and in place of a GPU."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus.errors import UsageError
from tests.integration.plugins.hosts import arguments, each_earlier
from tests.processes import python

jax = pytest.importorskip("jax", reason="needs JAX")
pytestmark = pytest.mark.filterwarnings("ignore")
if jax.__version_info__ < (0, 10):
    pytest.skip("needs JAX 0.10 or later", allow_module_level=True)

import jax.numpy as jnp  # noqa: E402

from isthmus.jax import arrays as ours  # noqa: E402

SHAPE = (300, 4000)
TYPES = ["float32", "float16", "bfloat16", "int8", "uint32", "bool", "complex64", "float8_e4m3fn"]
OTHERS = ["int4", "uint4", "float4_e2m1fn"]  # parts of a byte
CONVERTED = ["float64", "int64"]


@pytest.fixture(scope="module", autouse=True)
def _four_devices() -> None:
    jax.config.update("jax_num_cpu_devices", 4)


@pytest.fixture
def as_gpus(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """CPU devices stand for CUDA's; gives the shapes of what Isthmus has copied."""
    copied = []
    copy = isthmus.copy

    def noted(to: Any, source: Any) -> None:
        copied.append(np.shape(source) if isinstance(source, np.ndarray) else source.shape)
        copy(to, source)

    def memory(made: Any) -> Any:
        import ctypes

        kind = ours._plain_type(made.dtype)
        raw = (ctypes.c_char * made.nbytes).from_address(made.unsafe_buffer_pointer())
        return np.frombuffer(raw, kind).reshape(made.shape)

    monkeypatch.setattr(ours, "_is_cuda", lambda _: True)
    monkeypatch.setattr(ours, "_Memory", memory)
    monkeypatch.setattr(isthmus, "copy", noted)
    return copied


def made(name: str, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    numbers = np.random.default_rng(5).integers(0, 100, shape)
    return (numbers % 7).astype(jnp.dtype(name))


def equal(one: Any, other: Any) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())


@pytest.mark.parametrize("name", [*TYPES, *OTHERS, *CONVERTED])
def test_on_the_cpu_it_is_what_jax_gives(name: str) -> None:
    array = made(name)
    put, theirs = ours.device_put(array), jax.device_put(array)
    assert put.dtype == theirs.dtype
    assert equal(ours.device_get(put), jax.device_get(theirs))


@pytest.mark.parametrize("name", TYPES)
def test_each_type_comes_and_goes_and_shares_no_memory(name: str, as_gpus: list[tuple[int, ...]]) -> None:
    array = made(name)
    put, second = ours.device_put(array), ours.device_put(array)
    assert put.unsafe_buffer_pointer() != second.unsafe_buffer_pointer()
    assert put.dtype == array.dtype
    fetched = ours.device_get(put)
    assert type(fetched) is np.ndarray
    array[:] = 0
    assert equal(put, made(name))
    assert equal(fetched, made(name))
    fetched[:] = 1
    assert equal(put, made(name))
    assert as_gpus == [SHAPE] * 3


@pytest.mark.parametrize("name", [*OTHERS, *CONVERTED])
def test_what_jax_alone_knows_is_left_to_it(name: str, as_gpus: list[tuple[int, ...]]) -> None:
    put = ours.device_put(made(name))
    assert equal(ours.device_get(put), jax.device_get(jax.device_put(made(name))))
    assert len(as_gpus) == (1 if name in CONVERTED else 0)


@pytest.mark.parametrize(
    "cut",
    [
        lambda a: a[::-2, 5:3000],
        lambda a: a.T,
        lambda a: np.broadcast_to(a[:1], SHAPE),
        lambda a: a[:, :0],
        lambda a: a[1],
    ],
    ids=["gaps", "transposed", "repeated", "empty", "small"],
)
def test_any_view_of_memory(cut: Callable[[Any], Any], as_gpus: list[tuple[int, ...]]) -> None:
    array = cut(made("float32"))
    put = ours.device_put(array)
    assert equal(put, array)
    assert equal(ours.device_get(put), array)
    assert equal(ours.device_get(put.T), array.T)
    assert (len(as_gpus) > 0) == (array.nbytes >= 1 << 20)


def test_devices_are_those_that_jax_would_choose(as_gpus: list[tuple[int, ...]]) -> None:
    array = made("int8")
    other = jax.devices()[2]
    for device in (None, other):
        put, theirs = ours.device_put(array, device), jax.device_put(array, device)
        assert (put.device, put.committed) == (theirs.device, theirs.committed)
    with jax.default_device(other):
        assert ours.device_put(array).device == other
    assert len(as_gpus) == 3


def test_shardings_divide_and_repeat(as_gpus: list[tuple[int, ...]]) -> None:
    mesh = jax.make_mesh((2, 2), ("x", "y"))
    array = made("float32")
    for names, shapes in ((("x", "y"), (150, 2000)), ((None, "y"), (300, 2000)), ((), SHAPE)):
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*names))
        as_gpus.clear()
        put = ours.device_put(array, sharding)
        assert as_gpus == [shapes] * 4
        assert put.sharding == sharding
        assert equal(put, array)
        as_gpus.clear()
        assert equal(ours.device_get(put), array)
        assert len(as_gpus) == SHAPE[0] * SHAPE[1] // (shapes[0] * shapes[1])


def test_memory_of_another_kind_is_left_to_jax(as_gpus: list[tuple[int, ...]]) -> None:
    pinned = jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
    put = ours.device_put(made("float32"), pinned)
    assert put.sharding == pinned
    assert not as_gpus


def test_trees_keep_their_structure(as_gpus: list[tuple[int, ...]]) -> None:
    tree = {"weights": [made("float32"), made("bfloat16")], "step": 3, "none": None, "small": np.arange(3)}
    put = ours.device_put(tree)
    theirs = jax.device_put(tree)
    assert jax.tree.structure(put) == jax.tree.structure(theirs)
    fetched = ours.device_get(put)
    assert fetched["none"] is None
    assert all(equal(one, other) for one, other in zip(jax.tree.leaves(fetched), jax.tree.leaves(theirs), strict=True))
    assert len(as_gpus) == 4


def test_memory_that_is_there_is_filled(as_gpus: list[tuple[int, ...]]) -> None:
    array = made("bfloat16")
    tree = {"a": ours.device_put(array), "b": jnp.arange(3.0)}
    out = {"a": np.zeros_like(array), "b": np.zeros(3, np.float32)}
    assert ours.device_get(tree, out)["a"] is out["a"]
    assert equal(out["a"], array)
    assert equal(out["b"], np.arange(3, dtype=np.float32))
    for wrong in (np.zeros(3, np.int32), np.zeros(4, np.float32), [1.0, 2.0, 3.0], "abc"):
        with pytest.raises((UsageError, ValueError)):
            ours.device_get(tree["b"], wrong)
    assert len(as_gpus) == 2


def test_arrays_that_were_deleted_or_donated_are_refused_by_jax(as_gpus: list[tuple[int, ...]]) -> None:
    put = ours.device_put(made("float32"))
    put.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        ours.device_get(put)
    put = ours.device_put(made("float32"))
    doubled = jax.jit(lambda x: x * 2, donate_argnums=0)(put)
    assert put.is_deleted()
    assert equal(ours.device_get(doubled), made("float32") * 2)
    assert len(as_gpus) == 3


def test_functions_that_jax_traces_and_keys_are_left_to_it(as_gpus: list[tuple[int, ...]]) -> None:
    array = made("float32")
    assert equal(jax.jit(lambda x: x + ours.device_put(array))(1.0), array + 1)
    key = jax.random.key(7)
    assert ours.device_get(key).dtype == key.dtype
    assert as_gpus == []


def test_an_earlier_jax_is_refused_with_both_versions(tmp_path: Path) -> None:
    (tmp_path / "jax").mkdir()
    for name in ("__init__", "numpy"):
        (tmp_path / "jax" / f"{name}.py").write_text("__version__ = '0.4.9'\n__version_info__ = (0, 4, 9)\n")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import isthmus.jax"
    done = python(program)
    assert f"Isthmus {isthmus.__version__} is for JAX 0.10 and later; this is JAX 0.4.9" in done.stderr


@each_earlier("jax-")
def test_earlier_releases_take_the_same(release: Path) -> None:
    source = release / "jax" / "_src"
    assert arguments(source / "api.py", "device_put")[:2] == ["x", "device"]
    assert arguments(source / "api.py", "device_get") == ["x"]
    assert arguments(source / "numpy" / "array_creation.py", "empty")[:2] == ["shape", "dtype"]
    made_from = arguments(source / "array.py", "make_array_from_single_device_arrays")
    assert made_from[:3] == ["shape", "sharding", "arrays"]
    assert arguments(source / "array.py", "ArrayImpl.unsafe_buffer_pointer") == []


def test_fetched_arrays_take_the_memory_of_earlier_ones(as_gpus: list[tuple[int, ...]]) -> None:
    first = ours.device_get(jnp.asarray(made("float32")))
    place, kept = first.ctypes.data, first[7:]
    again = ours.device_get(jnp.asarray(made("float32") + 1))
    assert again.ctypes.data != place, "a view is left"
    assert (kept == made("float32")[7:]).all()
    del first, kept
    third = ours.device_get(jnp.asarray(made("float32") + 2))
    assert third.ctypes.data == place
    assert (again == made("float32") + 1).all()
    assert (third == made("float32") + 2).all()
    # JAX's copy of it stays what it is.
    put = jax.device_put(third)
    third[:] = 0
    assert (np.asarray(put) == made("float32") + 2).all()
