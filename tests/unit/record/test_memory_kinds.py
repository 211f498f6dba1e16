"""Memory kinds: the tables on both sides of the seam agree, and every kind has its names in each language."""

import pytest

from isthmus import _native
from isthmus.compare.rates import AT_ONCE
from isthmus.language import LANGUAGES, Language, read
from isthmus.record import MEMORY_KINDS, MemoryKind, kind_rank, memory_kind


def test_both_sides_of_the_seam_have_the_same_kinds_and_say_the_same_of_them() -> None:
    core = {
        row["name"]: (row["locked"], row["huge"], row["by_cpu"], row["on_device"]) for row in _native.memory_kinds()
    }
    ours = {
        kind.name: (kind.locked, kind.huge, kind.by_cpu, kind.on_device)
        for kind in MEMORY_KINDS.values()
        if kind.allocated
    }
    assert core == ours


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_has_its_names_in_each_language_and_nothing_else_has(language: Language) -> None:
    expected = {f"{form}_{name}" for form in ("text", "label") for name in MEMORY_KINDS} | {f"label_{AT_ONCE}"}
    assert {text for text in read(language, "memory") if not text.startswith("moved_")} == expected


def test_a_kind_that_is_copied_as_another_names_one_with_copies_of_its_own() -> None:
    others = {kind.copied_as for kind in MEMORY_KINDS.values() if kind.copied_as}
    assert not any(MEMORY_KINDS[other].copied_as for other in others)


def test_a_kind_of_a_newer_version_is_nothing_special_and_comes_last() -> None:
    unknown = memory_kind("pinned_by_light")
    colours = (unknown.light, unknown.dark, unknown.dash, unknown.shape)
    assert unknown == MemoryKind("pinned_by_light", *colours, allocated=False)
    assert kind_rank("pinned_by_light") > max(map(kind_rank, MEMORY_KINDS))
