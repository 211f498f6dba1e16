"""Needs for plan_check.py: drawn from a seed, spread evenly in logarithms, off the sizes that experiments measure."""

import math
from typing import TypeVar

import numpy as np

from isthmus.record import (
    GIB,
    KIB,
    MIB,
    BufferNeed,
    LayoutName,
    ManagedNeed,
    Need,
    PiecesNeed,
    PipelineNeed,
    SectionNeed,
)

__all__ = ["draw_needs"]

# In turns, so that any number of needs has its share of each kind.
_TURNS = ("buffer", "pieces", "buffer", "section", "pipeline", "buffer", "managed", "section", "buffer", "pieces")
_WORD_BYTES = 4
# Pieces and rows are whole numbers of elements, most of them floats and doubles; few programs move odd bytes.
_ELEMENT_BYTES = (4, 8)
_OTHER_ELEMENT_BYTES = (1, 2, 16)
_USUAL_SHARE = 0.8
_PAGE_BYTES = 4 * KIB
# Divides into words for any number of chunks that a plan chooses: powers of two up to 128, and three times those.
_PIPELINE_UNIT = 96 * KIB
_Choice = TypeVar("_Choice", bound=str)
_LAYOUTS: tuple[tuple[LayoutName, LayoutName], ...] = (
    ("scattered", "scattered"),
    ("scattered", "scattered"),
    ("scattered", "contiguous"),
    ("contiguous", "scattered"),
    ("strided", "strided"),
)
# What pieces and rows span takes several times its size to check, and pipelines hold several times theirs.
_MOST_PIECES_BYTES = 64 * MIB
_MOST_SPAN_BYTES = 256 * MIB
_MOST_PIPELINE_BYTES = 256 * MIB
# Every run writes all of it first, and reads all of it after.
_MOST_MANAGED_BYTES = 512 * MIB
# The device's work in a pipeline is chosen against the slower of its copies, at such a rate.
_RATE = 40e9


def draw_needs(count: int, seed: int, largest_bytes: int = GIB, rate: float = _RATE) -> list[Need]:
    """So many needs, the same for the same seed; buffers and arrays have up to `largest_bytes`.

    `rate`, in bytes per second, is about that of the link: work of pipelines is a tenth to ten times their copy's.
    """
    random = np.random.default_rng(seed)
    draw = {
        "buffer": lambda: _buffer(random, largest_bytes),
        "pieces": lambda: _pieces(random, min(_MOST_PIECES_BYTES, largest_bytes)),
        "section": lambda: _section(random, largest_bytes),
        "managed": lambda: _managed(random, min(_MOST_MANAGED_BYTES, largest_bytes)),
        "pipeline": lambda: _pipeline(random, min(_MOST_PIPELINE_BYTES, largest_bytes), rate),
    }
    return [draw[_TURNS[place % len(_TURNS)]]() for place in range(count)]


def _number(random: np.random.Generator, low: int, high: int, unit: int = 1) -> int:
    """A multiple of `unit`, its logarithm drawn evenly between those of the bounds."""
    drawn = math.exp(random.uniform(math.log(low), math.log(max(high, low + 1))))
    return max(round(drawn / unit), 1) * unit


def _one_of(random: np.random.Generator, *choices: _Choice) -> _Choice:
    return choices[random.integers(len(choices))]


def _element(random: np.random.Generator) -> int:
    sizes = _ELEMENT_BYTES if random.random() < _USUAL_SHARE else _OTHER_ELEMENT_BYTES
    return int(sizes[random.integers(len(sizes))])


def _buffer(random: np.random.Generator, largest: int) -> Need:
    return BufferNeed(
        _number(random, 4 * KIB, largest, _WORD_BYTES),
        _one_of(random, "h2d", "d2h", "both"),
        _number(random, 1, 1000),
        _one_of(random, "pageable", "pageable", "new", "new", "pinned"),
    )


def _pieces(random: np.random.Generator, largest: int) -> Need:
    size = _number(random, 64, min(MIB, largest // 4), _element(random))
    pieces = _number(random, 4, min(65536, largest // size))
    host, device = _LAYOUTS[random.integers(len(_LAYOUTS))]
    return PiecesNeed(pieces, size, _one_of(random, "h2d", "d2h"), _one_of(random, "pageable", "pinned"), host, device)


def _section(random: np.random.Generator, largest: int) -> Need:
    span = min(_MOST_SPAN_BYTES, largest)
    element = _element(random)
    width = _number(random, max(4, element), 64 * KIB, element)
    pitch = _number(random, 2 * width, max(min(MIB, span // 64), 4 * width), element)
    rows = _number(random, 32, min(MIB, max(span // pitch, 64)))
    host, device = (pitch, None) if random.integers(2) else (width, pitch)
    if random.integers(4) == 0:
        host, device = pitch, pitch
    return SectionNeed(rows, width, host, _one_of(random, "h2d", "d2h"), _one_of(random, "pageable", "pinned"), device)


def _managed(random: np.random.Generator, largest: int) -> Need:
    size = _number(random, max(largest // 16, MIB), largest, _PAGE_BYTES)
    if random.integers(2):
        return ManagedNeed(size, fraction=_number(random, 1, 100) / 100)
    return ManagedNeed(size, stride_bytes=_number(random, _PAGE_BYTES, min(4 * MIB, size // 8), _PAGE_BYTES))


def _pipeline(random: np.random.Generator, largest: int, rate: float) -> Need:
    size = _number(random, largest // 16, largest, _PIPELINE_UNIT)
    seconds = math.exp(random.uniform(math.log(0.1), math.log(10))) * size / rate
    return PipelineNeed(size, float(f"{seconds:.3g}"), source=_one_of(random, "pinned", "pageable", "new"))
