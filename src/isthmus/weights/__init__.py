"""Files of weights as they lie on the disk: their headers, checked as the format says, and where their tensors go."""

from isthmus.weights.header import BITS, Header, Tensor, parse_header, read_header_text, read_index
from isthmus.weights.placement import ALIGNMENT, Placement, Run, place, whole_file

__all__ = [
    "ALIGNMENT",
    "BITS",
    "Header",
    "Placement",
    "Run",
    "Tensor",
    "parse_header",
    "place",
    "read_header_text",
    "read_index",
    "whole_file",
]
