"""Files of weights as they lie on the disk: their headers, checked as the format says, and where their tensors go."""

from isthmus.weights.header import BITS, Header, Tensor, read_header, read_index
from isthmus.weights.placement import ALIGNMENT, Placement, Run, place

__all__ = ["ALIGNMENT", "BITS", "Header", "Placement", "Run", "Tensor", "place", "read_header", "read_index"]
