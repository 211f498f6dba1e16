"""Writes _native.pyi's signatures and docstrings as a C++ header, so that help() says what type checkers read.

Usage: make_descriptions.py PYI HEADER; the build does it.
"""

import ast
import sys
from pathlib import Path


def described(name: str, node: ast.FunctionDef | ast.ClassDef) -> str:
    """One constant: what the binding of this name passes on."""
    text = ast.get_docstring(node) or ""
    signature = ""
    if isinstance(node, ast.FunctionDef):
        bare = ast.FunctionDef(**{**dict(ast.iter_fields(node)), "body": [ast.Pass()], "decorator_list": []})
        signature = ast.unparse(ast.fix_missing_locations(bare)).partition(":\n    pass")[0]
    return f'inline constexpr Description {name}{{R"!({signature})!", R"!({text})!"}};'


def main(source: Path, header: Path) -> None:
    """Write the header."""
    lines = [
        f"// Made from {source.name} by make_descriptions.py.",
        "#pragma once",
        "#include <nanobind/nanobind.h>",
        "// For def(): the signature and the docstring.",
        "#define ISTHMUS_DESCRIBED(name) nanobind::sig(described::name.signature), described::name.text",
        "namespace isthmus::bindings::described {",
        "struct Description {",
        "    const char* signature;",
        "    const char* text;",
        "};",
    ]
    for node in ast.parse(source.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            lines.append(described(node.name, node))
        if isinstance(node, ast.ClassDef):
            # Overloads share a name; what they are for, help() shows of the class.
            members = {item.name.strip("_"): item for item in node.body if isinstance(item, ast.FunctionDef)}
            lines += [described(f"{node.name}_{name}", item) for name, item in members.items()]
    header.write_text("\n".join([*lines, "}", ""]), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
