"""Which tensors share memory, so that copies of them share it, too: tied weights, views, slices of one buffer."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch

# Tensors of one storage that lie so near are one area: as parameters cut out of one flat buffer are.
_GAP_BYTES = 512
# No element of any type is larger.
_LARGEST_ELEMENT_BYTES = 16


@dataclass
class Area:
    """Bytes [begin, end) of one storage, and the tensors in it, in the order of their first bytes."""

    tensors: list[torch.Tensor]
    begin: int
    end: int

    def is_shared(self) -> bool:
        """Whether it is more than one tensor by itself."""
        return len(self.tensors) > 1

    def source(self) -> torch.Tensor:
        """What is copied: the only tensor, or all bytes."""
        first = self.tensors[0]
        if not self.is_shared():
            return first.detach()
        whole = torch.empty(0, dtype=torch.uint8, device=first.device)
        return whole.set_(first.untyped_storage(), self.begin, (self.end - self.begin,), (1,))

    def views(self, copied: torch.Tensor) -> list[torch.Tensor]:
        """The tensors again, in a copy of `source()`."""
        if not self.is_shared():
            return [copied]
        return [_view(tensor, copied, self.begin) for tensor in self.tensors]


def areas_of(tensors: Iterable[torch.Tensor]) -> list[Area]:
    """Areas of tensors that are plain and hold at least one element, each given once."""
    by_storage: dict[tuple[torch.device, int], list[tuple[int, int, torch.Tensor]]] = {}
    for tensor in tensors:
        key = (tensor.device, tensor.untyped_storage().data_ptr())
        by_storage.setdefault(key, []).append((*extent_of(tensor), tensor))
    areas: list[Area] = []
    for found in by_storage.values():
        found.sort(key=lambda one: one[:2])
        own: list[Area] = []
        for begin, end, tensor in found:
            if own and begin <= own[-1].end + _GAP_BYTES:
                own[-1].tensors.append(tensor)
                own[-1].end = max(own[-1].end, end)
            else:
                own.append(Area([tensor], begin, end))
        areas += own
    for area in areas:
        area.begin -= area.begin % _LARGEST_ELEMENT_BYTES
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
