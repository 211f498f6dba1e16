"""Short names of kernels, whose full ones are declarations."""

import re

_LONGEST = 80
_UNNAMED = re.compile(r"(?:\(anonymous namespace\)|<unnamed>|\{anonymous\})::")


def kernel_name(full: str) -> str:
    """A kernel's name without its result, its template arguments and its parameters."""
    kept: list[str] = []
    depth, previous = 0, ""
    text = _UNNAMED.sub("", full)
    for letter in text:
        if letter == "<":
            depth += 1
        elif letter == ">" and previous != "-":
            depth = max(depth - 1, 0)
        elif depth == 0:
            if letter == "(":
                break
            kept.append(letter)
        previous = letter
    name = "".join(kept).strip().rpartition(" ")[2] or text
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
