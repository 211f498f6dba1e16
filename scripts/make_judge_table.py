"""Writes the rules, the kinds of cards and the English texts of a check as C++.

Usage: make_judge_table.py CPP; the build does it.

A file of native/judge/kinds is a kind of card: parts of its devices' names to `match`, its own `link`, and what public
`outputs` show of large pinned copies, GB/s from the lowest to the highest, `both` as sums. Only over `bus` "pcie" the
link's theory says what copies reach: not behind a switch on the card ("switched"), over NVLink to the host ("c2c"), or
within shared memory ("shared"). `full_host`: such modules are built only into hosts that can do as much as they can.
`measured` names the reference that has what was measured for this project; `least` has its lowest normal rates of 64
MiB by memory and direction in GB/s, `typical` the higher typical rate of pinned copies in one direction, for the
program that reads no reference. theory.json has the least share of the wire's rate that healthy copies reach.
"""

import json
import sys
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
_TABLE = _ROOT / "native/judge"
_DIRECTIONS = ("h2d", "d2h", "both")
# What a verdict says of other subjects than its own.
_OTHERS = ("compare_causes.why_placement", "compare_causes.why_iommu", "compare.other_device")


def text(value: str) -> str:
    """A literal of C++."""
    return json.dumps(value, ensure_ascii=False)


def outputs(kind: dict[str, Any], rules: dict[str, float], method: str, lists: list[str]) -> str:
    """The least that public outputs show for each direction; adds to `lists` where they are."""
    rows = []
    for direction in _DIRECTIONS:
        spans = [each for each in kind["outputs"] if each.get("by", "copy") == method and each.get(direction)]
        # Outputs that cannot be looked up widen the range, and are no evidence.
        sources = [text(each["source"]) for each in spans if "://" in each["source"]]
        if len(sources) < rules["least_outputs"]:
            rows.append("{}")
            continue
        low = rules["room"] * 1e9 * min(each[direction][0] for each in spans)
        rows.append(f"{{{low!r}, sources_{len(lists)}}}")
        lists.append(f"constexpr std::string_view sources_{len(lists)}[] = {{{', '.join(sources)}}};")
    return f"{{{{{', '.join(rows)}}}}}"


def kind_rows(kind: dict[str, Any], rules: dict[str, float], lists: list[str]) -> list[str]:
    """A row a part of a name."""
    link, least = kind.get("link", {}), kind.get("least", {})
    lows = [
        f"{least.get(memory, {}).get(each, 0) * 1e9:.0f}" for memory in ("pinned", "pageable") for each in _DIRECTIONS
    ]
    flags = [kind.get("bus", "pcie") == "pcie", bool(kind.get("full_host"))]
    tail = [
        text(kind["name"]),
        text(kind["vendor"]),
        link.get("generation", 0),
        link.get("width", 0),
        *("true" if each else "false" for each in flags),
        *(outputs(kind, rules, method, lists) for method in ("copy", "kernel")),
        f"{{{{{', '.join(lows)}}}}}",
        f"{kind.get('typical', 0) * 1e9:.0f}",
    ]
    return [f"    {{{text(part)}, {', '.join(map(str, tail))}}}," for part in kind["match"]]


def main(target: Path) -> None:
    """Write the file."""
    rules: dict[str, float] = json.loads((_TABLE / "rules.json").read_text("utf-8"))
    rows: list[str] = []
    lists: list[str] = []
    for path in sorted((_TABLE / "kinds").glob("*.json")):
        kind = json.loads(path.read_text("utf-8"))
        if path.name != "theory.json":
            rows += kind_rows(kind, rules, lists)
    shares = json.loads((_TABLE / "kinds" / "theory.json").read_text("utf-8"))["shares"]
    texts = {
        f"{path.stem}.{name}": each["en"]
        for path in (
            (_ROOT / "src/isthmus/language" / f"{subject}.json") for subject in ("health", "compare_causes", "compare")
        )
        for name, each in json.loads(path.read_text("utf-8")).items()
        if path.stem == "health" or f"{path.stem}.{name}" in _OTHERS
    }
    lines = [
        "// Made by make_judge_table.py from native/judge and src/isthmus/language.",
        '#include "judge/table.hpp"',
        "namespace isthmus::judging {",
        "namespace {",
        *lists,
        "}  // namespace",
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
        "double usual_share(std::string_view vendor, std::string_view method, unsigned generation) {",
        *(
            f"    if (vendor == {text(vendor)} && method == {text(method)} && generation == {generation})\n"
            f"        return {share};"
            for vendor, methods in shares.items()
            for method, generations in methods.items()
            for generation, share in generations.items()
        ),
        "    return rules().usual_share;",
        "}",
        "std::string_view text_of(std::string_view key) {",
        *(f"    if (key == {text(key)}) return {text(each)};" for key, each in texts.items()),
        "    return key;",
        "}",
        "}  // namespace isthmus::judging",
    ]
    target.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
