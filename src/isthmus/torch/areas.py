"""Which tensors share memory, so that copies of them share it, too: tied weights, views, slices of one buffer."""

from collections.abc import Iterable

import torch

# Tensors of one storage that lie so near are one area: as parameters cut out of one flat buffer are.
_GAP_BYTES = 512
# No element of any type is larger.
_LARGEST_ELEMENT_BYTES = 16


class Area:
    """Bytes of one storage that are copied together, and the tensors in them."""

    def __init__(self, tensors: list[torch.Tensor], begin: int, end: int) -> None:
        self.tensors = tensors
        self._begin = begin - begin % _LARGEST_ELEMENT_BYTES
        # What is copied: the only tensor, or all bytes.
        self.source = tensors[0].detach()
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
    by_storage: dict[tuple[torch.device, int], list[tuple[int, int, torch.Tensor]]] = {}
    for tensor in tensors:
        key = (tensor.device, tensor.untyped_storage().data_ptr())
        by_storage.setdefault(key, []).append((*extent_of(tensor), tensor))
    areas: list[Area] = []
    for area in by_storage.values():
        area.sort(key=lambda one: one[:2])
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
