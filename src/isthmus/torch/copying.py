"""Copies of many pairs of tensors of any kind, each pair by what is fastest for it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch

import isthmus
from isthmus.errors import DeviceAbsent, UsageError, WrongType
from isthmus.transfer.results import new_bytes

# A tensor with gaps from here on is copied by itself: a batch is of runs of memory, of which it has too many.
_LARGE_BYTES = 1 << 20

Pair = tuple[torch.Tensor, torch.Tensor]
# Tensors of one storage that lie so near are one area: as parameters cut out of one flat buffer are.
_GAP_BYTES = 512
# No element of any type is larger.
_LARGEST_ELEMENT_BYTES = 16
_PLAIN, _STRIDED = (torch.Tensor, torch.nn.Parameter), torch.strided
_COPIED = {
    getattr(torch, name)
    for name in (
        *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
        *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"),
    )
    if hasattr(torch, name)
}


@contextmanager
def copying(pairs: Iterable[Pair], session: isthmus.Session | None) -> Iterator[None]:
    """Copy to the first of each pair from the second, on any devices. All have arrived at the end of the block.

    Each begins after what the current stream of its device holds.
    """
    waited_for: set[torch.device] = set()
    try:
        _begin(pairs, session, waited_for)
        yield
    finally:
        for device in waited_for:
            torch.cuda.current_stream(device).synchronize()


def _begin(pairs: Iterable[Pair], session: isthmus.Session | None, waited_for: set[torch.device]) -> None:
    pageable: dict[tuple[torch.device, torch.device], list[Pair]] = {}
    # Thousands of pairs are asked for flags, each in a tenth of the time of comparing types of devices.
    for to, source in pairs:
        if to.is_cpu == source.is_cpu:
            to.copy_(source)
            waited_for |= {tensor.device for tensor in (to, source) if tensor.is_cuda}
            continue
        host, there = (to, source) if to.is_cpu else (source, to)
        if is_plain(to) and is_plain(source) and not host.is_pinned():
            pageable.setdefault((to.device, source.device), []).append((to.detach(), source.detach()))
        else:
            to.copy_(source, non_blocking=True)
            if there.is_cuda:
                waited_for.add(there.device)
    for (to_device, source_device), some in pageable.items():
        device = to_device if to_device.type != "cpu" else source_device
        stream = torch.cuda.current_stream(device) if device.type == "cuda" else None
        copy_pageable(some, stream, session)


def copy_pageable(pairs: Iterable[Pair], stream: object, session: isthmus.Session | None) -> None:
    """The same of pairs that all go in one direction between pageable memory and one device."""
    alone: list[Pair] = []
    together: list[Pair] = []
    for pair in pairs:
        has_gaps = not all(tensor.is_contiguous() for tensor in pair)
        if pair[1].numel():
            (alone if has_gaps and pair[1].nbytes >= _LARGE_BYTES else together).append(pair)
    batch, others = _apart(together)
    if len(batch) == 1:
        others += batch
        batch = []
    for to, source in alone + others:
        isthmus.copy(to, source, stream=stream, session=session)
    if batch:
        isthmus.copy_batch([to for to, _ in batch], [source for _, source in batch], stream=stream, session=session)


def _apart(pairs: list[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Pairs whose destinations do not overlap, as those of a batch must not, and the others."""
    placed = []
    for at, (to, _) in enumerate(pairs):
        # By addresses: storages of one array's views may be several.
        storage, (begin, end) = to.untyped_storage().data_ptr(), extent_of(to)
        placed.append((storage + begin, storage + end, at))
    apart: list[Pair] = []
    others: list[Pair] = []
    reached = 0
    for begin, end, at in sorted(placed):
        overlaps = begin < reached
        (others if overlaps else apart).append(pairs[at])
        if not overlaps:
            reached = end
    return apart, others


