"""Every file of the core includes what it uses of the standard library: builds have it by precompiled headers."""

import functools
import re
from pathlib import Path

NATIVE = Path(__file__).resolve().parents[2] / "native"
# What the headers that are precompiled declare, as far as the core uses it and no other header has it.
DECLARED = {
    "algorithm": "all_of|any_of|clamp|copy_n|fill_n|find_if|lower_bound|max_element|min_element|sort|upper_bound",
    "array": "array",
    "atomic": r"atomic\w*|memory_order\w*",
    "chrono": "chrono",
    "functional": "function|greater|hash|invoke|less|plus",
    "map": "map|multimap",
    "memory": "enable_shared_from_this|make_shared|make_unique|shared_ptr|unique_ptr|weak_ptr",
    "mutex": "call_once|lock_guard|mutex|once_flag|recursive_mutex|scoped_lock|unique_lock",
    "optional": "nullopt|optional",
    "span": "span",
    "string": "string|to_string",
    "thread": "thread|this_thread",
    "variant": "get_if|holds_alternative|variant|visit",
    "vector": "vector",
}
FILES = sorted(path for pattern in ("*.cpp", "*.hpp") for path in NATIVE.rglob(pattern))
INCLUDE = re.compile(r'^#include ([<"])([^>"]+)[>"]', re.MULTILINE)


@functools.cache
def included(path: Path) -> frozenset[str]:
    """The standard headers that a file includes, itself or by the core's headers."""
    found: set[str] = set()
    for kind, name in INCLUDE.findall(path.read_text(encoding="utf-8")):
        below = NATIVE / name
        found |= {name} if kind == "<" else included(below) if below.exists() else frozenset()
    return frozenset(found)


def missing(text: str, headers: frozenset[str]) -> set[str]:
    code = re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', "", text)
    return {header for header, names in DECLARED.items() if re.search(rf"\bstd::(?:{names})\b", code)} - headers


def test_what_is_missing_is_seen() -> None:
    text = "std::string name(std::optional<int> x);  // std::vector"
    assert missing(text, frozenset({"string"})) == {"optional"}
    assert missing(text, frozenset({"string", "optional"})) == set()


def test_every_file_includes_what_it_uses() -> None:
    found = {str(path.relative_to(NATIVE)): missing(path.read_text(encoding="utf-8"), included(path)) for path in FILES}
    assert {name: headers for name, headers in found.items() if headers} == {}
