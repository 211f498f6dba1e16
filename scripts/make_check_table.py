"""Writes the rules, the kinds of cards and the texts of a check as C++, for the program that needs no Python.

Usage: make_check_table.py SRC CPP, where SRC is src/isthmus; the build does it.
"""

import json
import sys
from pathlib import Path
from typing import Any

_DIRECTIONS = ("h2d", "d2h", "both")


def text(value: str) -> str:
    """A literal of C++."""
    return json.dumps(value, ensure_ascii=False)


def public_lows(kind: dict[str, Any], rules: dict[str, float]) -> list[float]:
    """The least that public outputs show, in bytes per second for each direction; 0 where too few can be looked up."""
    lows = []
    for direction in _DIRECTIONS:
        spans = [each for each in kind["outputs"] if each.get("by", "copy") == "copy" and each.get(direction)]
        enough = sum("://" in each["source"] for each in spans) >= rules["least_outputs"]
        lows.append(rules["room"] * 1e9 * min(each[direction][0] for each in spans) if enough else 0.0)
    return lows


def kind_rows(kind: dict[str, Any], rules: dict[str, float]) -> list[str]:
    """A row a part of a name."""
    link, least = kind.get("link", {}), kind.get("least", {})
    lows = [
        f"{least.get(memory, {}).get(each, 0) * 1e9:.0f}" for memory in ("pinned", "pageable") for each in _DIRECTIONS
    ]
    public = [f"{low:.0f}" for low in public_lows(kind, rules)]
    flags = [kind.get("bus", "pcie") == "pcie", bool(kind.get("full_host"))]
    words = ", ".join("true" if each else "false" for each in flags)
    rates = f"{{{', '.join(public)}}}, {{{', '.join(lows)}}}, {kind.get('typical', 0) * 1e9:.0f}"
    tail = f"{link.get('generation', 0)}, {link.get('width', 0)}, {words}, {rates}"
    return [f"    {{{text(part)}, {tail}}}," for part in kind["match"]]


def main(source: Path, target: Path) -> None:
    """Write the file."""
    compare = source / "compare"
    rules: dict[str, float] = json.loads((compare / "rules.json").read_text("utf-8"))
    rows: list[str] = []
    for path in sorted((compare / "kinds").glob("*.json")):
        kind = json.loads(path.read_text("utf-8"))
        if path.name != "theory.json" and kind["vendor"] == "NVIDIA":
            rows += kind_rows(kind, rules)
    shares = json.loads((compare / "kinds" / "theory.json").read_text("utf-8"))["shares"]["NVIDIA"]["copy"]
    texts = json.loads((source / "language" / "health.json").read_text("utf-8"))
    lines = [
        "// Made by make_check_table.py from the table of src/isthmus/compare.",
        '#include "check/table.hpp"',
        "namespace isthmus::checking {",
        "const Rules& rules() {",
        "    static constexpr Rules all{" + ", ".join(f".{name} = {value}" for name, value in rules.items()) + "};",
        "    return all;",
        "}",
        "std::span<const Kind> kinds() {",
        "    static constexpr Kind all[] = {",
        *rows,
        "    };",
        "    return all;",
        "}",
        "double usual_share(unsigned generation) {",
        "    switch (generation) {",
        *(f"        case {generation}: return {share};" for generation, share in shares.items()),
        "        default: return rules().usual_share;",
        "    }",
        "}",
        "std::string_view text_of(std::string_view key) {",
        *(f"    if (key == {text(key)}) return {text(each['en'])};" for key, each in texts.items()),
        "    return key;",
        "}",
        "}  // namespace isthmus::checking",
    ]
    target.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
