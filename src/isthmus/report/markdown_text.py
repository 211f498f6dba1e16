"""Words as Markdown takes them for words, whatever they hold."""

import re

from isthmus.record import printable


def escaped(words: str) -> str:
    """The words with everything escaped that Markdown or the HTML inside it would take for markup."""
    for mark in "\\`*_[]<>|#":
        words = words.replace(mark, f"\\{mark}")
    # What is shown in a terminal, too, may not command it.
    return " ".join(printable(words).split())


def fenced(code: str) -> str:
    """Code as it is, between fences that it does not contain."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", code)), default=0))
    return f"{fence}\n{code.rstrip()}\n{fence}"
