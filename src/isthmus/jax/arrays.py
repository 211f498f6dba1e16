"""Arrays between NumPy and JAX's devices, with one copy and none that is kept.

`device_put` fills memory of JAX's own pool, which therefore counts, is donated and deleted as all of JAX's is.
`device_get` gives arrays of their own, or fills given ones; ``numpy.asarray`` keeps its copy with the array on the GPU.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import isthmus
from isthmus.errors import UsageError
from isthmus.transfer.results import new_array

_LEAST_VERSION = (0, 10)
if jax.__version_info__ < _LEAST_VERSION:
    raise UsageError(
        f"isthmus.jax of Isthmus {isthmus.__version__} is for JAX 0.10 and later; this is JAX {jax.__version__}"
    )

# Smaller arrays cross as fast by JAX itself.
_LEAST_BYTES = 1 << 20


def device_put(x: Any, device: Any = None) -> Any:
    """A tree's NumPy arrays as JAX arrays, on a device or divided as a sharding says; all has arrived on return.

    `device` is a ``jax.Device``, a ``jax.sharding.Sharding`` or None, JAX's default. All else is handed to
    ``jax.device_put``: other leaves, arrays of less than 1 MiB, of types that JAX converts or that take parts of a
    byte (int4), and devices that are no CUDA GPUs. Raises what JAX raises where it has no memory, and CopyFailed.
    """
    return jax.tree.map(lambda leaf: _put(leaf, device), x, is_leaf=_is_none)


def device_get(x: Any, out: Any = None) -> Any:
    """A tree's JAX arrays as NumPy arrays, after the computation that makes them; other leaves as ``jax.device_get``.

    With `out`, a tree of the same structure, its arrays are filled and returned. New ones take the memory of earlier
    results that are gone (`isthmus.result_memory`). bfloat16 and float8 are types of ml_dtypes, as JAX's are.

    Raises UsageError for an `out` of another shape or type, and for arrays of which other processes hold a part;
    RuntimeError, JAX's own, for arrays that were deleted or donated.
    """
    if out is None:
        return jax.tree.map(lambda leaf: _get(leaf, None), x, is_leaf=_is_none)
    return jax.tree.map(_get, x, out, is_leaf=_is_none)


def _is_none(leaf: Any) -> bool:
    return leaf is None


def _put(leaf: Any, device: Any) -> Any:
    if leaf is None:
        return None
    parts = _parts(leaf, device) if type(leaf) in (np.ndarray, np.memmap) and _is_worth_it(leaf) else {}
    if not parts or not all(_is_cuda(each) for each in parts):
        return jax.device_put(leaf, device)
    if device is None:  # JAX may move on what no caller has named a device for
        return _filled(leaf, None)
    arrays = [_filled(leaf[index], each) for each, index in parts.items()]
    if isinstance(device, jax.Device):
        return arrays[0]
    return jax.make_array_from_single_device_arrays(leaf.shape, device, arrays)


def _parts(leaf: np.ndarray, device: Any) -> dict[Any, Any]:
    """The devices of this process, and which part of the array each is to have; none while JAX traces a function."""
    probe = jnp.empty(0)
    if isinstance(probe, jax.core.Tracer):
        return {}
    if isinstance(device, jax.sharding.Sharding):
        if any(device.memory_kind not in (None, each.default_memory().kind) for each in device.device_set):
            return {}  # pinned memory of the host, say
        return dict(device.addressable_devices_indices_map(leaf.shape))
    only = probe.device if device is None else device
    return {only: ()} if isinstance(only, jax.Device) else {}


def _filled(part: np.ndarray, device: Any) -> jax.Array:
    made = jnp.empty(part.shape, part.dtype, device=device).block_until_ready()
    # No reference to the array is anywhere else yet, so that it may be written to.
    if part.nbytes:
        isthmus.copy(_Memory(made), part.view(_plain_type(part.dtype)))
    return made


def _get(leaf: Any, out: Any) -> Any:
    if not isinstance(leaf, jax.Array) or jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.extended):
        return jax.device_get(leaf)
    if not leaf.is_fully_addressable:
        raise UsageError(
            f"other processes hold a part of this array of shape {leaf.shape}; fetch those of its addressable_shards"
        )
    if out is not None and not (isinstance(out, np.ndarray) and (out.shape, out.dtype) == (leaf.shape, leaf.dtype)):
        given = f"of shape {out.shape} and type {out.dtype}" if isinstance(out, np.ndarray) else type(out).__name__
        raise UsageError(f"out is {given}; expected a NumPy array of shape {leaf.shape} and type {leaf.dtype}")
    if leaf.is_deleted() or not (_is_worth_it(leaf) and all(_is_cuda(each) for each in leaf.devices())):
        fetched = jax.device_get(leaf)
        if out is None:
            return fetched
        out[...] = fetched
        return out
    filled = new_array(leaf.shape, leaf.dtype) if out is None else out
    leaf.block_until_ready()
    for shard in leaf.addressable_shards:
        if shard.replica_id == 0 and shard.data.nbytes:
            # Any layout of the device: DLPack says its strides.
            isthmus.copy(filled[shard.index], shard.data)
    return filled


def _is_worth_it(array: Any) -> bool:
    """Whether it is large, and of a type that JAX has as NumPy has it."""
    dtype = array.dtype
    if array.nbytes < _LEAST_BYTES or not dtype.isnative or jax.dtypes.canonicalize_dtype(dtype) != dtype:
        return False
    if jnp.issubdtype(dtype, jnp.inexact):
        return bool(jnp.finfo(dtype).bits >= 8)
    return dtype == np.bool_ or bool(jnp.iinfo(dtype).bits >= 8)


def _is_cuda(device: Any) -> bool:
    return device.platform == "gpu" and "rocm" not in device.client.platform_version.lower()


def _plain_type(dtype: Any) -> np.dtype[Any]:
    """One of the same size that every interface of arrays has a name for."""
    return np.dtype(f"u{dtype.itemsize}" if dtype.itemsize <= 8 else f"c{dtype.itemsize}")


class _Memory:
    """A new array of JAX, which JAX itself hands out as one that may not be written to."""

    def __init__(self, made: jax.Array) -> None:
        self._made = made
        self.__cuda_array_interface__ = {
            "shape": made.shape,
            "typestr": _plain_type(made.dtype).str,
            "data": (made.unsafe_buffer_pointer(), False),
            "version": 3,
        }
