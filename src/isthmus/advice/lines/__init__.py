"""A change in three to six lines, by library: what the first screen shows, while reports have code that runs.

A change is a paragraph in the file of each library that has calls for it, under its name.
"""

from functools import cache
from importlib.resources import files

from isthmus.advice.code import in_hip, in_xpu

# Those that have lines, besides HIP and torch of Intel's devices, whose are those of others by other names.
LIBRARIES = ("torch", "jax", "cupy", "cuda", "opencl")
_HEAD = "== "


def lines_for(change: str, library: str) -> str:
    """The lines of a change for programs of a library; empty where it has no calls for it."""
    if library == "hip":
        return in_hip(lines_for(change, "cuda"))
    if library == "xpu":
        return in_xpu(lines_for(change, "torch"))
    return _paragraphs(library).get(change, "") if library in LIBRARIES else ""


@cache
def _paragraphs(library: str) -> dict[str, str]:
    text = (files(__package__) / f"{library}.txt").read_text("utf-8")
    paragraphs = (part.partition("\n") for part in text.removeprefix(_HEAD).split(f"\n{_HEAD}"))
    return {name: lines.strip("\n") for name, _, lines in paragraphs}
