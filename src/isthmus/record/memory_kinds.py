"""The one table of memory kinds on this side of the seam: what each kind is, and how it is drawn.

A row is a kind of memory, or a way to use one that measurements tell apart, such as a kept staging buffer. The table of
the native core (``native/backend/memory_kind.hpp``) has the kinds that the core allocates; a test holds the two
together. Names that people read stand in the catalogues: ``memory.text_`` and ``label_`` with the name.
"""

from typing import Literal, NamedTuple

Shape = Literal["circle", "square", "diamond", "up", "down", "plus", "bar", "cross"]


class MemoryKind(NamedTuple):
    """A memory kind; `light` and `dark` are its colours as hex on pages of that kind, `dash` lengths of line and gap.

    locked: page-locked while it is copied.  huge: asks for transparent huge pages.
    by_cpu: the CPU moves it, as drivers copy pageable memory.  link_bound: large copies are limited by the link alone.
    late: its pages come with their first touch on every device.  on_device: is in the memory of the device.
    allocated: the core allocates it.  copied_as: the kind whose copies its copies are; empty for its own.
    """

    name: str
    light: str
    dark: str
    dash: tuple[int, ...]
    shape: Shape
    locked: bool = False
    huge: bool = False
    by_cpu: bool = False
    link_bound: bool = False
    late: bool = False
    on_device: bool = False
    allocated: bool = True
    copied_as: str = ""


# In the order of tables and charts: what everybody has first, what needs most care after, the device's own last.
# Colours follow Okabe and Ito's set for all kinds of colour vision.
# fmt: off
_ROWS = (
    MemoryKind("malloc", "#8c2d04", "#ffb48a", (4, 3), "square", by_cpu=True, late=True, copied_as="pageable"),
    MemoryKind("pageable", "#c44e00", "#f58a4b", (), "square", by_cpu=True, late=True),
    MemoryKind("pageable_isthmus", "#b3261e", "#ff8a80", (), "plus", by_cpu=True, allocated=False),
    MemoryKind("untouched", "#6d4c41", "#d7b9a6", (7, 2), "square", by_cpu=True, late=True, allocated=False),
    MemoryKind("untouched_isthmus", "#8e1b4c", "#f48fb1", (4, 3), "plus", by_cpu=True, late=True, allocated=False),
    MemoryKind("pageable_huge", "#9a7400", "#e8b830", (7, 2), "diamond", huge=True, by_cpu=True, late=True),
    MemoryKind("pinned", "#0067a5", "#4ea9ea", (), "circle", locked=True, link_bound=True),
    MemoryKind("pinned_portable", "#2a4d8f", "#8fb4f5", (7, 2), "circle", locked=True, copied_as="pinned"),
    MemoryKind("write_combined", "#0a8fb3", "#86d6ef", (4, 3), "up", locked=True, link_bound=True),
    MemoryKind("registered", "#00795a", "#2fcb9c", (2, 2), "plus", locked=True, link_bound=True),
    MemoryKind("registered_huge", "#4d7a00", "#a4d65e", (7, 2), "plus", locked=True, huge=True, copied_as="registered"),
    MemoryKind("touched_registered", "#00696f", "#45c6cf", (), "cross", locked=True, copied_as="registered"),
    MemoryKind("touched_registered_huge", "#5c6b00", "#ccdb4f", (7, 2), "cross",
               locked=True, huge=True, copied_as="registered"),
    MemoryKind("staging", "#7a5195", "#c9a3e8", (2, 2), "diamond",
               locked=True, by_cpu=True, allocated=False, copied_as="pinned"),
    MemoryKind("staged", "#97266d", "#f0a1d4", (), "diamond", by_cpu=True, allocated=False),
    MemoryKind("mapped", "#a83d7f", "#ec9bc9", (), "down", locked=True, link_bound=True),
    MemoryKind("managed", "#50565e", "#c3c9d1", (9, 2, 2, 2), "bar", late=True),
    MemoryKind("managed_prefetch", "#2f3b4c", "#93a7c4", (), "bar", allocated=False, copied_as="managed"),
    MemoryKind("device", "#6a2fb5", "#b794f6", (), "up", on_device=True),
    MemoryKind("device_pitched", "#8a1f6b", "#f08fd2", (7, 2), "up", on_device=True),
    MemoryKind("device_array", "#a3123f", "#ff8fae", (9, 2, 2, 2), "down", on_device=True),
    MemoryKind("device_pool", "#3b3fb8", "#9ba0ff", (2, 2), "square", on_device=True),
    MemoryKind("device_pool_cold", "#5a5fd0", "#c3c6ff", (9, 2, 2, 2), "square", on_device=True),
)
# fmt: on
MEMORY_KINDS = {kind.name: kind for kind in _ROWS}


def memory_kind(name: str) -> MemoryKind:
    """The row of a kind; one that this version does not know, from a newer file, is taken for nothing special."""
    return MEMORY_KINDS.get(name) or MemoryKind(name, "#6b4fbb", "#b9a3ff", (1, 3), "circle", allocated=False)


def kind_rank(name: str) -> tuple[int, str]:
    """What puts kinds into the order of tables and charts; unknown kinds come last."""
    return list(MEMORY_KINDS).index(name) if name in MEMORY_KINDS else len(MEMORY_KINDS), name