class Area:
    """Bytes of one storage that are copied together, and the tensors in them."""

    def __init__(self, tensors: list[torch.Tensor], begin: int, end: int) -> None:
        self.tensors = tensors
        self._begin = begin - begin % _LARGEST_ELEMENT_BYTES
        # What is copied: the only tensor, or all bytes.
        first = tensors[0]
        self.source = first.detach() if first.requires_grad else first
        if len(tensors) > 1:
            whole = torch.empty(0, dtype=torch.uint8, device=tensors[0].device)
            self.source = whole.set_(tensors[0].untyped_storage(), self._begin, (end - self._begin,), (1,))

    def views(self, copied: torch.Tensor) -> list[torch.Tensor]:
        """The tensors again, in a copy of `source`."""
        if len(self.tensors) == 1:
            return [copied]
        return [_view(tensor, copied, self._begin) for tensor in self.tensors]


def areas_of(tensors: Iterable[torch.Tensor]) -> list[Area]:
    """Areas of tensors that are plain and hold at least one element, each given once."""
    by_storage: dict[tuple[torch.device, int], list[torch.Tensor]] = {}
    for tensor in tensors:
        # Where its storage begins, which takes that itself three times as long to say.
        begin = tensor.data_ptr() - tensor.storage_offset() * tensor.element_size()
        by_storage.setdefault((tensor.device, begin), []).append(tensor)
    areas: list[Area] = []
    for some in by_storage.values():
        if len(some) == 1:  # as nearly all are
            areas.append(Area(some, 0, 0))
            continue
        area = sorted(((*extent_of(tensor), tensor) for tensor in some), key=lambda one: one[:2])
        together, first, reached = [area[0][2]], *area[0][:2]
        for begin, end, tensor in area[1:]:
            if begin <= reached + _GAP_BYTES:
                together.append(tensor)
                reached = max(reached, end)
            else:
                areas.append(Area(together, first, reached))
                together, first, reached = [tensor], begin, end
        areas.append(Area(together, first, reached))
    return areas


def extent_of(tensor: torch.Tensor) -> tuple[int, int]:
    """Where the first byte and the end of the last are in the storage; no stride of torch's is negative."""
    first = tensor.storage_offset()
    last = first + sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return first * tensor.element_size(), (last + 1) * tensor.element_size()


def _view(tensor: torch.Tensor, copied: torch.Tensor, begin: int) -> torch.Tensor:
    offset = tensor.storage_offset() - begin // tensor.element_size() + copied.storage_offset() // tensor.element_size()
    view = torch.empty(0, dtype=tensor.dtype, device=copied.device)
    return view.set_(copied.untyped_storage(), offset, tensor.shape, tensor.stride())


def host_like(source: torch.Tensor) -> torch.Tensor:
    """A new tensor on the host of the same shape, type and strides, in the memory of earlier results where it is large.

    What arrays of NumPy would do only with the interpreter's lock, the last tensor does without as it ends.
    """
    capsule = new_bytes(source.nbytes)
    if capsule is None:
        return torch.empty_like(source, device="cpu")
    like = torch.empty_like(source, device="meta")
    memory = torch.utils.dlpack.from_dlpack(capsule).untyped_storage()
    return torch.empty(0, dtype=source.dtype, device="cpu").set_(memory, 0, like.shape, like.stride())


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether it is its elements in memory and nothing else: neither sparse, lazily negated nor wrapped."""
    return (
        type(tensor) in _PLAIN
        and tensor.layout is _STRIDED
        and tensor.dtype in _COPIED
        and not tensor.is_conj()
        and not tensor.is_neg()
    )


def torch_device(device: object) -> torch.device:
    """The device that is named, of those that tensors are moved to: CUDA's, and the host.

    Raises WrongType for what names none, and UsageError for others.
    """
    try:
        parsed = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise WrongType(f"the device is {device!r}: {error}") from None
    if parsed.type == "cuda" and not torch.cuda.is_available():
        raise DeviceAbsent(f"torch {torch.__version__} sees no CUDA device here; torch.cuda.init() says why")
    if parsed.type not in ("cuda", "cpu"):
        raise UsageError(f"the device is {parsed}; expected one of CUDA, such as 'cuda:0', or 'cpu'")
    return parsed
