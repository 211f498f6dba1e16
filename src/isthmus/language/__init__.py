"""What Isthmus says, in the languages it speaks: texts of conclusions and reports by key, and their joining.

Each subject is one file, which has every text in every language.

A key is ``subject.name``. Its text has the placeholders of `str.format`. Where a number decides between forms, it is
an object of forms instead, of which ``count`` picks one: ``one`` for 1 and ``other`` for the rest. English is the
source; with the languages, ``of`` is the digest of the English text that was translated (docs/translating.md).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeVar, get_args

import msgspec

Language = Literal["en", "ja", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

Text = str | dict[Literal["one", "other"], str]
# The texts of one subject in one language.
Texts = dict[str, Text]
_Item = TypeVar("_Item")

# Held by the thread or task rather than passed to every call: between a command's option and a word in a sentence
# there are many functions that have no other use for it.
_spoken: ContextVar[Language] = ContextVar("spoken", default="en")


def spoken() -> Language:
    """The language of what is said now, as an IETF tag."""
    return _spoken.get()


@contextmanager
def speaking(language: Language) -> Iterator[None]:
    """Say everything within in this language."""
    token = _spoken.set(language)
    try:
        yield
    finally:
        _spoken.reset(token)


def say(key: str, /, **values: object) -> str:
    """The text of a key with its placeholders filled.

    Raises KeyError for a key or a placeholder that does not exist, which `tests/layout` finds first.
    """
    language = spoken()
    return _filled(language, key, values) if values else _alone(language, key)


@cache
def _alone(language: Language, key: str) -> str:
    """A text without placeholders: most of what a report says, thousands of times."""
    return _filled(language, key, {})


def _filled(language: Language, key: str, values: dict[str, object]) -> str:
    text = _text(language, key)
    if isinstance(text, dict):
        text = text["one" if values["count"] == 1 else "other"]
    if language != "zh":
        return text.format(**values)
    # Each quotation has a character in its place, of no text, while the rest is spaced.
    quoted = {name: chr(0xE000 + place) for place, name in enumerate(values) if isinstance(values[name], Quoted)}
    # Chinese with a space between ideographs and what is Latin, and with none between ideographs.
    filled = _LOOSE.sub("", _TIGHT.sub(" ", text.format(**{**values, **quoted})))
    for name, mark in quoted.items():
        filled = filled.replace(mark, str(values[name]))
    return filled


class Quoted(str):
    """What others wrote, such as a title, which is spaced as they did."""


# Where a placeholder brings an ideograph and Latin letters or figures together, or two ideographs with a space between.
_TIGHT = re.compile(r"(?<=[\u4e00-\u9fff])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9%])(?=[\u4e00-\u9fff])")
_LOOSE = re.compile(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])")


def can_say(key: str) -> bool:
    """Whether there is such a text: files of newer versions name methods and kinds that this one does not know."""
    subject, _, name = key.partition(".")
    return name in read(spoken(), subject)


def say_or(key: str, otherwise: str) -> str:
    """The text of a key without placeholders, or the other one where there is none."""
    return say(key) if can_say(key) else otherwise


@cache
def _text(language: Language, key: str) -> Text:
    subject, _, name = key.partition(".")
    return read(language, subject)[name]


@cache
def read(language: Language, subject: str) -> Texts:
    """All texts of one subject; the English one where a translation is missing."""
    entries = _decoder(language).decode((files(__package__) / f"{subject}.json").read_bytes())
    return {name: entry.en if (text := getattr(entry, language)) is None else text for name, entry in entries.items()}


@cache
def _decoder(language: Language) -> msgspec.json.Decoder[dict[str, Any]]:
    """Decodes a subject's file without the languages that are not asked for, which is the faster half."""
    translation = [(language, Text | None, None)] if language != "en" else []
    return msgspec.json.Decoder(dict[str, msgspec.defstruct("Entry", [("en", Text), *translation])])  # type: ignore[misc]


def enumerated(words: Sequence[str], last: Literal["and", "or"] = "and") -> str:
    """``a``, ``a and b`` or ``a, b and c``; nothing for no words."""
    *others, final = words or [""]
    if not others:
        return final
    return say(f"common.list_{last}", others=say("common.comma").join(others), last=final)


def first_few(items: Sequence[_Item], name: Callable[[_Item], str] = str, most: int = 5) -> str:
    """``a, b and 7 more``: the names of the first, and how many more there are. Only those shown are named."""
    names = [name(each) for each in items[:most]]
    if len(items) <= most:
        return enumerated(names)
    return say("common.and_more", names=say("common.comma").join(names), count=len(items) - most)


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
