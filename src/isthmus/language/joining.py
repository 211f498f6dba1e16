"""Joins texts to lists and sentences to paragraphs, as each language does."""

from collections.abc import Iterable, Sequence
from typing import Literal

from isthmus.language.catalogue import say


def enumerated(words: Sequence[str], last: Literal["and", "or"] = "and") -> str:
    """``a``, ``a and b`` or ``a, b and c``; nothing for no words."""
    *others, final = words or [""]
    if not others:
        return final
    return say(f"common.list_{last}", others=say("common.comma").join(others), last=final)


def sentences(parts: Iterable[str]) -> str:
    """One text of several sentences; empty ones leave no trace."""
    return say("common.between_sentences").join(filter(None, parts))


def clauses(parts: Iterable[str]) -> str:
    """Several clauses of one sentence, or of one cell of a table; empty ones leave no trace."""
    return say("common.between_clauses").join(filter(None, parts))


def in_brackets(text: str) -> str:
    """The text in brackets, with the space before them that follows a word; nothing for no text."""
    return say("common.brackets", text=text) if text else ""


def capitalised(text: str) -> str:
    """The text with a capital first letter and everything else as it is."""
    return text[:1].upper() + text[1:]
